"""The graph of operators as dogwood.dataflow gives it, drawn: what reads stands to the right of what it reads."""

import matplotlib.pyplot as plt
import pandas as pd

FILLS = {"table": "#cfe3f3", "index": "#eef5fb", "ordered index": "#eef5fb", "ownership": "#fdf3cf", "owners": "#fdf3cf", "access": "#fbe3e6",
         "subject requests": "#f0d9a8", "view": "#e3f1e3", "materialized view": "#e3f1e3", "automatic view": "#e3f1e3", "subscription": "#e8e3f3"}
INSIDE = ("operator", "arrangement")


def read(engine):
    """The relation, as a frame."""
    return pd.read_sql("SELECT id, kind, name, relation, inputs, stage, rows, bytes FROM dogwood.dataflow", engine)


def without(flow, gone):
    """The graph without some operators: who read them reads what they read."""
    inputs = dict(zip(flow["id"], flow["inputs"]))

    def through(id, seen):
        for input in inputs[id]:
            if input not in gone:
                yield input
            elif input not in seen:
                seen.add(input)
                yield from through(input, seen)

    kept = flow[~flow["id"].isin(gone)]
    return kept.assign(inputs=[list(dict.fromkeys(through(id, set()))) for id in kept["id"]])


def outline(flow):
    """Views as one operator each, and no index that only its table knows."""
    inside = set(flow[flow["kind"].isin(INSIDE)]["id"])
    outer = without(flow, inside)
    read = {input for inputs in outer["inputs"] for input in inputs}
    return without(outer, set(outer[(outer["kind"] == "index") & ~outer["id"].isin(read)]["id"]))


def of_view(flow, name):
    """One view's operators, and what they read."""
    relation = flow[flow["kind"].str.endswith("view") & (flow["name"] == name)]["relation"].iloc[0]
    inside = flow[flow["relation"] == relation]
    read = {input for inputs in inside["inputs"] for input in inputs} - set(inside["id"])
    leaves = flow[flow["id"].isin(read)]
    return pd.concat([leaves.assign(inputs=[[] for _ in leaves["id"]]), inside])


def layers(flow):
    """Each operator's layer: behind all that it reads. Rows that lead back to themselves do not move it."""
    inputs, layer = dict(zip(flow["id"], flow["inputs"])), {}

    def place(id, above):
        if id not in layer:
            below = [place(input, above | {id}) for input in inputs[id] if input not in above and input != id]
            if above and any(input in above for input in inputs[id]):
                return 1 + max(below, default=-1)
            layer[id] = 1 + max(below, default=-1)
        return layer[id]

    for id in inputs:
        place(id, frozenset())
    return {id: layer.get(id, 0) for id in inputs}


def places(flow):
    """Where each stands: layers from left to right, in each the order of what is read."""
    layer, inputs, place = layers(flow), dict(zip(flow["id"], flow["inputs"])), {}
    for x in sorted(set(layer.values())):
        here = [id for id in inputs if layer[id] == x]

        def middle(id):
            read = [place[input][1] for input in inputs[id] if input in place]
            return sum(read) / len(read) if read else 0

        here.sort(key=lambda id: -middle(id))
        place |= {id: (x, (len(here) - 1) / 2 - y) for y, id in enumerate(here)}
    return place


def size(row):
    """How much an operator holds, in words."""
    parts = [f"{int(row['rows']):,} rows"] if pd.notna(row["rows"]) else []
    if pd.notna(row["bytes"]) and row["bytes"] > 0:
        parts.append(f"{row['bytes'] / 1024:,.0f} kB" if row["bytes"] >= 1024 else f"{int(row['bytes'])} B")
    return ", ".join(parts)


def short(name, length=26):
    return name if len(name) <= length else name[: length - 1] + "…"


def draw(flow, title):
    """The graph on axes of its own."""
    place = places(flow)
    height = max((sum(x == other for other, _ in place.values()) for x, _ in place.values()), default=1)
    width = max((x for x, _ in place.values()), default=0) + 1
    figure, axes = plt.subplots(figsize=(2.1 * width, 0.8 + 0.55 * height))
    axes.set_xlim(-0.55, width - 0.45)
    axes.set_ylim(-height / 2 - 0.1, height / 2 + 0.1)
    axes.axis("off")
    axes.set_title(title)
    boxes = {}
    for _, row in flow.iterrows():
        x, y = place[row["id"]]
        label = "\n".join(part for part in (row["kind"], short(row["name"]), size(row)) if part)
        boxes[row["id"]] = axes.text(x, y, label, ha="center", va="center", fontsize=5.5, zorder=3,
                  bbox={"boxstyle": "round,pad=0.35", "facecolor": FILLS.get(row["kind"], "white"), "edgecolor": "#808080", "linewidth": 0.6})
    figure.canvas.draw()  # settles how large the boxes are, which arrows end at
    for _, row in flow.iterrows():
        for input in row["inputs"]:
            back = place[input][0] >= place[row["id"]][0]
            if input != row["id"]:
                axes.annotate("", xy=place[row["id"]], xytext=place[input], zorder=4, arrowprops={
                    "arrowstyle": "-|>", "color": "#9db4c6", "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0,
                    "patchA": boxes[input].get_bbox_patch(), "patchB": boxes[row["id"]].get_bbox_patch(),
                    "connectionstyle": "arc3,rad=0.4" if back else "arc3,rad=0"})
    plt.show()

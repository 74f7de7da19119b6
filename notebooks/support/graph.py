"""The ownership graph as EXPLAIN (FORMAT JSON) COMPLIANCE gives it, drawn: tables in layers, people on the right."""

import json

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

FILLS = {"data subject": "#cfe3f3", "personal": "#fdf3cf", "impersonal": "#ffffff"}
OWNS, ACCESSES, PLAIN = ("#1b6ca8", "-", "gives ownership"), ("#d1495b", "--", "gives access"), ("#b0b0b0", ":", "a foreign key, nothing more")
LOOKS = {"OWNED_BY": OWNS, "OWNS": OWNS, "ACCESSED_BY": ACCESSES, "ACCESSES": ACCESSES}


def read(connection):
    """Tables and edges of the graph."""
    answer = connection.execute("EXPLAIN (FORMAT JSON) COMPLIANCE").fetchone()[0]
    return json.loads(answer) if isinstance(answer, str) else answer


def arrows(graph):
    """(from, to, annotation, columns): every arrow points one step towards a person."""
    made = []
    for edge in graph["edges"]:
        # OWNS and ACCESSES are written on the owner's side: the arrow runs the other way.
        far = edge["annotation"] in ("OWNS", "ACCESSES")
        ends = (edge["target"], edge["table"]) if far else (edge["table"], edge["target"])
        made.append((*ends, edge["annotation"], ", ".join(edge["columns"])))
    return made


def places(graph):
    """Each table's place: its distance from a person to the left, then one above the other."""
    layer = {table["name"]: 0 for table in graph["tables"] if table["kind"] == "data subject"}
    followed = [arrow for arrow in arrows(graph) if arrow[2]]
    while reached := {start: layer[end] + 1 for start, end, *_ in followed if end in layer and start not in layer}:
        layer |= reached
    outside = max(layer.values(), default=0) + 1
    layers = {}
    for table in graph["tables"]:
        layers.setdefault(layer.get(table["name"], outside), []).append(table["name"])
    return {name: (-x, (len(names) - 1) / 2 - y) for x, names in layers.items() for y, name in enumerate(sorted(names))}


def draw(graph, title):
    """The graph on axes of its own."""
    place, drawn = places(graph), {}
    height = max((sum(x == other for other, _ in place.values()) for x, _ in place.values()), default=1)
    figure, axes = plt.subplots(figsize=(7.2, 1 + 0.75 * height))
    axes.set_xlim(min(x for x, _ in place.values()) - 0.3, 0.3)
    axes.set_ylim(min(y for _, y in place.values()) - 0.6, max(y for _, y in place.values()) + 0.6)
    axes.axis("off")
    axes.set_title(title)
    kinds = [Patch(facecolor=FILLS[kind], edgecolor="#808080", label=label) for kind, label in
             [("data subject", "people"), ("personal", "owned by people"), ("impersonal", "nobody's")]]
    lines = [Line2D([], [], color=colour, linestyle=line, label=label) for colour, line, label in (OWNS, ACCESSES, PLAIN)]
    axes.legend(handles=kinds + lines, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3)
    for table in graph["tables"]:
        x, y = place[table["name"]]
        axes.text(x, y, table["name"], ha="center", va="center", fontsize=9, zorder=4,
                  bbox={"boxstyle": "round,pad=0.5", "facecolor": FILLS.get(table["kind"], "white"), "edgecolor": "#808080"})
    figure.canvas.draw()  # settles where things are on the page, which bends and labels go by
    for start, end, annotation, columns in arrows(graph):
        colour, line, _ = LOOKS.get(annotation, PLAIN)
        if start == end:
            x, y = place[start]
            axes.annotate(f"↺ {columns}", (x, y + 0.33), ha="center", fontsize=7, color=colour)
            continue
        # Arrows between the same two tables lie side by side, those within a layer go around what is between.
        twin = drawn[start, end] = drawn.get((start, end), -1) + 1
        within = place[start][0] == place[end][0]
        bend = (0.45 if within else 0.0) + 0.2 * twin
        axes.annotate("", xy=place[end], xytext=place[start], arrowprops={
            "arrowstyle": "-|>", "linestyle": line, "color": colour, "connectionstyle": f"arc3,rad={bend}",
            "shrinkA": 13 if within else 36, "shrinkB": 13 if within else 30})
        axes.text(*on_curve(axes, place[start], place[end], bend), columns, fontsize=7, color=colour, ha="center", va="center",
                  zorder=3, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    plt.show()


def on_curve(axes, start, end, bend, part=0.45):
    """A point of matplotlib's arc3 between two points, in data coordinates."""
    (x, y), (to_x, to_y) = axes.transData.transform([start, end])
    control_x, control_y = (x + to_x) / 2 + bend * (to_y - y), (y + to_y) / 2 - bend * (to_x - x)
    rest = 1 - part
    point = (rest * rest * x + 2 * rest * part * control_x + part * part * to_x,
             rest * rest * y + 2 * rest * part * control_y + part * part * to_y)
    return axes.transData.inverted().transform(point)

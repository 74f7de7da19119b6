"""Draws the figures of a benchmark from its JSON, beside it: NAME.json gives NAME-figure.png.

`plot.py FILE.json …`. Each figure shows one quantity, of every system in the run, with the ratios of ours to the others written
beside the others. What is drawn for which benchmark stands in FIGURES; one that is not there gets latencies and numbers as they come.
"""
import json
import pathlib
import re
import sys
from dataclasses import dataclass

try:
    import matplotlib
except ModuleNotFoundError:
    sys.exit("plot.py: no figures: matplotlib is not installed for " + sys.executable + "; `make install-bench` installs it")
matplotlib.use("Agg")
from matplotlib import pyplot

OURS = "Dogwood"
COLOURS = {OURS: "#1b7837", "PostgreSQL 15": "#2b6cb0", "memcached": "#d95f02", "PostgreSQL 15 and memcached": "#d95f02"}
OTHER_COLOURS = ["#7b3294", "#b8860b", "#666666", "#c2185b", "#00868b", "#8c510a"]
LOG_FROM = 12  # times between the least and the most


@dataclass(frozen=True)
class Figure:
    """One picture. `names` chooses measurements by their names; what it captures labels them."""

    file: str
    kind: str  # latency, tail, rate, processor, number, quantiles, line, stack
    title: str
    names: str
    unit: str = ""
    across: str = ""  # of a line: what the first captured number counts
    goals: tuple = ()  # (value, its name): vertical lines
    beside: str = ""  # of a stack: the measurement whose other systems stand beside it


FIGURES = {
    "core": [
        Figure("reads", "rate", "Reads: point SELECT by primary key, and a join of two tables", r"((?:point SELECT by|join of).* conn\.)"),
        Figure("reads-latency", "latency", "The same reads: latency", r"((?:point SELECT by|join of).* conn\.)"),
        Figure("inserts", "rate", "INSERT of one owned row, durable", r"INSERT of one owned row, durable, (.* conn\.)"),
        Figure("inserts-latency", "latency", "INSERT of one owned row, durable: latency", r"INSERT of one owned row, durable, (.* conn\.)"),
        Figure("requests", "number", "A person with 100 rows in five tables", r"((?:GET|FORGET) of .*?)(?: \(.*)?", "ms"),
    ],
    "votes": [
        Figure("latency", "latency", "Votes: 95 % reads of an article with its count, 5 % votes", r"(.* conn\.)"),
        Figure("offered", "latency", "Votes: all systems under the same arrivals, time from the arrival", r"(.*; \d+ a second offered, .*)"),
        Figure("offered-p99", "tail", "Votes: all systems under the same arrivals, time from the arrival", r"(.*; \d+ a second offered, .*)"),
        Figure("processor", "processor", "Votes: the servers' processor time for an operation of the mix", r"read, (.* conn\.)"),
        Figure("memory", "number", "The results in memory", r"(the results in memory)", "MB"),
    ],
    "owncloud": [
        Figure("latency-1", "latency", "File sharing, 1 connection", r"((?!.*beside views).*), 1 conn\."),
        Figure("latency-8", "latency", "File sharing, 8 connections", r"((?!.*beside views).*), 8 conn\."),
        Figure("offered", "latency", "File sharing: all systems under the same arrivals, time from the arrival", r"((?!.*beside views).*; \d+ a second offered, .*)"),
        Figure("offered-p99", "tail", "File sharing: all systems under the same arrivals, time from the arrival", r"((?!.*beside views).*; \d+ a second offered, .*)"),
        Figure("lists", "latency", "Files viewed as rows, and as one value for each person", r"(view files .* conn\.)"),
        Figure("processor", "processor", "File sharing: the servers' processor time for an operation of the mix", r"get ten files, (.* conn\.)"),
        Figure("bytes", "number", "File sharing: bytes", r"(memory of the results|folder on disk).*", "MB"),
    ],
    "sar": [
        Figure(
            "times",
            "quantiles",
            "Access and erasure of the people with most rows",
            r"(GDPR GET|GDPR FORGET, whole|of it waiting for the disk|of it work).*?: (mean|p50|p95|p99|most)",
            "ms",
            goals=((1, "goal of GET's mean"), (5, "goal of the work of FORGET, mean")),
        ),
        Figure("rows", "quantiles", "Rows that belong to one of the people with most rows", r"(rows of a person): (.*)", "rows"),
    ],
    "ycsb": [
        Figure("rates", "rate", "YCSB, durable, ours sealed for each person", r"(?:YCSB )?([A-F]: .*), .* conn\."),
        Figure("latency", "latency", "YCSB: latency", r"(?:YCSB )?([A-F]: .*), .* conn\."),
        Figure("processor", "processor", "YCSB: the server's processor time for an operation", r"(?:YCSB )?([A-F]: .*), .* conn\."),
    ],
    "gdprbench": [
        Figure("completion", "number", "GDPRbench: time until all operations of a role are completed", r"(\w+): \d+ operations completed after", "s"),
        Figure("writes", "latency", "GDPRbench: what changes records", r"(\w+: (?:create|delete|erase|update).*)"),
        Figure("reads", "latency", "GDPRbench: what reads them", r"(\w+: (?:read|get|verify).*)"),
        Figure("space", "number", "GDPRbench: bytes for each byte of personal data, after filling", r"space factor: (.*) / .*", "times"),
    ],
    "lobsters": [
        Figure("saturation", "number", "Lobsters: the load that each system bears", r"(pages a second .*)", "pages/s"),
        Figure("saturated", "latency", "Lobsters at the load that saturates PostgreSQL, by page", r"(.*); what saturates .*"),
        Figure("half", "latency", "Lobsters at half of that load, by page", r"(.*); half of it.*"),
        Figure("users", "latency", "Lobsters at half of that load with more users, by page", r"(.*); users × .*"),
        Figure("alone", "latency", "Lobsters: each page by itself, one connection", r"(.*); alone, .*"),
        Figure("bytes", "number", "Lobsters: bytes", r"(memory of the views|heap and indexes|folder on disk|resident set).*", "MB"),
    ],
    "memory": [
        Figure("views", "number", "What each view holds, and memcached for the same results", r"view (\w+, \d+ rows): bytes", "MB"),
        Figure(
            "parts",
            "stack",
            "The server's memory by part, and the same data and results elsewhere",
            r"memory (before the views|with the views): (?!resident|heap|allocated)(.*)",
            "MB",
            beside="all views together; .*",
        ),
        Figure("all", "number", "The views of all pages", "(all views together|views that pages need beside lookups).*", "MB"),
        Figure("ratios", "number", "Ratios that the goals speak of", r"(.* / .*)", "times", goals=((1, "even"),)),
    ],
    "tpch": [
        Figure("commits", "number", "TPC-H: a commit of ten orders with the view kept; PostgreSQL refreshes", r"(Q\d+|a commit under \d+ views).*, (?:with it|all) kept up.*: median", "ms"),
        Figure("processor", "number", "TPC-H: processor time of keeping the view, a commit of ten orders", r"(Q\d+|a commit under \d+ views).*, (?:with it|all) kept up.*: processor time.*", "ms"),
        Figure("filling", "number", "TPC-H: processor time of filling the view", r"(Q\d+) as a view: processor time of filling", "ms"),
        Figure("once", "number", "TPC-H: each query asked once", r"(Q\d+) asked once.*", "ms"),
    ],
    "nexmark": [
        Figure("rates", "number", "Nexmark: events a second with the view kept (more is better; dbsp: in process, nothing durable)", r"(q\d, .*): events a second.*", "events/s"),
        Figure("processor", "number", "Nexmark: processor time of keeping the view, an event", r"(q\d, .*): processor time.*", "µs"),
        Figure("freshness", "number", "Nexmark: from sending a transaction to its change at a subscriber", r"(q\d, .*): from sending.*", "ms"),
        Figure("filling", "number", "Nexmark: filling the view", r"(q\d, .*): filling the view", "ms"),
    ],
    "views": [
        Figure("operators", "number", "What a change costs a view by its operator, against count(*), by the rows of the group", r"(.*, a group of \d+ rows): a change, against count\(\*\)", "times", goals=((1, "count(*)"),)),
        Figure("operators-refresh", "number", "Processor time of keeping a view, a commit of one row; PostgreSQL refreshes", r"(.*), a group of 160000 rows: processor time of keeping the view, a commit.*", "µs"),
        Figure("strangers", "number", "A writer whose table no view reads, beside writes of a table with a heavy view", r"(.*: a stranger's .*)", "times", goals=((2, "goal"),)),
        Figure("together", "number", "Ten views made at once, against the time of one", r"(ten views at once .*)", "times", goals=((3, "goal over one table"), (6, "goal over ten tables"))),
        Figure("fills", "number", "Filling a view of 400,000 rows", r"(filling a view over \d+ rows, .*: processor time)", "ms"),
        Figure("reads-latency", "latency", "Reads of maintained views", r"((?:SELECT from|articles|view files).* conn\.)"),
        Figure("reads", "rate", "Reads of maintained views", r"((?:SELECT from|articles|view files).* conn\.)"),
        Figure("writes", "line", "The server's processor time of a durable INSERT by the number of views that it changes", r"INSERT of one row, durable, (\d+) affected views, (\d+ conn\.)", "processor_us", "affected views"),
        Figure("writes-p50", "line", "Median latency of a durable INSERT by the number of views that it changes", r"INSERT of one row, durable, (\d+) affected views, (\d+ conn\.)", "p50_us", "affected views"),
        Figure("creation", "latency", "Votes while a view over them is made", r"(votes by 4 connections .*)"),
        Figure("memory", "number", "What the views hold; memcached: the same results; PostgreSQL: all its tables and indexes", r"memory: ((?:a|the) view .*?)(?: \(.*)?", "MB"),
        Figure("subscriptions", "line", "From a commit's acknowledgement to the change at the client that subscribed to that key, median", r"one change, (\d+) subscriptions, each to its own key: (acknowledged to the change.*)", "p50_us", "subscriptions"),
        Figure("subscriptions-all", "line", "One change that concerns every subscription", r"one change of all (\d+) subscriptions: (.*), median", "ms", "subscriptions"),
    ],
}


def main(paths):
    """Draws all figures of each file."""
    for path in map(pathlib.Path, paths):
        try:
            run = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            sys.exit(f"plot.py: {path} is no file of results: {error}")
        found = re.search(r"`bench (\w+)", run["about"])
        figures = FIGURES.get(found[1] if found else "") or usual(run["results"])
        for figure in figures:
            target = path.with_name(f"{path.stem}-{figure.file}.png")
            if draw(figure, run, target):
                print(target)
            elif run.get("partial"):
                print(f"plot.py: {target.name} is not drawn: the run did not come so far")


def usual(results):
    """What is drawn of a benchmark that FIGURES does not name."""
    units = dict.fromkeys(row["unit"] for row in results if "unit" in row)
    figures = [Figure("latency", "latency", "Latency", "(.*)")] if any("p50_us" in row for row in results) else []
    return figures + [Figure(re.sub(r"\W+", "-", unit).strip("-") or "numbers", "number", f"Numbers in {unit}", "(.*)", unit) for unit in units]


def cells(row):
    """(system, row) of a result; a single number may stand for two systems in older files."""
    if "dogwood" in row:
        return [(OURS, {"value": row["dogwood"]}), ("PostgreSQL 15", {"value": row["postgresql"]})]
    return [(row.get("system", OURS), row)]


def chosen(figure, results):
    """Label → system → result, in the order of the run."""
    rows = {}
    for row in results:
        match = re.fullmatch(figure.names, row.get("name", ""))
        if not match or (figure.kind in ("number", "quantiles") and row.get("unit") != figure.unit):
            continue
        label = ": ".join(part for part in match.groups() if part)
        for system, cell in cells(row):
            rows.setdefault(label, {})[system] = cell
    return rows


def draw(figure, run, target):
    """Draws one figure; false if the run has nothing for it."""
    if figure.kind in ("line", "stack"):
        canvas = LINES[figure.kind](figure, run["results"])
    else:
        rows = chosen(figure, run["results"])
        canvas = BARS[figure.kind](figure, rows) if rows else None
    if canvas is None:
        return False
    partial = "PARTIAL RUN: " if run.get("partial") else ""
    for axis, (low, high) in ((canvas.axes[0].xaxis, canvas.axes[0].get_xlim()), (canvas.axes[0].yaxis, canvas.axes[0].get_ylim())):
        if axis.get_scale() == "log":
            axis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5) if high / low < 300 else (1,)))
            axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    margin = 0.2 / canvas.get_figheight()
    canvas.get_layout_engine().set(rect=(0, margin, 1, 1 - 1.5 * margin))
    canvas.suptitle(partial + figure.title, fontsize=12, fontweight="bold", x=0.01, ha="left")
    about = [part.strip() for part in run["about"].split(";")]
    canvas.text(0.01, 0.005, "; ".join(about[:4]), fontsize=7, color="#555555", ha="left", va="bottom")
    canvas.savefig(target, dpi=100, pil_kwargs={"optimize": True})
    pyplot.close(canvas)
    return True


def colour(system, systems):
    """A system has the same colour in all figures, as far as colours last."""
    others = [name for name in systems if name not in COLOURS]
    return COLOURS.get(system) or OTHER_COLOURS[others.index(system) % len(OTHER_COLOURS)]


def rows_of_bars(rows):
    """The systems in order of appearance, and (place, label, system, result) from the top down, with a gap between labels."""
    systems = list(dict.fromkeys(system for cells in rows.values() for system in cells))
    place, placed, ticks = 0.0, [], []
    for label, cells in rows.items():
        start = place
        for system in systems:
            if system in cells:
                placed.append((place, label, system, cells[system]))
                place += 1
        ticks.append(((start + place - 1) / 2, label))
        place += 0.8
    return systems, placed, ticks


def canvas_for(placed, ticks, systems, unit, log, goals=(), inches=0.27):
    """An empty figure with its axes, labels and legend."""
    canvas, axes = pyplot.subplots(figsize=(11, max(2.6, 1.7 + inches * (len(placed) + 0.8 * len(ticks)))), layout="constrained")
    axes.set_yticks([at for at, _ in ticks], [wrapped(label) for _, label in ticks], fontsize=9)
    axes.set_ylim(max(at for at, *_ in placed) + 0.8, -0.8)
    axes.set_xlabel(unit + (", logarithmic" if log else ""))
    if log:
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: short(value)))
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    handles = [pyplot.Line2D([], [], color=colour(system, systems), linewidth=6, label=system) for system in systems]
    for number, (value, name) in enumerate(goals):
        style = ("--", ":")[number % 2]
        axes.axvline(value, color="#b2182b", linestyle=style, linewidth=1.2)
        handles.append(pyplot.Line2D([], [], color="#b2182b", linestyle=style, label=f"{name}: {short(value)}"))
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8, frameon=False)
    return canvas, axes


def wrapped(label, width=52):
    """A label on lines that fit."""
    lines, line = [], ""
    for word in label.split(" "):
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def short(value):
    """A number with as many digits as a reader wants."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 10 else f"{value:.2g}"


def spread(values):
    """Is a logarithmic axis wanted?"""
    positive = [value for value in values if value > 0]
    return bool(positive) and len(positive) == len(values) and max(positive) / min(positive) > LOG_FROM


def bars(value_of, unit, better, slices=None):
    """A drawer of one value for each system, with its ratio to ours written beside it."""

    def drawn(figure, rows):
        values = {(label, system): value_of(cell) for label, cells in rows.items() for system, cell in cells.items()}
        rows = {label: {system: cell for system, cell in cells.items() if values[label, system] is not None} for label, cells in rows.items()}
        rows = {label: cells for label, cells in rows.items() if cells}
        if not rows:
            return None
        systems, placed, ticks = rows_of_bars(rows)
        shown = [value_of(cell) for *_, cell in placed]
        log = spread(shown)
        judged = {"times": "", "pages/s": " (more is better)", "events/s": " (more is better)"}.get(figure.unit, f" ({better})")
        canvas, axes = canvas_for(placed, ticks, systems, (figure.unit or unit) + judged, log, figure.goals)
        for place, label, system, cell in placed:
            value = value_of(cell)
            axes.barh(place, value, height=0.86, color=colour(system, systems))
            text = short(value)
            ours = values.get((label, OURS))
            if system != OURS and ours is not None and value > 0:
                text += f"   ours: {short(ours / value)} ×"
            end = max([value, *(slices(cell) if slices else [])])
            axes.annotate(text, (end, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
            if slices:
                axes.plot(slices(cell), [place] * len(slices(cell)), "|", color="black", markersize=6)
        most = max([*shown, *(value for value, _ in figure.goals), *(one for *_, cell in placed for one in (slices(cell) if slices else []))])
        if log:
            low = min(value for value in shown if value > 0)
            axes.set_xlim(low / 2, most * (most / low) ** 0.25)
        else:
            axes.set_xlim(0, (most or 1) * 1.22)
        return canvas

    return drawn


def latency(figure, rows):
    """From p50 to p95 of each system."""
    rows = {label: {system: cell for system, cell in cells.items() if cell.get("p50_us") or cell.get("cut_off")} for label, cells in rows.items()}
    rows = {label: cells for label, cells in rows.items() if any(cell.get("p50_us") for cell in cells.values())}
    if not rows:
        return None
    systems, placed, ticks = rows_of_bars(rows)
    cut, placed = [one for one in placed if one[3].get("cut_off")], [one for one in placed if not one[3].get("cut_off")]
    canvas, axes = canvas_for(placed, ticks, systems, "µs; dot: p50, bar: p95, then ours / theirs of both (less is better)", True, figure.goals)
    for place, label, system, cell in placed:
        axes.plot([cell["p50_us"], cell["p95_us"]], [place, place], color=colour(system, systems), linewidth=3, solid_capstyle="butt")
        axes.plot(cell["p50_us"], place, "o", color=colour(system, systems), markersize=7)
        axes.plot(cell["p95_us"], place, "|", color=colour(system, systems), markersize=11, markeredgewidth=3)
        text = f"{short(cell['p50_us'])} / {short(cell['p95_us'])}"
        ours = rows[label].get(OURS)
        if system != OURS and ours and not ours.get("cut_off"):
            text += f"   ours: {short(ours['p50_us'] / cell['p50_us'])} ×, {short(ours['p95_us'] / cell['p95_us'])} ×"
        axes.annotate(text, (cell["p95_us"], place), (8, 0), textcoords="offset points", va="center", fontsize=8)
    low, most = min(cell["p50_us"] for *_, cell in placed), max(cell["p95_us"] for *_, cell in placed)
    axes.set_xlim(low / 1.5, most * (most / low) ** 0.38)
    for place, _, system, _ in cut:
        axes.annotate("not borne: cut off", (low, place), va="center", fontsize=8, color=colour(system, systems))
    return canvas


def line(figure, results):
    """A quantity against a number in the measurement's name, a line for each system and case."""
    series = {}
    for row in results:
        match = re.fullmatch(figure.names, row.get("name", ""))
        if match:
            for system, cell in cells(row):
                value = cell.get(figure.unit, cell.get("value"))
                series.setdefault((system, match[2]), []).append((int(match[1]), value))
    if not series:
        return None
    canvas, axes = pyplot.subplots(figsize=(11, 4.6), layout="constrained")
    systems = list(dict.fromkeys(system for system, _ in series))
    cases = list(dict.fromkeys(case for _, case in series))
    values = []
    for (system, case), points in series.items():
        xs, ys = zip(*sorted(points))
        values += ys
        style = ("-", "--", ":", "-.")[cases.index(case) % 4]
        axes.plot(xs, ys, style, marker="o", color=colour(system, systems), label=f"{system}, {case}")
        axes.annotate(short(ys[-1]), (xs[-1], ys[-1]), (6, 0), textcoords="offset points", va="center", fontsize=8)
    ticks = sorted({x for points in series.values() for x, _ in points})
    axes.set_xscale("symlog" if 0 in ticks else "log")
    axes.set_xticks(ticks, [short(tick) for tick in ticks])
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    log = spread(values)
    if log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, max(values) * 1.15)
    axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: short(value)))
    axes.set_xlabel(figure.across + ", logarithmic")
    axes.set_ylabel(figure.unit.replace("processor_us", "µs").replace("p50_us", "µs") + (", logarithmic" if log else ""))
    axes.grid(alpha=0.3)
    axes.margins(x=0.07)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    return canvas


def quantiles(figure, results_by_label):
    """From the median to the most, on one line for each measurement."""
    rows = {}
    for label, cells in results_by_label.items():
        name, _, quantile = label.rpartition(": ")
        rows.setdefault(name, {})[quantile] = cells[OURS]["value"]
    placed = [(place, name, OURS, values) for place, (name, values) in enumerate(rows.items())]
    canvas, axes = canvas_for(placed, [(place, name) for place, name, *_ in placed], [OURS], figure.unit, True, figure.goals, 0.75)
    marks = {"p50": "o", "mean": "D", "p95": "|", "p99": "|", "most": "s"}
    for place, _, _, values in placed:
        known = [(quantile, values[quantile]) for quantile in marks if quantile in values]
        axes.plot([values["p50"], values["most"]], [place, place], color=COLOURS[OURS], linewidth=3)
        for above, (quantile, value) in enumerate(sorted(known, key=lambda one: one[1])):
            axes.plot(value, place, marks[quantile], color=COLOURS[OURS], markersize=8, markeredgewidth=2)
            offset = (0, 9 if above % 2 == 0 else -17)
            axes.annotate(f"{quantile} {short(value)}", (value, place), offset, textcoords="offset points", ha="center", fontsize=8)
    ends = [value for *_, values in placed for value in values.values()] + [value for value, _ in figure.goals]
    axes.set_xlim(min(ends) / 1.6, max(ends) * 1.6)
    axes.set_ylim(len(placed) - 0.4, -0.6)
    return canvas


def stack(figure, results):
    """Parts of a whole, on one bar for each whole; other systems' numbers beside them."""
    wholes = {}
    for row in results:
        match = re.fullmatch(figure.names, row.get("name", ""))
        if match:
            wholes.setdefault(match[1], {})[match[2]] = row["value"]
        elif re.fullmatch(figure.beside, row.get("name", "")) and row["system"] != OURS:
            wholes[row["system"]] = {row["system"]: row["value"]}
    parts = list(dict.fromkeys(part for cells in wholes.values() for part in cells if part not in COLOURS))
    parts = [part for part in parts if sum(cells.get(part, 0) for cells in wholes.values()) > 0]
    if not parts:
        return None
    canvas, axes = pyplot.subplots(figsize=(11, 2.2 + 0.55 * len(wholes)), layout="constrained")
    shades = matplotlib.colormaps["tab10"]
    for place, (whole, cells) in enumerate(wholes.items()):
        start = 0
        for part, value in cells.items():
            if value > 0:
                shade = COLOURS.get(part) or shades(parts.index(part))
                axes.barh(place, value, left=start, color=shade, edgecolor="white", height=0.7)
                start += value
        axes.annotate(short(start), (start, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(wholes)), [{"PostgreSQL 15": "PostgreSQL 15: tables and indexes", "memcached": "memcached: the same results"}.get(whole, f"Dogwood {whole}") for whole in wholes])
    axes.invert_yaxis()
    axes.set_xlabel(figure.unit)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    handles = [pyplot.Line2D([], [], color=shades(place), linewidth=6, label=part) for place, part in enumerate(parts)]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, fontsize=8, frameon=False)
    return canvas


BARS = {
    "quantiles": quantiles,
    "latency": latency,
    "rate": bars(lambda cell: median(cell["rates"]) if "rates" in cell else None, "operations a second", "more is better; strokes: slices", lambda cell: cell["rates"]),
    "tail": bars(lambda cell: cell.get("p99_us"), "µs, p99", "less is better"),
    "processor": bars(lambda cell: cell.get("processor_us"), "µs", "less is better"),
    "number": bars(lambda cell: cell.get("value"), "", "less is better"),
}
LINES = {"line": line, "stack": stack}


def median(values):
    """Of the slices, as in the report."""
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))

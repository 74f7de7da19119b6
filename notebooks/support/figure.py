"""How figures look: small, quiet, with a title that says what is seen."""

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLOURS = ["#1b6ca8", "#d1495b", "#66a182", "#edae49", "#6f5d9e", "#5c5c5c", "#00798c", "#a0522d"]

plt.rcParams.update({
    "figure.figsize": (7.2, 3.6),
    "figure.dpi": 80,
    "figure.constrained_layout.use": True,
    "axes.prop_cycle": plt.cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "font.size": 9,
})


def axes(title, x, y, **options):
    """One pair of axes with a title and units."""
    _, made = plt.subplots(**options)
    made.set_title(title)
    made.set_xlabel(x)
    made.set_ylabel(y)
    return made


def plain_numbers(axis):
    """1,000 and 0.5 instead of powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))


def logarithmic(axis):
    """1, 2, 5, 10 as plain numbers, on an axis that is logarithmic already and has its data."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < low * 500 else (1,)))
    axis.set_minor_formatter(NullFormatter())
    plain_numbers(axis)

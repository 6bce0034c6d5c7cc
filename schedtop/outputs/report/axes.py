"""The frame of a plot: its size, its axis of time, its lines, and how it becomes SVG without colours of its own."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import matplotlib as mpl
import matplotlib.dates as dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from schedtop.base.units import format_count, format_short_ns
from schedtop.outputs.report.words import HOUR_NS, Data, moment

PALETTE = {
    "ink": "#010101",
    "faint": "#020202",
    "one": "#030303",
    "two": "#040404",
    "three": "#050505",
    "four": "#060606",
    "five": "#070707",
    "six": "#080808",
    "mark": "#090909",
}
"""CSS variables with the colour that stands for each until the plot is text."""

LINES = ("one", "two", "three", "four", "five", "six")
DASHES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))
"""A line is told by its dashes too, not by its colour alone."""

MOST_EVENTS = 100
"""More lines than these would hide the plot."""

MOST_MARKS = 40
"""Of more slow waits only the longest have a mark."""

WIDTH, HEIGHT = 8.0, 2.4
"""Inches of a plot; the page scales it."""

_RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a task may call itself `$x$`
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": PALETTE["faint"],
    "axes.labelcolor": PALETTE["ink"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": PALETTE["faint"],
    "grid.alpha": 0.35,
    "grid.linewidth": 0.6,
    "text.color": PALETTE["ink"],
    "xtick.color": PALETTE["ink"],
    "ytick.color": PALETTE["ink"],
    "legend.frameon": False,
    "lines.linewidth": 1.4,
}
_JUNK = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_NAMESPACES = re.compile(r' xmlns(?::\w+)?="[^"]*"')
_STYLE = re.compile(r"<style[^>]*>.*?</style>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot: what it is called, what it shows in words (for a user that cannot see it), and its SVG."""

    title: str
    words: str
    svg: str


def drawn(title: str, words: str, timed: Data | None, draw: Callable[[Axes], None]) -> Plot:
    """`timed`: the report, if time is the plot's horizontal axis."""
    with mpl.rc_context(_RC | {"svg.hashsalt": title}):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        if timed is not None:
            _time_axis(axes, timed)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=6, fontsize=8, handlelength=2.4)
        return Plot(title, words, _svg(figure, title))


def _svg(figure: Figure, title: str) -> str:
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # The page's reader has the font; here is only measured.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    for junk in (_JUNK, _NAMESPACES, _STYLE):
        text = junk.sub("", text)
    for name, colour in PALETTE.items():
        text = text.replace(colour, f"var(--{name})")
    # Two plots of one page must not share an id.
    prefix = "".join(char for char in title.lower() if char.isalnum())
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    return text[text.index("<svg") :].strip()


def add_line(axes: Axes, data: Data, values: Sequence[float | None], style: int, label: str) -> None:
    points = [float("nan") if value is None else value for value in values]
    times = [middle_of(data, row) for row in data["series"]]
    # A name that begins with `_` would be no label.
    axes.plot(times, points, color=PALETTE[LINES[style]], linestyle=DASHES[style], label="\u200b" + label)


def mark_events(axes: Axes, data: Data, name: str = "event") -> None:
    for place, event in enumerate(data["events"][:MOST_EVENTS]):
        label = name if not place else "_event"
        axes.axvline(time_at(data, event["offset_ns"]), color=PALETTE["mark"], linewidth=1, label=label)


def time_at(data: Data, offset_ns: int) -> float:
    """A time on the axis."""

    return float(dates.date2num(moment(data["start_time"]) + timedelta(microseconds=offset_ns // 1000)))  # type: ignore[no-untyped-call]


def middle_of(data: Data, row: Data) -> float:
    return time_at(data, row["offset_ns"] + row["interval_ns"] // 2)


def _time_axis(axes: Axes, data: Data) -> None:
    start = moment(data["start_time"]).astimezone()
    zone, span_ns = start.tzinfo, data["interval_ns"]
    pattern = "%m-%d %H:%M" if span_ns > 20 * HOUR_NS else "%H:%M" if span_ns > HOUR_NS else "%H:%M:%S"
    axes.xaxis.set_major_locator(dates.AutoDateLocator(tz=zone, minticks=3, maxticks=8))  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(dates.DateFormatter(pattern, tz=zone))  # type: ignore[no-untyped-call]
    axes.margins(x=0.01)


def scale_in_seconds(axes: Axes, which: str) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_short_ns(value * 1e9)))
    axis.set_minor_formatter(NullFormatter())


def scale_in_counts(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_count(round(value, 6))))
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0)


def scale_in_percent(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
    axes.set_ylim(bottom=0)

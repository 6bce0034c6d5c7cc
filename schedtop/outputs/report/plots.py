"""The plots of a report as inline SVG. Their colours are the page's CSS variables, so that they are dark when it is."""

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
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from schedtop.base.units import NS_PER_S, format_count, format_short_ns
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
_HEAT_RGB = (0.93, 0.42, 0.05)


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot: what it is called, what it shows in words (for a user that cannot see it), and its SVG."""

    title: str
    words: str
    svg: str


def plots(data: Data) -> list[Plot]:
    """The plots that a report has data for."""
    made: list[Plot] = []
    if len(data["series"]) > 1:
        made += [_latency(data)] if any(row["max_ns"] for row in data["series"]) else []
        made += [_switches(data)]
        made += [plot for plot in (_outside(data), _tasks(data)) if plot]
    histogram = _histogram(data)
    made += [histogram] if histogram else []
    heat = data["heat"] if len(data["series"]) > 1 else None
    if heat:
        involuntary = heat["involuntary_per_second"]
        made += (
            [_heat(data, "involuntary_per_second", "Involuntary switches by CPU", "a second")] if involuntary else []
        )
        made += [_heat(data, "busy_ratio", "Busy by CPU", "of the time")] if heat["busy_ratio"] else []
    return made


def _latency(data: Data) -> Plot:
    def draw(axes: Axes) -> None:
        for name, style, label in (("max_ns", 2, "longest"), ("p99_ns", 1, "p99"), ("p50_ns", 0, "p50")):
            # A log axis has no zero: nothing under a bucket's first edge is told apart anyway.
            values = [None if row[name] is None else max(64, row[name]) / 1e9 for row in data["series"]]
            _line(axes, data, values, style, label)
        axes.set_yscale("log")
        _seconds(axes, "y")
        slow = [(row, row["max_ns"]) for row in data["series"] if row["slow_waits"] and row["max_ns"]]
        slow = sorted(slow, key=lambda item: -item[1])[:MOST_MARKS]
        if slow:
            where = [_middle(data, row) for row, _ in slow]
            axes.plot(where, [ns / 1e9 for _, ns in slow], "v", color=PALETTE["mark"], markersize=4, label="slow waits")
        _events(axes, data)

    words = "Runqueue latency over time: p50, p99 and the longest wait; triangles mark the slowest waits, lines events"
    return _plot("Runqueue latency", words, data, draw)


def _switches(data: Data) -> Plot:
    def draw(axes: Axes) -> None:
        for name, style in (("switches", 0), ("involuntary_switches", 1)):
            rates = [_rate(row[name], row) for row in data["series"]]
            _line(axes, data, rates, style, name.replace("_", " "))
        _counts(axes)
        _events(axes, data)

    return _plot("Context switches a second", "Context switches a second, and those that were involuntary", data, draw)


def _outside(data: Data) -> Plot | None:
    series = data["series"]
    lines: list[tuple[str, list[float | None]]] = [
        ("pressure: some task waits", [_rate(row["pressure_ns"], row, 1 / NS_PER_S) for row in series]),
        ("steal", [row["steal_ratio"] for row in series]),
        ("throttled: CPUs' worth of time", [_rate(row["throttled_ns"], row, 1 / NS_PER_S) for row in series]),
    ]
    shown = [(label, values) for label, values in lines if any(values)]
    if not shown:
        return None

    def draw(axes: Axes) -> None:
        for style, (label, values) in enumerate(shown):
            _line(axes, data, values, style, label)
        _percent(axes)
        _events(axes, data)

    return _plot("Pressure, steal, quotas", "Shares of time over time: " + ", ".join(n for n, _ in shown), data, draw)


def _tasks(data: Data) -> Plot | None:
    tasks = [task for task in data["task_series"] if any(task["run_delay_ns"])]
    if not tasks:
        return None

    def draw(axes: Axes) -> None:
        for style, task in enumerate(tasks[: len(LINES)]):
            pairs = zip(task["run_delay_ns"], data["series"], strict=True)
            _line(
                axes, data, [_rate(ns, row, 1 / NS_PER_S) for ns, row in pairs], style, f"{task['comm']} {task['tid']}"
            )
        _percent(axes)
        _events(axes, data)

    return _plot(
        "Run delay of the tasks that waited most", "Share of time that each task waited, over time", data, draw
    )


def _histogram(data: Data) -> Plot | None:
    latency = data["runqueue_latency"]
    kinds = [(kind, latency[kind]) for kind in ("wakeup", "preemption") if latency[kind] and latency[kind]["count"]]
    if not kinds:
        return None

    def draw(axes: Axes) -> None:
        for style, (kind, histogram) in enumerate(kinds):
            buckets = histogram["buckets"]
            lows = [max(32, bucket["low_ns"]) / 1e9 for bucket in buckets]
            highs = [(bucket["high_ns"] or bucket["low_ns"] * 2) / 1e9 for bucket in buckets]
            widths = [high - low for low, high in zip(lows, highs, strict=True)]
            counts = [bucket["count"] for bucket in buckets]
            colour = PALETTE[LINES[style]]
            axes.bar(lows, counts, widths, align="edge", color=colour, alpha=0.55, label=f"{kind} waits",
                     hatch=("", "////")[style % 2], edgecolor=colour, linewidth=0.4)  # fmt: skip
        axes.set_xscale("log")
        _seconds(axes, "x")
        # One bucket may hold nearly all waits; the few long ones are what one looks for.
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
        _counts(axes)

    words = "How many waits were how long; both axes are logarithmic"
    return _plot("Runqueue latency, all waits", words, None, draw)


def _heat(data: Data, name: str, title: str, unit: str) -> Plot:
    heat = data["heat"]
    values = heat[name]
    highest = max((max(row) for row in values), default=0) or 1

    def draw(axes: Axes) -> None:
        left, right = _time(data, 0), _time(data, heat["offset_ns"][-1] + heat["interval_ns"][-1])
        # One hue and its opacity: it fits a dark page and a light one.
        cells = np.zeros((len(values), len(values[0]), 4))
        cells[..., :3] = _HEAT_RGB
        cells[..., 3] = np.array(values) / highest
        axes.imshow(cells, aspect="auto", interpolation="none", origin="lower",
                    extent=(left, right, -0.5, len(values) - 0.5))  # fmt: skip
        axes.grid(False)
        step = -(-len(values) // 8)
        axes.set_yticks(range(0, len(values), step))
        axes.set_yticklabels([_cpu_range(heat["cpus"][row]) for row in range(0, len(values), step)])
        _events(axes, data, "_event")

    most = f"{highest:.0%}" if name == "busy_ratio" else format_count(highest)
    words = f"A row for each CPU over time; the strongest colour is {most} {unit}"
    if len(values) < len(data["cpus"]):
        words += "; a row is several CPUs, and the highest of them counts"
    return _plot(title, words, data, draw)


def _plot(title: str, words: str, timed: Data | None, draw: Callable[[Axes], None]) -> Plot:
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


def _line(axes: Axes, data: Data, values: Sequence[float | None], style: int, label: str) -> None:
    points = [float("nan") if value is None else value for value in values]
    times = [_middle(data, row) for row in data["series"]]
    # A name that begins with `_` would be no label.
    axes.plot(times, points, color=PALETTE[LINES[style]], linestyle=DASHES[style], label="\u200b" + label)


def _events(axes: Axes, data: Data, name: str = "event") -> None:
    for place, event in enumerate(data["events"][:MOST_EVENTS]):
        label = name if not place else "_event"
        axes.axvline(_time(data, event["offset_ns"]), color=PALETTE["mark"], linewidth=1, label=label)


def _time(data: Data, offset_ns: int) -> float:
    """A time on the axis."""

    return float(dates.date2num(moment(data["start_time"]) + timedelta(microseconds=offset_ns // 1000)))  # type: ignore[no-untyped-call]


def _middle(data: Data, row: Data) -> float:
    return _time(data, row["offset_ns"] + row["interval_ns"] // 2)


def _time_axis(axes: Axes, data: Data) -> None:
    start = moment(data["start_time"]).astimezone()
    zone, span_ns = start.tzinfo, data["interval_ns"]
    pattern = "%m-%d %H:%M" if span_ns > 20 * HOUR_NS else "%H:%M" if span_ns > HOUR_NS else "%H:%M:%S"
    axes.xaxis.set_major_locator(dates.AutoDateLocator(tz=zone, minticks=3, maxticks=8))  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(dates.DateFormatter(pattern, tz=zone))  # type: ignore[no-untyped-call]
    axes.margins(x=0.01)


def _seconds(axes: Axes, which: str) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_short_ns(value * 1e9)))
    axis.set_minor_formatter(NullFormatter())


def _counts(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_count(round(value, 6))))
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0)


def _percent(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
    axes.set_ylim(bottom=0)


def _rate(count: Any, row: Data, scale: float = 1.0) -> float | None:
    return None if count is None else count * scale * NS_PER_S / row["interval_ns"]


def _cpu_range(cpus: Sequence[int]) -> str:
    first, last = cpus
    return f"CPU {first}" if first == last else f"{first}-{last}"

"""The plots of a report as inline SVG. Their colours are the page's CSS variables, so that they are dark when it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from schedtop.base.units import NS_PER_S, format_count
from schedtop.model.rows import WAIT_KINDS
from schedtop.outputs.report.axes import (
    LINES,
    MOST_MARKS,
    PALETTE,
    Plot,
    add_line,
    drawn,
    mark_events,
    middle_of,
    scale_in_counts,
    scale_in_percent,
    scale_in_seconds,
    time_at,
)
from schedtop.outputs.report.words import Data

_INTERRUPTS = {"device interrupts": "hardirq_ns", "softirqs": "softirq_ns", "vectors": "vector_ns"}

_HEAT_RGB = (0.93, 0.42, 0.05)


def plots(data: Data) -> list[Plot]:
    """The plots that a report has data for."""
    made: list[Plot] = []
    if len(data["series"]) > 1:
        made += [_latency(data)] if any(row["max_ns"] for row in data["series"]) else []
        made += [_switches(data)]
        made += [plot for plot in (_outside(data), _tasks(data), _interrupts(data)) if plot]
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
            add_line(axes, data, values, style, label)
        axes.set_yscale("log")
        scale_in_seconds(axes, "y")
        slow = [(row, row["max_ns"]) for row in data["series"] if row["slow_waits"] and row["max_ns"]]
        slow = sorted(slow, key=lambda item: -item[1])[:MOST_MARKS]
        if slow:
            where = [middle_of(data, row) for row, _ in slow]
            axes.plot(where, [ns / 1e9 for _, ns in slow], "v", color=PALETTE["mark"], markersize=4, label="slow waits")
        mark_events(axes, data)

    words = "Runqueue latency over time: p50, p99 and the longest wait; triangles mark the slowest waits, lines events"
    return drawn("Runqueue latency", words, data, draw)


def _switches(data: Data) -> Plot:
    def draw(axes: Axes) -> None:
        for name, style in (("switches", 0), ("involuntary_switches", 1)):
            rates = [_rate(row[name], row) for row in data["series"]]
            add_line(axes, data, rates, style, name.replace("_", " "))
        scale_in_counts(axes)
        mark_events(axes, data)

    return drawn("Context switches a second", "Context switches a second, and those that were involuntary", data, draw)


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
            add_line(axes, data, values, style, label)
        scale_in_percent(axes)
        mark_events(axes, data)

    return drawn("Pressure, steal, quotas", "Shares of time over time: " + ", ".join(n for n, _ in shown), data, draw)


def _tasks(data: Data) -> Plot | None:
    tasks = [task for task in data["task_series"] if any(task["run_delay_ns"])]
    if not tasks:
        return None

    def draw(axes: Axes) -> None:
        for style, task in enumerate(tasks[: len(LINES)]):
            pairs = zip(task["run_delay_ns"], data["series"], strict=True)
            add_line(
                axes, data, [_rate(ns, row, 1 / NS_PER_S) for ns, row in pairs], style, f"{task['comm']} {task['tid']}"
            )
        scale_in_percent(axes)
        mark_events(axes, data)

    return drawn(
        "Run delay of the tasks that waited most", "Share of time that each task waited, over time", data, draw
    )


def _interrupts(data: Data) -> Plot | None:
    lines = [(words, name) for words, name in _INTERRUPTS.items() if any(row.get(name) for row in data["series"])]
    if not lines:
        return None
    scale = 1 / NS_PER_S / max(1, len(data["interrupts"]["by_cpu"]) if data["interrupts"] else 1)

    def draw(axes: Axes) -> None:
        for style, (words, name) in enumerate(lines):
            add_line(axes, data, [_rate(row.get(name), row, scale) for row in data["series"]], style, words)
        scale_in_percent(axes)
        mark_events(axes, data)

    words = "Share of the CPUs' time that interrupts took, over time: " + ", ".join(words for words, _ in lines)
    return drawn("Interrupts", words, data, draw)


def _histogram(data: Data) -> Plot | None:
    latency = data["runqueue_latency"]
    kinds = [(kind, known) for kind in WAIT_KINDS if (known := latency.get(kind)) and known["count"]]
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
        scale_in_seconds(axes, "x")
        # One bucket may hold nearly all waits; the few long ones are what one looks for.
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
        scale_in_counts(axes)

    words = "How many waits were how long; both axes are logarithmic"
    return drawn("Runqueue latency, all waits", words, None, draw)


def _heat(data: Data, name: str, title: str, unit: str) -> Plot:
    heat = data["heat"]
    values = heat[name]
    highest = max((max(row) for row in values), default=0) or 1

    def draw(axes: Axes) -> None:
        left, right = time_at(data, 0), time_at(data, heat["offset_ns"][-1] + heat["interval_ns"][-1])
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
        mark_events(axes, data, "_event")

    most = f"{highest:.0%}" if name == "busy_ratio" else format_count(highest)
    words = f"A row for each CPU over time; the strongest colour is {most} {unit}"
    if len(values) < len(data["cpus"]):
        words += "; a row is several CPUs, and the highest of them counts"
    return drawn(title, words, data, draw)


def _rate(count: Any, row: Data, scale: float = 1.0) -> float | None:
    return None if count is None else count * scale * NS_PER_S / row["interval_ns"]


def _cpu_range(cpus: Sequence[int]) -> str:
    first, last = cpus
    return f"CPU {first}" if first == last else f"{first}-{last}"

"""Steal: the time that the hypervisor gave to others while this machine's CPUs had work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from schedtop.history import View
from schedtop.model import Frame
from schedtop.panes.levels import ALARM_RATIO, NOTICE_RATIO, steal_level
from schedtop.panes.pane import Pane
from schedtop.panes.percent import percent
from schedtop.units import NS_PER_S, format_ratio
from schedtop.widgets.plot import ACROSS, area
from schedtop.widgets.strips import Span, Spans, fit, spans_width, wrapped

MARGIN = 6
SPAN_NS = 300 * NS_PER_S
VALUE_WIDTH = 5
LEAST_PLOT_HEIGHT = 4
PLOT_HEIGHT = 5


class StealPane(Pane):
    """The steal ratio in total over time, and of each CPU now."""

    NUMBER = 3
    TITLE = "Steal"
    PARTS = ("steal",)
    READING = (
        "The share of time in which a CPU of this virtual machine had work, but the hypervisor ran somebody else. "
        "Nothing inside this machine can mend it: fewer tasks, or a host with less on it. Marked `!` high from 5 % "
        "and `!!` very high from 10 %. The plot is of all CPUs over five minutes; the key m in the CPUs shows that of "
        "each. PSI some is the share of time in which at least one task waited for a CPU."
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._key: object = None
        self._plot: list[Spans] = []

    def view_lines(self, view: View) -> Sequence[Spans]:
        width, height = self.inner
        ids = view.cpu_ids
        lines = self._now(view)
        if view.host.virtualised is False:
            text = "not virtualised: no hypervisor shares these CPUs, so that steal is always zero here"
            return [*lines, *([(line, "dim")] for line in wrapped(text, width))]
        cells = self._cells(view, ids, width)
        room = height - len(lines)
        plot_height = room - min(len(cells), max(1, room - max(PLOT_HEIGHT, room // 2)))
        if plot_height >= LEAST_PLOT_HEIGHT:
            lines.extend(self._plot_lines(view, width, plot_height))
        shown = height - len(lines)
        self.total_rows = len(cells)
        self.top = max(0, min(self.top, len(cells) - shown))
        lines.extend(cells[self.top : self.top + shown])
        hidden = len(cells) - shown
        self.set_title("", f"{len(ids)} CPUs, worst first" if hidden > 0 or len(ids) > 8 else "")
        return lines

    def _now(self, view: View) -> list[Spans]:
        """The ratio of the window and the pressure, in one line or two."""
        ratio = view.frame.ratio("steal_ns")
        level = steal_level(ratio)
        spans: list[Span] = [("total ", "dim"), (format_ratio(ratio), level.style if level.sign else "steal")]
        if level.sign:
            marks = (f" {level.sign} {level.word}", f" {level.sign}")
            room = self.inner.width - spans_width(spans)
            spans.append((next((mark for mark in marks if len(mark) <= room), ""), level.style))
        pressure = pressure_text(view.frame)
        if not pressure:
            return [spans]
        if spans_width(spans) + len(pressure) + 3 <= self.inner.width:
            return [[*spans, ("   " + pressure, "text")]]
        return [spans, [(pressure, "text")]]

    def _cells(self, view: View, ids: Sequence[int], width: int) -> list[Spans]:
        """`cpu ratio` of each CPU, several a line; the worst first where they are many."""
        ratios = [(cpu, view.frame.ratio("steal_ns", cpu)) for cpu in ids]
        if len(ratios) > 8:
            ratios.sort(key=lambda pair: -(pair[1] or 0.0))
        label = len(f"cpu{max(ids, default=0)} ")
        across = max(1, (width + 1) // (label + VALUE_WIDTH + 1))
        lines: list[Spans] = []
        for start in range(0, len(ratios), across):
            line: list[Span] = []
            for cpu, ratio in ratios[start : start + across]:
                level = steal_level(ratio)
                line.append((fit(f"cpu{cpu}", label), "dim"))
                line.append((fit(f"{_short(ratio)}{level.sign}", VALUE_WIDTH, right=True), level.style))
                line.append((" ", "text"))
            lines.append(line)
        return lines

    def _plot_lines(self, view: View, width: int, height: int) -> list[Spans]:
        key = (view.frame.end_ns, len(view.series), width, height)
        if key != self._key:
            self._key = key
            self._plot = plot_lines(view.series, width, height)
        return self._plot


def pressure_text(frame: Frame) -> str:
    """PSI's `some` share of the interval in words, empty where the kernel has none."""
    if frame.pressure is None or not frame.interval_ns:
        return ""
    return f"PSI some {format_ratio(frame.pressure.some_ns / frame.interval_ns)}"


def _short(ratio: float | None) -> str:
    """Percent in three characters, so that a cell has room for its sign."""
    return f"{ratio * 100:.0f}" if ratio is not None and ratio >= 0.0995 else percent(ratio)


def plot_lines(frames: Sequence[Frame], width: int, height: int) -> list[Spans]:
    """The total steal ratio of the last five minutes: plot, axis and its labels in `height` lines."""
    columns = width - MARGIN
    if columns < 10:
        return []
    ratios = over_time(frames, columns * ACROSS)
    known = ratios[~np.isnan(ratios)]
    top = _scale(float(known.max()) if len(known) else 0.0)
    rows = height - 1
    drawn = area(np.nan_to_num(ratios / top).tolist(), columns, rows)
    labels = [" " * MARGIN] * rows
    for ratio in (0.0, NOTICE_RATIO, ALARM_RATIO, top):
        row = rows - 1 - min(rows - 1, int(ratio / top * rows))
        if labels[row].isspace() or ratio == top:
            labels[row] = f"{ratio * 100:>3.0f}% ┤"
    lines: list[Spans] = [[(label, "head"), (line, "steal")] for label, line in zip(labels, drawn, strict=True)]
    left, right = "-5 min", "now"
    lines.append([(" " * MARGIN + left + " " * (max(1, columns - len(left) - len(right))) + right, "head")])
    return lines


def over_time(frames: Sequence[Frame], places: int) -> npt.NDArray[np.float64]:
    """The total steal ratio of the last five minutes in `places` equal parts, the largest of each, NaN without data."""
    ratios = np.full(places, np.nan)
    if not frames:
        return ratios
    end = frames[-1].end_ns
    for frame in reversed(frames):
        age = end - frame.end_ns
        if age >= SPAN_NS:
            break
        ratio = frame.ratio("steal_ns")
        if ratio is None:
            continue
        last = places - 1 - int(age / SPAN_NS * places)
        first = places - 1 - min(places - 1, int((age + frame.interval_ns) / SPAN_NS * places - 1e-9))
        ratios[first : last + 1] = np.fmax(ratios[first : last + 1], ratio)
    return ratios


def _scale(most: float) -> float:
    """The top of the axis: so large that the 10 % line is always on it, and steady."""
    return next((top for top in (0.12, 0.25, 0.5) if most <= top), 1.0)

"""Steal, quota, pressure: who else takes the CPUs' time, beside what waits cost, over the same five minutes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from textual.geometry import Size

from schedtop.groups import group_name
from schedtop.history import View
from schedtop.panes.capacity import (
    QUOTA,
    SERIES,
    SPAN_NS,
    STEAL,
    Past,
    Series,
    Values,
    axis_text,
    top_of,
    worst_throttled,
)
from schedtop.panes.levels import NORMAL, Level, steal_level
from schedtop.panes.pane import Pane
from schedtop.panes.percent import percent
from schedtop.panes.quota_rows import quota_lines
from schedtop.widgets.bars import bars, tall_bars
from schedtop.widgets.prose import paragraph
from schedtop.widgets.strips import Span, Spans, fit, spans_width, steady

LABEL, VALUE, MARK, WORDED_MARK = 6, 6, 3, 13
WIDE = 50
MARGIN = 7
CELL_VALUE = 5
LEAST_PLOT, MOST_PLOT = 3, 9
LEAST_BELOW = 5
"""Lines left for the table and the CPUs below the plots."""


class StealPane(Pane):
    """Steal, throttling by quota, pressure and the latency's p99: now, and over five minutes."""

    TITLE = "Steal, quota, pressure"
    SHORT = "Steal"
    LEAST = Size(40, 7)
    READING = (
        "Four things over the same five minutes, the newest at the right. steal: the share of time in which a CPU of "
        "this virtual machine had work, but the hypervisor ran somebody else; nothing inside this machine can mend "
        "it. Marked `!` high from 5 % and `!!` very high from 10 %. quota: the share of periods in which the worst "
        "cgroup had used up its CPU quota (throttled), even if CPUs were idle. PSI: the share of time in which at "
        "least one task waited for a CPU. p99: one wait in a hundred was longer. Where p99 rises together with one "
        "of the others, that is its likely cause. cpu0 5.2: steal of each CPU in percent."
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.marks: tuple[int, ...] = ()
        """Moments (`end_ns`) to be marked on the axis: when triggers fired."""
        self._past = Past()
        self._key: object = None
        self._plots: list[Spans] = []

    def view_glance(self, view: View) -> Spans:
        ratio = view.frame.ratio("steal_ns")
        level = steal_level(ratio)
        return [(f"{percent(ratio)} % {level.sign}", level.style if level.sign else "steal")]

    def view_lines(self, view: View) -> Sequence[Spans]:
        width, height = self.inner
        below = self._below(view, width)
        notes = self._notes(view, width)
        each = min(MOST_PLOT, (height - len(notes) - 1 - min(len(below), LEAST_BELOW)) // len(SERIES))
        if each >= LEAST_PLOT:
            lines = [*self._plot_lines(view, width, each), *notes]
        else:
            lines = [*self._short_lines(view, width), *_worst_line(view, width), *notes]
        shown = max(0, height - len(lines))
        self.total_rows = len(below)
        self.top = max(0, min(self.top, len(below) - shown))
        hidden = len(below) > shown
        self.set_title("", "↓ more" if hidden and self.top + shown < len(below) else "")
        return [*lines, *below[self.top : self.top + shown]]

    def _short_lines(self, view: View, width: int) -> list[Spans]:
        """A line for each series: name, value now, and the past as bars."""
        mark = WORDED_MARK if width >= WIDE else MARK
        room = width - LABEL - VALUE - mark
        table = self._past.table(view.series, max(room, 1))
        lines: list[Spans] = []
        for series, values in zip(SERIES, table, strict=True):
            line = self._now(view, series, mark)
            if room > 0:
                line.append((bars(values / top_of(series, values)), series.style))
            lines.append(line)
        if room >= 12:
            lines.append([(" " * (width - room), "head"), *time_axis(view.series[-1].end_ns, self.marks, room)])
        return lines

    def _now(self, view: View, series: Series, mark: int) -> list[Span]:
        """Name, value and mark, the latter in as many cells as it gets."""
        value = series.value(view.frame)
        level = _level(series, value)
        sign = f" {level.sign} {level.word}" if mark > MARK else f" {level.sign}"
        style = level.style if level.sign else series.style
        return [
            (fit(series.word, LABEL), "dim"),
            (fit(series.format(value), VALUE, right=True), style),
            (fit(sign.rstrip(), mark), level.style if level.sign else "text"),
        ]

    def _plot_lines(self, view: View, width: int, each: int) -> list[Spans]:
        """A plot for each series under its value, all on one axis of time."""
        key = (view.frame.end_ns, len(view.series), width, each, self.marks)
        if key == self._key:
            return self._plots
        self._key = key
        columns = width - MARGIN
        lines: list[Spans] = []
        for series, values in zip(SERIES, self._past.table(view.series, max(1, columns)), strict=True):
            marked = _level(series, series.value(view.frame)).sign
            line = self._now(view, series, WORDED_MARK if marked else MARK)
            words = _words(view, series)
            room = width - spans_width(line)
            lines.append([*line, (words if len(words) <= room else "", "dim")])
            lines.extend(plot_lines(series, values, each - 1))
        lines.append([(" " * MARGIN, "head"), *time_axis(view.series[-1].end_ns, self.marks, columns)])
        self._plots = lines
        return lines

    def _notes(self, view: View, width: int) -> list[Spans]:
        """What there is to say of steal."""
        notes: list[Spans] = []
        why = view.frame.unavailable.get("steal")
        if why:
            notes.extend(paragraph(f"steal is not available: {why}", width, "dim"))
        elif view.host.virtualised is False:
            notes.extend(paragraph("not virtualised: steal is always zero here", width, "dim"))
        return notes

    def _below(self, view: View, width: int) -> list[Spans]:
        """What scrolls: the groups with a quota where there is room for a table, and the steal of each CPU."""
        lines: list[Spans] = []
        if width >= WIDE and len(view.frame.throttling):
            lines.extend([[], *quota_lines(view.frame.throttling, view.frame.cgroups, width)])
        if view.host.virtualised is not False and "steal" not in view.frame.unavailable:
            lines.extend([*([[]] if lines else []), *_cells(view, view.cpu_ids, width)])
        return lines


def _level(series: Series, value: float | None) -> Level:
    return steal_level(value) if series is STEAL else NORMAL


def time_axis(end_ns: int, marks: Sequence[int], columns: int) -> list[Span]:
    """Five minutes that end at `end_ns` in `columns` cells, with a T at each mark and its ends named elsewhere."""
    ages = [end_ns - mark for mark in marks]
    places = {columns - 1 - age * columns // SPAN_NS for age in ages if 0 <= age < SPAN_NS}
    begin = "-5 min" if not places & {*range(6)} else " " * 6
    end = "now" if not places & {*range(columns - 3, columns)} else ""
    cells = [*begin, *end.rjust(columns - 6)]
    for place in places:
        cells[place] = "T"
    parts = [(cell, "alarm" if cell == "T" else "head") for cell in cells]
    return [("".join(cell for cell, _ in group), style) for style, group in groupby(parts, lambda part: part[1])]


def _words(view: View, series: Series) -> str:
    """What a series is, beside its value."""
    words = {
        "steal": "of the CPUs' time went to other guests",
        "PSI": "of the time some task waited for a CPU",
        "p99": "one wait in a hundred was longer",
    }
    if series is QUOTA:
        name = _worst_name(view)
        words["quota"] = f"of its periods {name} was throttled" if name else "no cgroup was throttled"
    return words[series.word]


def _worst_name(view: View) -> str:
    """The group that the quota's share is of, empty if none was throttled."""
    worst = worst_throttled(view.frame.throttling)
    if not worst or not worst[1]:
        return ""
    named = view.frame.throttling[view.frame.throttling["cgroup_id"] == worst[0]]
    return steady(group_name(named, "cgroup", view.frame.cgroups)[0])


def _worst_line(view: View, width: int) -> list[Spans]:
    name = _worst_name(view)
    return [[("quota of ", "dim"), (fit(name, max(0, width - 9)), "text")]] if name else []


def _cells(view: View, ids: Sequence[int], width: int) -> list[Spans]:
    """`cpu ratio` of each CPU, several a line; the worst first where they are many."""
    ratios = [(cpu, view.frame.ratio("steal_ns", cpu)) for cpu in ids]
    if len(ratios) > 8:
        ratios.sort(key=lambda pair: -(pair[1] or 0.0))
    label = len(f"cpu{max(ids, default=0)} ")
    across = max(1, (width + 1) // (label + CELL_VALUE + 1))
    lines: list[Spans] = []
    for start in range(0, len(ratios), across):
        line: list[Span] = []
        for cpu, ratio in ratios[start : start + across]:
            level = steal_level(ratio)
            line.append((fit(f"cpu{cpu}", label), "dim"))
            line.append((fit(f"{_short(ratio)}{level.sign}", CELL_VALUE, right=True), level.style))
            line.append((" ", "text"))
        lines.append(line)
    return lines


def _short(ratio: float | None) -> str:
    """Percent in three characters, so that a cell has room for its sign."""
    return f"{ratio * 100:.0f}" if ratio is not None and ratio >= 0.0995 else percent(ratio)


def plot_lines(series: Series, values: Values, rows: int) -> list[Spans]:
    """A series as an area in `rows` lines, a column a value, with labels of its axis in the margin."""
    if len(values) < 10 or rows <= 0:
        return []
    top = top_of(series, values)
    drawn = tall_bars(values / top, rows)
    labels = [" " * MARGIN] * rows
    for value in (0.0, *series.marks, top):
        row = rows - 1 - min(rows - 1, int(value / top * rows))
        if labels[row].isspace() or value == top:
            labels[row] = f"{axis_text(series, value):>{MARGIN - 2}} ┤"
    return [[(label, "head"), (line, series.style)] for label, line in zip(labels, drawn, strict=True)]

"""Steal, quota, pressure: what else takes the CPUs' time, beside what waits cost, over the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from textual.geometry import Size

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View
from schedtop.model.groups import group_name
from schedtop.model.rows import rows_where
from schedtop.panes.levels import NORMAL, NOTICE, Level, cell_style, pressure_level, quota_level, steal_level
from schedtop.panes.pane import Pane
from schedtop.panes.percent import percent
from schedtop.panes.scheduler.steal.capacity import (
    P99,
    PRESSURE,
    QUOTA,
    SERIES,
    SPAN_NS,
    STEAL,
    Past,
    Series,
    Values,
    axis_text,
    span_of,
    top_of,
    worst_throttled,
)
from schedtop.panes.scheduler.steal.quotas import COLUMNS, quota_lines
from schedtop.widgets.bars import bars, tall_bars
from schedtop.widgets.prose import paragraph
from schedtop.widgets.strips import Span, Spans, fit, spans_width, steady

LABEL, VALUE, MARK, WORDED_MARK = 6, 6, 3, 13
WIDE = 50
MARGIN = 8
CELL_VALUE = 5
LEAST_PLOT, MOST_PLOT = 2, 9
LEAST_BELOW = 5
"""Lines left for the table and the CPUs below the plots."""
LEAST_TABLE = 2
CELLS_HEAD = "steal % of each CPU"


class StealPane(Pane[View]):
    """Steal, throttling by quota, pressure and the latency's p99: now, and over the last minute or five."""

    TITLE = "Steal, quota, pressure"
    SHORT = "Steal"
    LEAST = Size(40, 7)
    COLUMN_HELP = (("Columns, of cgroups", COLUMNS),)
    READING = (
        "Four things over the same time, a minute at first and then five, the newest at the right. steal: the "
        "share of time in which a CPU of this virtual machine had work, but the hypervisor ran another guest. "
        "Marked `!` high from 5 % and `!!` very high from 10 %. quota: the share of periods in which the worst "
        "cgroup had used up its CPU quota (throttled), even if CPUs were idle; marked from 10 %. PSI: the share "
        "of time in which at least one task waited for a CPU; marked from 20 %. p99: one wait in a hundred was "
        "longer; marked from the threshold on. CPU 0 5.2: steal of each CPU in percent, if any has some."
    )
    SIGNS = (
        (
            "p99 rises with steal",
            "the hypervisor; nothing inside this machine can mend it",
            "ask for a host that is less full, or for CPUs of your own",
        ),
        (
            "p99 rises with quota",
            "a limit, even if CPUs are idle",
            "raise cpu.max of the cgroup that is named, give it a longer period, or run fewer threads in it",
        ),
        ("p99 rises with PSI alone", "more work than CPUs", "run less, or add CPUs"),
        ("PSI high, p99 low", "batch work fills the CPUs", "nothing, if it is meant"),
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.marks: tuple[int, ...] = ()
        """Moments (`end_ns`) to be marked on the axis: when triggers fired."""
        self._past = Past()
        self._key: object = None
        self._plots: list[Spans] = []

    @property
    def strip_name(self) -> str:
        return _GLANCED.get(self._worst.word, self.SHORT)

    @property
    def _worst(self) -> Series:
        """The first of the series that is high, else steal."""
        if self.view is None or self.is_calm:
            return STEAL
        cpus, frame = _cpus(self.view), self.view.frame
        return next(
            (each for each in SERIES if each is not P99 and LEVELS[each.word](each.value(frame, cpus)).sign), STEAL
        )

    def view_glance(self, view: View) -> Spans:
        series = self._worst
        ratio = series.value(view.frame, _cpus(view))
        level = self._level(series, ratio, view)
        return [(f"{percent(ratio)} % {level.sign}".rstrip(), level.style if level.sign else "steal")]

    def view_lines(self, view: View) -> Sequence[Spans]:
        width, height = self.inner
        below = self._below(view, width)
        cells = _Cells.of(view, width)
        count = len(below) + (cells.rows + 1 if cells.rows else 0)
        notes = self._notes(view, width)
        each = min(MOST_PLOT, (height - len(notes) - 1 - min(count, LEAST_BELOW)) // len(SERIES))
        if each >= LEAST_PLOT:
            lines = [*self._plot_lines(view, width, each), *notes]
        else:
            lines = [*self._short_lines(view, width), *_worst_line(view, width), *notes]
        shown = max(0, height - len(lines))
        if below and shown < count:
            # No room for an empty line, nor for a header without a row: a line above names the worst.
            kept = below[1:] if shown >= LEAST_TABLE else []
            below, count = kept, count - len(below) + len(kept)
        self.total_rows = count
        self.top = max(0, min(self.top, count - shown))
        more = self.top + shown < count
        self.set_title(_scope(view), "↓ more" if more else "")
        if cells.rows:
            below = [*below, [(CELLS_HEAD, "head")], *cells.lines(self.top + shown - len(below))]
        return [*lines, *below[self.top : self.top + shown]]

    def _short_lines(self, view: View, width: int) -> list[Spans]:
        """A line for each series: name, value now, and the past as bars."""
        mark = WORDED_MARK if width >= WIDE else MARK
        room = width - LABEL - VALUE - mark
        lines: list[Spans] = []
        for series, values in zip(SERIES, self._table(view, room), strict=True):
            line = self._now(view, series, mark)
            if room > 0:
                line.append((bars(values / top_of(series, values)), series.style))
            lines.append(line)
        if room >= 12:
            lines.append([(" " * (width - room), "head"), *_axis_of(view, self.marks, room)])
        return lines

    def _table(self, view: View, columns: int) -> Values:
        return self._past.table(view.series, max(1, columns), _cpus(view), span_of(view.series))

    def _now(self, view: View, series: Series, mark: int) -> list[Span]:
        """Name, value and mark, the latter in as many cells as it gets."""
        value = series.value(view.frame, _cpus(view))
        level = self._level(series, value, view)
        sign = f" {level.sign} {level.word}" if mark > MARK else f" {level.sign}"
        style = level.style if level.sign else series.style if value else "dim"
        return [
            (fit(series.word, LABEL), "dim"),
            (fit(series.format(value), VALUE, right=True), style),
            (fit(sign.rstrip(), mark), level.style if level.sign else "text"),
        ]

    def _level(self, series: Series, value: float | None, view: View) -> Level:
        """How bad a value is; that all is in order in spite of it, the verdict knows better."""
        if self.is_calm:
            return NORMAL
        if series is P99:
            return NOTICE if value is not None and value >= view.frame.threshold_ns else NORMAL
        return LEVELS[series.word](value)

    def _plot_lines(self, view: View, width: int, each: int) -> list[Spans]:
        """A plot for each series under its value, all on one axis of time."""
        key = (view.frame.end_ns, len(view.series), width, each, self.marks, _cpus(view), self.is_calm)
        if key == self._key:
            return self._plots
        self._key = key
        columns = width - MARGIN
        lines: list[Spans] = []
        for series, values in zip(SERIES, self._table(view, columns), strict=True):
            marked = self._level(series, series.value(view.frame, _cpus(view)), view).sign
            line = self._now(view, series, WORDED_MARK if marked else MARK)
            words = _words(view, series)
            room = width - spans_width(line)
            lines.append([*line, (words if len(words) <= room else "", "dim")])
            lines.extend(plot_lines(series, values, each - 1))
        lines.append([(" " * MARGIN, "head"), *_axis_of(view, self.marks, columns)])
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
        """What scrolls above the steal of each CPU: the groups with a quota, where there is room for a table."""
        groups = view.frame.throttling
        groups = rows_where(groups, (groups["periods"] > 0) | (groups["pressure_ns"] > 0))
        if width >= WIDE and len(groups):
            return [[], *quota_lines(groups, view.frame.cgroups, width)]
        return []


_GLANCED = {QUOTA.word: "Quota", PRESSURE.word: "PSI"}
"""What the cell of the strip is called where it is not about steal."""

LEVELS = {STEAL.word: steal_level, QUOTA.word: quota_level, PRESSURE.word: pressure_level}


def _axis_of(view: View, marks: Sequence[int], columns: int) -> list[Span]:
    return time_axis(view.series[-1].end_ns, marks, columns, span_of(view.series))


def time_axis(end_ns: int, marks: Sequence[int], columns: int, span_ns: int = SPAN_NS) -> list[Span]:
    """`span_ns` that end at `end_ns` in `columns` cells, with a T at each mark and its ends named elsewhere."""
    ages = [end_ns - mark for mark in marks]
    places = {columns - 1 - age * columns // span_ns for age in ages if 0 <= age < span_ns}
    begin = f"-{span_ns // (60 * NS_PER_S)} min" if not places & {*range(6)} else " " * 6
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


@dataclass(frozen=True, slots=True)
class _Cells:
    """`CPU 3 5.1` of each CPU: its steal in percent, several a line; the worst first where they are many."""

    ids: Sequence[int]
    ratios: Sequence[float]
    width: int

    @classmethod
    def of(cls, view: View, width: int) -> _Cells:
        """Of the CPUs shown; none where steal is not known, or cannot be."""
        ids = np.asarray(view.cpu_ids, int)
        if view.host.virtualised is False or "steal" in view.frame.unavailable or not len(ids):
            return cls((), (), width)
        whole = view.frame.cpus.column("accounted_ns")[ids]
        if not view.frame.cpus.column("steal_ns")[ids].any():
            # Zero of each says no more than zero of all.
            return cls((), (), width)
        ratios = np.where(whole > 0, view.frame.cpus.column("steal_ns")[ids] / np.maximum(whole, 1), np.nan)
        if len(ids) > 8:
            order = np.lexsort((ids, -np.nan_to_num(ratios)))
            ids, ratios = ids[order], ratios[order]
        return cls(ids.tolist(), ratios.tolist(), width)

    @property
    def label(self) -> int:
        """The cells of a name."""
        return len(f"CPU {max(self.ids, default=0)} ")

    @property
    def across(self) -> int:
        """How many in a line."""
        return max(1, (self.width + 1) // (self.label + CELL_VALUE + 1))

    @property
    def rows(self) -> int:
        """How many lines."""
        return -(-len(self.ids) // self.across)

    def lines(self, most: int) -> list[Spans]:
        """The first lines: of a thousand CPUs few are seen."""
        lines: list[Spans] = []
        for start in range(0, min(len(self.ids), max(0, most) * self.across), self.across):
            line: list[Span] = []
            stop = start + self.across
            for cpu, value in zip(self.ids[start:stop], self.ratios[start:stop], strict=True):
                ratio = None if value != value else value
                level = steal_level(ratio)
                line.append((fit(f"CPU {cpu}", self.label), "dim"))
                share = fit(f"{_short(ratio)}{level.sign}", CELL_VALUE, right=True)
                line.append((share, cell_style(level) or level.style))
                line.append((" ", "text"))
            lines.append(line)
        return lines


def _cpus(view: View) -> tuple[int, ...] | None:
    """The CPUs that alone are shown, `None`: all."""
    return view.settings.shown_filter.cpus or None


def _scope(view: View) -> str:
    """Of which CPUs steal and p99 are; quotas and pressure are known of all together."""
    return f"{view.cpus_words} · quota, PSI: all" if view.cpus_words else ""


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

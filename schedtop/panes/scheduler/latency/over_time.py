"""Latency over time: a heat map of every wait for a CPU, with the lines of two percentiles over it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from textual.binding import BindingType
from textual.geometry import Size

from schedtop.base.histogram import Histogram
from schedtop.base.units import (
    NS_PER_S,
    format_brief_ns,
    format_clock,
    format_count,
    format_counted,
    format_ns,
    format_round_ns,
)
from schedtop.history.view import View
from schedtop.model.frame import Frame
from schedtop.panes.levels import THROTTLED_MARK, wait_style
from schedtop.panes.pane import TITLE_FRAME, Pane
from schedtop.panes.scheduler.latency.heat_map import (
    Columns,
    HeatMap,
    LogScale,
    factor_for,
    heat_map,
    log_scale,
    shade_limits,
    shades,
)
from schedtop.panes.scheduler.latency.pane import scope
from schedtop.panes.scheduler.latency.throttled import ColumnWaits, ThrottledWaits, throttled_glance, throttled_words
from schedtop.panes.time_columns import Placed, TimeColumns, is_moment, with_cursor
from schedtop.widgets.bars import bars
from schedtop.widgets.canvas import has_shades, surface_of
from schedtop.widgets.glyphs import SHADE_LEVELS, SHADES, shades_of, styled
from schedtop.widgets.parts import keys_of, made_of
from schedtop.widgets.strips import Span, Spans, spans_width, whole_parts

MARGIN = 7

COARSE = 2
"""Rows of a power of ten; with no more, a label is far below what stands beside it."""

PERCENTILES = (("━", "p50", 0.5), ("═", "p99", 0.99))
"""Their marks are different without any colour; the later one is drawn over the earlier one."""

BOTH = "≡"
"""Where the lines of two percentiles are in one cell."""

THRESHOLD_LINE, THRESHOLD_MARK = "▁", "▶"
GAP_MARK = "?"

STYLES = (
    *("strong", "dim", "throttled"),
    *shades_of("heat"),
    *shades_of("slow"),
    *(f"heat-{level}" for level in range(1, SHADE_LEVELS + 1)),
    *(f"slow-{level}" for level in range(1, SHADE_LEVELS + 1)),
)
STRONG, DIM, THROTTLED, HEAT = range(4)
SLOW = HEAT + 1 + SHADE_LEVELS
"""A cell without waits; the shade is added to it and to HEAT."""

ON_HEAT = SLOW + SHADE_LEVELS
ON_SLOW = ON_HEAT + SHADE_LEVELS
"""A line over a cell has the ground of its shade, so that both are seen: the shade is added to these."""

READOUT_LEAST = 6
"""With fewer lines the numbers of the newest column give way to the map."""

EMPTY_WORDS_LEAST = 26

GLANCE_CELLS = 5
GLANCE_DECADES = (3.0, 9.0)
"""The bars of the glance: from 1 µs to 1 s."""

SEPARATOR: Span = ("  ", "text")

MADE_OF = {"time": TimeColumns}


@made_of(MADE_OF)
class OverTimePane(Pane[View]):
    """A heat map of the runqueue latency: time to the right, length upwards, more waits darker."""

    TITLE = "Latency over time"
    SHORT = "Over time"
    LEAST = Size(40, 8)
    PARTS = ("latency",)
    READING = (
        "Every wait for a CPU of the last minutes: time to the right, longer waits higher up (logarithmic), "
        "the more waits in a cell the stronger its colour (with few colours the denser it is); below the frame "
        "stands how many. ━ is the median (p50), ═ the 99th percentile, ≡ both, over the shade of their cell. ▶ and "
        "the line are the threshold of slow waits, at which a row begins; all above it has another colour. "
        "◆ are waits for a quota, or of a real-time task for its limit: they are not in the histogram, nor in "
        "max. Click on a column, or Space and then ← →: all panes show that interval, and ▲ marks it (├─▲ the "
        "window of w). x shows more time in each column. Old intervals that were put together to save room are "
        "as wide as they were long, and their waits are spread over them."
    )
    SIGNS = (
        ("one dense band low down", "all is well", "nothing"),
        (
            "two bands",
            "some tasks run at once, others wait for whole time slices",
            "Tasks (s): which; Blame: behind what",
        ),
        ("═ climbs, ━ stays", "the CPUs are short of time now and then", "Space and ← → to such a moment, then Blame"),
        ("both climb", "there is always more work than CPUs", "run less, or add CPUs"),
        ("single dots far above", "a quota, a pinned task, or the hypervisor", "the cause in Slow waits"),
        ("a pattern every few seconds", "a timer, or the period of a quota", "x, and compare with cron and cpu.max"),
        ("◆", "a quota keeps a task waiting", "raise cpu.max of its cgroup"),
        ("✓ below", "a proposed command is in place from here on; ×: undone", "compare what is left and right of it"),
    )

    BINDINGS: ClassVar[list[BindingType]] = keys_of(MADE_OF)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.time = TimeColumns(self, widens=True)
        self._throttled = ThrottledWaits()
        self._scale: LogScale | None = None
        self._factor = 0
        self._counted: tuple[object, Sequence[tuple[int, int, Frame]], Columns] | None = None

    def show(self, view: View) -> None:
        if self.hidden:
            # What is not seen must not keep Frames that the history has given up.
            self.forget()
        super().show(view)

    def forget(self) -> None:
        """Drops what is kept of Frames."""
        self.time.forget()
        self._throttled.forget()
        self._counted = None

    def view_glance(self, view: View) -> Spans:
        cpus = view.settings.shown_filter.cpus or None
        longest = [frame.latency.histogram(None, cpus).max_ns for frame in view.series[-GLANCE_CELLS:]]
        low, high = GLANCE_DECADES
        shares = np.clip((np.log10(np.maximum(longest, 1)) - low) / (high - low), 0, 1)
        longest_now = (format_brief_ns(longest[-1]), wait_style(longest[-1], view.frame.threshold_ns) or "strong")
        return [(bars(shares), "heat"), (" max ", "dim"), longest_now, *throttled_glance(view.frame, cpus)]

    def view_lines(self, view: View) -> Sequence[Spans]:
        width, height = self.inner
        readout = height >= READOUT_LEAST
        placed = self.time.place(view, MARGIN, max(1, width - MARGIN))
        cpus = view.settings.shown_filter.cpus or None
        columns = self._columns(placed, cpus)
        breathe = surface_of(self).breathe
        breathe()
        threshold_ns = view.frame.threshold_ns
        rows = max(1, height - 1 - readout)
        throttled = self._throttled.of(placed.frames, cpus)
        total = columns.total + Histogram.of(throttled.ns).counts if len(throttled.ns) else columns.total
        scale = self._scale = log_scale(total, threshold_ns, rows, self._scale)
        breathe()
        drawn = heat_map(columns, scale, [ratio for _, _, ratio in PERCENTILES])
        breathe()
        self._factor = factor_for(float(drawn.cells.max(initial=0)), self._factor)
        self._set_titles(view)
        map_lines = self._map(view, placed, columns, scale, drawn, throttled)
        breathe()
        lines = [*map_lines, self.time.axis_spans(view, placed, " " * MARGIN)]
        return [self._readout(view, placed, columns, throttled), *lines] if readout else lines

    def _columns(self, placed: Placed, cpus: tuple[int, ...] | None) -> Columns:
        """The waits of each column; the newest are added to those of the last time while nothing else changes."""
        before, key, frames = self._counted, (placed.grid, placed.first, placed.width, cpus), placed.frames
        if before is None or before[0] != key or before[1] != frames[: len(before[1])]:
            before = (key, [], Columns.of(placed.width, ()))
        columns, new = before[2], frames[len(before[1]) :]
        columns.add((begin, last, frame.latency.histogram(None, cpus)) for begin, last, frame in new)
        self._counted = (key, frames, columns)
        return columns

    # Far moves of the cursor; the dashboard steps by intervals.

    def action_first(self) -> None:
        """To the oldest interval."""
        self._go_to(0)

    def action_last(self) -> None:
        """To the newest one."""
        self._go_to(-1)

    def action_page(self, pages: float) -> None:
        """Half the map further, or back."""
        if self.view is not None and self.time.placed is not None:
            columns = round(pages * self.time.placed.width / 2 / self.time.placed.grid.cells) or 1
            self._go_to(max(0, len(self.view.series) - 1 + columns * self.time.per_column))

    def _go_to(self, number: int) -> None:
        """Asks for one of the Frames of the View, if it is one moment of them."""
        if self.view is not None and is_moment(self.view):
            frames = (*self.view.series, *self.view.later)
            self.time.go_to(frames[min(number, len(frames) - 1)].end_ns)

    # What is drawn.

    def _map(
        self, view: View, placed: Placed, columns: Columns, scale: LogScale, drawn: HeatMap, throttled: ColumnWaits
    ) -> Sequence[Spans]:
        """The rows from the longest waits to the shortest, each with its label."""
        levels = shades(drawn.cells, self._factor)
        glyphs = SHADES[levels]
        styles = (levels + HEAT).astype(np.int8)
        at = scale.row(view.frame.threshold_ns)
        inside = view.frame.threshold_ns < 10**scale.high
        if inside:
            styles[at:] += SLOW - HEAT
            # To the newest column: what comes after it is not known to be short.
            known = glyphs[at, : placed.newest + 1]
            known[levels[at, : placed.newest + 1] == 0] = THRESHOLD_LINE
        before, above = np.full(glyphs.shape[1], -1), inside & (np.arange(scale.rows) >= at)
        for (mark, _, _), line in zip(PERCENTILES, drawn.lines, strict=True):
            column = np.flatnonzero(line >= 0)
            row = line[column]
            glyphs[row, column] = np.where(before[column] == row, BOTH, mark)
            ground = np.where(above[row], ON_SLOW, ON_HEAT)
            styles[row, column] = np.where(levels[row, column] > 0, ground + levels[row, column], STRONG)
            before = line
        filled = levels > 0
        if len(throttled.ns):
            cells = throttled.cells(scale, glyphs.shape[1])
            filled |= cells
            glyphs[cells], styles[cells] = THROTTLED_MARK, THROTTLED
        _mark_gaps(glyphs, styles, columns.known)
        surface_of(self).breathe()
        highest = int(np.flatnonzero(filled.any(axis=1)).max(initial=0))
        labels = _labels(scale, view.frame.threshold_ns if inside else 0, highest)
        words = self._words_before(view, placed, columns)
        if words:
            row = scale.rows // 2 - (inside and scale.rows // 2 == at)
            glyphs[row, : len(words)], styles[row, : len(words)] = list(words), DIM
        spans = [[label, *line] for label, line in zip(labels, styled(glyphs, styles, STYLES), strict=True)][::-1]
        return [with_cursor(line, MARGIN, placed.cursor[1]) for line in spans] if placed.cursor else spans

    def _words_before(self, view: View, placed: Placed, columns: Columns) -> str:
        """What stands where there is no data yet."""
        known = np.flatnonzero(columns.known)
        room = int(known[0]) if len(known) else 0
        if room < EMPTY_WORDS_LEAST or (placed.frames and placed.frames[0][2] is not view.series[0]):
            return ""
        return f" no data before {format_clock(view.series[0].start_time_ns)} "

    def _readout(self, view: View, placed: Placed, columns: Columns, throttled: ColumnWaits) -> Spans:
        """The numbers of the column of the cursor, or of the newest one; their marks are the legend of the lines."""
        column = placed.cursor[1] if placed.cursor else placed.newest
        waits = columns.histogram(min(max(column, 0), placed.width - 1))
        own = [frame for begin, last, frame in placed.frames if begin <= column <= last]
        span_ns = sum(frame.interval_ns for frame in own)
        if not placed.cursor and span_ns < view.frame.interval_ns < 2 * span_ns:
            # The first intervals are short: what is told beside it is of all the window.
            waits, span_ns = view.latency(), view.frame.interval_ns
        clock = format_clock(own[-1].start_time_ns + own[-1].interval_ns) if placed.cursor and own else ""
        longest_ns = throttled.longest_in(column)
        quota = throttled_words(longest_ns, own, view.settings.shown_filter.cpus or None)
        full = _numbers(waits, span_ns, clock, view.frame.threshold_ns, quota)
        short = (_short_numbers(waits, clock, longest_ns, named=named) for named in (True, False))
        forms: list[tuple[list[list[Span]], int, Span]] = [
            (full, len(PERCENTILES) + 2, SEPARATOR),
            (full, len(PERCENTILES) + 2, ("  ", "text")),
            *((parts, len(parts), (" ", "text")) for parts in short),
        ]
        for parts, needed, between in forms:
            if sum(map(spans_width, parts[:needed])) + (needed - 1) * len(between[0]) <= self.inner.width:
                break
        return whole_parts(parts, self.inner.width, between)

    def _set_titles(self, view: View) -> None:
        detail = " · ".join(text for text in (scope(view), self.time.scale_words) if text)
        limits = [format_count(limit) for limit in shade_limits(self._factor)]
        signs = ["faint", *[""] * (SHADE_LEVELS - 2), "full"] if has_shades(self.app.theme_variables) else SHADES[1:]
        legend = "  ".join(f"{sign} {limit}".strip() for sign, limit in zip(signs, limits, strict=True)) + "+ waits"
        room = self.size.width - TITLE_FRAME
        texts = (
            f"{legend} a cell",
            legend,
            legend.replace("  ", " "),
            legend.replace("  ", " ").removesuffix(" waits"),
        )
        self.set_title(detail, next((text for text in texts if len(text) <= room), ""))


def _numbers(waits: Histogram, span_ns: int, clock: str, threshold_ns: int, quota: list[Span]) -> list[list[Span]]:
    """What is known of one column: its time, its percentiles with their marks, and so on."""
    words = format_round_ns(round(span_ns, -8) if span_ns >= NS_PER_S // 5 else max(span_ns, 1))
    parts: list[list[Span]] = [[("last ", "dim"), (words, "strong")]]
    if clock:
        parts = [[(f"▲ {clock}", "key"), (f" {words}", "dim")]]
    for mark, name, ratio in PERCENTILES:
        parts.append([(mark, "strong"), (f" {name} ", "dim"), (format_ns(waits.percentile_ns(ratio)), "strong")])
    parts.append([("max ", "dim"), (format_ns(waits.max_ns if waits.count else None), "strong")])
    if quota:
        parts[-1] += [(" · ", "dim"), *quota]
    parts.append([(format_counted(waits.count, "wait"), "text")])
    parts.append([(THRESHOLD_MARK, "notice"), (f" slow > {format_round_ns(threshold_ns)}", "dim")])
    return parts


def _short_numbers(waits: Histogram, clock: str, throttled_ns: int, *, named: bool) -> list[list[Span]]:
    """The same for a narrow pane; `named`: with the names of the percentiles beside their marks."""
    parts: list[list[Span]] = [[(f"▲{clock}", "key")]] if clock else []
    for mark, name, ratio in PERCENTILES:
        text = format_brief_ns(waits.percentile_ns(ratio))
        parts.append([(mark, "strong"), (f"{name} " if named else "", "dim"), (text, "strong")])
    parts.append([("max ", "dim"), (format_brief_ns(waits.max_ns if waits.count else None), "strong")])
    if throttled_ns:
        parts.append([(f"{THROTTLED_MARK}{format_brief_ns(throttled_ns)}", "throttled")])
    return parts


@lru_cache(4)
def _labels(scale: LogScale, threshold_ns: int, highest: int) -> Sequence[Span]:
    """What stands left of each row: the time at which it begins, for powers of ten, the threshold, and `highest`, the
    row of the longest waits.

    A power of ten at which no row begins stands beside the row that it is in, without a tick. Where rows hold half a
    power of ten and more, the label of the highest one says that its waits are longer: `>10 ms`.
    """
    labels: list[Span] = [(" " * (MARGIN - 1) + "│", "head")] * scale.rows
    begins_ns = 10 ** (scale.low + highest / scale.per_decade)
    if begins_ns > threshold_ns > 0:
        labels[highest] = (f"{format_brief_ns(round(begins_ns)):>{MARGIN - 1}}│", "head")
    for power, row in scale.within():
        labels[row] = (f"{_power_text(power):>{MARGIN - 1}}│", "head")
    for power, row in scale.decades():
        labels[row] = (f"{_power_text(power):>{MARGIN - 1}}┤", "head")
    told = labels[highest][0]
    if scale.per_decade <= COARSE and not told[:-1].isspace():
        longer = f">{told[:-1].strip()}"
        labels[highest] = (f"{longer:>{MARGIN - 1}}{told[-1]}"[:MARGIN], "head")
    if threshold_ns:
        text = format_round_ns(threshold_ns)
        text = text if len(text) < MARGIN else format_brief_ns(threshold_ns)
        labels[scale.row(threshold_ns)] = (f"{text:>{MARGIN - 1}}{THRESHOLD_MARK}", "notice")
    return labels


def _power_text(power: int) -> str:
    return format_round_ns(10**power)


def _mark_gaps(glyphs: npt.NDArray[np.str_], styles: npt.NDArray[np.int8], known: npt.NDArray[np.bool_]) -> None:
    """Says of which columns between others nothing is known."""
    there = np.flatnonzero(known)
    if len(there):
        missing = np.flatnonzero(~known[there[0] : there[-1]]) + there[0]
        glyphs[0, missing] = GAP_MARK
        styles[:, missing] = DIM

"""The CPUs: a row each where there is room, else several a line, else one character each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType
from textual.geometry import Size

from schedtop.history import View
from schedtop.panes.cpu_rows import CpuRows, columns_for, row_spans
from schedtop.panes.pane import Pane
from schedtop.panes.percent import percent
from schedtop.panes.trend import MEASURES, Measure, mean, trend
from schedtop.units import format_round_ns
from schedtop.widgets.bars import EIGHTHS, MISSING, bars, tall_bars
from schedtop.widgets.columns import header_spans, place
from schedtop.widgets.strips import Span, Spans, fit, whole_parts

HISTORY_LEAST, HISTORY_GOOD = 6, 14
"""Cells of history that no column takes, and those that the columns of rank EXTRA leave."""

EXTRA = 4
HISTORY_MOST = 60
TALL_MOST = 4

CELL_LABEL, CELL_VALUE = 5, 6
CELL_HISTORIES = (8, 4, 0)
"""Cells of history beside each CPU where several share a line: the longest that lets all be seen."""

MAP_LABEL = 5
MAP_GROUPS = (8, 16, 32, 64, 128)
"""CPUs a line where each is one character: powers of two, as machines are built."""

SPACE: Span = ("  ", "text")


class CpusPane(Pane):
    """Per-CPU switches, busy and steal time, queue, and a short history of one measure."""

    TITLE = "CPUs"
    LEAST = Size(38, 5)
    READING = (
        "switch/s: context switches a second. invol/s: those in which a task was put off the CPU although it wanted "
        "to go on; inv% is their share among the switches of tasks. busy% and steal% are the kernel's own account; "
        "queue is how many tasks wait for this CPU at the end of the interval. in/s and out/s: tasks a second that "
        "came from another CPU, or left for one; cache and numa: those that came from another cache or NUMA node, "
        "where they left their data. The strip on the right is the "
        "recent past, the newest at its right end; m chooses what it shows. Where there are more CPUs than lines, "
        "each shows only the measure of m, at last as one character (a full block: 100 %, or the largest rate); "
        "the zoomed pane (z) always has a row for each CPU, to be scrolled."
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "measure(1)", "Measure", show=False, id="measure", tooltip="In CPUs: what the history shows"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.measure: Measure | None = None
        self._fixed_lines = 2

    @property
    def page_rows(self) -> int:
        return max(1, self.inner.height - self._fixed_lines)

    def action_measure(self, step: int) -> None:
        """Shows the next measure that the source has."""
        current = MEASURES.index(self.measure or MEASURES[0])
        order = [MEASURES[(current + step * offset) % len(MEASURES)] for offset in range(1, len(MEASURES) + 1)]
        frame = self.view.frame if self.view else None
        self.measure = next((measure for measure in order if frame is None or measure.available(frame)), None)
        self.draw()

    def view_glance(self, view: View) -> Spans:
        return [("busy ", "dim"), (f"{percent(view.frame.ratio('busy_ns'))} %", "busy")]

    def view_lines(self, view: View) -> Sequence[Spans]:
        ids = view.all_cpu_ids
        if not ids:
            return self.sentence(f"no online CPU passes the filter {view.settings.filter}")
        measure = self._measure_of(view)
        width, height = self.inner
        if len(ids) + 2 <= height or self.has_class("zoomed"):
            return self._table(view, ids, measure)
        for history in CELL_HISTORIES:
            across = max(1, width // (CELL_LABEL + history + CELL_VALUE))
            if -(-len(ids) // across) + 1 <= height:
                return self._cells(view, ids, measure, across, history)
        return self._map(view, ids, measure)

    def _measure_of(self, view: View) -> Measure:
        if self.measure is not None and self.measure.available(view.frame):
            return self.measure
        return next((measure for measure in MEASURES if measure.available(view.frame)), MEASURES[1])

    def _table(self, view: View, ids: Sequence[int], measure: Measure) -> list[Spans]:
        """A row a CPU under a row of totals; what height is left makes the histories taller."""
        width, height = self.inner
        self._fixed_lines, self.total_rows = 2, len(ids)
        self.clamp_top()
        self.set_title("", self.position_text())
        columns = columns_for(ids)
        placed = place([column for column in columns if column.rank < EXTRA], width - HISTORY_LEAST - 1, air_most=0)
        more = place(columns, width - HISTORY_GOOD - 1, air_most=0)
        placed = more if len(more) > len(placed) else placed
        table_width = sum(column_width + 1 for _, column_width in placed)
        room = min(width - table_width, HISTORY_MOST)
        frames = view.series[-room:]
        shares = trend(measure, frames, len(view.frame.cpus.online))[ids]
        tall = max(1, min(TALL_MOST, (height - 1) // (len(ids) + 1)))
        visible = ids[self.top : self.top + self.page_rows]
        title = fit(_history_title(measure, sum(frame.interval_ns for frame in frames), room), room, right=True)
        lines: list[Spans] = [[*header_spans(placed, None), (title, "head")]]
        histories = [mean(shares), *shares[self.top : self.top + len(visible)]]
        rows = row_spans(placed, CpuRows.of(view, ids, visible), table_width)
        for spans, history in zip(rows, histories, strict=True):
            parts = [part.rjust(room) for part in tall_bars(history, tall)]
            # The numbers stand beside the lowest line: bars and text share a base line.
            lines.extend([(" " * table_width, "text"), (part, measure.style)] for part in parts[:-1])
            lines.append([*spans, (parts[-1], measure.style)])
        return lines

    def _cells(self, view: View, ids: Sequence[int], measure: Measure, across: int, history: int) -> list[Spans]:
        """Several CPUs a line, column by column: number, short history, value now."""
        self.top, self.total_rows = 0, 0
        down = -(-len(ids) // across)
        shares = trend(measure, view.series[-max(history, 1) :], len(view.frame.cpus.online))
        now = measure.values(view.frame)
        self.set_title(f"{len(ids)} · {measure.word}")
        lines: list[Spans] = [self._summary(view, ids)]
        for row in range(down):
            spans: list[Span] = []
            for cpu in ids[row::down]:
                value = None if np.isnan(now[cpu]) else float(now[cpu])
                spans.append((f"{cpu:>{CELL_LABEL - 1}} ", "dim"))
                if history:
                    spans.append((bars(shares[cpu]).rjust(history), measure.style))
                spans.append((fit(measure.format(value), CELL_VALUE - 1, right=True) + " ", "text"))
            lines.append(spans)
        return lines

    def _map(self, view: View, ids: Sequence[int], measure: Measure) -> list[Spans]:
        """One character a CPU, the fewest a line that still fit."""
        width, height = self.inner
        fitting = [group for group in MAP_GROUPS if group + group // 8 <= width - MAP_LABEL] or [MAP_GROUPS[0]]
        group = next((size for size in fitting if -(-len(ids) // size) <= height - 1), fitting[-1])
        self._fixed_lines, self.total_rows = 1, -(-len(ids) // group)
        self.clamp_top()
        shares = trend(measure, view.series[-1:], len(view.frame.cpus.online))[:, 0]
        self.set_title(f"{len(ids)} · {measure.word}", self.position_text())
        lines: list[Spans] = [self._summary(view, ids)]
        for row in range(self.top, min(self.top + self.page_rows, self.total_rows)):
            chosen = ids[row * group : (row + 1) * group]
            text = "".join(_glyph(shares[cpu]) for cpu in chosen)
            spaced = " ".join(text[start : start + 8] for start in range(0, len(text), 8))
            lines.append([(f"{chosen[0]:>{MAP_LABEL - 1}} ", "dim"), (spaced, measure.style)])
        return lines

    def _summary(self, view: View, ids: Sequence[int]) -> Spans:
        """The totals in one line, above the forms that have no columns."""
        total = CpuRows.of(view, ids, ()).total
        parts: list[Spans] = [
            [("all  ", "strong"), (f"{total.switches} switch/s", "text")],
            [(f"{total.involuntary} invol/s ({total.involuntary_share} %)", "preemption")],
            [(f"busy {total.busy} %", "busy")],
            [(f"steal {total.steal.strip()} %", total.level.style if total.level.sign else "steal")],
            [(f"queue {total.queue}", "text")],
        ]
        return whole_parts(parts, self.inner.width, SPACE)


def _history_title(measure: Measure, span_ns: int, room: int) -> str:
    """What the history shows and how far it reaches, as long as there is room for."""
    span = format_round_ns(round(span_ns, -9) if span_ns >= 10**9 else span_ns)
    texts = (f"{measure.word}, last {span}", f"{measure.word} {span}", measure.word)
    return next((text for text in texts if len(text) <= room), texts[-1])


def _glyph(share: float) -> str:
    if np.isnan(share):
        return MISSING
    # An idle CPU must still be seen as a CPU.
    return EIGHTHS[max(1, min(8, int(np.ceil(share * 8 - 1e-9))))]

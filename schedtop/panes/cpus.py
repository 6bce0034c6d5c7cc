"""The CPUs: a row each where there is room, else several a line, else one character each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType

from schedtop.history import View
from schedtop.panes.cpu_rows import COLUMNS, CpuRows, row_spans
from schedtop.panes.pane import Pane
from schedtop.panes.trend import MEASURES, Measure, Values, trend
from schedtop.widgets.bars import EIGHTHS, MISSING, bars, tall_bars
from schedtop.widgets.columns import header_spans, place
from schedtop.widgets.strips import Spans, fit

HISTORY_LEAST = 8
HISTORY_MOST = 60
CELL_WIDTH = 19
CELL_HISTORY = 8
MAP_LABEL = 5
TALL_MOST = 4


class CpusPane(Pane):
    """Per-CPU switches, busy and steal time, queue, and a short history of one measure."""

    NUMBER = 1
    TITLE = "CPUs"
    PARTS = ()
    READING = (
        "switch/s: context switches a second. invol/s: those in which a task was put off the CPU although it wanted "
        "to go on; inv% is their share among the switches of tasks. busy % and steal % are the kernel's own account; "
        "queue is how many tasks wait for this CPU at the end of the interval. The strip on the right is the "
        "recent past, the newest at its right end; `m` chooses what it shows."
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "measure(1)", "Measure", show=False, id="cpus.measure", tooltip="What the CPU history shows"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.measure: Measure | None = None

    def action_measure(self, step: int) -> None:
        """Shows the next measure that the source has."""
        current = MEASURES.index(self.measure or MEASURES[0])
        order = [MEASURES[(current + step * offset) % len(MEASURES)] for offset in range(1, len(MEASURES) + 1)]
        frame = self.view.frame if self.view else None
        self.measure = next((measure for measure in order if frame is None or measure.available(frame)), None)
        self.draw()

    def view_lines(self, view: View) -> Sequence[Spans]:
        ids = view.cpu_ids
        if not ids:
            return self.sentence(f"no online CPU passes the filter {view.settings.filter}")
        measure = self._measure_of(view)
        width, height = self.inner
        if len(ids) + 2 <= height:
            return self._table(view, ids, measure)
        across = max(1, width // CELL_WIDTH)
        if -(-len(ids) // across) + 1 <= height:
            return self._cells(view, ids, measure, across)
        return self._map(view, ids, measure)

    def _measure_of(self, view: View) -> Measure:
        if self.measure is not None and self.measure.available(view.frame):
            return self.measure
        return next((measure for measure in MEASURES if measure.available(view.frame)), MEASURES[1])

    def _table(self, view: View, ids: Sequence[int], measure: Measure) -> list[Spans]:
        """One row a CPU under a row of totals; what height is left makes the histories taller."""
        width, height = self.inner
        self.top, self.total_rows = 0, len(ids) + 1
        placed = place(COLUMNS, width - HISTORY_LEAST - 1)
        table_width = sum(column_width + 1 for _, column_width in placed)
        room = min(width - table_width, HISTORY_MOST)
        frames = view.series[-room:]
        shares = trend(measure, frames, len(view.frame.cpus.online))[ids]
        tall = max(1, min(TALL_MOST, (height - 1) // (len(ids) + 1)))
        seconds = sum(frame.interval_ns for frame in frames) // 1_000_000_000
        words = (f"{measure.word}, last {seconds} s", f"{measure.word} {seconds} s", measure.word)
        title = fit(next((text for text in words if len(text) <= room), words[-1]), room, right=True)
        self.set_title(str(len(ids)) if len(ids) > 1 else "", "")
        lines: list[Spans] = [[*header_spans(placed, None), (title, "head")]]
        every = np.vstack([_mean(shares), shares])
        for index, spans in enumerate(row_spans(placed, CpuRows.of(view, ids), table_width)):
            history = _history(every[index], room, tall)
            for line, part in enumerate(history):
                # The numbers stand beside the lowest line: bars and text share a base line.
                left = spans if line == tall - 1 else [(" " * table_width, "text")]
                lines.append([*left, (part, measure.style)])
        return lines

    def _cells(self, view: View, ids: Sequence[int], measure: Measure, across: int) -> list[Spans]:
        """Several CPUs a line, column by column: number, short history, value now."""
        self.top, self.total_rows = 0, 0
        down = -(-len(ids) // across)
        shares = trend(measure, view.series[-CELL_HISTORY:], len(view.frame.cpus.online))
        now = measure.values(view.frame)
        self.set_title(f"{len(ids)} · {measure.word}")
        lines: list[Spans] = [self._summary(view, measure)]
        for row in range(down):
            spans: list[tuple[str, str]] = []
            for cpu in ids[row::down]:
                value = None if np.isnan(now[cpu]) else float(now[cpu])
                spans.append((f"{cpu:>4} ", "dim"))
                spans.append((fit(bars(shares[cpu]), CELL_HISTORY, right=True), measure.style))
                spans.append((fit(measure.format(value), 5, right=True) + " ", "text"))
            lines.append(spans)
        return lines

    def _map(self, view: View, ids: Sequence[int], measure: Measure) -> list[Spans]:
        """One character a CPU, so many a line that the number of the first is easy to read."""
        width, height = self.inner
        # Lines of 8, 16, 32 or 64 CPUs, the fewest that still fit: then the groups are as large as the caches' are.
        fitting = [group for group in (8, 16, 32, 64, 128) if group + group // 8 <= width - MAP_LABEL] or [8]
        group = next((size for size in fitting if -(-len(ids) // size) <= height - 1), fitting[-1])
        self.total_rows = -(-len(ids) // group)
        self.clamp_top()
        shares = trend(measure, view.series[-1:], len(view.frame.cpus.online))[:, 0]
        self.set_title(f"{len(ids)} · {measure.word}", self.position_text())
        lines: list[Spans] = [self._summary(view, measure)]
        for row in range(self.top, min(self.top + self.page_rows, self.total_rows)):
            chosen = ids[row * group : (row + 1) * group]
            text = "".join(_glyph(shares[cpu]) for cpu in chosen)
            spaced = " ".join(text[start : start + 8] for start in range(0, len(text), 8))
            lines.append([(f"{chosen[0]:>4} ", "dim"), (spaced, measure.style)])
        return lines

    @property
    def page_rows(self) -> int:
        return max(1, self.inner.height - 1)

    def _summary(self, view: View, measure: Measure) -> Spans:
        """The totals in one line, above the forms that have no columns."""
        total = CpuRows.of(view, view.cpu_ids).total
        return [
            (f"all  {total.switches}/s switches  ", "strong"),
            (f"{total.involuntary}/s invol ", "text"),
            (f"({total.involuntary_share} %)  busy {total.busy} %  steal {total.steal} %  queue {total.queue}", "text"),
        ]


def _mean(shares: Values) -> Values:
    """The mean of the known values of each moment, NaN where there is none."""
    known = ~np.isnan(shares)
    counts = known.sum(axis=0)
    sums = np.where(known, shares, 0.0).sum(axis=0)
    return np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)


def _history(shares: Values, room: int, tall: int) -> list[str]:
    return [part.rjust(room) for part in tall_bars(shares, tall)]


def _glyph(share: float) -> str:
    if np.isnan(share):
        return MISSING
    # An idle CPU must still be seen as a CPU.
    return EIGHTHS[max(1, min(8, int(np.ceil(share * 8 - 1e-9))))] if share > 0 else "▁"

"""CPUs over time: a line a CPU, an interval a cell."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from schedtop.history import View
from schedtop.panes.pane import Pane
from schedtop.panes.trend import MEASURES, trend
from schedtop.widgets.bars import bars
from schedtop.widgets.strips import Spans

LABEL = 6


class CpuStripsPane(Pane):
    """One measure of each CPU over time."""

    TITLE = "CPUs over time"
    SHORT = "CPU strips"
    LEAST = Size(40, 5)
    READING = "A line a CPU, an interval a cell, the newest at the right."

    def view_lines(self, view: View) -> Sequence[Spans]:
        measure = next((measure for measure in MEASURES if measure.available(view.frame)), MEASURES[0])
        ids = view.all_cpu_ids
        shares = trend(measure, view.series[-(self.inner.width - LABEL) :], len(view.frame.cpus.online))
        self.total_rows = len(ids)
        self.clamp_top()
        self.set_title(measure.word, self.position_text())
        visible = ids[self.top : self.top + self.page_rows]
        return [[(f"{cpu:>{LABEL - 1}} ", "dim"), (bars(shares[cpu]), measure.style)] for cpu in visible]

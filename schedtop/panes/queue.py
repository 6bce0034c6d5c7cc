"""The run queue's length: how many tasks wait for each CPU."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.history import View
from schedtop.panes.pane import Pane
from schedtop.widgets.strips import Spans, fit


class QueuePane(Pane):
    """How many tasks wait on each CPU now."""

    NUMBER = 7
    TITLE = "Run queue"
    SHARES = 3
    READING = "How many tasks wait for each CPU at the end of the interval; the one that runs is not counted."

    @property
    def page_rows(self) -> int:
        return max(1, self.inner.height - 1)

    def view_lines(self, view: View) -> Sequence[Spans]:
        lengths = view.frame.cpus.queue_length
        ids = sorted(view.cpu_ids, key=lambda cpu: (-int(lengths[cpu]), cpu))
        total = int(sum(lengths[cpu] for cpu in ids))
        self.total_rows = len(ids)
        self.clamp_top()
        self.set_title(subtitle=self.position_text())
        lines: list[Spans] = [[("waiting now ", "dim"), (f"{total}", "text")]]
        for cpu in ids[self.top : self.top + self.page_rows]:
            lines.append([(fit(f"cpu{cpu}", 8), "dim"), (fit(str(lengths[cpu]), 5, right=True), "text")])
        return lines

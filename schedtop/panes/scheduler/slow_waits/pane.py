"""The slow waits: every single wait over the threshold, its blockers, and the task that was there before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from schedtop.base.units import format_count, format_ns, format_round_ns, format_span
from schedtop.history.sorting import SLOW_WAIT_SORTS
from schedtop.history.view import View
from schedtop.model.rows import Rows, text
from schedtop.model.sched_class import is_ordinary
from schedtop.panes.first import brought_first
from schedtop.panes.pane import EDGES, Pane
from schedtop.panes.scheduler.slow_waits.before import last_before
from schedtop.panes.scheduler.slow_waits.rows import TIDS_LEAST, WHOLE_NAMES, WaitRows, columns_for, reason_spans
from schedtop.verdict.slow import meant
from schedtop.widgets.canvas import surface_of
from schedtop.widgets.columns import Column
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans, steady


class SlowWaitsPane(Pane[View], KeyedTable[WaitRows]):
    """Single waits over the threshold, slowest or newest first."""

    TITLE = "Slow waits"
    LEAST = Size(60, 6)
    PARTS = ("slow_waits",)
    KEY = ("time_ns", "tid")
    READING = (
        "One line for each wait over the threshold (`+` and `-` change it); i, or a double click, tells all about"
        " the selected one. The longest wait of the task that the verdict is about comes first. cause says why it"
        " was slow. `preempted by` is the task that took the CPU from it; a dot: the wait began with a wakeup. "
        "`blocked by` is what had the CPU longest meanwhile, after its share of the wait; `+2`: two more had it. "
        "`~`: less than 90 % of the wait is known. `woken by` is the task that woke it (cause fork: that started "
        "it), previous the one that ran last before it got the CPU (on its own that misleads: it may be the last "
        "of many). `3→1`: queued on CPU 3, ran on CPU 1. Names have their tids where there is room. P shows what "
        "the selected task waited for, across tasks."
    )
    SIGNS = (
        ("throttled", "its cgroup used up its quota", "a larger cpu.max, or less work in that cgroup"),
        ("stolen", "the hypervisor had the CPU", "another host, or CPUs of your own"),
        (
            "behind rt or deadline",
            "a task of a higher class went first",
            "chrt -o for that task, if it can be an ordinary one",
        ),
        ("lower weight", "it has less right to the CPU", "renice, or the cpu.weight of its cgroup"),
        (
            "idle CPU, pinned",
            "a CPU was idle, but not one that it may use",
            "a wider affinity mask: taskset -cp, cpuset",
        ),
        ("wakeup, fork, preemption", "other tasks had the CPU", "move, slow down or split the task in blocked by"),
        ("the victim holds a lock", "others wait for it, too", "P: its path across tasks"),
    )
    COLUMN_HELP = (("Columns", (*columns_for("thread", "wait_ns"), columns_for("process", "wait_ns")[3])),)

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "details", "Details", show=False, id="details", tooltip="In Slow waits: all about the selected"),
    ]

    class DetailsRequested(Message):
        """All about the selected wait is wanted."""

        def __init__(self, row: np.void) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._shape = ("thread", "", False)
        self._victim, self._first = 0, ""

    def action_details(self) -> None:
        """Asks for all about the selected wait; without a selection, about the first one."""
        if self.selected_row is None and self.rows is not None and len(self.rows):
            self.select(self.top)
        if self.selected_row is not None:
            self.post_message(self.DetailsRequested(self.selected_row))

    def row_opened(self) -> None:
        self.action_details()

    def table_columns(self) -> Sequence[Column[WaitRows]]:
        return columns_for(*self._shape, tids=self._has_tids, whole=self.inner.width in WHOLE_NAMES)

    @property
    def _has_tids(self) -> bool:
        return self.inner.width >= TIDS_LEAST

    def context(self, rows: Rows) -> WaitRows:
        assert self.view is not None
        return WaitRows(rows, self._shape[0], self.view.frame.cgroups, self._has_tids)

    @property
    def wanted_lines(self) -> int | None:
        return self.table_rows + EDGES

    def show(self, view: View) -> None:
        self.view = view
        shape = (view.settings.group, view.settings.slow_wait_sort, not is_ordinary(view.slow_waits))
        if shape != self._shape:
            self._shape = shape
            self.forget_columns()
        rows = self._in_order(view.slow_waits, view)
        # Where one comes first that would not, no column sorts all lines.
        self.set_rows(rows, None if self._first else view.settings.slow_wait_sort, view.settings.shown_filter)
        self.draw()

    def look_at(self, victim: int) -> None:
        self._victim = victim  # its longest wait comes first

    def _in_order(self, rows: Rows, view: View) -> Rows:
        """The rows as sorted; slowest first, the longest wait of the task that the verdict is about comes before.

        The tasks that keep it waiting wait longer themselves.
        """
        self._first = ""
        if not self._victim or view.settings.slow_wait_sort != "wait_ns":
            return rows
        first = brought_first(rows, np.flatnonzero(rows["tid"] == self._victim)[:1].tolist())
        if first is None:
            return rows
        self._first = steady(text(first["comm"][0]))
        return first

    def is_idle(self, view: View) -> bool:
        return not len(view.frame.slow_waits)

    def view_glance(self, view: View) -> Spans:
        if not len(view.slow_waits):
            before = last_before(view)
            return [("none", "text" if before else "dim"), (f" · {before.words}" if before else "", "dim")]
        longest = view.slow_waits[int(np.argmax(view.slow_waits["wait_ns"]))]
        return [
            (format_ns(int(longest["wait_ns"])), "strong"),
            (f" {steady(text(longest['comm']))}", "text"),
            *reason_spans(longest),
            (f" · {format_count(len(view.slow_waits))} in all" if len(view.slow_waits) > 1 else "", "dim"),
        ]

    def view_lines(self, view: View) -> Sequence[Spans]:
        words = SLOW_WAIT_SORTS[view.settings.slow_wait_sort]
        first = f"{self._first}, " if self._first else ""
        suppressed = view.frame.loss.slow_waits_suppressed
        more = f" · {format_count(suppressed)} more not kept" if suppressed else ""
        over = self.keyed(f"over {format_round_ns(view.frame.threshold_ns)}", "threshold-up", "threshold-down")
        keys = "i details · P path" if self.has_focus and self.selected_key else ""
        surface_of(self).breathe()
        lower = meant(view.slow_waits)
        left_out = f"{lower} of lower priority" if lower > len(view.slow_waits) // 2 else ""
        place = " · ".join(filter(None, (left_out, self.position_text(), keys)))
        self.set_title(f"{len(view.slow_waits)} {over} · {first}{self.keyed(words, 'sort')}{more}", place)
        if not len(view.slow_waits):
            return self.sentence(_empty_text(view))
        return list(self.table_lines())


def _empty_text(view: View) -> str:
    if view.settings.shown_filter and len(view.frame.slow_waits):
        return f"none of {len(view.frame.slow_waits)} slow waits passes the filter {view.settings.shown_filter}"
    over, span = format_round_ns(view.frame.threshold_ns), format_span(view.frame.interval_ns)
    # What was recorded has its threshold.
    hint = "" if view.host.recorded_source else " (press - for a lower threshold)"
    before = last_before(view)
    last = f"; the last was {before.words}" if before else ""
    return f"no task waited longer than {over} for a CPU in the last {span}{last}{hint}"

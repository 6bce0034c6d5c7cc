"""The system calls of the host, or of the selected process: how often, how long, what failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedtop.activity.view import ActivityView
from schedtop.base.units import format_ns, format_rate, rate
from schedtop.model.activity import Call
from schedtop.panes.pane import Pane
from schedtop.panes.task.syscalls import errors_text
from schedtop.widgets.columns import Column, explained, header_spans, place, row_lines
from schedtop.widgets.strips import Spans, steady

WIDE = 80
"""From here on there is room for several errors of a call."""


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """The visible calls and the time that they are about."""

    rows: Sequence[Call]
    interval_ns: int


MEANINGS = {
    "call": "the system call",
    "calls/s": "how many returned, a second",
    "time": "from entry to return, sleep included, of all tasks together",
    "average": "one call on average",
    "longest": "the longest single one",
    "errors": "which errors it returned, and how often",
}

_COLUMNS: tuple[Column[Calls], ...] = (
    Column("call", 11, lambda calls: [steady(call.name) for call in calls.rows], right=False, grow=10, style="strong"),
    Column("calls/s", 7, lambda calls: [format_rate(rate(call.count, calls.interval_ns)) for call in calls.rows]),
    Column("time", 7, lambda calls: [format_ns(call.total_ns) for call in calls.rows]),
    Column("average", 7, lambda calls: [format_ns(call.total_ns / call.count) for call in calls.rows], rank=2),
    Column("longest", 7, lambda calls: [format_ns(call.max_ns) for call in calls.rows], rank=1),
)


def _errors(width: int, most: int) -> Column[Calls]:
    def cells(calls: Calls) -> list[str]:
        return [errors_text(call.errors, most) for call in calls.rows]

    return Column("errors", width, cells, right=False, rank=3, style="preemption")


COLUMNS = explained((*_COLUMNS, _errors(16, 1)), MEANINGS)
WIDE_COLUMNS = explained((*_COLUMNS, _errors(32, 2)), MEANINGS)


class CallsPane(Pane[ActivityView]):
    """The calls, most time first."""

    NUMBER = 2
    TITLE = "System calls"
    SHORT = "Calls"
    PARTS = ("syscalls",)
    WAITING = ""
    READING = (
        "System calls that returned in the window, most time first: of the selected process, while one is selected in "
        "the table, else of all tasks that are counted. Time has the sleep in it: futex, poll and epoll_wait are "
        "mostly waits for work. errors names what calls failed with; EAGAIN is usual where a program polls."
    )
    SIGNS = (
        ("futex on top", "threads wait for locks, or for work", "P on a late task: which thread held the lock"),
        ("read, write, fsync long", "a disk or a peer is slow", "Files and Network in Activity (m), iostat -x"),
        ("many short calls", "work in small pieces", "larger buffers, or several in one call (sendmmsg, io_uring)"),
        ("errors other than EAGAIN", "calls fail and are tried again", "strace -c, or the log of the program"),
    )
    COLUMN_HELP = (("Columns", COLUMNS),)

    @property
    def page_rows(self) -> int:
        return max(1, self.inner.height - 1)

    def forget(self) -> None:
        """Drops what is shown."""
        self.view = None
        self.draw()

    def view_lines(self, view: ActivityView) -> Sequence[Spans]:
        activity = view.activity
        calls = activity.selected_syscalls if activity.selected_tgid else activity.syscalls
        whose = f"of process {activity.selected_tgid}" if activity.selected_tgid else "of all"
        self.total_rows = len(calls)
        self.clamp_top()
        self.set_title(whose, self.position_text())
        if not calls:
            return self.sentence("none returned in this window")
        visible = calls[self.top : self.top + self.page_rows]
        placed = place(WIDE_COLUMNS if self.inner.width >= WIDE else COLUMNS, self.inner.width, 2)
        return [header_spans(placed, None), *row_lines(placed, Calls(visible, activity.interval_ns), len(visible))]

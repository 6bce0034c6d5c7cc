"""The table of activity: a row a process, or whatever threads are added up by."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from schedtop.activity.view import NAME, NUMBER, ActivityView
from schedtop.base.units import format_round_ns
from schedtop.model.activity_rows import GROUPS
from schedtop.model.rows import Rows
from schedtop.panes.activity.columns import ALL, NAME_COLUMNS, ORDERS, PART_COLUMNS, ActivityRows, columns_of
from schedtop.panes.pane import Pane
from schedtop.panes.task.past import Subject
from schedtop.widgets.columns import Column
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans, steady


class ActivityPane(Pane[ActivityView], KeyedTable[ActivityRows]):
    """The rows of the view, in the order that `s` chooses. `part`: the columns that `m` chooses."""

    NUMBER = 1
    TITLE = "Activity"
    LEAST = Size(60, 6)
    KEY = ("id", "born")
    WAITING = (
        "attaching to the kernel: the very first time it takes a second to compile the programs; then the first second "
        "is counted"
    )
    READING = (
        "A row is a process with all of its threads (g: a thread, a command, a cgroup, a container), and what it did "
        "in the window: system calls, files, memory, network. All of it is counted in the kernel at each call, fault "
        "and packet; none is sampled. What happens to a connection while its task does something else (a retransmit) "
        "counts for the task that opened or accepted it, or sent to it last. A dot: none at all; a dash: this kernel "
        "cannot tell, see Notes. Columns go where there is no room for them: m shows those of one part alone, and what "
        "the table is sorted by is never left out."
    )
    SIGNS = (
        ("many calls/s, little in calls %", "work in small pieces", "batch it"),
        ("much in calls %, little CPU", "it sleeps in calls", "Enter: in which"),
        ("much in I/O %, mostly file", "a disk", "iostat -x: which, and how long its queue is"),
        ("major or reclaim", "memory is short, which delays like a lock", "more memory, or a higher memory.high"),
        ("retrans", "the network loses packets", "ss -ti: to which peer"),
        ("rtt", "the peer is far, or queues are long", "the path to that peer"),
        ("many errors/s", "calls fail", "the table of system calls says which"),
    )
    COLUMN_HELP = (
        *((f"Columns, {part}", columns) for part, columns in PART_COLUMNS.items()),
        *((f"Columns, by {by} (g)", NAME_COLUMNS[by]) for by in GROUPS),
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.part = ALL
        self.failure = ""
        """Why nothing will come, in words."""
        self._placed_for = ("", "", "")
        self._largest = 0

    def table_columns(self) -> Sequence[Column[ActivityRows]]:
        return columns_of(*self._placed_for)

    def context(self, rows: Rows) -> ActivityRows:
        assert self.view is not None
        return ActivityRows(rows, self.view, self._largest)

    def show(self, view: ActivityView) -> None:
        settings = view.settings
        if self.view is not None and self.view.settings.by != settings.by:
            self.selected_key = None
        placed_for = (settings.by, self.part, settings.sort)
        if placed_for != self._placed_for:
            self._placed_for = placed_for
            self.forget_columns()
        counted = settings.sort not in (NAME, NUMBER) and len(view.rows)
        self._largest = int(view.rows[settings.sort].max()) if counted else 0
        self.view = view
        self.set_rows(view.rows, settings.sort)
        self.draw()

    def forget(self) -> None:
        """Drops what is shown: it is measured anew."""
        self.view = self.rows = None
        self.draw()

    @property
    def subject(self) -> Subject | str | None:
        """The process or thread of the selected row; a sentence if it is neither; `None` without a selection."""
        row, view = self.selected_row, self.view
        if row is None or view is None:
            return None
        if view.settings.by not in ("process", "thread"):
            return "the task view is for tasks and processes: g groups by thread or process"
        tgid = int(row["tgid"])
        if not tgid:
            return "which task has these connections is not known"
        name = steady(view.names(view.rows[view.rows["id"] == row["id"]])[0])
        if view.settings.by == "process":
            return Subject(0, tgid, name)
        return Subject(int(row["tid"]), tgid, name, int(row["start_ns"]))

    def message_lines(self) -> list[Spans]:
        if self.failure and self.view is None:
            return self.sentence(f"not counted: {self.failure} (x tries again)")
        return super().message_lines()

    def view_lines(self, view: ActivityView) -> Sequence[Spans]:
        settings, count = view.settings, f"{len(view.rows)}"
        if settings.filter:
            count += f" of {view.row_count}"
        details = [f"{count} by {settings.by}", f"by {ORDERS[settings.sort]}", format_round_ns(settings.window_ns)]
        details += [self.part] if self.part != ALL else []
        self.set_title(" · ".join(details), self.position_text())
        lines: list[Spans] = list(self.table_lines())
        if not len(view.rows):
            passes = f"nothing passes the filter {settings.filter}" if settings.filter else "nothing was done"
            lines.extend(self.sentence(passes))
        return lines

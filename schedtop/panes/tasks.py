"""The task table: who ran, who waited, and how often each was put off the CPU."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from schedtop.history import TASK_SORTS, View
from schedtop.panes.pane import Pane
from schedtop.panes.percent import percent
from schedtop.rows import Rows, text
from schedtop.units import format_count, format_ns, format_rate, rate
from schedtop.widgets.columns import Column
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans, steady


@dataclass(frozen=True, slots=True, eq=False)
class TaskRows:
    """The visible rows, what turns their counts into rates, and the parts that the source does not have."""

    rows: Rows
    interval_ns: int
    own_pid: int | None
    unavailable: Collection[str]

    def names(self, field: str) -> list[str]:
        """Names of tasks, safe to draw."""
        return [steady(text(name)) for name in self.rows[field].tolist()]

    def rates(self, field: str) -> list[str]:
        """A count of switches as events per second."""
        if "switches" in self.unavailable:
            return ["-"] * len(self.rows)
        return [format_rate(rate(count, self.interval_ns)) for count in self.rows[field].tolist()]

    def durations(self, field: str) -> list[str]:
        """Waits; none at all is a dot, so that the eye finds the others."""
        if "latency" in self.unavailable:
            return ["-"] * len(self.rows)
        return [format_ns(ns) if ns else "·" for ns in self.rows[field].tolist()]


def _tasks(context: TaskRows) -> list[str]:
    own = context.own_pid
    names = zip(context.names("comm"), context.rows["tgid"].tolist(), strict=True)
    return [f"{name} (self)" if tgid == own else name for name, tgid in names]


def _processes(context: TaskRows) -> list[str]:
    pairs = zip(context.rows["tgid"].tolist(), context.names("process"), strict=True)
    return [f"{tgid} {name}" for tgid, name in pairs]


def _numbers(field: str) -> Column[TaskRows]:
    return Column(field, 7, lambda context: list(map(str, context.rows[field].tolist())), style="dim")


def _switches(context: TaskRows) -> list[str]:
    if "switches" in context.unavailable:
        return ["-"] * len(context.rows)
    totals = context.rows["voluntary_switches"] + context.rows["involuntary_switches"]
    return [format_rate(rate(count, context.interval_ns)) for count in totals.tolist()]


def _migrations(context: TaskRows) -> list[str]:
    if "migrations" in context.unavailable:
        return ["-"] * len(context.rows)
    return [format_count(count) if count else "·" for count in context.rows["migrations"].tolist()]


def _run(context: TaskRows) -> list[str]:
    return [
        percent(ns / context.interval_ns if context.interval_ns else None) for ns in context.rows["run_ns"].tolist()
    ]


def _waiting(context: TaskRows) -> list[str]:
    return [f"▶ {format_ns(ns)}" if ns else "" for ns in context.rows["waiting_ns"].tolist()]


COLUMNS: tuple[Column[TaskRows], ...] = (
    Column("task", 12, _tasks, right=False, grow=12, style="strong"),
    _numbers("tid"),
    Column("process", 12, _processes, right=False, rank=4, grow=14, style="dim"),
    Column("CPU", 4, lambda context: list(map(str, context.rows["last_cpu"].tolist())), rank=1),
    Column("run delay", 10, lambda context: context.durations("run_delay_ns"), sort="run_delay_ns"),
    Column("longest", 8, lambda context: context.durations("max_wait_ns"), sort="max_wait_ns"),
    Column("waits now", 10, _waiting, rank=3),
    Column("switch/s", 9, _switches, rank=1, sort="switches"),
    Column("invol/s", 8, lambda context: context.rates("involuntary_switches"), sort="involuntary_switches"),
    Column("run %", 6, _run, sort="run_ns"),
    Column("moves", 6, _migrations, rank=2, sort="migrations"),
)


class TasksPane(Pane, KeyedTable[TaskRows]):
    """Tasks that ran or waited in the window, in the order that `s` chooses."""

    NUMBER = 5
    TITLE = "Tasks"
    PARTS = ("tasks",)
    KEY = ("tid", "start_ns")
    READING = (
        "Run delay is the sum of the time that a task was ready to run but had no CPU, longest the longest single "
        "wait that ended in the window; `▶` marks a task that is still waiting now. invol/s counts the times a "
        "second that it was put off the CPU although it wanted to go on: much of it together with run delay means "
        "too many tasks for the CPUs they may use. run % is of one CPU, over the window. moves are migrations "
        "between CPUs."
    )

    def __init__(self, own_pid: int | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        """`own_pid` is the process whose tasks are marked as schedtop's own."""
        super().__init__(id=id, classes=classes)
        self.own_pid = own_pid

    def table_columns(self) -> Sequence[Column[TaskRows]]:
        return COLUMNS

    def context(self, rows: Rows) -> TaskRows:
        assert self.view is not None
        frame = self.view.frame
        return TaskRows(rows, frame.interval_ns, self.own_pid, frame.unavailable)

    def show(self, view: View) -> None:
        self.view = view
        self.set_rows(view.tasks, view.settings.task_sort)
        self.draw()

    def view_lines(self, view: View) -> Sequence[Spans]:
        filtered = f" of {len(view.frame.tasks)}" if view.settings.filter else ""
        words = TASK_SORTS[view.settings.task_sort]
        self.set_title(f"{len(view.tasks)}{filtered} · by {words}", self.position_text())
        lines: list[Spans] = list(self.table_lines())
        if not len(view.tasks):
            lines.extend(self.sentence(_empty_text(view)))
        return lines


def _empty_text(view: View) -> str:
    if view.settings.filter and len(view.frame.tasks):
        return f"no task of {len(view.frame.tasks)} passes the filter {view.settings.filter}"
    return "no task ran or waited in this window"

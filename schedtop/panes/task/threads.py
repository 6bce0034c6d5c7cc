"""The threads of a process: what each did, and a way to look at one alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from schedtop.base.units import format_ns, format_rate, rate
from schedtop.model.rows import Rows, text
from schedtop.panes.pane import Pane
from schedtop.panes.percent import percent
from schedtop.panes.task.past import Subject
from schedtop.panes.task.scene import NOTHING_YET, Scene
from schedtop.task import Thread
from schedtop.widgets.columns import Column, explained
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans, steady

THREAD_DTYPE = np.dtype(
    [
        ("tid", "<u4"),
        ("start_ns", "<u8"),
        ("comm", "S64"),
        ("state", "S16"),
        ("cpu", "<i4"),
        ("run_ns", "<i8"),
        ("run_delay_ns", "<i8"),
        ("blocked_ns", "<i8"),
        ("voluntary_switches", "<i8"),
        ("involuntary_switches", "<i8"),
        ("migrations", "<i8"),
    ]
)
"""A thread in the span of the Scene. `blocked_ns` is -1 where it is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class ThreadRows:
    """The visible threads and the time they are about."""

    rows: Rows
    interval_ns: int

    def numbers(self, field: str) -> list[str]:
        return [format_rate(rate(count, self.interval_ns)) for count in self.rows[field].tolist()]

    def shares(self, field: str) -> list[str]:
        if not self.interval_ns:
            return ["-"] * len(self.rows)
        return [percent(ns / self.interval_ns) if ns >= 0 else "-" for ns in self.rows[field].tolist()]


MEANINGS = {
    "tid": "the number of the thread",
    "thread": "its name",
    "state": "what it does now, or how it ended",
    "CPU": "where it ran last",
    "run time": "how long it ran in the span",
    "run %": "the same as a share of the span",
    "wait %": "the share of the span in which it was ready but had no CPU",
    "blocked %": "the share of the span in which it slept: for I/O, a lock, a timer, work to do",
    "run delay": "how long it was ready but had no CPU",
    "vol/s": "how often a second it gave the CPU up because it had to wait for something",
    "invol/s": "how often a second the CPU was taken from it",
    "moves": "its migrations between CPUs",
}

COLUMNS: tuple[Column[ThreadRows], ...] = explained((
    Column("tid", 7, lambda context: list(map(str, context.rows["tid"].tolist())), named=True),
    Column("thread", 15, lambda context: [steady(text(name)) for name in context.rows["comm"].tolist()], right=False,
           grow=6, style="strong"),
    Column("state", 15, lambda context: [text(name) for name in context.rows["state"].tolist()], right=False, rank=2),
    Column("CPU", 3, lambda context: [str(cpu) if cpu >= 0 else "·" for cpu in context.rows["cpu"].tolist()], rank=4,
           named=True),
    Column("run time", 8, lambda context: [format_ns(ns) for ns in context.rows["run_ns"].tolist()], rank=3),
    Column("run %", 6, lambda context: context.shares("run_ns")),
    Column("wait %", 6, lambda context: context.shares("run_delay_ns")),
    Column("blocked %", 9, lambda context: context.shares("blocked_ns"), rank=3),
    Column("run delay", 9, lambda context: [format_ns(ns) for ns in context.rows["run_delay_ns"].tolist()], rank=5),
    Column("vol/s", 6, lambda context: context.numbers("voluntary_switches"), rank=1),
    Column("invol/s", 7, lambda context: context.numbers("involuntary_switches"), rank=1),
    Column("moves", 5, lambda context: list(map(str, context.rows["migrations"].tolist())), rank=4),
), MEANINGS)  # fmt: skip


class ThreadsPane(Pane[Scene], KeyedTable[ThreadRows]):
    """The threads of a process, the most run time first."""

    WAITING = NOTHING_YET
    NUMBER = 7
    TITLE = "Threads"
    KEY = ("tid",)
    READING = (
        "The threads of the process, those that ended among them, the most run time first; Enter looks at the "
        "selected one alone, p comes back. run, wait (for a CPU) and blocked are shares of the span, not of the "
        "thread's life: one that ran 1 ms in 10 s has 0.0 %. A number behind `ended` is its exit status, below 0 its "
        "signal. One thread near 100 % while the others are blocked: look at it alone, the rest waits for it."
    )
    COLUMN_HELP = (("Columns", COLUMNS),)

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Thread", show=False, id="open", tooltip="In Threads: this one alone"),
    ]

    class Chosen(Message):
        """One thread is to be looked at alone."""

        def __init__(self, subject: Subject) -> None:
            super().__init__()
            self.subject = subject

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._span_ns = 0

    def table_columns(self) -> Sequence[Column[ThreadRows]]:
        return COLUMNS

    def context(self, rows: Rows) -> ThreadRows:
        return ThreadRows(rows, self._span_ns)

    def show(self, scene: Scene) -> None:
        self._span_ns = scene.counts.interval_ns if scene.counts else scene.past.span_ns if scene.past else 0
        rows = thread_rows(scene)
        self.set_rows(rows, None)
        super().show(scene)

    def view_lines(self, scene: Scene) -> Sequence[Spans]:
        keys = "Enter: this one alone" if self.has_focus and self.selected_key else ""
        place = " · ".join(filter(None, (self.position_text(), keys)))
        many = len(self.rows) if self.rows is not None else 0
        self.set_title(f"{many}" if scene.counts else f"{many} in the history", place)
        return list(self.table_lines()) if many else self.sentence("none of its threads has run or waited yet")

    def row_opened(self) -> None:
        self.action_choose()

    @property
    def selected_subject(self) -> Subject | None:
        """The selected thread; `None`: there is none."""
        row = self.selected_row
        if row is None or self.view is None:
            return None
        return Subject(int(row["tid"]), self.view.subject.tgid, steady(text(row["comm"])), int(row["start_ns"]))

    def action_choose(self) -> None:
        """Asks for the task view on the selected thread; without a selection, selects the first one."""
        if self.selected_row is None:
            self.select(self.top)
        elif (subject := self.selected_subject) is not None:
            self.post_message(self.Chosen(subject))

    def on_click(self, event: events.Click) -> None:
        KeyedTable.on_click(self, event)
        offset = event.get_content_offset(self)
        if event.chain == 2 and offset is not None and offset.y > 0:
            self.action_choose()


def thread_rows(scene: Scene) -> Rows:
    """Rows of THREAD_DTYPE: as the task view counted them, else as the History has them."""
    started = {}
    if scene.past is not None:
        started = dict(zip(scene.past.threads["tid"].tolist(), scene.past.threads["start_ns"].tolist(), strict=True))
    if scene.counts is None:
        return _past_rows(scene)
    return np.array([_row(thread, started.get(thread.tid, 0)) for thread in scene.counts.threads], THREAD_DTYPE)


def _row(thread: Thread, start_ns: int) -> tuple[object, ...]:
    """The fields of THREAD_DTYPE."""
    code = "" if thread.exit_code is None else f" {thread.exit_code}"
    return (
        thread.tid,
        start_ns,
        thread.comm.encode()[:64],
        f"{thread.state}{code}".encode(),
        thread.cpu,
        thread.states.running_ns,
        thread.states.runnable_ns,
        thread.states.blocked_ns,
        thread.voluntary_switches,
        thread.involuntary_switches,
        thread.migrations,
    )


def _past_rows(scene: Scene) -> Rows:
    if scene.past is None:
        return np.zeros(0, THREAD_DTYPE)
    threads = scene.past.threads
    threads = threads[np.argsort(-threads["run_ns"], kind="stable")]
    rows = np.zeros(len(threads), THREAD_DTYPE)
    for name in ("tid", "start_ns", "comm", "run_ns", "run_delay_ns", "migrations"):
        rows[name] = threads[name]
    rows["voluntary_switches"] = threads["voluntary_switches"]
    rows["involuntary_switches"] = threads["involuntary_switches"]
    rows["cpu"], rows["blocked_ns"], rows["state"] = threads["last_cpu"], -1, b"-"
    return rows

"""The columns of the slow waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from schedtop.base.units import format_clock_ms, format_ns
from schedtop.model.groups import group_name
from schedtop.model.rows import Rows, text
from schedtop.model.sched_class import treatment, treatments
from schedtop.model.waits import WAKERS, Beginning, Explanation, explanations, reason
from schedtop.panes.levels import wait_styles
from schedtop.verdict.phrases import interrupt_words
from schedtop.verdict.wait import cause_words
from schedtop.widgets.columns import Column, explained
from schedtop.widgets.strips import Span, steady

COVERED_RATIO = 0.9
"""With less of a wait known, what is known of it carries the sign UNSURE."""

UNSURE = "~"


@dataclass(frozen=True, slots=True, eq=False)
class WaitRows:
    """The visible rows, how they are grouped, the paths of cgroups by id, and whether names have their tids."""

    rows: Rows
    kind: str
    cgroups: Mapping[int, str]
    tids: bool = True

    def task(self, which: str) -> list[str]:
        """`preemptor`, `previous` or `waker` as `name (tid)` or `name`; a dot where there is none."""
        pairs = zip(self.rows[f"{which}_tid"].tolist(), self.rows[f"{which}_comm"].tolist(), strict=True)
        return [task_text(tid, comm, tids=self.tids) for tid, comm in pairs]

    def wakers(self) -> list[str]:
        """As `task`, or what else it was."""
        sources = zip(self.rows["woken_by"].tolist(), self.rows["waker_interrupt"].tolist(), strict=True)
        return [
            (steady(text(interrupt)) or WAKERS[source]) if source and name == "·" else name
            for name, (source, interrupt) in zip(self.task("waker"), sources, strict=True)
        ]


def task_text(tid: int, comm: bytes, how: str = "", *, tids: bool = True) -> str:
    """`name (tid)`, `idle`, or a dot for no task at all; `how`: what is not ordinary of its class, `(tid, fifo 50)`.

    Without `tids` only the name and `how`.
    """
    name = steady(text(comm))
    if tid:
        told = ", ".join(filter(None, (str(tid) if tids else "", how)))
        return f"{name} ({told})" if told else name
    # The idle task has tid 0 and a name; no task at all has neither.
    return "idle" if name else "·"


def _cpus(context: WaitRows) -> list[str]:
    pairs = zip(context.rows["enqueue_cpu"].tolist(), context.rows["cpu"].tolist(), strict=True)
    return [str(cpu) if queued == cpu or queued < 0 else f"{queued}→{cpu}" for queued, cpu in pairs]


def _queues(context: WaitRows) -> list[str]:
    """How many still waited on the CPU when the wait was over."""
    return [str(length) if length >= 0 else "·" for length in context.rows["queue_length"].tolist()]


def _causes(context: WaitRows) -> list[str]:
    return [steady(cause_words(row, brief=not context.tids)) for row in context.rows]


NOTHING, QUOTA = "·", "its quota"


def _blockers(context: WaitRows) -> list[str]:
    rows = context.rows
    quota = explanations(rows) == Explanation.THROTTLED
    throttled = np.where(quota, rows["throttled_ns"], 0)
    times = (each.tolist() for each in (rows["wait_ns"], rows["covered_ns"] + throttled, throttled))
    texts = []
    for wait_ns, covered_ns, throttled_ns, row in zip(*times, rows, strict=True):
        blockers = blockers_of(row, tids=context.tids)
        if throttled_ns > 0:
            blockers = sorted([*blockers, (QUOTA, throttled_ns)], key=lambda blocker: -blocker[1])
        texts.append(_blocker_text(wait_ns, covered_ns, blockers))
    return [
        f" {QUOTA}" if own and words == NOTHING else words for own, words in zip(quota.tolist(), texts, strict=True)
    ]


def blockers_of(row: np.void, *, tids: bool = True) -> list[tuple[str, int]]:
    """The tasks and the sources of interrupts that had the CPU, each with its time, the longest first."""
    tasks = zip(row["blocker_tid"].tolist(), row["blocker_comm"].tolist(), row["blocker_ns"].tolist(), strict=True)
    found = [
        (task_text(tid, comm, treatment(row, "blocker_", place).words, tids=tids), ns)
        for place, (tid, comm, ns) in enumerate(tasks)
        if ns
    ]
    if row["interrupted_ns"]:
        interrupts = zip(
            *(row[name].tolist() for name in ("interrupt", "interrupt_raiser", "interrupt_ns")), strict=True
        )
        found += [(steady(interrupt_words(name, raiser)), ns) for name, raiser, ns in interrupts if ns]
        found.sort(key=lambda blocker: -blocker[1])
    return found


def _blocker_text(wait_ns: int, covered_ns: int, blockers: list[tuple[str, int]]) -> str:
    """The share of the wait of its longest blocker, the name of that, and how many more there are."""
    if not blockers or not wait_ns:
        return NOTHING
    sign = UNSURE if covered_ns < COVERED_RATIO * wait_ns else ""
    name, ns = blockers[0]
    rest = f" +{len(blockers) - 1}" if len(blockers) > 1 else ""
    return f"{sign + f'{ns / wait_ns * 100:.0f} %':>6} {name}{rest}"


def reason_spans(row: np.void) -> list[Span]:
    """Why the victim waited, in a few words: `← ` the preemptor; without one, `behind ` the task that had the CPU
    longest; else the cause."""
    if row["preemptor_tid"]:
        return [(" ← ", "dim"), (task_text(int(row["preemptor_tid"]), row["preemptor_comm"], tids=False), "preemption")]
    # A throttled task was on no run queue: no task kept a CPU from it.
    if reason(row).began is not Beginning.THROTTLED and (blockers := blockers_of(row, tids=False)):
        return [(" behind ", "dim"), (blockers[0][0], "text")]
    return [(f" · {steady(cause_words(row))}", "dim")]


def _groups(context: WaitRows) -> list[str]:
    return [steady(name) for name in group_name(context.rows, context.kind, context.cgroups)]


_TIME: Column[WaitRows] = Column(
    "time",
    12,
    lambda context: list(map(format_clock_ms, context.rows["time_ns"].tolist())),
    right=False,
    rank=4,
    sort="time_ns",
    style="dim",
)
_WAIT: Column[WaitRows] = Column(
    "wait", 7, lambda context: list(map(format_ns, context.rows["wait_ns"].tolist())), sort="wait_ns",
    level=lambda context: wait_styles(context.rows["wait_ns"].tolist(), 1),  # each is over the threshold
)  # fmt: skip
_TASK: Column[WaitRows] = Column(
    "task", 11, lambda context: [steady(text(name)) for name in context.rows["comm"].tolist()], right=False, grow=4,
    style="strong",
)  # fmt: skip
_TID: Column[WaitRows] = Column(
    "tid", 7, lambda context: list(map(str, context.rows["tid"].tolist())), rank=5, style="dim"
)
_CLASS: Column[WaitRows] = Column(
    "class", 8, lambda context: [each.words or "·" for each in treatments(context.rows)], right=False, rank=4, grow=4
)
_GROUP: Column[WaitRows] = Column("group", 12, _groups, right=False, rank=3, grow=16, style="dim")
_CPU: Column[WaitRows] = Column("CPU", 4, _cpus, rank=6, grow=3, named=True)
_QUEUE: Column[WaitRows] = Column("queue", 5, _queues, rank=8)

TIDS_LEAST = 88
"""From so many cells on names have their tids; below, what happened matters more than the number of a task."""


WHOLE_NAMES = range(70, 82)
"""In so many cells the time goes before names are cut, unless it sorts; below, the cause would go; above, both fit."""


def _reasons(tids: bool, whole: bool) -> tuple[Column[WaitRows], ...]:
    """The columns that tell why: the cause, and other tasks, of which the first two go last."""
    more = 8 if tids else 0
    least, blocker = (15, 21) if whole else (12 + more // 2, 17 + more)
    most = 16 + more + more // 2
    cells = (
        ("cause", 17 if tids else 12, _causes, 1, 1 if tids or whole else 5, "text"),
        ("preempted by", least, lambda context: context.task("preemptor"), 0, most - least, "preemption"),
        (" blocked by", blocker, _blockers, 0, 10 + more // 4, "text"),
        ("woken by", 12 + more // 2, lambda context: context.wakers(), 8, 8, "wakeup"),
        ("previous on CPU", 16, lambda context: context.task("previous"), 9, 8, "dim"),
    )
    return tuple(
        Column(header, width, cells_of, right=False, rank=rank, grow=grow, style=style)
        for header, width, cells_of, rank, grow, style in cells
    )


MEANINGS = {
    "time": "when the task got its CPU at last",
    "wait": "how long it had waited: the row's size",
    "task": "the task that waited",
    "tid": "its number",
    "class": "what is not ordinary of class, policy, priority or nice; gone while all are fair with nice 0",
    "group": "its process, cgroup, container or pid namespace",
    "CPU": "where it ran then; 3→1: it had been queued on CPU 3 before",
    "queue": "how many tasks waited on that CPU when it got it",
    "cause": "why it was slow, one of the causes that the help lists",
    "preempted by": "the task that took the CPU from it, if the wait began so",
    "blocked by": "what kept it longest from a CPU, a task, an interrupt or its quota, and the share of the wait; "
    "+2: two more; ~: not all is known",
    "woken by": "the task that woke it, or started it if it is new (cause fork), if the wait began so",
    "previous on CPU": "the task that ran last before it: on its own this misleads, it may be the last of many",
}


def columns_for(
    kind: str, sort: str, classes: bool = True, tids: bool = True, whole: bool = False
) -> tuple[Column[WaitRows], ...]:
    """The columns for tasks grouped by one of GROUPS; the one that sorts stays longest.

    `classes`: that, too; `tids`: names have them; `whole`: names are not cut for the time of each wait.
    """
    whole = whole and not tids and sort != "time_ns"
    time = _TIME if sort != "time_ns" else Column(
        _TIME.header, _TIME.width, _TIME.cells, right=False, sort=_TIME.sort, style=_TIME.style
    )  # fmt: skip
    which = (_TID,) if kind == "thread" else (_GROUP,)
    task = replace(_TASK, width=15, grow=0) if whole else _TASK
    columns = (time, _WAIT, task, *which, *((_CLASS,) if classes else ()), _CPU, _QUEUE, *_reasons(tids, whole))
    return explained(columns, MEANINGS)

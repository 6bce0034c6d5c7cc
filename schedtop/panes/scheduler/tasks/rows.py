"""The columns of the task table: of single tasks, and of groups of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from schedtop.base.scripts import with_script
from schedtop.base.units import format_count, format_ns, format_rate, rate
from schedtop.model.containers import cgroup_label
from schedtop.model.group_latency import GroupLatency
from schedtop.model.rows import SLOW_WAIT_DTYPE, Rows, text
from schedtop.model.sched_class import treatments
from schedtop.model.waits import for_quota_ns
from schedtop.panes.levels import THROTTLED, THROTTLED_MARK, delay_styles, wait_styles
from schedtop.panes.percent import percent
from schedtop.widgets.bars import thin_bar
from schedtop.widgets.columns import Column, explained
from schedtop.widgets.strips import steady

BAR_CELLS = 8

UNSEEN_NS = 100_000
"""Less run delay than this says nothing of waits that were not seen."""

CLASSES, OWNERS, QUOTA = "classes", "owners", "quota"
"""Stand for fields that are zero while all tasks of interest are ordinary, are of no other process or unit, and none
waits for a quota."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskRows:
    """The visible rows, what turns their counts into rates, and the parts that the source does not have."""

    rows: Rows
    interval_ns: int
    own_pid: int | None
    unavailable: Collection[str]
    groups: GroupLatency | None = None
    members: Mapping[int, Sequence[int]] | None = None
    """The ids in `groups` of each group, where they are not its own."""
    kind: str = "thread"
    cgroups: Mapping[int, str] = field(default_factory=dict)
    """Their paths by id."""
    longest_ns: int = 0
    """The largest run delay of all rows, for the bars."""
    threshold_ns: int = 0
    throttled_waits: Rows = field(default_factory=lambda: np.zeros(0, SLOW_WAIT_DTYPE))
    """The slow waits for a quota, by which those are known again that were the longest of a row."""
    counts: Mapping[bytes, int] = field(default_factory=dict)
    """How many tasks without a tid are added up, by their name."""
    is_here: bool = False
    """The tasks are now on this host, where the scripts of interpreters can be asked for."""

    def names(self, field: str) -> list[str]:
        """Names of tasks, safe to draw."""
        return [steady(text(name)) for name in self.rows[field].tolist()]

    @property
    def is_one(self) -> npt.NDArray[np.bool_]:
        """Which rows are one task, or one group."""
        if "tid" not in (self.rows.dtype.names or ()):
            return np.ones(len(self.rows), np.bool_)
        found: npt.NDArray[np.bool_] = self.rows["tid"] != 0
        return found

    def told(self, name: str, number: int) -> str:
        """The name of a task or process with its script, if it runs one."""
        return with_script(name, number) if self.is_here else name

    def rates(self, field: str) -> list[str]:
        """A count of switches as events per second."""
        if "task_switches" in self.unavailable:
            return ["-"] * len(self.rows)
        return [format_rate(rate(count, self.interval_ns)) for count in self.rows[field].tolist()]

    def throttled(self) -> list[bool]:
        """Of which rows the longest wait was one for a quota."""
        found: list[bool] = np.isin(self.rows["max_wait_ns"], self.throttled_waits["wait_ns"]).tolist()
        return found

    def durations(self, field: str) -> list[str]:
        """Waits; none at all is a dot, so that the eye finds the others."""
        if ("run_delay" if field == "run_delay_ns" else "latency") in self.unavailable:
            return ["-"] * len(self.rows)
        return [format_ns(ns) if ns else "·" for ns in self.rows[field].tolist()]


def _tasks(context: TaskRows) -> list[str]:
    own, rows = context.own_pid, context.rows
    names = zip(context.names("comm"), rows["tid"].tolist(), rows["tgid"].tolist(), strict=True)
    counts = map(context.counts.get, rows["comm"].tolist())
    return [
        f"{name} (self)" if tgid == own else context.told(name, tid) if tid else f"{name} ×{count:,}"
        for (name, tid, tgid), count in zip(names, counts, strict=True)
    ]


def _processes(context: TaskRows) -> list[str]:
    """The process of a thread; of a process's first thread, whose number is its own, the container or unit."""
    rows = zip(
        *(context.rows[name].tolist() for name in ("tid", "tgid", "cgroup_id")), context.names("process"), strict=True
    )
    return [
        f"{name} ({tgid})" if tid != tgid else _unit(context.cgroups.get(cgroup, ""))
        for tid, tgid, cgroup, name in rows
    ]


def _unit(path: str) -> str:
    """The container or unit of a cgroup; a dot for the root, and where it is not known."""
    return steady(cgroup_label(path)) if path.strip("/") else "·"


def _delay_bars(context: TaskRows) -> list[str]:
    longest = max(1, context.longest_ns)
    told = zip(context.rows["run_delay_ns"].tolist(), context.is_one.tolist(), strict=True)
    # Of many that are added up it says nothing beside those of one.
    return [thin_bar(min(1.0, ns / longest), BAR_CELLS) if is_one else "" for ns, is_one in told]


def _delay_levels(context: TaskRows) -> list[str]:
    """Run delay by level; of groups it is the sum of many tasks, and says little of one."""
    if context.kind != "thread":
        return [""] * len(context.rows)
    return delay_styles(np.where(context.is_one, context.rows["run_delay_ns"], 0).tolist(), context.interval_ns)


def _wait_levels(context: TaskRows) -> list[str]:
    return wait_styles(context.rows["waiting_ns"].tolist(), context.threshold_ns)


def _longest(context: TaskRows) -> list[str]:
    """The longest wait; where the waits that were seen are not the run delay, that is an upper bound."""
    waits, bounds = context.durations("max_wait_ns"), context.durations("run_delay_ns")
    told = zip(waits, bounds, context.throttled(), _has_unseen(context), strict=True)
    return [
        f"{THROTTLED_MARK}{wait}" if throttled else f"≤{bound}" if unseen else wait
        for wait, bound, throttled, unseen in told
    ]


def _quotas(context: TaskRows) -> list[str]:
    """What the slow waits of a task for a quota add up to; the end of each may be in this window, its begin before."""
    sums: dict[int, int] = defaultdict(int)
    waits = context.throttled_waits
    for tid, ns in zip(waits["tid"].tolist(), for_quota_ns(waits).tolist(), strict=True):
        sums[tid] += ns
    return [format_ns(sums[tid]) if tid in sums else "·" for tid in context.rows["tid"].tolist()]


def _has_unseen(context: TaskRows) -> list[bool]:
    """Of which rows the kernel has accounted for waits that it did not report (`waits_unseen`)."""
    rows = context.rows
    if not {"task_switches", "run_delay", "latency"}.isdisjoint(context.unavailable):
        return [False] * len(rows)
    seen = (rows["voluntary_switches"] + rows["involuntary_switches"] + 1) * rows["max_wait_ns"]
    found: list[bool] = (context.is_one & (rows["run_delay_ns"] > np.maximum(seen, UNSEEN_NS))).tolist()
    return found


def _longest_levels(context: TaskRows) -> list[str]:
    styles = wait_styles(context.rows["max_wait_ns"].tolist(), context.threshold_ns)
    return [THROTTLED if throttled else style for style, throttled in zip(styles, context.throttled(), strict=True)]


def _tids(context: TaskRows) -> list[str]:
    return [str(tid) if tid else "·" for tid in context.rows["tid"].tolist()]


def _cpus(context: TaskRows) -> list[str]:
    return [str(cpu) if cpu >= 0 else "·" for cpu in context.rows["last_cpu"].tolist()]


def _switches(context: TaskRows) -> list[str]:
    if "task_switches" in context.unavailable:
        return ["-"] * len(context.rows)
    totals = context.rows["voluntary_switches"] + context.rows["involuntary_switches"]
    return [format_rate(rate(count, context.interval_ns)) for count in totals.tolist()]


def _migrations(field: str) -> Callable[[TaskRows], list[str]]:
    def cells(context: TaskRows) -> list[str]:
        if "migrations" in context.unavailable:
            return ["-"] * len(context.rows)
        return [format_count(count) if count else "·" for count in context.rows[field].tolist()]

    return cells


def _of_cpu(field: str) -> Callable[[TaskRows], list[str]]:
    """A time as percent of one CPU."""

    def cells(context: TaskRows) -> list[str]:
        return [
            percent(ns / context.interval_ns if context.interval_ns else None) for ns in context.rows[field].tolist()
        ]

    return cells


def _waiting(context: TaskRows) -> list[str]:
    if "latency" in context.unavailable:
        return ["-"] * len(context.rows)
    return [f"▶ {format_ns(ns)}" if ns else "" for ns in context.rows["waiting_ns"].tolist()]


def _groups(context: TaskRows) -> list[str]:
    """Names of groups; a process with its number."""
    if context.kind != "process":
        return context.names("name")
    named = zip(context.names("name"), context.rows["id"].tolist(), strict=True)
    return [f"{context.told(name, number)} ({number})" for name, number in named]


def _waiting_tasks(context: TaskRows) -> list[str]:
    if "latency" in context.unavailable:
        return ["-"] * len(context.rows)
    return [f"▶ {count}" if count else "" for count in context.rows["waiting"].tolist()]


def _percentiles(context: TaskRows) -> list[str]:
    groups, longest = context.groups, context.rows["max_wait_ns"].tolist()
    if groups is None:
        return ["-"] * len(context.rows)
    members = context.members or {number: [number] for number in context.rows["id"].tolist()}
    found = [
        groups.histogram(members.get(number, ()), most).percentile_ns(0.99)
        for number, most in zip(context.rows["id"].tolist(), longest, strict=True)
    ]
    return [format_ns(ns) if ns else "·" for ns in found]


def _classes(context: TaskRows) -> list[str]:
    """What is not ordinary of class, policy, priority or nice."""
    return [each.words or "·" for each in treatments(context.rows)]


MEANINGS = {
    "class": "what is special about it: fifo or rr with its priority, deadline, batch, idle, ext, nice; gone while "
    "all that run or wait much are fair with nice 0",
    "task": "its name, of an interpreter with its script; cat ×80: so many that have ended; (self): schedtop's own. "
    "f filters by a part of it",
    "group": "the process, cgroup, container or pid namespace",
    "tasks": "how many threads it has in the window",
    "tid": "the number of the thread",
    "process or unit": "of a thread, the name and number of its process; of a process, its container or systemd unit",
    "": "run delay as a bar; the longest one is that of the task that lost most",
    "CPU": "where it ran last",
    "run delay": "the sum of the time that it was ready to run but had no CPU: what it lost",
    "longest": "the longest single wait that ended in the window; ◆: for a quota, no run delay; ≤: at most so long, "
    "as the kernel did not report its end",
    "quota": "what its slow waits for a quota (cpu.max) add up to: no run delay, as it was on no run queue",
    "waits now": "▶ it waits at this moment, and for how long already",
    "wait now": "▶ how many of its threads wait at this moment",
    "p99": "one wait in a hundred is longer",
    "switch/s": "context switches a second, voluntary and involuntary",
    "invol/s": "how often a second it was preempted although it wanted to go on",
    "run %": "its run time, in percent of one CPU: the task on top of this takes the time",
    "irq %": "of it, what interrupts took, while they are timed (I)",
    "moves": "migrations between CPUs in the window",
    "cache": "those of them to a CPU with another last-level cache: it loses what its cache held",
    "numa": "those of them to another NUMA node: its memory is far away then",
}

_LOST: tuple[Column[TaskRows], ...] = (
    Column(
        "run delay", 10, lambda context: context.durations("run_delay_ns"), sort="run_delay_ns", level=_delay_levels
    ),
    Column("", BAR_CELLS, _delay_bars, right=False, rank=2, style="preemption", part="run_delay", level=_delay_levels),
    Column(
        "longest",
        8,
        _longest,
        sort="max_wait_ns",
        part="latency",
        level=_longest_levels,
    ),
)
_REST: tuple[Column[TaskRows], ...] = (
    Column("invol/s", 8, lambda context: context.rates("involuntary_switches"), sort="involuntary_switches"),
    Column("run %", 6, _of_cpu("run_ns"), sort="run_ns"),
    Column("moves", 6, _migrations("migrations"), rank=2, sort="migrations", part="migrations", quiet="migrations"),
    Column(
        "cache", 5, _migrations("cache_migrations"), rank=5, style="dim", part="migrations", quiet="cache_migrations"
    ),
    Column("numa", 5, _migrations("numa_migrations"), rank=5, style="dim", part="migrations", quiet="numa_migrations"),
)
"""What tasks and groups of them have in common."""

COLUMNS: tuple[Column[TaskRows], ...] = explained(
    (
        Column("task", 12, _tasks, right=False, grow=12, style="strong"),
        Column("tid", 7, _tids, style="dim"),
        Column("process or unit", 15, _processes, right=False, rank=3, grow=14, style="dim", quiet=OWNERS),
        Column("class", 8, _classes, right=False, rank=1, grow=4, quiet=CLASSES),
        Column("CPU", 4, _cpus, rank=1, named=True),
        *_LOST,
        Column("quota", 8, _quotas, rank=1, part="latency", style=THROTTLED, quiet=QUOTA),
        Column("waits now", 10, _waiting, rank=3, part="latency", quiet="waiting_ns", level=_wait_levels),
        Column("switch/s", 9, _switches, rank=1, sort="switches"),
        *_REST[:2],
        Column("irq %", 5, _of_cpu("interrupted_ns"), rank=3, part="interrupts"),
        *_REST[2:],
    ),
    MEANINGS,
)
GROUP_COLUMNS: tuple[Column[TaskRows], ...] = explained(
    (
        Column("group", 22, _groups, right=False, grow=30, style="strong"),
        Column("tasks", 5, lambda context: [format_count(count) for count in context.rows["tasks"].tolist()], rank=1),
        *_LOST,
        Column("p99", 7, _percentiles, rank=1, part="latency"),
        Column("wait now", 8, _waiting_tasks, rank=3, part="latency"),
        Column("switch/s", 9, _switches, rank=3, sort="switches"),
        *_REST,
    ),
    MEANINGS,
)

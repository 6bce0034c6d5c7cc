"""What happened to single tasks, as numpy rows: tasks, slow waits, pairs of victim and blocker, throttled cgroups.

A row says everything about its subject, so that rows of many intervals can be merged, filtered and written alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.char  # numpy would load them at its first search, in the middle of a frame: 6 ms
import numpy.ma
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.base.units import printable

Integers = npt.NDArray[np.integer]
Rows = npt.NDArray[np.void]

KTHREADD_TGID = 2
"""The `parent_tgid` of the other threads of the kernel, of any boot."""

WAIT_KINDS = ("wakeup", "preemption", "fork")
"""First axis of `LatencyTable.counts`: why the task was queued. `fork`: it is new, and has not run yet."""

GROUPS = {
    "thread": "tid",
    "process": "tgid",
    "cgroup": "cgroup_id",
    "container": "cgroup_id",
    "pid namespace": "pid_namespace",
}
"""What tasks, waits and pairs can be grouped by, with the id field of it. Containers are cgroups by another name."""

BLOCKERS = 4
"""How many blockers a slow wait keeps by name."""

INTERRUPTERS = 3
"""How many sources of interrupts it keeps by name."""

TREATMENT = (("sched_class", "u1"), ("policy", "u1"), ("priority", "u1"), ("nice", "i1"))
"""How the scheduler is told to treat a task, decoded in model/sched_class.py: `priority` of real-time tasks, else 0.
All zero: it is not known."""

TASK_DTYPE = np.dtype(
    [
        ("tid", "<u4"),
        ("tgid", "<u4"),
        ("start_ns", "<u8"),
        ("comm", "S16"),
        ("process", "S16"),
        ("cgroup_id", "<u8"),
        ("run_ns", "<i8"),
        ("interrupted_ns", "<i8"),
        ("run_delay_ns", "<i8"),
        ("max_wait_ns", "<i8"),
        ("waiting_ns", "<i8"),
        ("timeslices", "<i8"),
        ("voluntary_switches", "<i8"),
        ("involuntary_switches", "<i8"),
        ("migrations", "<i8"),
        ("cache_migrations", "<i8"),
        ("numa_migrations", "<i8"),
        ("last_cpu", "<i4"),
        ("pid_namespace", "<u4"),
        ("allowed_cpus", "<u4"),
        ("parent_tgid", "<u4"),
        ("parent", "S16"),
        ("exit_code", "<i4"),
        ("ended", "<u4"),
        *TREATMENT,
        ("cgroup_weight", "<u4"),
    ]
)
"""One task in one interval. `start_ns` tells two users of one tid apart; `waiting_ns` is a gauge: how long the
task has been waiting at the end of the interval (0: it is not). `interrupted_ns`: how much of `run_ns` interrupts had
the CPU, 0 where they are not timed. `cgroup_id` and `pid_namespace` are inode numbers,
0 if unknown. Migrations to another cache or NUMA domain are among `migrations`. `allowed_cpus`: how many CPUs the
affinity mask allows; known of those with the largest run delays only (1 ms and more), else 0. `parent`: the process
that started it, by the name it had then, `parent_tgid` its number (0: not known); of a thread its own process.
`ended`: 1 if the task has ended; `exit_code` is then its wait status, -1 if that is not known. `cgroup_weight`: of the
cgroup that it is in, in the unit of cpu.shares, 0 where that has none, or it is not known."""

TASK_SUMS = (
    "run_ns",
    "interrupted_ns",
    "run_delay_ns",
    "timeslices",
    "voluntary_switches",
    "involuntary_switches",
    "migrations",
    "cache_migrations",
    "numa_migrations",
)
"""The counters of a task: they add."""


SLOW_WAIT_DTYPE = np.dtype(
    [
        ("time_ns", "<i8"),
        ("wait_ns", "<i8"),
        ("tid", "<u4"),
        ("tgid", "<u4"),
        ("comm", "S16"),
        ("process", "S16"),
        ("cgroup_id", "<u8"),
        ("pid_namespace", "<u4"),
        ("cpu", "<i4"),
        ("enqueue_cpu", "<i4"),
        ("domain", "<i4"),
        ("kind", "<i4"),
        ("cause", "<i4"),
        ("evidence", "<i4"),
        ("allowed_cpus", "<u4"),
        ("idle_cpu", "<i4"),
        ("switches", "<u4"),
        ("queue_length", "<i4"),
        ("fair_queue_length", "<i4"),
        ("idle_cpu_ns", "<i8"),
        ("stolen_ns", "<i8"),
        ("throttled_ns", "<i8"),
        ("covered_ns", "<i8"),
        ("cpu_idle_ns", "<i8"),
        ("others_ns", "<i8"),
        ("blocker_ns", "<i8", (BLOCKERS,)),
        ("blocker_tid", "<u4", (BLOCKERS,)),
        ("blocker_comm", "S16", (BLOCKERS,)),
        ("interrupted_ns", "<i8"),
        ("interrupt_ns", "<i8", (INTERRUPTERS,)),
        ("interrupt", "S32", (INTERRUPTERS,)),
        ("interrupt_raiser", "S32", (INTERRUPTERS,)),
        ("waker_interrupt", "S32"),
        ("waker_raiser", "S32"),
        ("preemptor_tid", "<u4"),
        ("preemptor_comm", "S16"),
        ("previous_tid", "<u4"),
        ("previous_comm", "S16"),
        ("waker_tid", "<u4"),
        ("waker_comm", "S16"),
        ("woken_by", "<u4"),
        ("idle_distance", "<i4"),
        *TREATMENT,
        *((f"blocker_{name}", kind, (BLOCKERS,)) for name, kind in TREATMENT),
        ("victim_level", "u1", (BLOCKERS,)),
        ("blocker_level", "u1", (BLOCKERS,)),
        ("blocker_weight", "<u4", (BLOCKERS,)),
        ("victim_weight", "<u4", (BLOCKERS,)),
        ("dl_runtime_ns", "<i8"),
        ("dl_period_ns", "<i8"),
        ("dl_missed_ns", "<i8"),
        ("slice_ns", "<i8"),
        ("blocker_slice_ns", "<i8", (BLOCKERS,)),
    ]
)
"""One wait over the threshold. `time_ns` is wall-clock time at its end; a tid of 0 with an empty comm means that there
is no such task. `kind`, `cause`, `evidence`, `domain` and `idle_distance` are decoded in model/waits.py.

The blockers: `covered_ns` of the wait are known, with `switches` switches; they are the sum of
`blocker_ns` (longest first), `others_ns` (smaller blockers), `cpu_idle_ns` (the CPU itself was idle) and
`interrupted_ns`, what interrupts had of all that, where they are timed: `interrupt` names the sources with the most of
it, `interrupt_ns` (longest first); `waker_interrupt` that which woke the task, empty if it is not known. What raised
a softirq is its `_raiser`: a task as `name (tid)` or an interrupt; empty for what is none, or if it is not known.
`stolen_ns`: what the hypervisor had of the wait, at least. `throttled_ns`: how much of it passed before a quota came
back, 0 where that is inferred. `idle_cpu` (-1: none) was idle for `idle_cpu_ns` of the wait
although it was not the task's, at `idle_distance` from it. `woken_by`: a WokenBy; what is no task has the tid 0 as
waker, except ksoftirqd.
`allowed_cpus`: how many CPUs the affinity mask allows, 0 if unknown.
TREATMENT of the task, and of each blocker as `blocker_...`. Where both are fair, `blocker_weight` and `victim_weight`
are their weights where they meet, those of what `blocker_level` and `victim_level` say (a Level; 0: not known).
`dl_runtime_ns` in each `dl_period_ns` is what a deadline task was granted (0: it is none, or not known), `dl_missed_ns`
by how much it was past its deadline when the wait ended. `slice_ns`: for how long the fair class lets the task run at a
time, asked for or the kernel's own (0: not known).
`queue_length`, `fair_queue_length` (-1: unknown): how many tasks of all classes, and of the fair class, wait on `cpu`
at the moment the wait ends; the task itself, which runs from then on, is not counted, one that had to leave is."""

UNKNOWN = {"queue_length": -1, "fair_queue_length": -1}
"""Fields of rows in which zero is a value like any other, and what they hold where it is not known."""

AT_ONCE, BYTES_AT_ONCE = 1 << 13, 1 << 19
"""So many rows, of no more than so many bytes, are copied in a fraction of a millisecond."""

ROLES = ("victim", "other")
_TASK_NAME = (
    ("tid", "<u4"),
    ("tgid", "<u4"),
    ("comm", "S16"),
    ("process", "S16"),
    ("cgroup_id", "<u8"),
    ("pid_namespace", "<u4"),
    *TREATMENT,
)
TASK_NAME_FIELDS = tuple(name for name, _ in _TASK_NAME)

TASK_NAME_DTYPE = np.dtype([*_TASK_NAME])
"""A task by its name and numbers, with its TREATMENT. `process` is the name of its thread group's leader."""

PAIR_DTYPE = np.dtype(
    [(f"{role}_{name}", kind) for role in ("victim", "other") for name, kind in _TASK_NAME]
    + [(name, "<i8") for name in ("preemptions", "preempted_ns", "waits", "blocked_ns")]
    + [("other_interrupt", "S32")]
)
"""A victim and another task. `preemptions`: how often the other took the CPU from it, `preempted_ns`: the whole waits
that began so. `waits`: in how many of its waits the other ran on its CPU, `blocked_ns`: for how long.
`other_interrupt`: where it is no task but a source of interrupts that had the CPU (`other_tid` is 0); else empty."""

PAIR_SUMS = ("preemptions", "preempted_ns", "waits", "blocked_ns")
"""The counters of a pair: they add."""

THROTTLING_DTYPE = np.dtype(
    [
        ("cgroup_id", "<u8"),
        ("periods", "<i8"),
        ("throttled_periods", "<i8"),
        ("throttled_ns", "<i8"),
        ("pressure_ns", "<i8"),
        ("quota_ns", "<i8"),
        ("period_ns", "<i8"),
        ("burst_ns", "<i8"),
    ]
)
"""A cgroup with a CPU quota in one interval, from its cpu.stat: enforcement periods, those in which it was throttled,
and for how long (summed over CPUs). `pressure_ns`: time in which some task of it waited, from its cpu.pressure.
Settings, as they were last seen: it may run `quota_ns` of CPU time in each `period_ns`, and up to `burst_ns` more that
it has left over from earlier ones. Recordings of older versions lack them: then they are 0."""

THROTTLING_SUMS = ("periods", "throttled_periods", "throttled_ns", "pressure_ns")
"""The counters of a throttled cgroup: they add."""


@lru_cache(maxsize=2048)
def text(name: bytes) -> str:
    """A kernel's name for people: UTF-8 where it is, with anything that could steer a terminal replaced."""
    return printable(bytes(name).split(b"\0", 1)[0].decode("utf-8", "replace"))


def take_rows(rows: Rows, indices: Integers) -> Rows:
    """`rows[indices]`, each row copied whole: by an index numpy copies them field by field, forty times slower."""
    return rows.take(indices)


def take_many(rows: Rows, indices: Integers, breathe: Callable[[], object]) -> Rows:
    """The same in steps; `breathe` is called in between."""
    found = np.empty(len(indices), np.dtype((np.void, rows.dtype.itemsize)))
    step = min(AT_ONCE, BYTES_AT_ONCE // rows.dtype.itemsize)
    for at in range(0, len(indices), step):
        some = indices[at : at + step]
        found[at : at + len(some)] = rows.take(some).view(found.dtype)
        breathe()
    return found.view(rows.dtype)


def kernel_tids(tasks: Rows) -> Integers:
    """The kernel's own threads among rows of TASK_DTYPE: those of CPUs have an affinity that nobody may change."""
    found: Integers = tasks["tid"][tasks["parent_tgid"] == KTHREADD_TGID]
    return found


def rows_where(rows: Rows, mask: npt.NDArray[np.bool_]) -> Rows:
    """`rows[mask]`, copied likewise."""
    return rows.compress(mask)


def kept_rows(rows: Rows, mask: npt.NDArray[np.bool_], breathe: Callable[[], object] = keep_on) -> Rows:
    """The same in steps, for rows that nobody changes: `rows` themselves if it is all of them."""
    return rows if mask.all() else take_many(rows, np.flatnonzero(mask), breathe)


def join_rows(tables: Sequence[Rows]) -> Rows:
    """`np.concatenate`, copied likewise; at least one table, all of one kind."""
    whole = np.dtype((np.void, tables[0].dtype.itemsize))
    joined: Rows = np.concatenate([np.ascontiguousarray(table).view(whole) for table in tables])
    return joined.view(tables[0].dtype)


def copy_rows(rows: Rows) -> Rows:
    """A copy, likewise."""
    whole = np.dtype((np.void, rows.dtype.itemsize))
    return np.ascontiguousarray(rows).view(whole).copy().view(rows.dtype)


def as_words(rows: Rows) -> Integers:
    """The same memory as 64-bit words, shape (rows, words of a row); a row must be a whole number of them."""
    return np.ascontiguousarray(rows).view(np.uint64).reshape(len(rows), rows.dtype.itemsize // 8)


def merge_tasks(tables: Sequence[Rows], breathe: Callable[[], object] = keep_on) -> Rows:
    """Rows of TASK_DTYPE merged by task (tid and start time), counters added, in order of tid.

    `breathe` is called in between.
    """
    rows = join_rows(tables) if tables else np.empty(0, TASK_DTYPE)
    if not len(rows):
        return rows
    breathe()
    order, starts, latest = _groups(rows, ("tid", "start_ns"))
    breathe()
    rows = take_rows(rows, order)
    breathe()
    merged = take_rows(rows, latest)
    breathe()
    for name in TASK_SUMS:
        merged[name] = np.add.reduceat(rows[name], starts)
    for name in ("max_wait_ns", "allowed_cpus"):
        merged[name] = np.maximum.reduceat(rows[name], starts)
    # A task that is absent from the last table did nothing there, and so does not wait any more.
    merged["waiting_ns"][order[latest] < len(rows) - len(tables[-1])] = 0
    return merged


def merge_pairs(tables: Sequence[Rows], breathe: Callable[[], object] = keep_on) -> Rows:
    """Rows of PAIR_DTYPE merged by the two tasks, counters added; `breathe` is called in between."""
    key: tuple[str, ...] = ("victim_tid", "other_tid", "victim_tgid", "other_tgid")
    # As numbers: a name is made into a string to see whether it is empty.
    if any(np.ascontiguousarray(table["other_interrupt"]).view(np.uint64).any() for table in tables):
        key = (*key, "other_interrupt")
    return _merge(tables, PAIR_DTYPE, key, PAIR_SUMS, breathe)


def other_names(pairs: Rows) -> npt.NDArray[np.bytes_]:
    """What a pair's victim waited for, of rows of PAIR_DTYPE: the other task's name, or the interrupt's."""
    found: npt.NDArray[np.bytes_] = np.where(
        pairs["other_interrupt"] != b"", pairs["other_interrupt"], pairs["other_comm"]
    )
    return found


def merge_throttling(tables: Sequence[Rows]) -> Rows:
    """Rows of THROTTLING_DTYPE merged by cgroup, counters added."""
    return _merge(tables, THROTTLING_DTYPE, ("cgroup_id",), THROTTLING_SUMS)


def subtract_throttling(earlier: Rows, later: Rows) -> Rows:
    """What happened between two readings: rows of THROTTLING_DTYPE of the groups that are in both, in order of id.

    Never negative. A group that is new in `later` has no row yet: its counters are those of its whole life.
    """
    if not len(earlier) or not len(later):
        return np.zeros(0, THROTTLING_DTYPE)
    # Few, and once an interval: np.intersect1d is the more code to pass through.
    places = {cgroup: place for place, cgroup in enumerate(earlier["cgroup_id"].tolist())}
    both = sorted((cgroup, place) for place, cgroup in enumerate(later["cgroup_id"].tolist()) if cgroup in places)
    before, after = [places[cgroup] for cgroup, _ in both], [place for _, place in both]
    rows = take_rows(later, np.array(after, np.int64))
    for name in THROTTLING_SUMS:
        rows[name] = np.maximum(later[name][after] - earlier[name][before], 0)
    return rows


def _merge(
    tables: Sequence[Rows],
    dtype: np.dtype[np.void],
    key: tuple[str, ...],
    sums: Sequence[str],
    breathe: Callable[[], object] = keep_on,
) -> Rows:
    rows = join_rows(tables) if tables else np.empty(0, dtype)
    if not len(rows):
        return rows
    breathe()
    order, starts, latest = _groups(rows, key)
    breathe()
    rows = take_rows(rows, order)
    merged = take_rows(rows, latest)
    breathe()
    for name in sums:
        merged[name] = np.add.reduceat(rows[name], starts)
    return merged


def name_words(rows: Rows, field: str) -> list[Integers]:
    """A name of 16 bytes as two numbers: those sort and compare faster."""
    words = np.ascontiguousarray(rows[field]).view(np.uint64).reshape(len(rows), 2)
    return [words[:, 0], words[:, 1]]


def neighbours(keys: Sequence[Integers]) -> tuple[Integers, Integers]:
    """An order of the rows that puts those of equal keys together, and where each such group begins in it.

    The order is stable: rows of a group stay as they were. `keys`: at least one, each of shape (rows,).
    """
    order = np.lexsort(keys[::-1])
    fresh = np.zeros(len(order), bool)
    fresh[:1] = True
    for key in keys:
        ordered = key[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(fresh)


def _groups(rows: Rows, key: tuple[str, ...]) -> tuple[Integers, Integers, Integers]:
    """`neighbours` of the fields of a key, and the last row of each group: names and gauges are its own."""
    order, starts = neighbours([rows[name] for name in key])
    return order, starts, np.append(starts[1:], len(rows)) - 1

"""TaskLedger: every task's counters at the last Reading, because 65,536 slots are too many to copy each time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import TASK_DTYPE, TREATMENT, WAIT_KINDS, Integers, Rows, as_words, take_rows
from schedtop.model.short_lived import EXIT_UNKNOWN
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.kernel.mapped_rows import MappedRows

_COUNTERS = {
    "timeslices": "timeslices",
    "voluntary_switches": "voluntary",
    "involuntary_switches": "involuntary",
    "migrations": "migrations",
    "cache_migrations": "cache_migrations",
    "numa_migrations": "numa_migrations",
}
# Fields of TASK_DTYPE, in its order and next to each other, with their names in `struct task_slot`; 32 bits each there.
_FIELDS: Mapping[str, Any] = TASK_DTYPE.fields or {}
_FIRST_COUNTER = _FIELDS["timeslices"][1] // 8

MOST_STATUS = 0xFFFF
"""Wait statuses are 16 bits."""

LEDGER_DTYPE = np.dtype(
    [
        ("tid", "<u4"),
        ("start_ns", "<u8"),
        ("run_ns", "<i8"),
        ("run_delay_ns", "<i8"),
        ("counters", "<u4", (len(_COUNTERS),)),
        ("padding", "<u4"),
    ]
)
"""What is remembered of each task: its counters, with the slice or wait under way included."""


class TaskLedger:
    """What every task's counters were at the last Reading, so that the next one yields differences.

    Reported counters never run backwards: where a slot was read in the middle of a switch, the difference comes with
    the next Reading, and no nanosecond is counted twice or lost.
    """

    def __init__(self, slots: int) -> None:
        self._slots = np.zeros(slots, LEDGER_DTYPE)
        self._overflow: Rows = np.zeros(0, LEDGER_DTYPE)

    def moved(
        self, slots: Rows | MappedRows, running_tids: Integers, among: npt.NDArray[np.int64] | None = None
    ) -> tuple[Integers, Rows]:
        """The slots that changed since the last Reading, or that are waiting or running now: indices, and copies.

        `slots`: rows of `struct task_slot`; `running_tids`: the tid on each CPU; `among`: indices of all slots that can
        have changed, sorted, those of `running_tids` with them (`None`: it may be any).
        """
        running = running_tids & (len(slots) - 1)
        if among is None:
            slots = np.asarray(slots)
            moved = _changed(slots, self._slots, running).nonzero()[0]
            return moved, slots.take(moved)
        rows = slots.take(among)
        moved = _changed(rows, take_rows(self._slots, among), among.searchsorted(running)).nonzero()[0]
        return among[moved], take_rows(rows, moved)

    def settle(self, indices: Integers, rows: Rows, overflow: Rows, now: Moment) -> Rows:
        """The tasks (TASK_DTYPE) that did something since the last Reading; remembers their counters for the next one.

        `rows`: copies of the slots at `indices`; `overflow`: the rows of the overflow map.
        """
        before = take_rows(self._slots, indices)
        latest = _ledger_rows(rows, now)
        tasks = _differences(before, latest, rows, now)
        as_words(self._slots)[indices] = as_words(latest)
        if not len(overflow):
            self._overflow = np.zeros(0, LEDGER_DTYPE)
            return tasks
        return np.concatenate((tasks, self._settle_overflow(overflow, now)))

    def _settle_overflow(self, overflow: Rows, now: Moment) -> Rows:
        """The same for the rows of a hash, which come in any order; the last ones are kept in order of tid."""
        overflow = take_rows(overflow, np.argsort(overflow["tid"]))
        latest = _ledger_rows(overflow, now)
        before = np.zeros(len(overflow), LEDGER_DTYPE)
        if len(self._overflow):
            at = np.minimum(np.searchsorted(self._overflow["tid"], latest["tid"]), len(self._overflow) - 1)
            # Another task's counters do no harm here: differences ask whether it is the same one.
            before = take_rows(self._overflow, at)
        tasks = _differences(before, latest, overflow, now)
        self._overflow = latest
        return tasks


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """When slots were read, and what ran then: `running` are tids with their slice's start, sorted by tid."""

    time_ns: int
    epoch: int
    running_tids: Integers
    running_since_ns: Integers

    @classmethod
    def of(cls, time_ns: int, epoch: int, cpus: Rows) -> Moment:
        """The moment `time_ns`, taken before the slots were read, by CPU rows that were not read before them.

        A slice that began before and is still the same after did not touch its slot in between. `cpus`: rows of
        `struct cpu_state`, or what `Running` makes of them.
        """
        tids = cpus["current_tid"].astype(np.int64)
        starts = cpus["slice_start_ns"].astype(np.int64)
        live = ((starts > 0) & (starts <= time_ns) & (tids > 0)).nonzero()[0]
        live = live[tids[live].argsort()]
        return cls(time_ns, epoch, tids[live], starts[live])

    def slice_ns(self, tids: Integers) -> npt.NDArray[np.int64]:
        """How long each task has been running in the slice under way, 0 if it does not run."""
        if not len(self.running_tids):
            return np.zeros(len(tids), np.int64)
        wanted = tids.astype(np.int64)
        at = np.minimum(self.running_tids.searchsorted(wanted), len(self.running_tids) - 1)
        return np.where(self.running_tids[at] == wanted, self.time_ns - self.running_since_ns[at], 0)

    def waiting_ns(self, rows: Rows) -> npt.NDArray[np.int64]:
        """How long each task has been waiting on a run queue, 0 if it does not wait."""
        start = rows["wait_start_ns"].astype(np.int64)
        waits = (start > 0) & (start < self.time_ns) & (rows["wait_kind"] < len(WAIT_KINDS))
        return np.where(waits, self.time_ns - start, 0)


def _changed(slots: Rows, last: Rows, running: Integers) -> npt.NDArray[np.bool_]:
    """Which slots differ from what is remembered of them, or wait; `running`: the places of those that run."""
    counters = last["counters"]
    changed: npt.NDArray[np.bool_] = slots["timeslices"] != counters[:, 0]
    changed |= slots["voluntary"] + slots["involuntary"] != counters[:, 1] + counters[:, 2]
    changed |= slots["wait_start_ns"] != 0
    changed |= slots["tid"] != last["tid"]
    changed |= slots["start_ns"] != last["start_ns"]
    changed[running] = True
    changed &= slots["tid"] != 0
    return changed


def queue_length(rows: Rows, cpus: int) -> Integers:
    """How many tasks of `rows` wait on each CPU's run queue, shape (cpus,)."""
    waits = (rows["wait_start_ns"] > 0) & (rows["wait_kind"] < len(WAIT_KINDS))
    return np.bincount(rows["queue_cpu"][waits], minlength=cpus)[:cpus]


def _ledger_rows(rows: Rows, now: Moment) -> Rows:
    latest = np.zeros(len(rows), LEDGER_DTYPE)
    latest["tid"], latest["start_ns"] = rows["tid"], rows["start_ns"]
    counters = latest["counters"]
    for place, name in enumerate(_COUNTERS.values()):
        counters[:, place] = rows[name]
    latest["run_ns"] = rows["run_ns"].astype(np.int64) + now.slice_ns(rows["tid"])
    latest["run_delay_ns"] = rows["run_delay_ns"].astype(np.int64) + now.waiting_ns(rows)
    return latest


def _differences(before: Rows, latest: Rows, rows: Rows, now: Moment) -> Rows:
    """Rows of TASK_DTYPE; lifts times in `latest` that would run backwards."""
    same = (before["tid"] == latest["tid"]) & (before["start_ns"] == latest["start_ns"])
    tasks = np.zeros(len(rows), TASK_DTYPE)
    for name in ("tid", "tgid", "start_ns", "comm", "cgroup_id", "pid_namespace", "last_cpu", "parent_tgid"):
        tasks[name] = rows[name]
    for name, _ in TREATMENT:
        tasks[name] = rows[name]
    tasks["parent"] = rows["parent_comm"]
    for name in ("run_ns", "run_delay_ns"):
        earlier = np.where(same, before[name], 0)
        latest[name] = np.maximum(latest[name], earlier)
        tasks[name] = latest[name] - earlier
    # Unsigned, so right even when the kernel's 32 bits wrapped.
    counts = latest["counters"] - before["counters"] * same[:, None]
    as_words(tasks)[:, _FIRST_COUNTER : _FIRST_COUNTER + len(_COUNTERS)] = counts
    tasks["waiting_ns"] = now.waiting_ns(rows)
    ended = (rows["flags"] & SCHEDULER.TASK_EXITED).nonzero()[0]
    if len(ended):
        # Of a thread it is between it and its process; what is no wait status is a reason why there is none.
        gone = rows[["tid", "tgid", "exit_code"]][ended]
        known = (gone["exit_code"] <= MOST_STATUS) & (gone["tid"] == gone["tgid"])
        tasks["ended"][ended] = 1
        tasks["exit_code"][ended] = np.where(known, gone["exit_code"].astype(np.int64), EXIT_UNKNOWN)
    parity = now.epoch & 1
    current = rows["longest_epoch"][:, parity] == (now.epoch & 0xFFFF)
    longest = np.where(current, rows["longest_ns"][:, parity], 0).astype(np.int64)
    tasks["max_wait_ns"] = np.maximum(longest, tasks["waiting_ns"])
    return tasks

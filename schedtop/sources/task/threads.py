"""The threads of a task: what each did from one look to the next, by the kernel side's rows and by /proc."""

from __future__ import annotations

import os

import numpy as np

from schedtop.model.rows import Rows, text
from schedtop.sources.host.topology import online_cpus
from schedtop.sources.task import tables
from schedtop.sources.task.proc import RUNNABLE, RUNNING, SLEEPING, ThreadStat, comm, read_stat, run_ns
from schedtop.task import STATES, Column, Faults, Thread, thread_order


def _never_less(times: tables.Times, before: tables.Times) -> tables.Times:
    """What is shown of cumulative `times` after `before` was: the sum is theirs, and no state has less than before.

    A thread may leave its state between a look and its time, and where waits under way are not split (held.py) one
    counts as throttled until its end. What a state has too much of is missing in those that have grown, in runnable
    first, until it has as much.
    """
    latest: tables.Times = np.maximum(times, before)
    too_much = int(latest.sum() - times.sum())
    for state in (RUNNABLE, *range(len(STATES))) if too_much else ():
        less = min(too_much, int(latest[state] - before[state]))
        latest[state] -= less
        too_much -= less
    return latest


class TaskThreads:
    """Those of the process `tgid`, as of `start_ns`. `times_faults`: whether the rows have the time of page faults.

    Time that was shown is never taken back. `column_ns`: when the last column ended.
    """

    def __init__(self, tgid: int, times_faults: bool, start_ns: int) -> None:
        self._tgid = tgid
        self.no_faults = Faults(0, 0, 0 if times_faults else None)
        self.column_ns = start_ns
        self._faults: dict[int, tuple[int, int]] = {}
        self._run_ns: dict[int, int] = {}
        self._comms: dict[int, str] = {}
        self._shown: dict[int, tables.Times] = {}
        self._base: dict[int, tables.Times] = {}

    def begin(self, tid: int) -> ThreadStat | None:
        """Begins to look at a thread: what it is now, `None` if it is gone."""
        stat = read_stat(self._tgid, tid)
        if stat:
            self._faults[tid] = (stat.minor, stat.major)
            self._run_ns[tid] = run_ns(self._tgid, tid)
        return stat

    def column(self, threads: Rows, now_ns: int) -> Column:
        """What has happened since the last one."""
        threads = self._corrected(threads)
        total = np.zeros(len(STATES), np.int64)
        for tid, times in zip(threads["tid"].tolist(), tables.cumulative_states(threads, now_ns), strict=True):
            before = self._shown.get(tid)
            latest = times if before is None else _never_less(times, before)
            total += latest if before is None else latest - before
            self._shown[tid] = latest
        duration, self.column_ns = now_ns - self.column_ns, now_ns
        return Column(duration, tables.state_times(total))

    def _corrected(self, threads: Rows) -> Rows:
        """A thread that /proc called running and that has not switched since: does it run, or wait for a CPU?

        And the last one of a CPU that is offline, its stopper, which was not seen to leave it (as in
        sources/scheduler/running.py).
        """
        running = threads["state"] == RUNNING
        if not running.any():
            return threads
        unsure = running & (threads["cpu_and_one"] == 0)
        there = np.isin(threads["cpu_and_one"].astype(np.int64) - 1, online_cpus())
        threads = threads.copy()
        threads["state"][running & ~unsure & ~there] = SLEEPING
        for index in np.flatnonzero(unsure).tolist():
            tid = int(threads["tid"][index])
            if run_ns(self._tgid, tid) <= self._run_ns.get(tid, -1):
                threads["state"][index] = RUNNABLE
        return threads

    def table(self, earlier: Rows, later: Rows, now_ns: int, ended: bool) -> tuple[tuple[Thread, ...], list[int]]:
        """Each thread that lived between two readings, and the tids of those that had ended before."""
        before = {int(row["tid"]): row for row in earlier}
        found, told = [], []
        for row in self._corrected(later):
            tid = int(row["tid"])
            old = before.get(tid)
            gone = row["state"] >= len(STATES)
            if gone and old is not None and old["state"] >= len(STATES):
                told.append(tid)
                continue
            found.append(self._thread(row, old, now_ns, gone or ended))
        return tuple(sorted(found, key=thread_order)), told

    def forget(self, tids: list[int]) -> None:
        """Threads of which nothing more is wanted: a process may start and end many in its life."""
        for tid in tids:
            for kept in (self._shown, self._base, self._faults, self._run_ns, self._comms):
                kept.pop(tid, None)

    def _thread(self, row: Rows, old: Rows | None, now_ns: int, gone: bool) -> Thread:
        tid = int(row["tid"])

        def change(name: str) -> int:
            return int(row[name]) - (int(old[name]) if old is not None else 0)

        times = self._shown.get(tid, np.zeros(len(STATES), np.int64))
        base = self._base.get(tid, np.zeros(len(STATES), np.int64))
        self._base[tid] = times
        exiting = bool(row["exiting"])
        faults = self.no_faults
        # Of one that has done nothing since the last interval /proc tells nothing new: most of a large pool.
        if old is None or row["state"] == RUNNING or row.tobytes() != old.tobytes():
            self._comms[tid] = comm(self._tgid, tid) or text(bytes(row["comm"]))
            faults = self._thread_faults(tid, row, change("fault_ns"))
        return Thread(
            tid=tid,
            comm=self._comms[tid],
            states=tables.state_times(times - base),
            state="ended" if gone else STATES[row["state"]],
            state_ns=max(0, now_ns - int(row["since_ns"])),
            cpu=int(row["cpu_and_one"]) - 1,
            voluntary_switches=change("voluntary"),
            involuntary_switches=change("involuntary"),
            migrations=change("migrations"),
            faults=faults,
            exit_code=os.waitstatus_to_exitcode(int(row["exit_code"])) if gone and exiting else None,
        )

    def _thread_faults(self, tid: int, row: Rows, time_ns: int) -> Faults:
        """By the kernel's own count: as /proc says, or as of its last switch where it is gone."""
        stat = read_stat(self._tgid, tid)
        latest = (int(row["min_flt"]), int(row["maj_flt"]))
        if stat:
            latest = (max(latest[0], stat.minor), max(latest[1], stat.major))
        before = self._faults.get(tid, (0, 0))
        latest = (max(latest[0], before[0]), max(latest[1], before[1]))
        self._faults[tid] = latest
        known = self.no_faults.time_ns is not None
        return Faults(latest[0] - before[0], latest[1] - before[1], time_ns if known else None)

"""The task view on the live kernel: one task, looked at closely while it is open (bpf/task/task.h)."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.host import Host
from schedtop.model.rows import Rows, text
from schedtop.model.source import SourceError
from schedtop.sources.host import proc
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.task import tables
from schedtop.sources.task.attributes import AttributeReader
from schedtop.sources.task.front_end import choose_task_front_end
from schedtop.sources.task.identity import TaskName, ended_before, identify, require_host_numbers
from schedtop.sources.task.proc import RUNNABLE, RUNNING, comm, read_stat, run_ns, thread_count, thread_ids
from schedtop.sources.task.programs import TaskPrograms, TaskReading
from schedtop.sources.task.syscalls import syscall_names
from schedtop.sources.task.under_way import CallUnderWay, current_call, may_be_looked_at, open_sockets
from schedtop.task import (
    CHANGES_KEPT,
    SLOWEST,
    STATES,
    Column,
    ConnectionChange,
    Faults,
    SlowCall,
    StateTimes,
    TaskFrame,
    TaskLoss,
    Thread,
    slowest,
    transitions,
)

NOT_LOOKED_AT = (
    "what it was doing and had open before cannot be seen (a process of another user: that needs CAP_SYS_PTRACE)"
)

COLUMN_NS = 100 * NS_PER_MS
"""How much time a column of the strip has."""

_LAST_SWITCH_S = 0.01
_MANY_SLOW = 32


class LiveTaskSource:
    """Looks at the task `tid`, or with `whole_process` at all threads of its process.

    `interval_ns`: of each TaskFrame; `column_ns`: of each column of its strip.
    `source`: `auto` or `btf`. Opening compiles the programs, if they were not kept, and attaches them; closing
    detaches. One thread opens it, iterates and closes it.
    """

    def __init__(
        self,
        tid: int,
        whole_process: bool,
        interval_ns: int = NS_PER_S,
        source: str = "auto",
        column_ns: int = COLUMN_NS,
    ) -> None:
        self._wanted_tid = tid
        self._whole = whole_process
        self._interval_ns = interval_ns
        self._column_length_ns = column_ns
        self._wanted = source
        self._names = syscall_names()
        self.host: Host

    def __enter__(self) -> Self:
        require_host_numbers()
        self.name = identify(self._wanted_tid)
        front_end = choose_task_front_end(self._wanted)
        self.host = proc.identify_host(front_end.name, pid_numbers().note)
        self._programs = TaskPrograms(front_end, proc.possible_cpus())
        self._pidfd = -1
        # Records of tracepoints do not say to which process a new thread belongs.
        self._tells_births = front_end.name == "btf"
        try:
            self._unavailable = dict(front_end.unavailable)
            for name, why in self._programs.refused.items():
                self._unavailable[front_end.parts[name]] = why
            if not self._names:
                self._unavailable["syscall names"] = "the numbers of system calls are not known for this machine"
            self._unavailable["slow waits"] = "blockers are the dashboard's and the command's to look for"
            self._aim()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: Any) -> None:
        self._programs.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def frames(self, stop: threading.Event) -> Iterator[TaskFrame]:
        """A TaskFrame each interval, a last one when it has ended or `stop` is set."""
        ended = False
        while not stop.is_set() and not ended:
            columns: list[Column] = []
            slow: tuple[SlowCall, ...] = ()
            changes: tuple[ConnectionChange, ...] = ()
            slow_lost = changes_lost = 0
            deadline = self._earlier.time_ns + self._interval_ns
            while True:
                rest = min(deadline, self._column_ns + self._column_length_ns) - time.monotonic_ns()
                stop.wait(max(0, rest) / NS_PER_S)
                ended = self._has_ended()
                if ended:
                    time.sleep(_LAST_SWITCH_S)  # its last switch comes a little after
                finished = ended or stop.is_set() or time.monotonic_ns() >= deadline
                if finished:
                    break
                columns.append(self._column(self._programs.threads(), time.monotonic_ns()))
                slow, slow_lost = self._take_slow(slow, slow_lost)
                changes, changes_lost = self._take_changes(changes, changes_lost)
            yield self._task(columns, (slow, slow_lost), (changes, changes_lost), ended)

    def look(self, duration_ns: int, stop: threading.Event) -> TaskFrame:
        """All of the next `duration_ns` as one TaskFrame; shorter if the task ends or `stop` is set."""
        total: TaskFrame | None = None
        for task in self.frames(stop):
            total = total + task if total else task
            rest = duration_ns - total.interval_ns
            if rest <= 0:
                break
            self._interval_ns = min(self._interval_ns, rest)
        if total is None:
            raise SourceError("nothing was seen of the task: it was interrupted at once")
        return total

    def _aim(self) -> None:
        name = self.name
        self._tids = thread_ids(name.tgid) if self._whole else [name.tid]
        if not may_be_looked_at(name.tgid):
            self._unavailable["beginning"] = NOT_LOOKED_AT
        if self._whole or name.threads == 1:
            self._programs.seed_sockets(*open_sockets(name.tgid))
        if pid_numbers().for_calls:
            with suppress(OSError):  # before 5.3
                self._pidfd = os.pidfd_open(name.tgid)
        self._faults: dict[int, tuple[int, int]] = {}
        self._run_ns: dict[int, int] = {}
        self._comms: dict[int, str] = {}
        start = time.monotonic_ns()
        self._programs.aim(name.tgid, 0 if self._whole else name.tid, start)
        for tid in self._tids:
            stat = read_stat(name.tgid, tid)
            if stat:
                self._faults[tid] = (stat.minor, stat.major)
                self._run_ns[tid] = run_ns(name.tgid, tid)
                call = CallUnderWay() if stat.state == RUNNING else current_call(name.tgid, tid, self._names)
                self._programs.seed_thread(tid, stat.state, start, call)
        if not self._faults:
            raise ended_before(name)
        self._attributes = AttributeReader(name.tgid, name.tid if not self._whole else name.tgid)
        self._attributes.read()
        self._shown: dict[int, tables.Times] = {}
        self._thread_base: dict[int, tables.Times] = {}
        self._column_ns = start
        self._earlier = _beginning(self._programs.read(), start)

    def _has_ended(self) -> bool:
        if self._pidfd >= 0 and select.select([self._pidfd], [], [], 0)[0]:
            return True
        if self._whole:
            return self._pidfd < 0 and not thread_ids(self.name.tgid)
        return not os.path.exists(f"/proc/{self.name.tgid}/task/{self.name.tid}")

    def _column(self, threads: Rows, now_ns: int) -> Column:
        """What has happened since the last one; time that was shown is never taken back."""
        threads = self._corrected(threads)
        total = np.zeros(len(STATES), np.int64)
        for tid, times in zip(threads["tid"].tolist(), tables.cumulative_states(threads, now_ns), strict=True):
            before = self._shown.get(tid)
            latest = times if before is None else np.maximum(times, before)
            total += latest if before is None else latest - before
            self._shown[tid] = latest
        duration, self._column_ns = now_ns - self._column_ns, now_ns
        return Column(duration, tables.state_times(total))

    def _corrected(self, threads: Rows) -> Rows:
        """A thread that /proc called running and that has not switched since: does it run, or wait for a CPU?"""
        unsure = (threads["state"] == RUNNING) & (threads["cpu_and_one"] == 0)
        if not unsure.any():
            return threads
        threads = threads.copy()
        for index in np.flatnonzero(unsure).tolist():
            tid = int(threads["tid"][index])
            if run_ns(self.name.tgid, tid) <= self._run_ns.get(tid, -1):
                threads["state"][index] = RUNNABLE
        return threads

    def _take_slow(self, slow: tuple[SlowCall, ...], lost: int) -> tuple[tuple[SlowCall, ...], int]:
        rows, overwritten = self._programs.take_slow_calls()
        found = slowest(slow + tables.slow_calls(rows, self._names, _clock_offset_ns()))
        if len(rows) >= _MANY_SLOW:
            # Only those that may still be among the slowest.
            self._programs.keep_from(found[-1].duration_ns if len(found) == SLOWEST else 0)
        return found, lost + overwritten

    def _take_changes(
        self, changes: tuple[ConnectionChange, ...], lost: int
    ) -> tuple[tuple[ConnectionChange, ...], int]:
        rows, overwritten = self._programs.take_changes()
        return changes + tables.connection_changes(rows, _clock_offset_ns()), lost + overwritten

    def _task(
        self,
        columns: list[Column],
        taken_calls: tuple[tuple[SlowCall, ...], int],
        taken_changes: tuple[tuple[ConnectionChange, ...], int],
        ended: bool,
    ) -> TaskFrame:
        epoch = self._programs.next_interval()
        later, earlier = self._programs.read(), self._earlier
        name = self._name_now()
        slow, slow_lost = self._take_slow(*taken_calls)
        # The next interval is likely to be as this one; if it is not, the one after that starts from the bottom.
        self._programs.keep_from(slow[-1].duration_ns // 2 if len(slow) == SLOWEST else 0)
        changes, changes_lost = self._take_changes(*taken_changes)
        columns.append(self._column(later.threads, later.time_ns))
        threads = self._threads(earlier, later, ended)
        self._earlier = later
        leader = name.tgid if self._whole else name.tid
        offset = _clock_offset_ns()
        peers = tables.peers(earlier, later)
        known = later.threads[later.threads["tid"] == leader]
        exited = ended and len(known) and known["exiting"][0]
        return TaskFrame(
            start_time_ns=earlier.time_ns + offset,
            end_ns=later.time_ns,
            interval_ns=later.time_ns - earlier.time_ns,
            tid=name.tid,
            tgid=name.tgid,
            whole_process=self._whole,
            comm=comm(name.tgid, leader) or name.comm,
            process=name.process,
            command_line=name.command_line,
            states=sum((column.states for column in columns), StateTimes()),
            strip=tuple(columns),
            waits=tables.wait_histogram(earlier, later, epoch),
            wakers=peers["wakers"],
            wakees=peers["wakees"],
            preemptors=peers["preemptors"],
            cpus=tables.cpu_uses(earlier, later),
            migrations=sum(thread.migrations for thread in threads),
            voluntary_switches=sum(thread.voluntary_switches for thread in threads),
            involuntary_switches=sum(thread.involuntary_switches for thread in threads),
            attributes=self._attributes.read(),
            syscalls=tables.syscalls(earlier, later, self._names, epoch),
            slow_calls=slow,
            ongoing=tables.ongoing_calls(later, self._names),
            faults=sum((thread.faults for thread in threads), Faults(0, 0, self._fault_ns())),
            io=tables.io(earlier, later),
            traffic=tables.traffic(earlier, later),
            connections=changes[-CHANGES_KEPT:],
            transitions=transitions(changes),
            threads=threads,
            process_threads=thread_count(name.tgid),
            threads_started=self._threads_started(earlier, later),
            unavailable=MappingProxyType(self._unavailable),
            loss=tables.loss(earlier, later, slow_lost, changes_lost)
            + TaskLoss(connections_forgotten=max(0, len(changes) - CHANGES_KEPT)),
            ended=ended,
            exit_code=os.waitstatus_to_exitcode(int(known["exit_code"][0])) if exited else None,
        )

    def _name_now(self) -> TaskName:
        """With another name it has another program, too, which was called otherwise."""
        if comm(self.name.tgid, self.name.tgid) not in ("", self.name.process):
            with suppress(SourceError):
                self.name = identify(self.name.tid)
        return self.name

    def _threads_started(self, earlier: TaskReading, later: TaskReading) -> int | None:
        if not self._tells_births:
            return None
        return int(later.totals["threads_started"][0]) - int(earlier.totals["threads_started"][0])

    def _fault_ns(self) -> int | None:
        return None if "fault time" in self._unavailable else 0

    def _threads(self, earlier: TaskReading, later: TaskReading, ended: bool) -> tuple[Thread, ...]:
        """Each thread that lived in the interval."""
        before = {int(row["tid"]): row for row in earlier.threads}
        rows = self._corrected(later.threads)
        found, told = [], []
        for row in rows:
            tid = int(row["tid"])
            old = before.get(tid)
            gone = row["state"] >= len(STATES)
            if gone and old is not None and old["state"] >= len(STATES):
                told.append(tid)
                continue
            found.append(self._thread(row, old, later.time_ns, gone or ended))
        self._forget([tid for tid in told if tid not in (self.name.tid, self.name.tgid)])
        return tuple(sorted(found, key=lambda thread: (-thread.states.running_ns, thread.tid)))

    def _forget(self, tids: list[int]) -> None:
        """Threads that had ended before the interval: a process may start and end many in its life."""
        self._programs.forget(tids)
        for tid in tids:
            for kept in (self._shown, self._thread_base, self._faults, self._run_ns, self._comms):
                kept.pop(tid, None)

    def _thread(self, row: Rows, old: Rows | None, now_ns: int, gone: bool) -> Thread:
        tid = int(row["tid"])

        def change(name: str) -> int:
            return int(row[name]) - (int(old[name]) if old is not None else 0)

        times = self._shown.get(tid, np.zeros(len(STATES), np.int64))
        base = self._thread_base.get(tid, np.zeros(len(STATES), np.int64))
        self._thread_base[tid] = times
        exiting = bool(row["exiting"])
        faults = Faults(0, 0, self._fault_ns())
        # Of one that has done nothing since the last interval /proc tells nothing new: most of a large pool.
        if old is None or row["state"] == RUNNING or row.tobytes() != old.tobytes():
            self._comms[tid] = comm(self.name.tgid, tid) or text(bytes(row["comm"]))
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
        stat = read_stat(self.name.tgid, tid)
        latest = (int(row["min_flt"]), int(row["maj_flt"]))
        if stat:
            latest = (max(latest[0], stat.minor), max(latest[1], stat.major))
        before = self._faults.get(tid, (0, 0))
        latest = (max(latest[0], before[0]), max(latest[1], before[1]))
        self._faults[tid] = latest
        known = "fault time" not in self._unavailable
        return Faults(latest[0] - before[0], latest[1] - before[1], time_ns if known else None)


def _beginning(reading: TaskReading, start_ns: int) -> TaskReading:
    """A first reading as it was when the task view began to look: with nothing counted."""

    def nothing(rows: Rows) -> Rows:
        return np.zeros(len(rows), rows.dtype)

    return TaskReading(
        start_ns,
        nothing(reading.totals),
        nothing(reading.cpus),
        nothing(reading.calls),
        nothing(reading.errors)[:0],
        nothing(reading.peers)[:0],
        nothing(reading.io),
        nothing(reading.traffic),
        nothing(reading.threads)[:0],
        reading.misses,
    )


def _clock_offset_ns() -> int:
    return time.time_ns() - time.monotonic_ns()

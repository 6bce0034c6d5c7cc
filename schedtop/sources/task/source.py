"""The task view on the live kernel: one task, looked at closely while it is open (bpf/task/task.h)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.host import Host
from schedtop.model.rows import text
from schedtop.model.source import SourceError
from schedtop.sources.host import proc
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.kernel.quotas import tells_quotas
from schedtop.sources.kernel.syscalls import syscall_names
from schedtop.sources.task import tables
from schedtop.sources.task.attributes import AttributeReader
from schedtop.sources.task.events import SingleEvents, clock_offset_ns
from schedtop.sources.task.front_end import QUOTA_RETURN, choose_task_front_end
from schedtop.sources.task.identity import Ending, TaskName, ended_before, identify, require_host_numbers
from schedtop.sources.task.proc import RUNNING, comm, thread_count, thread_ids
from schedtop.sources.task.programs import TaskPrograms, TaskReading, beginning
from schedtop.sources.task.threads import TaskThreads
from schedtop.sources.task.under_way import CallUnderWay, current_call, may_be_looked_at, open_sockets
from schedtop.task import CHANGES_KEPT, Column, StateTimes, TaskFrame, TaskLoss, Thread, transitions

NOT_LOOKED_AT = (
    "what it was doing and had open before cannot be seen (a process of another user: that needs CAP_SYS_PTRACE)"
)

RETURN_UNKNOWN = "this kernel does not tell when it came back: throttled lasts until the thread runs again"

COLUMN_NS = 100 * NS_PER_MS
"""How much time a column of the strip has."""

_LAST_SWITCH_S = 0.01


@dataclass(frozen=True, slots=True)
class Aim:
    """What is to be looked at, through which front end (or `auto`), and how much time a column of the strip has."""

    tid: int
    whole_process: bool
    source: str
    column_ns: int
    held: tuple[str, ...] = ()


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
        held: tuple[str, ...] = (),
    ) -> None:
        """`held`: the words of a program that the process will be: it begins when this is open."""
        self._aim = Aim(tid, whole_process, source, column_ns, held)
        self._interval_ns = interval_ns
        self._names = syscall_names()
        self.host: Host

    def __enter__(self) -> Self:
        require_host_numbers()
        self.name = identify(self._aim.tid)
        if self._aim.held:  # it may be gone before it can be asked
            self.name = replace(self.name, command_line=text(os.fsencode(" ".join(self._aim.held))))
        front_end = choose_task_front_end(self._aim.source)
        self.host = proc.identify_host(front_end.name, pid_numbers().note)
        self._programs = TaskPrograms(front_end, proc.possible_cpus())
        self._ending = Ending(self.name, self._aim.whole_process)
        try:
            self._unavailable = dict(front_end.unavailable)
            self._splits_waits = tells_quotas(front_end.flags)
            for name, why in self._programs.refused.items():
                self._unavailable[front_end.parts[name]] = why
            if not self._names:
                self._unavailable["syscall names"] = "the numbers of system calls are not known for this machine"
            self._unavailable["slow waits"] = "blockers are the dashboard's and the command's to look for"
            self._unavailable["entitlement"] = "competitors are the dashboard's and the command's to look for"
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: Any) -> None:
        self._programs.close()
        self._ending.close()

    def frames(self, stop: threading.Event) -> Iterator[TaskFrame]:
        """A TaskFrame each interval, a last one when it has ended or `stop` is set."""
        ended = False
        begins = bool(self._aim.held)  # it may end before anybody looks
        while begins or not (stop.is_set() or ended):
            begins = False
            columns: list[Column] = []
            events = SingleEvents(self._programs, self._names)
            deadline = self._earlier.time_ns + self._interval_ns
            while True:
                rest = min(deadline, self._threads.column_ns + self._aim.column_ns) - time.monotonic_ns()
                stop.wait(max(0, rest) / NS_PER_S)
                ended = self._ending.has_come()
                if ended:
                    time.sleep(_LAST_SWITCH_S)  # its last switch comes a little after
                finished = ended or stop.is_set() or time.monotonic_ns() >= deadline
                if finished:
                    break
                columns.append(self._threads.column(self._programs.threads(), time.monotonic_ns()))
                events.take()
            yield self._task(columns, events, ended)

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

    def _begin(self) -> None:
        name = self.name
        tids = thread_ids(name.tgid) if self._aim.whole_process else [name.tid]
        if not may_be_looked_at(name.tgid):
            self._unavailable["beginning"] = NOT_LOOKED_AT
        if self._aim.whole_process or name.threads == 1:
            self._programs.seed_sockets(*open_sockets(name.tgid))
        self._ending.watch()
        start = time.monotonic_ns()
        self._programs.aim(name.tgid, 0 if self._aim.whole_process else name.tid, start)
        self._threads = TaskThreads(name.tgid, "fault time" not in self._unavailable, start)
        seeded = False
        for tid in tids:
            stat = self._threads.begin(tid)
            if stat:
                # What holds a program back is no call of its own.
                idle = stat.state == RUNNING or self._aim.held
                call = CallUnderWay() if idle else current_call(name.tgid, tid, self._names)
                self._programs.seed_thread(tid, stat.state, start, call)
                seeded = True
        if not seeded:
            raise ended_before(name)
        self._programs.note_first_waits()
        self._attributes = AttributeReader(name.tgid, name.tid if not self._aim.whole_process else name.tgid)
        self._attributes.read()
        self._earlier = beginning(self._programs.read(), start)

    def _task(self, columns: list[Column], events: SingleEvents, ended: bool) -> TaskFrame:
        epoch = self._programs.next_interval()
        later, earlier = self._programs.read(), self._earlier
        name = self._name_now()
        events.take_last()
        changes = events.changes
        columns.append(self._threads.column(later.threads, later.time_ns))
        threads = self._threads_between(earlier, later, ended)
        self._earlier = later
        leader = name.tgid if self._aim.whole_process else name.tid
        offset = clock_offset_ns()
        peers = tables.peers(earlier, later)
        known = later.threads[later.threads["tid"] == leader]
        attributes = self._attributes.read()
        unavailable = dict(self._unavailable)
        if attributes and attributes.quota and "throttled" not in unavailable and not self._splits_waits:
            unavailable[QUOTA_RETURN] = RETURN_UNKNOWN
        exited = ended and len(known) and known["exiting"][0]
        return TaskFrame(
            start_time_ns=earlier.time_ns + offset,
            end_ns=later.time_ns,
            interval_ns=later.time_ns - earlier.time_ns,
            tid=name.tid,
            tgid=name.tgid,
            whole_process=self._aim.whole_process,
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
            attributes=attributes,
            syscalls=tables.syscalls(earlier, later, self._names, epoch),
            slow_calls=events.slow,
            ongoing=tables.ongoing_calls(later, self._names),
            faults=sum((thread.faults for thread in threads), self._threads.no_faults),
            io=tables.io(earlier, later),
            traffic=tables.traffic(earlier, later),
            connections=changes[-CHANGES_KEPT:],
            transitions=transitions(changes),
            threads=threads,
            process_threads=thread_count(name.tgid),
            threads_started=self._threads_started(earlier, later),
            unavailable=MappingProxyType(unavailable),
            loss=tables.loss(earlier, later, events.slow_lost, events.changes_lost)
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
        # Records of tracepoints do not say to which process a new thread belongs.
        if self.host.source != "btf":
            return None
        return int(later.totals["threads_started"][0]) - int(earlier.totals["threads_started"][0])

    def _threads_between(self, earlier: TaskReading, later: TaskReading, ended: bool) -> tuple[Thread, ...]:
        found, told = self._threads.table(earlier.threads, later.threads, later.time_ns, ended)
        # Those that had ended before the interval make room.
        tids = [tid for tid in told if tid not in (self.name.tid, self.name.tgid)]
        self._programs.forget(tids)
        self._threads.forget(tids)
        return found

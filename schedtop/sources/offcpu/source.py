"""Measures waits on the live kernel: the programs of bpf/offcpu/, read while they run, with symbolised stacks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

from schedtop.base.stacks import Stack
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.host import Host
from schedtop.offcpu.loss import OffCpuLoss
from schedtop.offcpu.measurement import LockHolder, OffCpu, OffCpuRow, Wakers
from schedtop.offcpu.places import is_in_file_lock
from schedtop.sources.host import proc
from schedtop.sources.kernel.constants import OFFCPU
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.kernel.symbols import Symbols, kernel_symbols_hidden
from schedtop.sources.offcpu.before import kernel_stack, read_thread, threads_in
from schedtop.sources.offcpu.file_locks import lock_holders
from schedtop.sources.offcpu.front_end import choose_offcpu_front_end
from schedtop.sources.offcpu.programs import Limits, OffCpuPrograms
from schedtop.sources.offcpu.rows import EndedThreads, RowMaker, merge_rows, with_processes
from schedtop.sources.offcpu.stacks import Stacks, unnamed
from schedtop.sources.scope import Scope

LEARN_NS = 250 * NS_PER_MS
"""How often new stacks are symbolised: a process that is gone by then has no symbols."""

FIRST_LEARN_NS = 5 * NS_PER_MS
"""After that for the first time of a program that has just begun, and each time later: it may have ended soon."""

LARGEST_SHARE = 0.2
"""Of a CPU, for reading and for what is made of it: the screen must stay quick, and so must the host."""

_FULL = 1 / 8
"""How full the kernel's map of rows may be before those of ended threads leave it."""

_FOREVER = (1 << 63) - 1
_EVERYBODY = Scope()
_USUAL = Limits()
_HIDDEN = (
    "the kernel hides its symbols (CAP_SYSLOG shows them, with sysctl kernel.kptr_restrict below 2): "
    "kernel frames are [kernel]"
)
_DENIED = "user stacks of processes of other users need CAP_SYS_PTRACE (from 6.14 on CAP_PERFMON): [not permitted]"


class LiveOffCpu:
    """Attached while it is open, an `OffCpuSource`. One thread opens it, measures, and closes it.

    `source`: `auto`, `btf` or `tracepoint`. What `frames` and `take` give begins when the source was opened; waits that
    were under way then count from there on. Either is called once.
    """

    def __init__(
        self,
        scope: Scope = _EVERYBODY,
        *,
        interval_ns: int = NS_PER_S,
        min_ns: int = 0,
        wakers: Wakers = Wakers.INTERRUPTS,
        source: str = "auto",
        limits: Limits = _USUAL,
        held: bool = False,
    ) -> None:
        """`held`: what is measured has not begun, and begins when this is open: what it did before does not count."""
        self._scope = scope
        self._held = held
        self._interval_ns = interval_ns
        self._min_ns = min_ns
        self._wakers = wakers
        self._wanted = source
        self._limits = limits
        self.host: Host

    def __enter__(self) -> Self:
        front_end = choose_offcpu_front_end(self._wanted)
        self.host = replace(proc.identify_host(front_end.name, pid_numbers().note), scope=str(self._scope))
        cpus = proc.possible_cpus()
        self._programs = OffCpuPrograms(front_end, self._scope, cpus, self._limits, self._wakers)
        try:
            self._symbols = Symbols()
        except BaseException:
            self._programs.close()
            raise
        self._stacks = Stacks(self._programs, self._symbols)
        self._missed = 0
        self._ended = EndedThreads()
        try:
            before = {} if self._held else self._tell_of_sleepers(time.monotonic_ns())
            self._maker = RowMaker(self._stacks, before, self._wakers)
            self._start_time_ns = time.time_ns()
            self._start_ns = time.monotonic_ns()
            self._programs.open(self._start_ns, _FOREVER, self._min_ns)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: Any) -> None:
        self._programs.close()
        self._symbols.close()

    def frames(self, stop: threading.Event) -> Iterator[OffCpu]:
        """All that was measured so far, each interval and at last when `stop` is set."""
        due = self._start_ns + self._interval_ns
        while not self._learn_until(due, stop):
            before_ns = time.thread_time_ns()
            self._missed = self._programs.misses()
            yield self._measured(time.monotonic_ns())
            # The longer it measures, the more there is to read, and to do for what takes it: then it reads less often.
            # What is new in the kernel's maps is looked at as often as ever: they must not fill.
            spent_ns = time.thread_time_ns() - before_ns
            due = max(due + self._interval_ns, time.monotonic_ns() + round(spent_ns / LARGEST_SHARE) - spent_ns)
        yield self._finished(time.monotonic_ns(), "")

    def take(self, duration_ns: int, stop: threading.Event, ended: Callable[[], bool] = lambda: False) -> OffCpu:
        """What happens in `duration_ns` from the opening on; in less if `stop` is set.

        `ended`: whether that is because all that is measured has ended.
        """
        end_ns = self._start_ns + duration_ns
        self._programs.open(self._start_ns, end_ns, self._min_ns)
        early = self._learn_until(end_ns, stop)
        note = "it was interrupted, and ended early" if early and not ended() else ""
        return self._finished(min(end_ns, time.monotonic_ns()), note)

    def _learn_until(self, end_ns: int, stop: threading.Event) -> bool:
        """Learns of new stacks until a time, or until `stop` is set: then it is true, and symbols must be quick."""
        self._symbols.stop = stop
        pause_ns = FIRST_LEARN_NS if self._held else LEARN_NS
        while (rest := end_ns - time.monotonic_ns()) > 0:
            if stop.wait(min(rest, pause_ns) / NS_PER_S):
                return True
            self._learn()
            pause_ns = min(2 * pause_ns, LEARN_NS)
        return stop.is_set()

    def _tell_of_sleepers(self, now: int) -> dict[int, Stack]:
        """Tells the programs which threads are off the CPU already; the kernel side of their stacks."""
        stacks: dict[int, Stack] = {}
        for thread in threads_in(self._scope):
            if not thread.state:  # running, runnable (it is not known which), or dead
                continue
            stack = kernel_stack(thread.tgid, thread.tid)
            user = OFFCPU.STACK_NONE if thread.is_kernel else OFFCPU.STACK_NOT_SEEN
            if not self._programs.add_task(thread.tid, thread.tgid, thread.comm, thread.state, user, now):
                continue
            again = read_thread(thread.tgid, thread.tid)
            if again is None or again.state != thread.state:  # it came to a CPU while we looked
                self._programs.forget_task(thread.tid)
            elif stack:
                stacks[thread.tid] = stack
        return stacks

    def _finished(self, end_ns: int, note: str) -> OffCpu:
        self._missed = self._programs.finish(end_ns)
        return self._measured(end_ns, *([note] if note else []))

    def _learn(self) -> None:
        """Symbolises what is new, and makes room."""
        rows = self._programs.rows()
        self._maker.learn(rows, LEARN_NS / NS_PER_S)
        if len(rows) > _FULL * self._limits.rows:
            moved = self._ended.among(rows, self._programs.tasks())
            self._ended.add(with_processes(one for row in moved for one in self._maker.of_row(row)))
            for row in moved:
                self._programs.forget_row(row)

    def _measured(self, now: int, *notes: str) -> OffCpu:
        # In this order: a wait that ends in between is missed this time, and not there twice.
        read = self._programs.rows()
        ended = self._maker.ended_waits(read)
        tasks = self._programs.tasks()
        under_way, below = self._maker.waits_under_way(tasks, self._start_ns, now, self._min_ns)
        cpus = self._programs.cpus
        late = self._ended.late_processes(ended)
        if len(read) > _FULL * self._limits.rows:
            ended = self._ended.by_name(with_processes(ended), tasks)
        rows = merge_rows(with_processes([*self._ended.rows, *ended, *under_way]))
        said = (_HIDDEN if kernel_symbols_hidden() else "", _DENIED if self._stacks.denied else "")
        notes += tuple(filter(None, (*self.host.notes, *said, self._symbols.trouble)))
        return OffCpu(
            host=self.host,
            start_time_ns=self._start_time_ns,
            duration_ns=max(1, now - self._start_ns),
            rows=tuple(rows),
            min_ns=self._min_ns,
            below_count=int(cpus["below_count"].sum()) + below.count,
            below_ns=int(cpus["below_ns"].sum()) + below.total_ns,
            wakers=self._wakers,
            loss=replace(self._loss(rows), late_processes=late),
            notes=notes,
            lock_holders=_lock_holders(under_way),
            end_ns=now,
        )

    def _loss(self, rows: list[OffCpuRow]) -> OffCpuLoss:
        def total(field: str) -> int:
            return int(self._programs.cpus[field].sum())

        wakers = [row.waker for row in rows if row.waker]
        return OffCpuLoss(
            tasks=total("tasks_lost"),
            rows=total("rows_lost") + self._ended.lost,
            user_stacks=total("user_stacks_lost"),
            kernel_stacks=total("kernel_stacks_lost"),
            unreadable_stacks=sum(row.times.count for row in rows if row.user.missing == "unreadable"),
            waker_stacks=total("waker_stacks_lost"),
            wakeups=total("wakeups_unseen"),
            events=self._missed,
            negative=total("negative"),
            unknown_frames=unnamed(side for row in rows for side in (row.user, row.kernel)),
            waker_unknown_frames=unnamed(side for waker in wakers for side in (waker.user, waker.kernel)),
        )


def _lock_holders(under_way: list[OffCpuRow]) -> dict[int, tuple[LockHolder, ...]]:
    """The holders of the locks of files in which threads are blocked now; read only if there are such threads."""
    waiters = {row.tid: row.tgid for row in under_way if is_in_file_lock(row)}
    numbers = pid_numbers()
    inside = {tid: number for tid, tgid in waiters.items() if (number := numbers.inside(tgid))}
    holders = lock_holders(set(inside.values())) if inside else {}
    found = {tid: holders[number] for tid, number in inside.items() if number in holders}
    return {
        tid: tuple(replace(holder, pid=numbers.of_host(holder.pid)) for holder in some) for tid, some in found.items()
    }

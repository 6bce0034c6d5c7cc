"""Measures waits on the live kernel: the programs of bpf/offcpu.h, read while they run, with symbolised stacks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from schedtop.model import Host
from schedtop.offcpu import RUNNABLE, STATES, OffCpu, OffCpuLoss, OffCpuRow, Stack, Times
from schedtop.rows import Rows, text
from schedtop.sources import proc
from schedtop.sources.offcpu_before import kernel_stack, read_thread, threads_in
from schedtop.sources.offcpu_front_end import choose_offcpu_front_end
from schedtop.sources.offcpu_programs import NONE, NOT_SEEN, WOKEN_EARLY, Limits, OffCpuPrograms
from schedtop.sources.offcpu_stacks import Stacks, process_name, waker_of
from schedtop.sources.scope import Scope
from schedtop.sources.symbols import Symbols, kernel_symbols_hidden
from schedtop.units import NS_PER_MS, NS_PER_S

LEARN_NS = 250 * NS_PER_MS
"""How often new stacks are symbolised: a process that is gone by then has no symbols."""

_HURRY_S = 1.2
"""How long symbols may take after an interrupt (`session.GRACE_S`)."""

_FOREVER = (1 << 63) - 1
_KEY = (
    "tid",
    "tgid",
    "state",
    "user_stack",
    "kernel_stack",
    "waker_tid",
    "waker_tgid",
    "waker_user_stack",
    "waker_kernel_stack",
)
_EVERYBODY = Scope()
_USUAL = Limits()
_HIDDEN = "the kernel hides its symbols (sysctl kernel.kptr_restrict): kernel frames are addresses"

Key = tuple[int, ...]


@dataclass(slots=True)
class _Waits:
    """What is known of one key: names, and its two parts."""

    comm: bytes
    waker_comm: bytes
    blocked: Times
    runnable: Times


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
        wakers: bool = False,
        source: str = "auto",
        limits: Limits = _USUAL,
    ) -> None:
        self._scope = scope
        self._interval_ns = interval_ns
        self._min_ns = min_ns
        self._wakers = wakers
        self._wanted = source
        self._limits = limits
        self.host: Host

    def __enter__(self) -> Self:
        front_end = choose_offcpu_front_end(self._wanted)
        self.host = replace(proc.identify_host(front_end.name), scope=str(self._scope))
        cpus = proc.possible_cpus()
        self._programs = OffCpuPrograms(front_end, self._scope, cpus, self._limits, wakers=self._wakers)
        try:
            self._symbols = Symbols()
        except BaseException:
            self._programs.close()
            raise
        self._stacks = Stacks(self._programs, self._symbols)
        self._processes: dict[int, str] = {}
        self._missed = 0
        try:
            self._before = self._tell_of_sleepers(time.monotonic_ns())
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
        while not stop.is_set():
            if stop.wait(max(0, due - time.monotonic_ns()) / NS_PER_S):
                break
            yield self._measured(time.monotonic_ns())
            due += self._interval_ns * max(1, -(-(time.monotonic_ns() - due) // self._interval_ns))
        self._symbols.hurry(_HURRY_S)
        yield self._finished(time.monotonic_ns(), "")

    def take(self, duration_ns: int, stop: threading.Event) -> OffCpu:
        """What happens in `duration_ns` from the opening on; in less if `stop` is set."""
        end_ns, early = self._start_ns + duration_ns, ""
        self._programs.open(self._start_ns, end_ns, self._min_ns)
        while (rest := end_ns - time.monotonic_ns()) > 0 and not early:
            if stop.wait(min(rest, LEARN_NS) / NS_PER_S):
                early = "it was interrupted, and ended early"
                self._symbols.hurry(_HURRY_S)
            else:
                self._learn()
        return self._finished(min(end_ns, time.monotonic_ns()), early)

    def _tell_of_sleepers(self, now: int) -> dict[int, Stack]:
        """Tells the programs who is off the CPU already; the kernel side of their stacks."""
        stacks: dict[int, Stack] = {}
        for thread in threads_in(self._scope):
            if not thread.state:  # running, runnable (nobody knows which), or dead
                continue
            stack = kernel_stack(thread.tgid, thread.tid)
            user = NONE if thread.is_kernel else NOT_SEEN
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
        """Symbolises what is new."""
        for row in self._programs.rows()[list(_KEY)].tolist():
            self._stacks_of(row)
            self._process(row[1])

    def _measured(self, now: int, *notes: str) -> OffCpu:
        # In this order: a wait that ends in between is missed this time, and not there twice.
        waits = {key: _of_row(row) for key, row in _by_key(self._programs.rows())}
        below = self._add_under_way(waits, now)
        cpus = self._programs.cpus
        rows = _merged(row for key, found in waits.items() for row in self._rows(key, found))
        notes += tuple(filter(None, (_HIDDEN if kernel_symbols_hidden() else "", self._symbols.failure)))
        return OffCpu(
            host=self.host,
            start_time_ns=self._start_time_ns,
            duration_ns=max(1, now - self._start_ns),
            rows=tuple(rows),
            min_ns=self._min_ns,
            below_count=int(cpus["below_count"].sum()) + below.count,
            below_ns=int(cpus["below_ns"].sum()) + below.total_ns,
            wakers=self._wakers,
            loss=self._loss(rows),
            notes=notes,
        )

    def _add_under_way(self, waits: dict[Key, _Waits], now: int) -> Times:
        """Adds the waits that have not ended; those that are below the threshold so far are returned."""
        below = Times()
        tasks = self._programs.tasks()
        for key, task in _by_key(tasks[tasks["out_ns"] > 0]):
            start = max(int(task["out_ns"]), self._start_ns)
            if start >= now:
                continue
            if now - start < self._min_ns:
                below += _under_way(now - start)
                continue
            woken = min(max(_runnable_since(task, start, now), start), now)
            known = waits.setdefault(key, _Waits(bytes(task["comm"]), bytes(task["waker_comm"]), Times(), Times()))
            known.blocked += _under_way(woken - start)
            known.runnable += _under_way(now - woken)
        return below

    def _rows(self, key: Key, found: _Waits) -> Iterator[OffCpuRow]:
        tid, tgid, state = key[:3]
        user, kernel, waker_user, waker_kernel = self._stacks_of(key)
        waker = waker_of(key[5], text(found.waker_comm), waker_user, waker_kernel) if key[8] != NONE else None
        comm, process = text(found.comm), self._process(tgid)
        for name, times in ((STATES[state], found.blocked), (RUNNABLE, found.runnable)):
            if times.count:
                yield OffCpuRow(tid, tgid, comm, process, name, user, kernel, times, waker)

    def _stacks_of(self, key: Key) -> tuple[Stack, Stack, Stack, Stack]:
        tid, tgid, _, user, kernel, _, waker_tgid, waker_user, waker_kernel = key
        before = self._before.get(tid) if kernel == NOT_SEEN else None
        return (
            self._stacks.user(tgid, user),
            before or self._stacks.kernel(kernel),
            self._stacks.user(waker_tgid, waker_user),
            self._stacks.kernel(waker_kernel),
        )

    def _process(self, tgid: int) -> str:
        if not self._processes.get(tgid):
            self._processes[tgid] = process_name(tgid)
        return self._processes[tgid]

    def _loss(self, rows: list[OffCpuRow]) -> OffCpuLoss:
        def total(field: str) -> int:
            return int(self._programs.cpus[field].sum())

        return OffCpuLoss(
            tasks=total("tasks_lost"),
            rows=total("rows_lost"),
            user_stacks=total("user_stacks_lost"),
            kernel_stacks=total("kernel_stacks_lost"),
            unreadable_stacks=sum(row.times.count for row in rows if row.user.missing == "unreadable"),
            wakeups=total("wakeups_unseen"),
            events=self._missed,
            negative=total("negative"),
            unknown_frames=self._stacks.unknown_frames,
            late_processes=len(self._stacks.late_processes),
        )


def _merged(rows: Iterable[OffCpuRow]) -> list[OffCpuRow]:
    """Rows whose stacks are the same once they are symbolised are one (equal stacks are one object)."""
    merged: dict[tuple[object, ...], OffCpuRow] = {}
    for row in rows:
        key = (row.tid, row.tgid, row.state, id(row.user), id(row.kernel), row.waker)
        known = merged.get(key)
        merged[key] = replace(row, times=known.times + row.times) if known else row
    return list(merged.values())


def _by_key(rows: Rows) -> Iterator[tuple[Key, Any]]:
    return zip(map(tuple, rows[list(_KEY)].tolist()), rows, strict=True)


def _of_row(row: Any) -> _Waits:
    parts = [
        Times(*(int(row[f"{part}_{field}"]) for field in ("count", "ns", "min_ns", "max_ns")))
        if row[f"{part}_count"]
        else Times()
        for part in ("blocked", "runnable")
    ]
    return _Waits(bytes(row["comm"]), bytes(row["waker_comm"]), *parts)


def _under_way(ns: int) -> Times:
    return Times(1, ns, ns, ns, 1) if ns else Times()


def _runnable_since(task: Any, start: int, now: int) -> int:
    """As runnable_since() of bpf/offcpu.h."""
    if STATES[task["state"]] == RUNNABLE:
        return start
    if task["woken_ns"]:
        return int(task["woken_ns"])
    return start if task["flags"] & WOKEN_EARLY else now

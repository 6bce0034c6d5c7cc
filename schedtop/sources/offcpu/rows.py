"""What the kernel side holds of waits, as rows of the model: with names and symbolised stacks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from schedtop.base.stacks import ENDED, INTERRUPT, Stack, Waker
from schedtop.model.rows import Rows, text
from schedtop.offcpu.measurement import RUNNABLE, STATES, OffCpuRow, Times, Wakers
from schedtop.sources.kernel.constants import OFFCPU
from schedtop.sources.kernel.pid_numbers import numbers_in, pid_numbers
from schedtop.sources.offcpu.before import read_thread
from schedtop.sources.offcpu.stacks import LATE, Stacks, process_name, waker_of

MOST_ENDED = 50_000
"""So many rows of ended threads are kept; beyond them the smallest are counted as lost."""


PROC = Path("/proc")

MOST_NAMES = 1 << 16
"""So many names of processes are kept."""


class RowMaker:
    """Makes rows, and keeps those that have not changed. `before`: kernel stacks of threads that were off the CPU."""

    def __init__(self, stacks: Stacks, before: Mapping[int, Stack], wakers: Wakers = Wakers.INTERRUPTS) -> None:
        self._stacks = stacks
        self._wakers = wakers
        self._before = before
        self._processes: dict[int, str] = {}
        self._made: dict[bytes, tuple[OffCpuRow, ...]] = {}

    def learn(self, rows: Rows, most_s: float) -> None:
        """Symbolises the stacks of `struct off_row` that are new, for so long at most; then come the others."""
        until_s = time.monotonic() + most_s
        for stack in ("kernel_stack", "waker_kernel_stack"):
            for number in np.unique(rows[stack]).tolist():
                self._stacks.kernel(number)
        for tgid, stack in (("tgid", "user_stack"), ("waker_tgid", "waker_user_stack")):
            pairs = np.unique(rows[tgid].astype(np.int64) << 32 | rows[stack].view(np.uint32).astype(np.int64))
            # The youngest are the first that end.
            for pair in reversed(pairs.tolist()):
                self._stacks.user(pair >> 32, int(np.uint32(pair & 0xFFFFFFFF).view(np.int32)))
                if time.monotonic() > until_s:
                    return

    def ended_waits(self, rows: Rows) -> list[OffCpuRow]:
        """Of all rows of `struct off_row`."""
        size, data = rows.dtype.itemsize, rows.tobytes()
        made = {}
        for index, row in enumerate(rows):
            piece = data[index * size : (index + 1) * size]
            made[piece] = self._made.get(piece) or tuple(self.of_row(row))
        self._made = made
        return [row for some in made.values() for row in some]

    def of_row(self, row: Any) -> Iterator[OffCpuRow]:
        """Of one row of `struct off_row`."""
        return self._rows(row, _times(row, "blocked"), _times(row, "runnable"))

    def waits_under_way(self, tasks: Rows, start_ns: int, now: int, min_ns: int) -> tuple[list[OffCpuRow], Times]:
        """Of rows of `struct off_task`, from `start_ns` to `now`; and those that are below the threshold so far."""
        found: list[OffCpuRow] = []
        below = Times()
        for task in tasks[tasks["out_ns"] > 0]:
            start = max(int(task["out_ns"]), start_ns)
            if start >= now:
                continue
            if now - start < min_ns:
                below += _under_way(now - start)
                continue
            woken = min(max(_runnable_since(task, start, now), start), now)
            found += self._rows(task, _under_way(woken - start), _under_way(now - woken))
        return found, below

    def _rows(self, row: Any, blocked: Times, runnable: Times) -> Iterator[OffCpuRow]:
        tid, tgid, comm = int(row["tid"]), int(row["tgid"]), text(bytes(row["comm"]))
        stacks = self._stacks
        user, kernel = stacks.user(tgid, int(row["user_stack"])), self._kernel(tid, int(row["kernel_stack"]))
        waker = self._waker(row)
        process = comm if tid == tgid else self._process(tgid)
        for state, times in ((STATES[row["state"]], blocked), (RUNNABLE, runnable)):
            if times.count:
                yield OffCpuRow(tid, tgid, comm, process, state, user, kernel, times, waker)

    def _waker(self, row: Any) -> Waker | None:
        stack = int(row["waker_kernel_stack"])
        if stack == OFFCPU.STACK_NONE:
            return None
        if stack == OFFCPU.STACK_INTERRUPT:
            return Waker(0, INTERRUPT)
        user = self._stacks.user(int(row["waker_tgid"]), int(row["waker_user_stack"]))
        waker = waker_of(int(row["waker_tid"]), text(bytes(row["waker_comm"])), user, self._stacks.kernel(stack))
        return waker if self._wakers is Wakers.STACKS else Waker(waker.tid, waker.comm)

    def _kernel(self, tid: int, stack: int) -> Stack:
        before = self._before.get(tid) if stack == OFFCPU.STACK_NOT_SEEN else None
        return before or self._stacks.kernel(stack)

    def _process(self, tgid: int) -> str:
        if len(self._processes) >= MOST_NAMES:
            self._processes.clear()
        if tgid not in self._processes:
            self._processes[tgid] = process_name(tgid)
        return self._processes[tgid]


class EndedThreads:
    """Rows of threads that have ended, or were woken by such, moved out of the kernel's map when that fills.

    They are added up here by names: of the tasks, and of what is in their stacks.
    """

    def __init__(self) -> None:
        self.rows: list[OffCpuRow] = []
        self.lost = 0
        self._gone: set[int] = set()
        self._ended: set[int] = set()
        self._alive: set[int] = set()
        self._known: dict[tuple[str, ...], Stack] = {}
        self._late_now: set[int] = set()
        self._late = 0

    def late_processes(self, rows: Iterable[OffCpuRow]) -> int:
        """How many processes had ended before their stacks were looked at, of these rows and of those in here."""
        late = {row.tgid for row in rows if row.user is LATE and row.tid}
        return self._late + len(late | self._late_now)

    def among(self, rows: Rows, tasks: Rows) -> Rows:
        """The rows that can be moved: their threads, or those that woke them, were gone the last time already, so they
        change no more."""
        self._alive = set(tasks["tid"].tolist())
        gone = (set(rows["tid"].tolist()) | set(rows["waker_tid"].tolist()) - {0}) - self._alive
        # A waker that is not measured is in no map.
        ended = {tid for tid in gone & self._gone if _has_ended(tid)}
        self._gone = gone - ended
        self._ended = ended
        numbers = list(ended)
        return rows[np.isin(rows["tid"], numbers) | np.isin(rows["waker_tid"], numbers)]

    def by_name(self, rows: Iterable[OffCpuRow], tasks: Rows) -> list[OffCpuRow]:
        """Rows of which those of threads that are gone are without their number: they are many."""
        alive = set(tasks["tid"].tolist())
        return [row if row.tid in alive else self._nameless(row) for row in rows]

    def _nameless(self, row: OffCpuRow) -> OffCpuRow:
        user, kernel = self._looks(row.user), self._looks(row.kernel)
        return replace(row, tid=0, tgid=0, process=row.process or row.comm, user=user, kernel=kernel)

    def add(self, rows: Iterable[OffCpuRow]) -> None:
        """Takes the rows that were moved."""
        rows = tuple(rows)
        self._late_now |= {row.tgid for row in rows if row.user is LATE}
        if len(self._late_now) >= MOST_NAMES:
            self._late += len(self._late_now)
            self._late_now.clear()
        alike = [replace(row, user=self._looks(row.user), kernel=self._looks(row.kernel)) for row in rows]
        merged = merge_rows(map(self._without_tids, (*self.rows, *alike)))
        merged.sort(key=lambda row: -row.total_ns)
        self.rows = merged[:MOST_ENDED]
        self.lost += sum(row.times.count for row in merged[MOST_ENDED:])

    def _without_tids(self, row: OffCpuRow) -> OffCpuRow:
        """Without the numbers of those that have ended."""
        if row.tid and row.tid not in self._alive:
            row = replace(row, tid=0, tgid=0, process=row.process or row.comm)
        if row.waker and row.waker.tid in self._ended:
            row = replace(row, waker=replace(row.waker, tid=ENDED))
        return row

    def _looks(self, stack: Stack) -> Stack:
        """One stack for all that look like it: addresses without a name are others in each process."""
        if len(self._known) >= MOST_ENDED:
            self._known.clear()
        return self._known.setdefault(stack.labels, stack)


def merge_rows(rows: Iterable[OffCpuRow]) -> list[OffCpuRow]:
    """Rows with the same stacks once they are symbolised are one (equal stacks are one object)."""
    merged: dict[tuple[object, ...], OffCpuRow] = {}
    for row in rows:
        name = "" if row.tid else (row.process, row.comm)
        key = (row.tid, row.tgid, name, row.state, id(row.user), id(row.kernel), row.waker)
        known = merged.get(key)
        merged[key] = replace(row, times=known.times + row.times) if known else row
    return list(merged.values())


def with_processes(rows: Iterable[OffCpuRow]) -> list[OffCpuRow]:
    """With the process that other rows of the thread have: a tracepoint does not tell the process of a new thread."""
    rows = list(rows)
    known = {row.tid: (row.tgid, row.process) for row in rows if row.tgid}
    return [row if row.tgid or not row.tid else _in_process(row, *known.get(row.tid, (row.tid, ""))) for row in rows]


def _in_process(row: OffCpuRow, tgid: int, process: str) -> OffCpuRow:
    return replace(row, tgid=tgid, process=process or row.comm)


def _times(row: Any, part: str) -> Times:
    count = int(row[f"{part}_count"])
    return Times(count, *(int(row[f"{part}_{field}"]) for field in ("ns", "min_ns", "max_ns"))) if count else Times()


def _under_way(ns: int) -> Times:
    return Times(1, ns, ns, ns, 1) if ns else Times()


def _runnable_since(task: Any, start: int, now: int) -> int:
    """As runnable_since() of bpf/offcpu/offcpu.h.

    But there the wait has ended, so something woke it. An early wakeup may also be that of a sleep which the thread
    then did without; whether it sleeps now /proc knows.
    """
    if STATES[task["state"]] == RUNNABLE:
        return start
    if task["woken_ns"]:
        return int(task["woken_ns"])
    return start if task["flags"] & OFFCPU.TASK_WOKEN_EARLY and not _sleeps(int(task["tid"])) else now


def _has_ended(tid: int) -> bool:
    """Of one that /proc does not show in this pid namespace it is not known."""
    numbers = numbers_in(PROC)
    number = numbers.inside(tid)
    return not (PROC / str(number)).exists() if number else not numbers.note


def _sleeps(tid: int) -> bool:
    if not pid_numbers().inside(tid):
        return True  # not known: then it is at least blocked no shorter than it was
    thread = read_thread(tid, tid)
    return thread is not None and thread.state is not None and STATES[thread.state] != RUNNABLE

"""Rows of waits: those that are one, those of ended threads, and whose process is told by others."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from schedtop.base.stacks import ENDED, Stack, Symbol, Waker
from schedtop.offcpu.measurement import STATES, OffCpuRow, Times
from schedtop.sources.kernel.constants import OFFCPU
from schedtop.sources.offcpu import rows as offcpu_rows
from schedtop.sources.offcpu.rows import EndedThreads, RowMaker, merge_rows, with_processes
from schedtop.sources.offcpu.stacks import Stacks, waker_of

KERNEL = Stack((Symbol("__schedule", "[kernel]", 5, True),))
ROW = OffCpuRow(7, 7, "one", "one", "sleeping", Stack(), KERNEL, Times(2, 30, 10, 20))
IDS = np.dtype([("tid", "<u4"), ("waker_tid", "<u4")])


def test_equal_rows_are_one() -> None:
    rows = merge_rows([ROW, ROW, replace(ROW, state="runnable"), replace(ROW, waker=Waker(3, "x"))])
    assert [row.times.count for row in rows] == [4, 2, 2]
    assert rows[0].times == Times(4, 60, 10, 20)


def test_ended_threads_are_added_up_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = EndedThreads()
    ended.add([ROW, replace(ROW, tid=8, tgid=8), replace(ROW, tid=9, tgid=9, comm="other", process="")])
    assert [(row.tid, row.comm, row.process, row.times.count) for row in ended.rows] == [
        (0, "one", "one", 4),
        (0, "other", "other", 2),
    ]
    monkeypatch.setattr(offcpu_rows, "MOST_ENDED", 1)
    ended.add([])
    assert (len(ended.rows), ended.lost) == (1, 2)


def test_a_thread_has_ended_when_it_was_gone_twice() -> None:
    ended = EndedThreads()
    # Beyond the largest tid that a kernel gives.
    gone, other, late = (1 << 23) + 1, (1 << 23) + 2, (1 << 23) + 3
    rows = np.array([(1, 0), (gone, 0), (late, 0), (1, other), (1, os.getpid())], IDS)
    tasks = np.array([(1, 0)], IDS)
    assert not len(ended.among(rows, tasks))
    # A waker that is not measured is in no map: it has not ended for that.
    assert ended.among(rows[[0, 1, 3, 4]], tasks)[["tid", "waker_tid"]].tolist() == [(gone, 0), (1, other)]
    assert not len(ended.among(rows[:1], tasks))


def test_stacks_of_ended_threads_that_look_the_same_are_one() -> None:
    """Garbage behind the last frame is another one in each process."""
    ended = EndedThreads()
    stacks = [Stack((Symbol("read", "libc", 5, False), Symbol("", "", number, False))) for number in range(9)]
    ended.add(replace(ROW, tid=number + 50, user=stack) for number, stack in enumerate(stacks))
    assert [row.times.count for row in ended.rows] == [18]


def test_ended_task_has_no_number_among_many_rows() -> None:
    rows = [replace(ROW, tid=number, tgid=number) for number in (50, 51, 52)]
    shown = EndedThreads().by_name(rows, np.array([(51, 0)], IDS))
    assert [(row.tid, row.comm, row.times.count) for row in merge_rows(shown)] == [(0, "one", 4), (51, "one", 2)]


def test_wakers_that_have_ended_are_added_up_by_name() -> None:
    """Else a shell has a row for each of its children."""
    ended, gone = EndedThreads(), [(1 << 23) + number for number in range(5)]
    rows, tasks = np.array([(7, tid) for tid in gone], IDS), np.array([(7, 0)], IDS)
    ended.among(rows, tasks)
    assert len(ended.among(rows, tasks)) == 5
    ended.add(replace(ROW, waker=Waker(tid, "true")) for tid in gone)
    (row,) = ended.rows
    assert (row.tid, row.times.count, row.waker) == (7, 10, Waker(ENDED, "true"))
    assert row.path[-1] == "woken by true (ended)"
    # When the thread itself ends, it is without its number, too.
    ended.among(rows[:0], tasks[:0])
    ended.add([])
    assert [(row.tid, row.comm) for row in ended.rows] == [(0, "one")]


class NoStacks:
    """Every stack is empty."""

    def user(self, _tgid: int, _stack: int) -> Stack:
        return Stack()

    def kernel(self, _stack: int) -> Stack:
        return KERNEL


def test_an_early_wakeup_is_none_of_what_still_sleeps() -> None:
    """It may be that of a sleep from which the thread turned back: only /proc knows."""
    numbers = [(name, "<i8") for name in ("tid", "tgid", "state", "flags", "out_ns", "woken_ns", "user_stack")]
    layout = [*numbers, ("kernel_stack", "<i8"), ("waker_kernel_stack", "<i8"), ("comm", "S16")]
    maker = RowMaker(cast(Stacks, NoStacks()), {})
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        while (Path("/proc") / str(sleeper.pid) / "stat").read_text().rpartition(") ")[2][0] != "S":
            pass
        waits = [
            (tid, tid, STATES.index("sleeping"), OFFCPU.TASK_WOKEN_EARLY, 100, 0, 0, 0, OFFCPU.STACK_NONE, b"x")
            for tid in (sleeper.pid, os.getpid())
        ]
        rows, _ = maker.waits_under_way(np.array(waits, layout), 50, 400, 0)
        sleeper.kill()
    assert [(row.tid, row.state, row.total_ns) for row in rows] == [
        (sleeper.pid, "sleeping", 300),
        (os.getpid(), "runnable", 300),
    ]


def test_a_new_threads_process_is_known_later() -> None:
    new = replace(ROW, tgid=0, process="")
    assert with_processes([new, replace(ROW, tgid=5, process="five")])[0] == replace(ROW, tgid=5, process="five")
    assert with_processes([new])[0] == ROW


def test_a_wakeup_from_an_interrupt_has_no_waker() -> None:
    victim = Symbol("do_something_else", "[kernel]", 1, True)
    interrupt = [Symbol(name, "[kernel]", 1, True) for name in ("try_to_wake_up", "asm_sysvec_apic_timer_interrupt")]
    waker = waker_of(5, "victim", KERNEL, Stack((*interrupt, victim)))
    assert (waker.tid, waker.name, waker.user) == (0, "[interrupt]", Stack())
    assert waker.kernel.symbols == tuple(interrupt)
    assert waker_of(5, "waker", KERNEL, Stack((interrupt[0], victim))).name == "waker-5"

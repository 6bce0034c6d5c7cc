"""Rows of waits: those that are one, those of ended threads, and whose process is told by others."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from schedtop.offcpu import STATES, OffCpuRow, Times
from schedtop.sources import offcpu_rows
from schedtop.sources.offcpu_programs import NONE, WOKEN_EARLY
from schedtop.sources.offcpu_rows import EndedThreads, RowMaker, merge_rows, with_processes
from schedtop.sources.offcpu_stacks import Stacks, waker_of
from schedtop.stacks import Stack, Symbol, Waker

KERNEL = Stack((Symbol("__schedule", "[kernel]", 5, True),))
ROW = OffCpuRow(7, 7, "one", "one", "sleeping", Stack(), KERNEL, Times(2, 30, 10, 20))
IDS = np.dtype([("tid", "<u4")])


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
    rows, tasks = np.array([(1,), (2,), (3,)], IDS), np.array([(1,)], IDS)
    assert not len(ended.among(rows, tasks))
    assert ended.among(rows[:2], tasks)["tid"].tolist() == [2]
    assert not len(ended.among(rows[:1], tasks))


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
            (tid, tid, STATES.index("sleeping"), WOKEN_EARLY, 100, 0, 0, 0, NONE, b"x")
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


def test_an_interrupt_is_nobodys_wakeup() -> None:
    victim = Symbol("do_something_else", "[kernel]", 1, True)
    interrupt = [Symbol(name, "[kernel]", 1, True) for name in ("try_to_wake_up", "asm_sysvec_apic_timer_interrupt")]
    waker = waker_of(5, "victim", KERNEL, Stack((*interrupt, victim)))
    assert (waker.tid, waker.name, waker.user) == (0, "[interrupt]", Stack())
    assert waker.kernel.symbols == tuple(interrupt)
    assert waker_of(5, "waker", KERNEL, Stack((interrupt[0], victim))).name == "waker-5"

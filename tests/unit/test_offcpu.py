"""The model of off-CPU time: sums, shares, order, paths."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedtop.model import Host
from schedtop.offcpu import OffCpu, OffCpuRow, Times, folded, paths, selected, top_blocking, top_rows
from schedtop.stacks import Stack, Symbol, Waker

HOST = Host("box", "6.18", "btf")
KERNEL = Stack((Symbol("__schedule", "[kernel]", 5, True), Symbol("futex_wait", "[kernel]", 9, True)))
USER = Stack((Symbol("", "/usr/lib/libc.so.6", 0x1234, False), Symbol("main", "/bin/app", 1, False)))


def row(tid: int, state: str, total_ns: int, count: int = 1, under_way: int = 0, **more: object) -> OffCpuRow:
    times = Times(count, total_ns, total_ns // count, total_ns // count, under_way)
    plain = OffCpuRow(tid, 100, f"thread{tid}", "app", state, USER, KERNEL, times)
    return replace(plain, **more)  # type: ignore[arg-type]


def measured(*rows: OffCpuRow, **more: object) -> OffCpu:
    return replace(OffCpu(HOST, 1_000, 5_000_000, rows), **more)  # type: ignore[arg-type]


def test_a_thread_is_the_sum_of_its_rows() -> None:
    offcpu = measured(
        row(1, "sleeping", 600, 2),
        row(1, "uninterruptible", 100),
        row(1, "runnable", 50, 3),
        row(1, "stopped", 100),
        row(2, "sleeping", 200, under_way=1),
    )
    first, second = offcpu.threads
    assert (first.tid, first.blocked.total_ns, first.blocked.count, first.share) == (1, 800, 4, 0.8)
    assert (first.sleeping.total_ns, first.uninterruptible.total_ns, first.runnable.total_ns) == (600, 100, 50)
    assert (first.blocked.min_ns, first.blocked.max_ns, first.blocked.average_ns) == (100, 300, 200)
    assert (second.blocked.under_way, second.runnable.count, second.runnable.average_ns) == (1, 0, None)
    assert (offcpu.blocked_ns, offcpu.runnable_ns) == (1000, 50)


def test_without_blocked_time_there_is_no_share() -> None:
    (thread,) = measured(row(1, "runnable", 10)).threads
    assert thread.share is None
    assert measured().threads == ()


def test_top_is_by_the_state_that_is_asked_for() -> None:
    offcpu = measured(row(1, "sleeping", 600), row(2, "runnable", 50), row(3, "uninterruptible", 20))
    assert [thread.tid for thread in top_blocking(offcpu)] == [1, 3]
    assert [thread.tid for thread in top_blocking(offcpu, 1)] == [1]
    assert [thread.tid for thread in top_blocking(offcpu, state="runnable")] == [2]
    assert [thread.tid for thread in top_blocking(offcpu, state="all")] == [1, 2, 3]
    assert [found.tid for found in top_rows(offcpu, state="uninterruptible")] == [3]
    assert [found.tid for found in offcpu.rows if selected("all")(found)] == [1, 2, 3]


def test_who_slept_all_the_time_comes_last() -> None:
    whole = 5_000_000
    offcpu = measured(
        row(1, "sleeping", whole, under_way=1),
        row(2, "sleeping", 600),
        row(3, "uninterruptible", whole, under_way=1),
        row(4, "idle", whole),
    )
    assert [thread.tid for thread in top_blocking(offcpu)] == [3, 2, 1]
    assert [found.tid for found in top_rows(offcpu)] == [3, 2, 1]
    assert (offcpu.blocked_ns, offcpu.runnable_ns) == (2 * whole + 600, 0)


def test_a_path_goes_from_the_process_to_the_state() -> None:
    expected = ("app", "thread1-1", "main", "libc.so.6+0x1234", "-", "futex_wait", "__schedule", "[sleeping]")
    assert list(paths([row(1, "sleeping", 7)])) == [(expected, 7)]
    woken = row(1, "sleeping", 7, waker=Waker(9, "holder"), user=Stack(missing="lost"), kernel=Stack())
    assert woken.path == ("app", "thread1-1", "[lost]", "-", "[sleeping]", "woken by holder-9")
    cut = Stack((Symbol("", "", 0x99, False),), truncated=True)
    assert cut.labels == ("[truncated]", "[unknown]")


def test_folded_lines_have_one_value_each() -> None:
    odd = row(1, "sleeping", 2_499_000, comm="a;b\n c")
    offcpu = measured(odd, odd, row(2, "runnable", 3), row(3, "runnable", 0, comm=""))
    lines = list(folded(offcpu))
    assert lines == [
        "app;a:b c-1;main;libc.so.6+0x1234;-;futex_wait;__schedule;[sleeping] 4998",
        "app;thread2-2;main;libc.so.6+0x1234;-;futex_wait;__schedule;[runnable] 1",
    ]
    assert list(folded(offcpu, "blocked")) == lines[:1]


@pytest.mark.parametrize("one", [Times(), Times(2, 10, 4, 6, 1)])
def test_nothing_added_changes_nothing(one: Times) -> None:
    assert one + Times() == one == Times() + one

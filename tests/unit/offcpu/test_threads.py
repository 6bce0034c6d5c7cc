"""The model of off-CPU time: sums, shares, order, paths."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedtop.base.stacks import Stack, Symbol, Waker
from schedtop.model.host import Host
from schedtop.offcpu.measurement import OffCpu, OffCpuRow, Times, folded, paths, selected
from schedtop.offcpu.threads import alike, top_rows, top_threads
from schedtop.offcpu.threads import measured as lists_of

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


def test_share_without_blocked_time_is_unknown() -> None:
    (thread,) = measured(row(1, "runnable", 10)).threads
    assert thread.share is None
    assert measured().threads == ()


def tids(offcpu: OffCpu, state: str = "blocked", **more: bool) -> list[int]:
    return [line.thread.tid for line in top_threads(lists_of(offcpu), state, **more)]


def test_top_is_by_the_state_that_is_asked_for() -> None:
    offcpu = measured(row(1, "sleeping", 600), row(2, "runnable", 50), row(3, "uninterruptible", 20))
    assert tids(offcpu) == [1, 3]
    assert tids(offcpu, "runnable") == [2]
    assert tids(offcpu, "all") == [1, 2, 3]
    assert [found.tid for found in top_rows(lists_of(offcpu), "uninterruptible")] == [3]
    assert [found.tid for found in offcpu.rows if selected("all")(found)] == [1, 2, 3]


WHOLE = 5_000_000
FLOCK = Stack(tuple(Symbol(name, "[kernel]", 5, True) for name in ("__schedule", "locks_lock_inode_wait")))
EPOLL = Stack((Symbol("__schedule", "[kernel]", 5, True), Symbol("ep_poll", "[kernel]", 5, True)))


def test_thread_asleep_all_the_time_comes_last_unless_it_waits_for_a_file_lock() -> None:
    offcpu = measured(
        row(1, "sleeping", WHOLE, under_way=1),
        row(2, "sleeping", 600_000),
        row(3, "uninterruptible", WHOLE, under_way=1),
        row(4, "idle", WHOLE),
        row(5, "sleeping", WHOLE, under_way=1, kernel=FLOCK),
    )
    assert tids(offcpu) == [3, 5, 2, 1]
    assert [found.tid for found in top_rows(lists_of(offcpu), "blocked")] == [3, 5, 2, 1]
    assert (offcpu.blocked_ns, offcpu.runnable_ns) == (3 * WHOLE + 600_000, 0)


def test_thread_that_only_waits_for_work_is_last_or_not_listed() -> None:
    offcpu = measured(row(1, "sleeping", WHOLE, kernel=EPOLL), row(2, "sleeping", 600_000), row(1, "runnable", 400))
    assert tids(offcpu, "all") == [2, 1] and tids(offcpu, "all", idle=False) == [2]
    assert [found.tid for found in top_rows(lists_of(offcpu), "blocked")] == [2, 1]
    assert [found.tid for found in top_rows(lists_of(offcpu), "blocked", idle=False)] == [2]


def test_rows_that_look_the_same_are_one() -> None:
    elsewhere = Stack((replace(KERNEL.symbols[0], offset=77), KERNEL.symbols[1]))
    first, other = row(1, "sleeping", 600), row(1, "sleeping", 400, kernel=elsewhere)
    offcpu = measured(first, other, row(2, "sleeping", 1), row(1, "runnable", 3))
    assert [(found.tid, found.total_ns, found.times.count) for found in alike(offcpu.rows)] == [
        (1, 1000, 2),
        (2, 1, 1),
        (1, 3, 1),
    ]
    lines = {line.thread.tid: line for line in lists_of(offcpu).lines}
    assert [stack.total_ns for stack in lines[1].stacks] == [1003]


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
def test_empty_times_add_nothing(one: Times) -> None:
    assert one + Times() == one == Times() + one

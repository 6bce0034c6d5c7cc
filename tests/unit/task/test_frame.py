"""A TaskFrame adds up: what two intervals of a task make together."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from schedtop.base.histogram import Histogram
from schedtop.model.rows import SLOW_WAIT_DTYPE
from schedtop.task import (
    CHANGES_KEPT,
    SLOW_WAITS_KEPT,
    STATES,
    THREADS_KEPT,
    Attributes,
    Column,
    ConnectionChange,
    Faults,
    Peer,
    Quota,
    SlowCall,
    StateTimes,
    Syscall,
    TaskFrame,
    TaskLoss,
    Thread,
    connection_counts,
    transitions,
)


def task(start: int, interval: int = 100, **parts: object) -> TaskFrame:
    states = StateTimes(running_ns=interval)
    base = TaskFrame(start, start + interval, interval, 7, 7, False, "x", "x", states, (Column(interval, states),))
    return replace(base, **parts)  # type: ignore[arg-type]


def test_states_have_a_field_each() -> None:
    times = StateTimes(1, 2, 3, 4, 5, 6)
    assert tuple(times.by_state()) == STATES
    assert times.total_ns == 21
    assert times.blocked_ns == 7
    assert StateTimes().ratio("running") is None


def test_counters_add_and_gauges_are_the_last() -> None:
    quota = Quota("/a", 50, 100, 10, 4, 7)
    attributes = Attributes("0-1", 2, "other", 0, 0, "/a", quota)
    one = task(0, waits=Histogram.of([100]), wakers=(Peer(1, "a", 2),), attributes=attributes, faults=Faults(1, 0, 5))
    two = task(
        100,
        waits=Histogram.of([300, 500]),
        wakers=(Peer(1, "a", 3), Peer(2, "b", 9)),
        attributes=replace(attributes, nice=5),
        faults=Faults(2, 1, None),
        loss=TaskLoss(events_missed=1),
        ended=True,
        exit_code=3,
    )
    both = one + two
    assert (both.start_time_ns, both.interval_ns, both.end_ns) == (0, 200, 200)
    assert both.states.running_ns == 200
    assert [column.duration_ns for column in both.strip] == [100, 100]
    assert both.waits.count == 3
    assert both.wakers == (Peer(2, "b", 9), Peer(1, "a", 5))
    assert both.attributes
    assert both.attributes.nice == 5
    assert both.attributes.quota == Quota("/a", 50, 100, 20, 8, 14)
    assert both.faults == Faults(3, 1, None)
    assert both.loss.any
    assert (both.ended, both.exit_code) == (True, 3)


def test_system_calls_add_by_number_and_only_the_slowest_are_kept() -> None:
    read = Syscall(0, "read", 2, 10, 7, 3, MappingProxyType({"EAGAIN": 1}))
    slow = tuple(SlowCall(1, 7, 0, "read", ns, 0, 0) for ns in range(8))
    both = task(0, syscalls=(read,), slow_calls=slow) + task(100, syscalls=(replace(read, max_ns=9),), slow_calls=slow)
    assert both.syscalls == (Syscall(0, "read", 4, 20, 9, 6, MappingProxyType({"EAGAIN": 2})),)
    assert [call.duration_ns for call in both.slow_calls] == [7, 7, 6, 6, 5, 5, 4, 4, 3, 3]


def test_a_thread_that_was_there_once_stays() -> None:
    gone = Thread(8, "gone", StateTimes(running_ns=5), "ended", exit_code=0)
    here = Thread(9, "here", StateTimes(running_ns=4), "running")
    both = task(0, threads=(gone, here)) + task(100, threads=(here,))
    assert [(thread.tid, thread.states.running_ns) for thread in both.threads] == [(9, 8), (8, 5)]


def test_transitions_add_and_count_all() -> None:
    changes = [ConnectionChange(1, "tcp", old, "ESTABLISHED", "a", "b") for old in ("SYN_SENT", "SYN_RECV", "SYN_RECV")]
    both = task(0, transitions=transitions(changes)) + task(100, transitions=transitions(changes[:1]))
    assert {(one.old, one.count) for one in both.transitions} == {("SYN_SENT", 2), ("SYN_RECV", 2)}
    assert connection_counts(both.transitions) == {"opened": 2, "accepted": 2, "closed": 0, "failed": 0}


def test_lists_are_bounded_and_count_the_rest() -> None:
    change = ConnectionChange(1, "tcp", "CLOSED", "SYN_SENT", "a", "b")
    waits = np.zeros(SLOW_WAITS_KEPT, SLOW_WAIT_DTYPE)
    waits["wait_ns"] = np.arange(SLOW_WAITS_KEPT)
    one = task(0, connections=(change,) * CHANGES_KEPT, slow_waits=waits)
    last = replace(change, time_ns=2)
    both = one + task(100, connections=(last,), slow_waits=waits[-1:])
    assert len(both.connections) == CHANGES_KEPT
    assert both.connections[-1] == last
    assert len(both.slow_waits) == SLOW_WAITS_KEPT
    assert both.slow_waits["wait_ns"].min() == 1
    assert (both.loss.connections_forgotten, both.loss.slow_waits_forgotten) == (1, 1)


def test_threads_that_live_are_kept_and_the_busiest_that_have_ended() -> None:
    def threads(first: int, state: str, run_ns: int) -> tuple[Thread, ...]:
        times = StateTimes(running_ns=run_ns)
        return tuple(Thread(tid, "x", times, state) for tid in range(first, first + THREADS_KEPT))

    living, idle, busy = threads(10_000, "sleeping", 0), threads(20_000, "ended", 1), threads(30_000, "ended", 2)
    ended = task(0, threads=idle) + task(100, threads=busy)
    assert {one.tid for one in ended.threads} == {one.tid for one in busy}
    assert ended.loss.threads_forgotten == THREADS_KEPT
    both = ended + task(200, threads=living)
    assert {one.tid for one in both.threads} == {one.tid for one in living}
    assert both.loss.threads_forgotten == 2 * THREADS_KEPT

"""What is shown of the states of threads, from one look to the next."""

from __future__ import annotations

import numpy as np

from schedtop.sources.task.threads import TaskThreads
from schedtop.task import STATES

MS = 1_000_000
THREADS = np.dtype(
    [("tid", "u4"), ("state", "u4"), ("since_ns", "u8"), ("cpu_and_one", "u4"), ("state_ns", "u8", (len(STATES),))]
)


def thread(state: str, since_ms: int, **times_ms: int) -> np.ndarray:
    times = [times_ms.get(name, 0) * MS for name in STATES]
    return np.array([(5, STATES.index(state), since_ms * MS, 1, times)], THREADS)


def test_a_wait_that_its_end_splits_adds_up_to_the_time_that_has_passed() -> None:
    """Throttled from 0 on; the quota came back at 80 ms, and it ran at 95 ms until 100 ms."""
    threads = TaskThreads(1, False, 0)
    columns = [
        threads.column(thread("throttled", 0), 90 * MS),
        threads.column(thread("throttled", 100, running=5, throttled=80, runnable=15), 100 * MS),
        threads.column(thread("throttled", 100, running=5, throttled=80, runnable=15), 150 * MS),
    ]
    shown = [{name: ns // MS for name, ns in column.states.by_state().items() if ns} for column in columns]
    assert shown == [{"throttled": 90}, {"running": 5, "runnable": 5}, {"throttled": 40, "runnable": 10}]


def test_what_a_look_took_for_runnable_is_throttled_later() -> None:
    """The quota ran out again between a look at 90 ms and its time; it slept from 100 ms on."""
    threads = TaskThreads(1, False, 0)
    columns = [
        threads.column(thread("runnable", 80, throttled=80), 95 * MS),
        threads.column(thread("sleeping", 100, throttled=90, runnable=10), 103 * MS),
        threads.column(thread("sleeping", 100, throttled=90, runnable=10), 150 * MS),
    ]
    shown = [{name: ns // MS for name, ns in column.states.by_state().items() if ns} for column in columns]
    assert shown == [{"throttled": 80, "runnable": 15}, {"throttled": 8}, {"sleeping": 45, "throttled": 2}]

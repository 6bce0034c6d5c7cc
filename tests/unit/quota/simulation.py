"""A simulated group of threads under a quota, a millisecond a step, and the Frame that schedtop would have of it.

The rules are those of CFS bandwidth control (Documentation/scheduler/sched-bwc.rst): the quota is refilled at the end
of each period, with up to `burst` of what is left over; once it is spent, every thread that wants to run waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from schedtop.model.frame import Frame
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE, THROTTLING_DTYPE
from schedtop.model.waits import BEGINNINGS, CAUSES
from tests.unit.verdict.frames import MS, START, frame

PERIOD_MS = 100
GROUP = 7


@dataclass(frozen=True, slots=True)
class Thread:
    """Works for `work_ms`, sleeps for `sleep_ms`, and so on; without a sleep it is a busy loop. `share`: of its CPU,
    what others leave to it. `first_ms`: when it begins."""

    work_ms: int
    sleep_ms: int = 0
    share: float = 1.0
    first_ms: int = 0


@dataclass(slots=True)
class _State:
    thread: Thread
    left_ms: float
    asleep_until_ms: int
    held_since_ms: int = -1
    run_ms: float = 0.0
    delay_ms: float = 0.0
    sleeps: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the kernel would count, and the Frame."""

    throttled_ns: int
    throttled_periods: int
    interval_ns: int
    frame: Frame


def simulate(
    threads: Sequence[Thread], quota_ms: float, seconds: int = 20, cpus: int = 2, burst_ms: float = 0.0
) -> Outcome:
    """These threads in one group for a while; thread number `n` waits for its quota on CPU `n % cpus`."""
    states = [_State(thread, thread.work_ms, thread.first_ms) for thread in threads]
    pool = float(quota_ms)
    throttled_ms = periods = throttled_periods = 0
    waits: list[tuple[int, int, int]] = []
    for now in range(seconds * 1000):
        if now and now % PERIOD_MS == 0:
            periods += 1
            pool = min(pool, burst_ms) + quota_ms
            held_ms = _refill(states, now, cpus, waits)
            throttled_periods += held_ms > 0
            throttled_ms += held_ms
        wanting = [state for state in states if state.asleep_until_ms <= now]
        # The one that ran least goes first.
        turn = sorted(wanting, key=lambda state: state.run_ms)
        for state in turn[:cpus]:
            if pool > 0:
                pool -= _run(state, now)
        for state in turn[cpus:] if pool > 0 else ():
            state.delay_ms += 1
        for state in states if pool <= 0 else ():
            if state.asleep_until_ms <= now + 1 and state.held_since_ms < 0:
                state.held_since_ms = now + 1
    row = np.zeros(1, THROTTLING_DTYPE)
    row["cgroup_id"], row["periods"], row["throttled_periods"] = GROUP, periods, throttled_periods
    row["throttled_ns"], row["quota_ns"], row["period_ns"] = throttled_ms * MS, quota_ms * MS, PERIOD_MS * MS
    made = frame(_waits(waits), throttling=row, tasks=_tasks(states))
    made = replace(made, interval_ns=seconds * 1000 * MS, threshold_ns=MS)
    return Outcome(throttled_ms * MS, throttled_periods, seconds * 1000 * MS, made)


def _run(state: _State, now: int) -> float:
    ran = min(state.thread.share, state.left_ms)
    state.run_ms += ran
    state.delay_ms += 1 - state.thread.share
    state.left_ms -= ran
    if state.left_ms <= 1e-9:
        state.left_ms = state.thread.work_ms
        if state.thread.sleep_ms:
            state.sleeps += 1
            state.asleep_until_ms = now + 1 + state.thread.sleep_ms
    return ran


def _refill(states: list[_State], now: int, cpus: int, waits: list[tuple[int, int, int]]) -> int:
    """The quota comes back: the waits for it, and for how long each CPU had one."""
    longest: dict[int, int] = {}
    for number, state in enumerate(states):
        if 0 <= state.held_since_ms < now:
            held = now - state.held_since_ms
            waits.append((number, now, held))
            longest[number % cpus] = max(longest.get(number % cpus, 0), held)
        state.held_since_ms = -1
    return sum(longest.values())


def _waits(waits: list[tuple[int, int, int]]) -> np.ndarray:  # type: ignore[type-arg]
    rows = np.zeros(len(waits), SLOW_WAIT_DTYPE)
    for row, (number, now, held) in zip(rows, waits, strict=True):
        row["tid"], row["cgroup_id"], row["cpu"] = 100 + number, GROUP, number % 2
        row["enqueue_cpu"] = row["cpu"]
        row["wait_ns"], row["throttled_ns"] = held * MS + MS // 10, held * MS
        row["time_ns"] = START + now * MS + MS // 10
        row["allowed_cpus"] = 2
    rows["kind"], rows["cause"] = BEGINNINGS.index("throttled"), CAUSES.index("throttled")
    rows["idle_cpu"] = -1
    return rows


def _tasks(states: list[_State]) -> np.ndarray:  # type: ignore[type-arg]
    rows = np.zeros(len(states), TASK_DTYPE)
    for number, (row, state) in enumerate(zip(rows, states, strict=True)):
        row["tid"], row["comm"], row["start_ns"], row["cgroup_id"] = 100 + number, b"app", 1, GROUP
        row["run_ns"], row["run_delay_ns"] = state.run_ms * MS, state.delay_ms * MS
        row["voluntary_switches"] = state.sleeps
    return rows

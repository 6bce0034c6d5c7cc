"""Idle periods from hand-made timelines."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from schedtop.model.rows import Rows
from schedtop.sources.scheduler.idle import IdleTimes

PLACES = 8
TIMELINE = np.dtype([("idle_count", "<u8"), ("idle_start_ns", "<u8", (PLACES,)), ("idle_end_ns", "<u8", (PLACES,))])
CPU_ROW = np.dtype([("current_tid", "<u8"), ("slice_start_ns", "<u8")])


def busy(cpus: int) -> Rows:
    rows = np.zeros(cpus, CPU_ROW)
    rows["current_tid"] = 1
    return rows


def add(timelines: Rows, cpu: int, start: int, end: int) -> None:
    place = int(timelines["idle_count"][cpu]) % PLACES
    timelines["idle_start_ns"][cpu, place], timelines["idle_end_ns"][cpu, place] = start, end
    timelines["idle_count"][cpu] += 1


def during(idle: IdleTimes, start: int, end: int, rows: Rows, now: int = 1000) -> dict[int, int]:
    ids, ns, _ = idle.during(np.array([start]), np.array([end]), rows, now)
    return dict(zip(ids.tolist(), ns[0].tolist(), strict=True))


def test_idle_time_is_what_the_periods_share_with_the_span() -> None:
    timelines, idle = np.zeros(3, TIMELINE), IdleTimes()
    idle.collect(timelines)
    add(timelines, 0, 100, 200)
    add(timelines, 0, 300, 400)
    add(timelines, 2, 350, 360)
    idle.collect(timelines)
    assert during(idle, 150, 350, busy(3)) == {0: 100}
    assert during(idle, 0, 1000, busy(3)) == {0: 200, 2: 10}
    assert during(idle, 210, 290, busy(3)) == {}


def test_a_period_under_way_counts() -> None:
    rows = busy(2)
    rows["current_tid"][1], rows["slice_start_ns"][1] = 0, 600
    idle = IdleTimes()
    idle.collect(np.zeros(2, TIMELINE))
    assert during(idle, 500, 700, rows) == {1: 100}
    # Nothing is known of a CPU that has not switched yet.
    rows["slice_start_ns"][1] = 0
    assert during(idle, 500, 700, rows) == {}


def test_unknown_time_counts_as_busy() -> None:
    timelines, idle = np.zeros(1, TIMELINE), IdleTimes()
    add(timelines, 0, 1, 5)
    idle.collect(timelines)
    assert during(idle, 0, 1000, busy(1)) == {}
    for start in range(10, 10 * (PLACES + 4), 10):
        add(timelines, 0, start, start + 5)
    idle.collect(timelines)
    assert during(idle, 0, 1000, busy(1)) == {0: 5 * (PLACES - 1)}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 50), st.integers(1, 50)), max_size=30), st.data())
def test_idle_time_is_the_sum_over_periods(steps: list[tuple[int, int, int]], data: st.DataObject) -> None:
    timelines, idle, clocks = np.zeros(3, TIMELINE), IdleTimes(), [0, 0, 0]
    idle.collect(timelines)
    periods: list[tuple[int, int, int]] = []
    for cpu, pause, length in steps:
        start = clocks[cpu] + pause
        clocks[cpu] = start + length
        add(timelines, cpu, start, clocks[cpu])
        periods.append((cpu, start, clocks[cpu]))
        idle.collect(timelines)
    start = data.draw(st.integers(0, 500))
    end = data.draw(st.integers(start, 1000))
    found = during(idle, start, end, busy(3), now=5000)
    for cpu in range(3):
        shared = sum(max(0, min(end, stop) - max(start, begin)) for who, begin, stop in periods if who == cpu)
        assert found.get(cpu, 0) == shared

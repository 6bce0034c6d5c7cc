from dataclasses import replace

import numpy as np
import pytest

from schedtop.model.counts import Overhead, Pressure
from schedtop.model.rows import TASK_DTYPE
from schedtop.sources.host.proc import StatReading
from schedtop.sources.host.reading import HostReading, host_frame, nothing_seen

MS = 1_000_000


def stat(busy_ms: int, accounted_ms: int, switches: int) -> StatReading:
    busy, accounted = (np.array([ms * MS, 0], np.int64) for ms in (busy_ms, accounted_ms))
    return StatReading(np.array([True, False]), busy, np.zeros(2, np.int64), accounted, switches)


EARLIER = HostReading(
    time_ns=5_000 * MS,
    wall_ns=90_000 * MS,
    stat=stat(100, 1000, 7),
    pressure=Pressure(10, 0),
    own=Overhead(40, 1000, nice=0),
    late_ticks=2,
)
LATER = replace(
    EARLIER,
    time_ns=6_000 * MS,
    wall_ns=91_000 * MS,
    stat=stat(400, 2000, 27),
    pressure=Pressure(25, 5),
    own=Overhead(100, 3000, nice=-5),
    late_ticks=5,
)


def test_a_host_frame_has_the_differences_of_two_readings() -> None:
    frame = host_frame(EARLIER, LATER, threshold_ns=3)
    assert (frame.start_time_ns, frame.end_ns, frame.interval_ns) == (90_000 * MS, 6_000 * MS, 1_000 * MS)
    assert frame.cpus.column("busy_ns").tolist() == [300 * MS, 0]
    assert frame.cpus.column("idle_ns").tolist() == [700 * MS, 0]
    assert frame.kernel_switches == 20
    assert frame.pressure == Pressure(15, 5)
    assert frame.loss.late_ticks == 3
    assert (frame.overhead.cpu_ns, frame.overhead.rss_bytes, frame.overhead.nice) == (60, 3000, -5)
    assert frame.threshold_ns == 3


def test_a_host_frame_has_no_waits_and_no_tasks_unless_they_are_given() -> None:
    frame = host_frame(EARLIER, LATER, threshold_ns=0)
    assert not len(frame.tasks)
    assert not len(frame.slow_waits)
    assert frame.latency.cpus == 2
    assert not frame.latency.counts.any()
    tasks = np.zeros(3, TASK_DTYPE)
    assert host_frame(EARLIER, LATER, threshold_ns=0, tasks=tasks).tasks is tasks


def test_a_counter_that_runs_backwards_is_no_negative_difference() -> None:
    frame = host_frame(LATER, replace(EARLIER, time_ns=7_000 * MS), threshold_ns=0)
    assert frame.kernel_switches == 0
    assert frame.pressure == Pressure(0, 0)
    assert not frame.cpus.counters.min() < 0


@pytest.mark.parametrize("cpus", [1, 512])
def test_each_part_of_nothing_is_an_array_of_its_own(cpus: int) -> None:
    one, other = nothing_seen(cpus), nothing_seen(cpus)
    assert one["latency"].cpus == cpus
    assert all(one[name] is not other[name] for name in one)

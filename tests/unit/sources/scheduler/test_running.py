"""What CPUs do now, as one goes offline and comes back: rows as a kernel left them."""

import numpy as np

from schedtop.sources.scheduler.ledger import Moment
from schedtop.sources.scheduler.running import Running
from tests.unit.sources.scheduler.test_reading import CPU_STATE, MS

BOTH, ONE = np.array([True, True]), np.array([True, False])
STOPPER = 19


def cpus(tid: int, since_ns: int) -> np.ndarray:
    """CPU 0 runs task 7; CPU 1 switched last at `since_ns`, to that tid."""
    rows = np.zeros(2, CPU_STATE)
    rows["current_tid"], rows["slice_start_ns"] = [7, tid], [5 * MS, since_ns]
    return rows


def test_an_offline_cpu_runs_nothing_and_is_not_idle() -> None:
    running, left = Running(), cpus(STOPPER, 90 * MS)
    assert running.now(left, BOTH)["current_tid"].tolist() == [7, STOPPER]
    now = running.now(left, ONE)
    assert now.tolist() == [(7, 5 * MS), (0, 0)]
    assert Moment.of(900 * MS, 1, now).slice_ns(np.array([7, STOPPER])).tolist() == [895 * MS, 0]


def test_a_cpu_that_is_back_runs_what_it_switched_to_since() -> None:
    running, left = Running(), cpus(STOPPER, 90 * MS)
    running.now(left, ONE)
    assert running.now(left, BOTH)["current_tid"].tolist() == [7, 0], "it has not switched yet"
    assert running.now(cpus(0, 950 * MS), BOTH).tolist() == [(7, 5 * MS), (0, 950 * MS)]
    assert running.now(cpus(STOPPER, 960 * MS), BOTH)["current_tid"].tolist() == [7, STOPPER]


def test_a_cpu_that_has_never_switched_does_nothing() -> None:
    assert Running().now(cpus(0, 0), ONE).tolist() == [(7, 5 * MS), (0, 0)]


def test_a_copy_of_the_rows_tells_of_no_slice_on_a_cpu_that_left() -> None:
    running, rows = Running(), cpus(STOPPER, 90 * MS)
    running.clear_left(rows, BOTH)
    assert rows["slice_start_ns"].tolist() == [5 * MS, 90 * MS]
    running.clear_left(rows, ONE)
    assert rows["slice_start_ns"].tolist() == [5 * MS, 0]
    back = cpus(STOPPER, 90 * MS)
    running.clear_left(back, BOTH)
    assert back["slice_start_ns"].tolist() == [5 * MS, 0], "it has not switched yet"

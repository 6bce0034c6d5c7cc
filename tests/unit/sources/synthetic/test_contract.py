"""The contract of a Source over the synthetic one."""

import threading
from itertools import islice

import numpy as np
import pytest

from schedtop.model.rows import WAIT_KINDS
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from tests.unit.sources.contract import check_source, check_stop, take

SCENARIOS = [
    Scenario(),
    Scenario(cpus=1, tasks=1, slow_waits=0),
    Scenario(cpus=64, tasks=500, slow_waits=100),
    Scenario(interval_ns=200_000_000),
    Scenario(steal_ratio=0),
    Scenario(steal_ratio=0.4),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_synthetic_source_is_a_source(scenario: Scenario) -> None:
    with SyntheticSource(scenario) as source:
        frames = check_source(source, 4)
    assert {frame.interval_ns for frame in frames} == {scenario.interval_ns}
    assert len(frames[0].cpus.ids) == scenario.cpus


def test_synthetic_source_ends_when_asked() -> None:
    with SyntheticSource(Scenario(), pace_s=0.2) as source:
        check_stop(source, 0.2)


def test_synthetic_source_ends_by_itself() -> None:
    with SyntheticSource(Scenario(frames=3)) as source:
        assert len(list(source.frames(threading.Event()))) == 3


def test_a_seed_gives_the_same_frames_again() -> None:
    one, other = (take(SyntheticSource(Scenario(seed=5)), 2) for _ in "ab")
    assert np.array_equal(one[1].tasks, other[1].tasks)
    assert np.array_equal(one[1].cpus.counters, other[1].cpus.counters)
    third = take(SyntheticSource(Scenario(seed=6)), 2)
    assert not np.array_equal(one[1].tasks, third[1].tasks)


def test_a_new_threshold_holds_from_the_next_frame_on() -> None:
    with SyntheticSource(Scenario(slow_waits=50)) as source:
        frames = source.frames(threading.Event())
        assert next(frames).threshold_ns == 5_000_000
        source.set_threshold(50_000_000)
        later = next(frames)
    assert later.threshold_ns == 50_000_000
    assert (later.slow_waits["wait_ns"] >= 50_000_000).all()


def test_synthetic_preemptor_needs_a_preemption() -> None:
    with SyntheticSource(Scenario(slow_waits=100)) as source:
        rows = np.concatenate([frame.slow_waits for frame in islice(source.frames(threading.Event()), 3)])
    preempted = rows["kind"] == WAIT_KINDS.index("preemption")
    assert (rows["preemptor_tid"][~preempted] == 0).all()
    assert (rows["waker_tid"][preempted] == 0).all()

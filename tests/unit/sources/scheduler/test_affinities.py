"""How many CPUs a task may use is asked for when it is new among those that waited, and now and then."""

import numpy as np
import pytest

from schedtop.model.rows import TASK_DTYPE, Rows
from schedtop.model.sched_class import SchedClass
from schedtop.sources.scheduler import names
from schedtop.sources.scheduler.names import KEEP_MASKS_NS, LEAST_DELAY_NS, MOST_MASKS, Affinities


def tasks(delays: dict[int, int]) -> Rows:
    """Tasks by tid with their run delays, in units of the least one that is looked at."""
    rows = np.zeros(len(delays), TASK_DTYPE)
    rows["tid"], rows["run_delay_ns"] = list(delays), [delay * LEAST_DELAY_NS for delay in delays.values()]
    return rows


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tids that were asked for; tid 9 is gone."""
    tids: list[int] = []

    def allowed_cpus(tid: int) -> set[int]:
        tids.append(tid)
        if tid == 9:
            raise ProcessLookupError
        return set(range(tid))

    monkeypatch.setattr(names, "allowed_cpus", allowed_cpus)
    return tids


def test_a_mask_is_asked_for_once_in_a_while(asked: list[int]) -> None:
    affinities = Affinities()
    for now_ns, expected in ((0, [3]), (KEEP_MASKS_NS - 1, [3]), (KEEP_MASKS_NS, [3, 3])):
        rows = tasks({3: 100, 4: 0})
        affinities.note(rows, now_ns)
        assert rows["allowed_cpus"].tolist() == [3, 0]
        assert asked == expected


def test_a_task_that_has_hardly_waited_is_not_asked_for(asked: list[int]) -> None:
    rows = tasks({3: 1, 4: 1})
    rows["run_delay_ns"][1] -= 1
    Affinities().note(rows, 0)
    assert rows["allowed_cpus"].tolist() == [3, 0]
    assert asked == [3]


def test_another_task_of_the_same_tid_is_asked_for(asked: list[int]) -> None:
    affinities = Affinities()
    affinities.note(tasks({3: 100}), 0)
    rows = tasks({3: 100})
    rows["start_ns"] = 5
    affinities.note(rows, 1)
    assert asked == [3, 3]


def test_only_those_that_waited_longest_are_asked_for(asked: list[int]) -> None:
    rows = tasks({tid: tid for tid in range(100, 100 + 3 * MOST_MASKS)})
    Affinities().note(rows, 0)
    assert sorted(asked) == list(range(100 + 2 * MOST_MASKS, 100 + 3 * MOST_MASKS))
    assert np.count_nonzero(rows["allowed_cpus"]) == MOST_MASKS


@pytest.mark.usefixtures("asked")
def test_a_task_that_is_gone_has_no_mask() -> None:
    rows = tasks({9: 100, 5: 100})
    Affinities().note(rows, 0)
    assert rows["allowed_cpus"].tolist() == [0, 5]


def test_a_real_time_task_that_runs_is_asked_for(asked: list[int]) -> None:
    """What is in its way is not sent where it stays."""
    rows = tasks({3: 0, 4: 0, 5: 0})
    rows["run_ns"] = 500_000_000
    rows["sched_class"][:2] = SchedClass.RT, SchedClass.FAIR
    Affinities().note(rows, 0)
    assert rows["allowed_cpus"].tolist() == [3, 0, 0]
    assert asked == [3]

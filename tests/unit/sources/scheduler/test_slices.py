"""Of which tasks of slow waits the slices are asked, and how often."""

import numpy as np

from schedtop.base.breath import Breath
from schedtop.base.units import NS_PER_MS
from schedtop.model.rows import SLOW_WAIT_DTYPE, Rows
from schedtop.model.sched_class import SchedClass
from schedtop.sources.scheduler.slices import KEEP_NS, MOST_TASKS, Slices

FAIR, RT, EXT = SchedClass.FAIR, SchedClass.RT, SchedClass.EXT


def waits(*tids: tuple[int, int]) -> Rows:
    """A wait of 5 ms for each pair of a victim and its blocker, both fair."""
    rows = np.zeros(len(tids), SLOW_WAIT_DTYPE)
    rows["wait_ns"], rows["sched_class"] = 5 * NS_PER_MS, FAIR
    rows["tid"], rows["blocker_tid"][:, 0] = np.array(tids).T
    rows["blocker_sched_class"][:, 0] = FAIR
    return rows


def test_victim_and_blockers_have_their_slices() -> None:
    rows = waits((10, 20), (20, 99))
    Slices(lambda tid: tid + 1, lambda tid: {11: 1, 21: 2}.get(tid, 0)).note(rows, 0, Breath())
    assert rows["slice_ns"].tolist() == [1, 2], "asked by the number that holds here"
    assert rows["blocker_slice_ns"].tolist() == [[2, 0, 0, 0], [0, 0, 0, 0]]


def test_other_classes_have_no_slice() -> None:
    rows = waits((10, 20), (30, 40))
    rows["sched_class"][0], rows["blocker_sched_class"][1, 0] = EXT, RT
    Slices(lambda tid: tid, lambda tid: tid).note(rows, 0, Breath())
    assert rows["slice_ns"].tolist() == [0, 30]
    assert rows["blocker_slice_ns"][:, 0].tolist() == [20, 0]


def test_a_task_that_is_not_there_is_not_ourselves() -> None:
    rows = waits((10, 20))
    Slices(lambda tid: 0, lambda tid: 5).note(rows, 0, Breath())
    assert not rows["slice_ns"].any()


def test_each_task_is_asked_once_in_a_while() -> None:
    asked: list[int] = []
    slices = Slices(lambda tid: tid, lambda tid: asked.append(tid) or tid)  # type: ignore[func-returns-value]
    for now_ns in (0, KEEP_NS // 2, KEEP_NS):
        rows = waits((10, 20), (10, 20))
        slices.note(rows, now_ns, Breath())
        assert rows["slice_ns"].tolist() == [10, 10]
    assert asked == [10, 20, 10, 20]


def test_of_too_many_the_longest_waits_are_asked_about() -> None:
    rows = waits(*((tid, 1) for tid in range(2, MOST_TASKS + 50)))
    rows["wait_ns"] += np.arange(len(rows))
    Slices(lambda tid: tid, lambda tid: tid).note(rows, 0, Breath())
    assert (rows["slice_ns"] > 0).sum() == MOST_TASKS - 1
    assert rows["slice_ns"][-1]
    assert not rows["slice_ns"][0]

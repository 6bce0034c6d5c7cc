"""The longest wait that schedtop caused, from hand-made pairs."""

import numpy as np
import pytest

from schedtop.model.counts import Attribution
from schedtop.model.rows import TASK_DTYPE, Rows
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.scheduler.caused import Caused, OwnTasks, caused, longest_caused_ns

MS = 1_000_000
OWN, CHILD, OTHER = 100, 200, 300
PAIR = np.dtype(
    [("victim_tid", "<u4"), ("other_tid", "<u4"), ("epoch", "<u4", (2,)), ("longest_ns", "<u8", (2,))],
)
EPOCH = 7
MANY = 1000


def pairs(*rows: tuple[int, int, int], epoch: int = EPOCH) -> Rows:
    """Victim, other and the longest share of each."""
    table = np.zeros(len(rows), PAIR)
    for row, (victim, other, longest_ns) in zip(table, rows, strict=True):
        row["victim_tid"], row["other_tid"] = victim, other
        row["epoch"][epoch & 1], row["longest_ns"][epoch & 1] = epoch, longest_ns
    return table


def tasks(*rows: tuple[int, int, int, int]) -> Rows:
    """Thread, process, parent and run time of each."""
    table = np.zeros(len(rows), TASK_DTYPE)
    for row, (tid, tgid, parent, run_ns) in zip(table, rows, strict=True):
        row["tid"], row["tgid"], row["parent_tgid"], row["run_ns"] = tid, tgid, parent, run_ns
    return table


RAN = tasks((OWN, OWN, 1, 3), (OWN + 1, OWN, OWN, 4), (CHILD, CHILD, OWN, 5), (OTHER, OTHER, 1, 90))


def test_shares_of_our_threads_and_children_add_up_for_one_victim() -> None:
    table = pairs(
        (OTHER, OWN, 2 * MS),
        (OTHER, OWN + 1, 3 * MS),
        (OTHER, CHILD, MS),
        (OTHER + 1, OWN, 4 * MS),
        (5, OTHER, 99 * MS),
    )
    assert caused(table, EPOCH, OwnTasks(OWN), RAN, MANY) == Caused(6 * MS, 4 * MS, False, 12)


def test_our_own_waits_and_those_of_another_interval_do_not_count() -> None:
    own = OwnTasks(OWN)
    assert caused(pairs((OWN + 1, OWN, 2 * MS), (CHILD, OWN, MS)), EPOCH, own, RAN, MANY) == Caused(0, 0, False, 12)
    assert caused(pairs((OTHER, OWN, 2 * MS), epoch=EPOCH - 2), EPOCH, own, RAN, MANY) == Caused(0, 0, False, 24)


def test_without_our_own_number_nothing_is_known() -> None:
    assert caused(pairs((OTHER, OWN, 2 * MS)), EPOCH, OwnTasks(0), RAN, MANY) is None


def test_pairs_may_be_lost_when_half_of_the_map_is_full() -> None:
    found = caused(pairs((OTHER, OWN, MS), (5, 6, MS)), EPOCH, OwnTasks(OWN), RAN, 3)
    assert found is not None
    assert found.pairs_lost


def test_a_number_that_another_process_has_by_now_is_not_ours() -> None:
    own = OwnTasks(OWN)
    own.learn(RAN)
    assert own.tids == {OWN, OWN + 1, CHILD}
    own.learn(tasks((CHILD, CHILD, 1, 0), (OWN + 1, OTHER, 1, 0)))
    assert own.tids == {OWN}


def test_a_crowd_of_children_is_ours_as_a_few_are() -> None:
    own, children = OwnTasks(OWN), range(CHILD, CHILD + 40)
    ran = tasks((OWN, OWN, 1, 3), (OTHER, OTHER, 1, 90), *((child, child, OWN, 1) for child in children))
    shares = pairs(*((OTHER, child, MS) for child in children), (OWN, OTHER, MS))
    assert caused(shares, EPOCH, own, ran, MANY) == Caused(40 * MS, MS, False, 43)
    assert own.tids == {OWN, *children}


@pytest.mark.parametrize(
    ("known", "unseen_ns", "longest_wait_ns", "bound_ns"),
    [
        (Caused(3 * MS, 2 * MS, False, 50 * MS), 0, 20 * MS, 3 * MS),
        (Caused(3 * MS, 2 * MS, False, 50 * MS), 4 * MS, 20 * MS, 7 * MS),  # what was not seen may have been ours
        (Caused(3 * MS, 2 * MS, False, 6 * MS), 40 * MS, 20 * MS, 6 * MS),  # but no more than we ran
        (Caused(3 * MS, 2 * MS, False, 6 * MS), 40 * MS, 200 * MS, 43 * MS),  # unless the wait began before that
        (Caused(3 * MS, 2 * MS, True, 50 * MS), 0, 20 * MS, 20 * MS),  # pairs are missing
        (Caused(0, 0, False, 50 * MS), 0, 20 * MS, SCHEDULER.LOOK_NS),  # short waits are not looked at
        (Caused(0, 0, False, 50 * MS), 0, 30, 30),
        (Caused(3 * MS, 2 * MS, False, 50 * MS), 0, 0, 2 * MS),  # the longest wait was counted in the next interval
    ],
)
def test_bound_is_the_least_that_holds(known: Caused, unseen_ns: int, longest_wait_ns: int, bound_ns: int) -> None:
    attribution = Attribution(uncovered_ns=unseen_ns // 2, others_ns=unseen_ns - unseen_ns // 2, idle_ns=99 * MS)
    assert longest_caused_ns(known, attribution, longest_wait_ns, 100 * MS) == bound_ns

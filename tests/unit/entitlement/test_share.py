"""What the weights give a task, against what it got, by competitions whose answer is known."""

from __future__ import annotations

import pytest

from schedtop.entitlement.competition import Competition, Contender
from schedtop.entitlement.report import report_on_group
from schedtop.entitlement.share import MOST_RIVALS, Conclusion, Entitlement, entitlement, group_entitlement
from tests.unit.entitlement.contenders import autogroup, cgroup, compete, contender


def found_of(competition: Competition, *tids: int) -> Entitlement:
    found = entitlement(competition, tids or (1,))
    assert found is not None
    return found


def test_nice_0_and_5_on_one_cpu() -> None:
    loops = contender(1, 5, used=0.246), contender(2, 0, used=0.754)
    found = found_of(compete(*loops))
    assert found.entitled == pytest.approx(0.2465, abs=1e-4)
    assert found.conclusion is Conclusion.WEIGHTS
    assert [(level.weight, level.weights) for level in found.levels] == [(335, 1359)]
    assert found_of(compete(*loops), 2).entitled == pytest.approx(0.7535, abs=1e-4)


def test_groups_share_by_their_own_weight_however_many_tasks_are_in_them() -> None:
    groups = {"a": cgroup("/a", 1024), "b": cgroup("/b", 4096)}
    many = [contender(tid, groups=("b",), used=0.2) for tid in range(2, 6)]
    found = found_of(compete(contender(1, groups=("a",), used=0.2), *many, groups=groups))
    assert found.entitled == pytest.approx(0.2)
    assert [(level.key, level.weight, level.weights) for level in found.levels] == [("a", 1024, 5120), ("", 1024, 1024)]
    assert [round(rival.entitled, 3) for rival in found.rivals] == [0.2] * 4


def test_a_nice_value_counts_inside_of_its_group_alone() -> None:
    groups = {"one": autogroup(1), "two": autogroup(2)}
    found = found_of(
        compete(contender(1, -10, groups=("one",), used=0.5), contender(2, groups=("two",), used=0.5), groups=groups)
    )
    assert found.entitled == pytest.approx(0.5)
    assert [level.ratio for level in found.levels] == pytest.approx([0.5, 1.0])


def test_one_that_slept_counts_with_what_it_used() -> None:
    found = found_of(compete(contender(1, used=0.6), contender(2, used=0.4, wanted=0.8)))
    assert (found.entitled, found.conclusion) == (pytest.approx(0.6), Conclusion.WEIGHTS)


def test_one_that_waited_all_the_time_counts_with_its_weight() -> None:
    found = found_of(compete(contender(1, used=0.8), contender(2, used=0.2)))
    assert (found.entitled, found.conclusion) == (pytest.approx(0.5), Conclusion.MORE)
    other = found_of(compete(contender(1, used=0.8), contender(2, used=0.2)), 2)
    assert (other.entitled, other.conclusion) == (pytest.approx(0.5), Conclusion.LESS)


def test_one_that_wants_part_of_the_time_is_entitled_to_its_share_of_that() -> None:
    found = found_of(compete(contender(1, used=0.35, wanted=0.7), contender(2, used=0.65)))
    assert (found.entitled, found.limit) == (pytest.approx(0.35), pytest.approx(0.5))
    assert found.conclusion is Conclusion.WEIGHTS


def test_one_that_gets_all_that_it_wants_is_satisfied() -> None:
    found = found_of(compete(contender(1, used=0.1, wanted=0.102), contender(2, used=0.9)))
    assert found.conclusion is Conclusion.SATISFIED
    assert found.limit == pytest.approx(0.5)


def test_three_tasks_on_two_cpus_get_two_thirds_each() -> None:
    found = found_of(compete(*(contender(tid, cpus=(0, 1), used=0.66) for tid in (1, 2, 3)), cpus=2))
    assert found.entitled == pytest.approx(2 / 3)


def test_a_pinned_task_is_made_room_for_by_those_that_may_run_elsewhere() -> None:
    wide = [contender(tid, cpus=(0, 1), used=0.75) for tid in (2, 3)]
    found = found_of(compete(contender(1, used=0.5), *wide, cpus=2))
    assert (found.entitled, found.conclusion) == (pytest.approx(2 / 3, abs=0.005), Conclusion.LESS)


def test_tasks_pinned_apart_do_not_compete() -> None:
    found = found_of(compete(contender(1, 19, used=1.0), contender(2, cpus=(1,), used=1.0), cpus=2))
    assert (found.limit, found.rivals) == (pytest.approx(1.0), ())


def test_the_threads_of_a_process_count_together() -> None:
    found = found_of(compete(*(contender(tid, cpus=(0, 1), used=0.5) for tid in (1, 2, 3, 4)), cpus=2), 1, 2)
    assert (found.entitled, found.got) == (pytest.approx(1.0), pytest.approx(1.0))


def test_real_time_tasks_come_first_and_the_rest_is_shared() -> None:
    first = contender(9, policy="fifo", used=0.95)
    found = found_of(compete(contender(1, used=0.025), contender(2, used=0.025), first))
    assert found.entitled == pytest.approx(0.025)
    assert found.conclusion is Conclusion.BEHIND
    assert [rival.contender.tid for rival in found.first] == [9]
    assert found_of(compete(contender(1, used=0.05), first), 9).conclusion is Conclusion.FIRST


def test_a_little_real_time_beside_many_rivals_is_not_the_reason() -> None:
    first = contender(9, policy="deadline", used=0.065)
    rivals = [contender(tid, used=0.093) for tid in range(2, 11)]
    found = found_of(compete(contender(1, used=0.093), *rivals, first))
    assert found.conclusion is Conclusion.WEIGHTS
    wide = contender(9, cpus=(0, 1), policy="fifo", used=0.6)
    found = found_of(compete(contender(1, used=0.65), wide, cpus=2))
    assert (found.first_used, found.conclusion) == (pytest.approx(0.3), Conclusion.BEHIND)


def test_the_quota_is_named_where_it_holds_back_and_not_the_weight() -> None:
    groups = {"a": cgroup("/a", 1024, quota=0.2)}
    found = found_of(compete(contender(1, groups=("a",), used=0.2), contender(2, used=0.5), groups=groups))
    assert found.conclusion is Conclusion.QUOTA


def test_small_tasks_are_off_the_capacity() -> None:
    found = found_of(compete(contender(1, used=0.45), contender(2, used=0.45), taken=0.1))
    assert found.entitled == pytest.approx(0.45)


def test_of_many_rivals_the_largest_are_named_and_the_others_counted() -> None:
    found = found_of(compete(*(contender(tid, used=0.05) for tid in range(1, 21))))
    assert (len(found.rivals), found.more_rivals) == (MOST_RIVALS, 19 - MOST_RIVALS)


def test_a_task_that_did_nothing_has_no_entitlement() -> None:
    assert entitlement(compete(contender(1)), (7,)) is None


def test_a_hundred_tasks_on_sixteen_cpus_are_shared_out_whole() -> None:
    tasks = [contender(tid, tid % 5, (tid % 16,) if tid % 3 else range(16), used=0.1) for tid in range(1, 101)]
    found = found_of(compete(*tasks, cpus=16), *range(1, 101))
    assert found.entitled == pytest.approx(16, rel=0.01)


def weighed(*more: Contender, busy: float = 0.2) -> Competition:
    """One loop in a group of weight 100, four in groups inside of one of 400, on one CPU."""
    groups = {"a": cgroup("/a", 1024), "b": cgroup("/b", 4096), "b/1": cgroup("/b/1"), "b/2": cgroup("/b/2")}
    inside = [contender(tid, groups=("b", f"b/{tid % 2 + 1}"), used=0.2) for tid in range(2, 6)]
    return compete(contender(1, groups=("a",), used=busy), *inside, *more, groups=groups)


def test_groups_of_weight_100_and_400_are_entitled_to_20_and_80_percent() -> None:
    for key, share in (("a", 0.2), ("b", 0.8)):
        report = report_on_group(weighed(), key)
        assert report is not None
        found = report.found
        assert (found.entitled, found.got) == (pytest.approx(share), pytest.approx(share))
        assert (found.group, found.conclusion) == (key, Conclusion.WEIGHTS)
        assert [(level.key, level.weights) for level in found.levels] == [(key, 5120)]
    one = report_on_group(weighed(), "a")
    assert one is not None and one.advice is not None
    assert one.advice.command == "echo 4096 > /sys/fs/cgroup/cpu/a/cpu.shares"
    assert one.advice.expected == pytest.approx(0.5)


def test_a_group_inside_of_another_has_all_levels_up_to_itself() -> None:
    found = group_entitlement(weighed(), "b/1")
    assert found is not None
    assert [level.key for level in found.levels] == ["b", "b/1"]
    assert found.entitled == pytest.approx(0.4)


def test_nice_values_inside_of_a_group_are_no_matter_of_the_group() -> None:
    groups = {"a": cgroup("/a", 1024), "b": cgroup("/b", 4096)}
    tasks = contender(1, -10, groups=("a",), used=0.2), contender(2, groups=("b",), used=0.8)
    report = report_on_group(compete(*tasks, groups=groups), "a")
    assert report is not None and report.advice is not None
    assert not report.nice_is_idle and not report.advice.reason


def test_real_time_tasks_of_a_group_have_no_part_in_its_weight() -> None:
    first = contender(9, groups=("a",), used=0.5, policy="fifo")
    found = group_entitlement(weighed(first, busy=0.1), "a")
    assert found is not None
    assert [one.tid for one in found.subject] == [1]
    assert found.entitled == pytest.approx(0.1)
    assert [rival.contender.tid for rival in found.first] == [9]


def test_a_group_without_a_task_that_wanted_a_cpu_has_no_answer() -> None:
    assert group_entitlement(weighed(), "c") is None

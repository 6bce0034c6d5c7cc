"""One action where weights hold a task back, and what it has then."""

from __future__ import annotations

import pytest

from schedtop.entitlement.competition import Competition, Group
from schedtop.entitlement.report import EntitlementReport, report_on
from schedtop.entitlement.share import Conclusion
from schedtop.entitlement.words import advice_words, headline, levels_words, report_words
from schedtop.model.weights import nice_weight
from tests.unit.entitlement.contenders import autogroup, cgroup, compete, contender


def report_of(competition: Competition, *tids: int) -> EntitlementReport:
    report = report_on(competition, tids or (1,))
    assert report is not None
    return report


def advised(report: EntitlementReport) -> tuple[str, float]:
    assert report.advice is not None
    return report.advice.command, round(report.advice.expected, 3)


@pytest.mark.parametrize(("nice", "beside", "command", "then"), [
    (5, 0, "renice -n 0 -p 1", 0.5),
    (19, 0, "renice -n 0 -p 1", 0.5),
    (0, 0, "renice -n -5 -p 1", 0.753),
    (0, -5, "renice -n -5 -p 1", 0.5),
])  # fmt: skip
def test_a_task_is_reniced_to_what_is_beside_it(nice: int, beside: int, command: str, then: float) -> None:
    share = nice_weight(nice) / (nice_weight(nice) + nice_weight(beside))
    report = report_of(compete(contender(1, nice, used=share), contender(2, beside, used=1 - share)))
    assert report.found.entitled < then
    assert advised(report) == (command, then)


def test_a_task_of_the_policy_idle_is_made_an_ordinary_one() -> None:
    report = report_of(compete(contender(1, policy="idle", used=0.003), contender(2, used=0.997)))
    assert advised(report) == ("chrt --other --pid 0 1", 0.5)


def test_a_group_gets_the_weight_of_the_heaviest_beside_it() -> None:
    groups = {"a": cgroup("/a", 1024), "b": cgroup("/b", 4096)}
    report = report_of(
        compete(contender(1, groups=("a",), used=0.2), contender(2, groups=("b",), used=0.8), groups=groups)
    )
    assert advised(report) == ("echo 4096 > /sys/fs/cgroup/cpu/a/cpu.shares", 0.5)
    assert levels_words(report.found) == (
        "cgroup /a: weight 1024 of 5120, 20.0 % > the task (nice 0): weight 1024, alone"
    )


def test_a_group_of_v2_is_told_in_its_own_unit() -> None:
    groups = {key: Group("cgroup", f"/{key}", weight * 1024 // 100, None, f"/cg/{key}/cpu.weight", weight)
              for key, weight in (("a", 100), ("b", 400))}  # fmt: skip
    report = report_of(
        compete(contender(1, groups=("a",), used=0.2), contender(2, groups=("b",), used=0.8), groups=groups)
    )
    assert advised(report) == ("echo 400 > /cg/a/cpu.weight", 0.5)


def test_a_nice_value_without_effect_is_said_and_given_to_the_autogroup() -> None:
    groups = {"one": autogroup(1), "two": autogroup(2)}
    report = report_of(
        compete(contender(1, -10, groups=("one",), used=0.5), contender(2, groups=("two",), used=0.5), groups=groups)
    )
    assert report.nice_is_idle
    assert advised(report) == ("echo -10 > /proc/1/autogroup", 0.903)
    assert advice_words(report) == (
        "nice -10 acts only inside of its autogroup; change the group's weight: echo -10 > /proc/1/autogroup "
        "(then 90.3 % of a CPU)"
    )


def test_the_threads_of_a_process_are_reniced_together() -> None:
    tasks = [contender(tid, 10, used=0.088) for tid in (1, 2)] + [contender(3, used=0.824)]
    report = report_of(compete(*tasks), 1, 2)
    assert advised(report) == ("renice -n 0 -p $(ls /proc/1/task)", 0.667)


def test_a_real_time_task_is_made_an_ordinary_one() -> None:
    report = report_of(compete(contender(1, used=0.05), contender(9, policy="fifo", used=0.95)))
    assert advised(report) == ("chrt --other --pid 0 9", 0.5)
    assert "real-time or deadline tasks come first and had 95.0 % of a CPU" in headline(report.found)


@pytest.mark.parametrize("tasks", [
    (contender(1, used=0.1, wanted=0.1), contender(2, used=0.9)),  # got all that it wanted
    (contender(1, used=0.6), ),  # alone
    (contender(1, -20, used=0.5), contender(2, -20, used=0.5)),  # no better nice value
    (contender(1, used=0.3), contender(2, used=0.7)),  # less than its weight gives it
])  # fmt: skip
def test_there_is_no_advice_where_no_weight_can_help(tasks: tuple) -> None:  # type: ignore[type-arg]
    assert report_of(compete(*tasks)).advice is None


def test_there_is_no_advice_that_changes_nothing() -> None:
    """`to change it: echo -12 > /proc/7/autogroup (then 1.6 % of a CPU)` of one that had 1.6 %."""
    tasks = [
        contender(1, -5, (0,), ("a",), used=0.05, wanted=0.1),
        contender(2, -5, (0, 1), (), used=0.01, wanted=0.02),
        contender(3, 0, (0, 1), (), used=0.9),
        contender(4, 0, (0,), ("b",), used=0.018, wanted=0.02),
    ]
    report = report_of(compete(*tasks, groups={"a": autogroup(5), "b": autogroup(6)}, cpus=2))
    assert report.found.conclusion is Conclusion.WEIGHTS
    assert report.advice is None


def test_all_of_it_in_sentences() -> None:
    report = report_of(compete(contender(1, 5, used=0.246), contender(2, 0, used=0.754)))
    assert report_words(report, 4) == [
        "By weight: entitled to 24.7 % of a CPU, got 24.6 %: it is the weights, not the scheduler",
        "to change it: renice -n 0 -p 1 (then 50.0 % of a CPU)",
        "the task (nice 5): weight 335 of 1359, 24.7 %",
        "beside t2 (2) nice 0, weight 1024: entitled to 75.3 % of a CPU, got 75.4 %",
        "not in it: real-time and deadline tasks, which come first (had none of CPU 0); the little that the kernel "
        "keeps for others beside them (fair server, before 6.12 sched_rt_runtime_us); interrupts; the host's steal",
    ]

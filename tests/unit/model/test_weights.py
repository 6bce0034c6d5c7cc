"""Weights of the fair class, against the kernel's own arithmetic."""

from __future__ import annotations

import pytest

from schedtop.model.weights import (
    IDLE_WEIGHT,
    cpu_weight_of_shares,
    nice_of_weight,
    nice_weight,
    shares_of_cpu_weight,
    task_weight,
)


def test_the_weights_of_nice_values_are_the_kernels() -> None:
    # The ends, the middle, and one beside it, of sched_prio_to_weight.
    assert [nice_weight(nice) for nice in (-20, -10, 0, 1, 5, 19)] == [88761, 9548, 1024, 820, 335, 15]


def test_a_step_of_nice_changes_the_share_by_ten_per_cent() -> None:
    for nice in range(-20, 19):
        assert nice_weight(nice) / nice_weight(nice + 1) == pytest.approx(1.25, abs=0.08)


def test_the_policy_idle_has_one_weight_whatever_its_nice_value() -> None:
    assert {task_weight("idle", nice) for nice in (-20, 0, 19)} == {IDLE_WEIGHT}
    assert task_weight("batch", 5) == task_weight("other", 5) == 335


@pytest.mark.parametrize(("cpu_weight", "shares"), [(1, 10), (100, 1024), (400, 4096), (10_000, 102_400)])
def test_cpu_weight_in_the_unit_of_shares(cpu_weight: int, shares: int) -> None:
    assert shares_of_cpu_weight(cpu_weight) == shares
    assert cpu_weight_of_shares(shares) == cpu_weight


@pytest.mark.parametrize("nice", range(-20, 20))
def test_the_nice_value_of_a_weight_gives_that_weight_at_least(nice: int) -> None:
    assert nice_of_weight(nice_weight(nice)) == nice
    assert nice_of_weight(nice_weight(nice) - 0.5) == nice
    assert nice_of_weight(1e9) == -20

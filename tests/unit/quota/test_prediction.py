"""Predictions beside a simulation of the same load under the quota that was advised."""

from functools import cache

import pytest

from schedtop.quota.advice import REMOVED, advise
from schedtop.quota.prediction import Prediction
from schedtop.quota.record import records_of
from tests.unit.quota.simulation import Outcome, Thread, simulate

LOADS = {
    "four threads": ([Thread(1000)] * 4, 20),
    "one hog": ([Thread(1000)], 20),
    "one hog beside others": ([Thread(1000, share=0.6)], 20),
    "bursts": ([Thread(30, 70)], 20),
    "bursts beside others": ([Thread(30, 70, share=0.7)], 20),
    "bursts now and then": ([Thread(30, 430, first_ms=40)], 20),
    "long bursts": ([Thread(250, 1000, first_ms=30)], 50),
    "bursts of two threads": ([Thread(30, 170), Thread(45, 230)], 20),
    "many small bursts": ([Thread(5, 30 + number) for number in range(12)], 30),
    "a hog and a sleeper": ([Thread(1000), Thread(1, 9)], 40),
    "more than a CPU": ([Thread(1000)] * 3, 120),
}
"""Threads by construction, and a quota in ms that is too small for them."""

TOLERANCE = 0.03
"""Of the throttled time that was recorded: the simulation goes by whole milliseconds."""


@cache
def recorded(name: str) -> tuple[Outcome, Prediction]:
    threads, quota_ms = LOADS[name]
    outcome = simulate(threads, quota_ms)
    found = advise(records_of(outcome.frame)[0]).prediction
    assert found
    return outcome, found


@pytest.mark.parametrize("bound", ["low", "high"])
@pytest.mark.parametrize("removed", REMOVED)
@pytest.mark.parametrize("name", LOADS)
def test_the_advised_quota_leaves_what_was_predicted(name: str, removed: float, bound: str) -> None:
    outcome, found = recorded(name)
    quota_ns = getattr(found.quota_ns(removed), bound)
    again = simulate(LOADS[name][0], quota_ns / 1e6)
    predicted, periods = found.throttled_ns(quota_ns), found.throttled_periods(quota_ns)
    slack_ns = TOLERANCE * outcome.throttled_ns
    assert predicted.low - slack_ns <= again.throttled_ns <= predicted.high + slack_ns
    slack = 0.1 * again.frame.throttling["periods"][0]
    assert periods.low - slack <= again.throttled_periods <= periods.high + slack


@pytest.mark.parametrize("name", LOADS)
def test_the_larger_bound_of_the_quota_removes_what_it_says(name: str) -> None:
    outcome, found = recorded(name)
    for removed in REMOVED:
        again = simulate(LOADS[name][0], found.quota_ns(removed).high / 1e6)
        assert again.throttled_ns <= (1 - removed + TOLERANCE) * outcome.throttled_ns


@pytest.mark.parametrize("name", LOADS)
def test_more_removed_needs_no_smaller_quota(name: str) -> None:
    _, found = recorded(name)
    ranges = [found.quota_ns(removed) for removed in REMOVED]
    assert all(each.low <= each.high for each in ranges)
    assert ranges == sorted(ranges, key=lambda each: (each.high, each.low))


def test_the_quota_as_it_is_leaves_what_was_recorded() -> None:
    for name in LOADS:
        outcome, found = recorded(name)
        left = found.throttled_ns(found.record.quota_ns)
        assert left.low == left.high == pytest.approx(outcome.throttled_ns)


def test_a_hog_needs_nearly_the_cpu_at_most_and_what_it_ran_at_least() -> None:
    """Without a quota it takes 1.0: to lose a tenth of 80 ms in each period it needs 0.92."""
    _, found = recorded("one hog")
    quota = found.quota_ns(0.9)
    assert quota.high == pytest.approx(92e6, rel=0.01)
    # All that it ran, 20 ms in a period, at 71 ms in a period, takes 28 % of the time, of which 29 % are throttled.
    assert quota.low == pytest.approx(71.4e6, rel=0.02)


def test_four_threads_on_two_cpus_are_bounded_by_the_cpus() -> None:
    _, found = recorded("four threads")
    assert found.quota_ns(0.5).high == pytest.approx(110e6, rel=0.01)
    assert found.quota_ns(1.0).high == pytest.approx(200e6, rel=0.01)


def test_bursts_need_their_work_at_least() -> None:
    """30 ms of work in a period: with that quota nothing is throttled if there is no more."""
    _, found = recorded("bursts")
    assert found.quota_ns(0.99).low == pytest.approx(30e6, rel=0.02)


def test_a_burst_helps_what_is_idle_most_of_the_time_and_no_hog() -> None:
    threads, quota_ms = LOADS["bursts now and then"]
    outcome, found = recorded("bursts now and then")
    burst = found.burst_ns(0.9)
    assert burst.low == pytest.approx(10e6, rel=0.05) and burst.high is None
    helped = simulate(threads, quota_ms, burst_ms=burst.low / 1e6 + 1)
    assert helped.throttled_ns < 0.1 * outcome.throttled_ns
    for name in ("one hog", "four threads", "more than a CPU"):
        assert recorded(name)[1].burst_ns(0.5).high is None


def test_a_burst_that_must_do_fits_into_what_is_left_over() -> None:
    """Held back for 20 ms of 100 every second: a burst of that has the time in between to be saved."""
    threads = [Thread(95, 885)]
    outcome = simulate(threads, 80)
    found = advise(records_of(outcome.frame)[0]).prediction
    assert found
    burst = found.burst_ns(0.9)
    assert burst.high is not None and burst.low is not None and burst.low <= burst.high <= 80e6
    assert simulate(threads, 80, burst_ms=burst.high / 1e6).throttled_ns <= 0.1 * outcome.throttled_ns

"""Waits under way of which a quota has taken a part, as rows of threads."""

from __future__ import annotations

import numpy as np
import pytest

from schedtop.sources.task.held import noted, split
from schedtop.task import STATES

THREADS = np.dtype(
    [
        ("tid", "u4"),
        ("state", "u4"),
        ("since_ns", "u8"),
        ("noted_ns", "u8"),
        ("cpu_and_one", "u4"),
        ("state_ns", "u8", (len(STATES),)),
    ]
)
HELD = np.dtype([("since_ns", "u8"), ("at_ns", "u8"), ("held_ns", "u8"), ("tid", "u4"), ("held", "u4")])


def thread(state: str, cpu: int = 0, noted_ns: int = 100) -> np.ndarray:
    """It waits since 100, or runs; it ran for 7 before."""
    times = [7 * (name == "running") for name in STATES]
    return np.array([(5, STATES.index(state), 100, noted_ns, cpu + 1, times)], THREADS)


def told(held_ns: int, held: bool, since_ns: int = 100, at_ns: int = 150) -> np.ndarray:
    return np.array([(since_ns, at_ns, held_ns, 5, held)], HELD)


def seen(rows: np.ndarray) -> tuple[str, int, dict[str, int]]:
    """Its state, since when, and what it was before."""
    times = {name: int(ns) for name, ns in zip(STATES, rows["state_ns"][0], strict=True) if ns}
    return STATES[rows["state"][0]], int(rows["since_ns"][0]), times


@pytest.mark.parametrize("state", ["throttled", "runnable"])
def test_a_wait_whose_quota_came_back_is_runnable_since_then(state: str) -> None:
    assert seen(split(thread(state), told(30, False))) == ("runnable", 130, {"running": 7, "throttled": 30})


def test_a_wait_that_a_quota_stops_later_was_runnable_before() -> None:
    assert seen(split(thread("runnable"), told(30, True))) == ("throttled", 120, {"running": 7, "runnable": 20})


@pytest.mark.parametrize("held_ns", [50, 60])
def test_a_wait_that_is_throttled_as_a_whole_stays_whole(held_ns: int) -> None:
    assert seen(split(thread("throttled"), told(held_ns, True))) == ("throttled", 100, {"running": 7})


def test_what_was_told_of_an_earlier_wait_splits_no_later_one() -> None:
    assert seen(split(thread("throttled"), told(30, False, since_ns=90))) == ("throttled", 100, {"running": 7})


def test_a_wait_from_before_the_start_is_split_until_it_ends() -> None:
    rows = thread("running", cpu=-1)
    assert noted(rows).all()
    assert seen(split(rows, told(30, False))) == ("runnable", 130, {"running": 7, "throttled": 30})
    assert not noted(thread("running", cpu=0)).any()


def test_a_wait_that_no_quota_can_stop_is_not_asked_for() -> None:
    assert not noted(thread("runnable", noted_ns=0)).any()


def test_rows_that_were_read_stay_as_they_are() -> None:
    rows = thread("throttled")
    split(rows, told(30, False))
    assert seen(rows) == ("throttled", 100, {"running": 7})

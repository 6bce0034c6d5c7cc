"""Waits for a quota in the columns of a map over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from schedtop.model.frame import Frame
from schedtop.model.waits import CAUSES
from schedtop.panes.scheduler.latency.heat_map import LogScale
from schedtop.panes.scheduler.latency.throttled import ColumnWaits, ThrottledWaits, throttled_ns
from tests.unit.verdict.frames import MS, frame, waits

SCALES = [LogScale(3.0, 2.0, 10), LogScale(4.5, 1.5, 6, bound=6.4)]


def held(*waits_ms: int) -> Frame:
    """A Frame with waits for a quota, and one for something else."""
    rows = waits(len(waits_ms) + 1, "throttled")
    rows["wait_ns"] = np.array([*waits_ms, 500]) * MS
    rows["cause"][-1] = CAUSES.index("preemption")
    rows["cpu"] = np.arange(len(rows)) % 2
    return frame(rows)


@pytest.mark.parametrize("scale", SCALES)
def test_cells_are_those_of_each_wait(scale: LogScale) -> None:
    """A loop over all of them took 10 ms a second after half a minute, and 170 after ten."""
    rng = np.random.default_rng(5)
    first = rng.integers(-2, 30, 300)
    found = ColumnWaits(first, first + rng.integers(0, 4, 300), (10 ** rng.uniform(2, 9, 300)).astype(np.int64))
    wanted = np.zeros((scale.rows, 30), bool)
    for start, end, ns in zip(*(numbers.tolist() for numbers in found), strict=True):
        wanted[scale.row(ns), max(start, 0) : end + 1] = True
    assert (found.cells(scale, 30) == wanted).all()
    none = ColumnWaits(*(np.zeros(0, np.int64) for _ in found))
    assert not none.cells(scale, 30).any()


def test_waits_of_frames_are_looked_at_once() -> None:
    one, other, calm = held(70, 80), held(90), frame()
    placed = [(0, 1, one), (2, 2, calm), (3, 5, other)]
    kept = ThrottledWaits()
    found = kept.of(placed, None)
    assert [found.longest_in(column) // MS for column in range(7)] == [80, 80, 0, 90, 90, 90, 0]
    assert sorted(found.ns.tolist()) == [70 * MS, 80 * MS, 90 * MS]
    one.slow_waits["wait_ns"] = 1
    assert kept.of(placed, None).longest_in(0) == 80 * MS, "a Frame does not change"
    assert kept.of(placed, (0,)).longest_in(3) == 90 * MS
    assert kept.of(placed, (1,)).longest_in(3) == 0
    assert not len(kept.of([(0, 0, calm)], None).ns) and kept.of([], None).longest_in(0) == 0


def test_durations_of_a_frame() -> None:
    assert throttled_ns(held(70, 80)) == (70 * MS, 80 * MS)
    assert throttled_ns(held(70, 80), (1,)) == (80 * MS,)
    assert throttled_ns(replace(held(70), slow_waits=held(70).slow_waits[:0])) == ()

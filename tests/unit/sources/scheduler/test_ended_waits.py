"""Waits that nothing ended: those of tasks that sleep are over."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from schedtop.model.rows import Integers, Rows
from schedtop.sources.scheduler.ended_waits import LONG_NS, MOST_READ, EndedWaits

SLOTS = np.dtype([("tid", "<u4"), ("wait_start_ns", "<u8")])
NOW_NS = 100 * LONG_NS


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    for tid, state in ((10, "R"), (11, "S"), (12, "D"), (13, "R")):
        told(tmp_path, tid, state)
    return tmp_path


def told(proc: Path, tid: int, state: str) -> None:
    (proc / str(tid)).mkdir(exist_ok=True)
    (proc / str(tid) / "stat").write_text(f"{tid} (a) R b) {state} 1 1 0\n")


def waits(*each: tuple[int, int]) -> Rows:
    return np.array([*each], SLOTS)


def left(ended: EndedWaits, slots: Rows, places: Integers | None = None, inside=int) -> list[int]:  # type: ignore[no-untyped-def]
    places = np.arange(len(slots)) if places is None else places
    rows = slots[places].copy()
    ended.drop(rows, slots, places, NOW_NS, inside)
    return rows["wait_start_ns"].tolist()


def test_the_long_waits_of_tasks_that_sleep_are_over(proc: Path) -> None:
    young = NOW_NS - LONG_NS + 1
    slots = waits((10, 5), (11, 5), (12, 7), (13, 0), (14, 5), (11, young))
    assert left(EndedWaits(str(proc)), slots) == [5, 0, 0, 0, 5, young], "14 is gone, and the last one is young"
    assert left(EndedWaits(str(proc)), slots, np.array([1, 3])) == [0, 0]
    assert left(EndedWaits(str(proc)), slots, inside=lambda tid: 0) == slots["wait_start_ns"].tolist(), "not in /proc"
    assert left(EndedWaits(str(proc)), slots[:0]) == []


def test_a_wait_that_ended_in_the_meantime_is_none_of_them(proc: Path) -> None:
    ended, slots = EndedWaits(str(proc)), waits((11, 5))
    rows = slots.copy()
    slots["wait_start_ns"] = 0  # seen to end between the reading of the slot and that of the file
    ended.drop(rows, slots, np.array([0]), NOW_NS, int)
    assert rows["wait_start_ns"].tolist() == [5]


def test_a_wait_stays_over_and_the_next_one_is_another(proc: Path) -> None:
    ended = EndedWaits(str(proc))
    assert left(ended, waits((11, 5))) == [0]
    told(proc, 11, "R")
    assert left(ended, waits((11, 5))) == [0], "it was read once"
    assert left(ended, waits((11, 6))) == [6]
    assert left(ended, waits((11, 5))) == [5], "it is not remembered for long"


def test_few_files_are_read_for_one_interval_the_oldest_waits_first(proc: Path) -> None:
    many = [(100 + number, 5 + number) for number in range(MOST_READ + 3)]
    for tid, _ in many:
        told(proc, tid, "S")
    ended, slots = EndedWaits(str(proc)), waits(*reversed(many))
    assert left(ended, slots) == [*(start for _, start in reversed(many[MOST_READ:])), *[0] * MOST_READ]
    assert left(ended, slots) == [0] * len(many)

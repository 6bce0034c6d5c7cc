"""Differences of two looks at the slots of threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from schedtop.model.activity_rows import IO_KINDS
from schedtop.model.rows import Rows
from schedtop.sources.activity.reading import TaskCounts, _difference, _same_of, _was_read

IO = 2 * len(IO_KINDS)
SLOT = np.dtype(
    [
        *(("tid", "<u4"), ("tgid", "<u4"), ("start_ns", "<u8"), ("cgroup_id", "<u8"), ("comm", "S16")),
        *(("process", "S16"), ("exit_epoch", "<u4"), ("max_epoch", "<u4", (2,)), ("max_ns", "<u8", (2,))),
        *(("syscalls", "<u8"), ("syscall_ns", "<u8"), ("io_count", "<u8", (IO,))),
    ]
)


def slot(tid: int, **numbers: Any) -> Rows:
    one = np.zeros(1, SLOT)
    one["tid"] = one["tgid"] = tid
    one["start_ns"] = 5
    for name, value in numbers.items():
        one[name] = value
    return one


def test_counts_are_those_since_the_last_look() -> None:
    rows = _difference(slot(7, syscalls=10, syscall_ns=100), slot(7, syscalls=13, syscall_ns=190), 4)
    assert (rows["syscalls"].tolist(), rows["syscall_ns"].tolist()) == ([3], [90])


def test_counts_of_the_slots_former_owner_are_not_taken_off() -> None:
    before = slot(7, syscalls=10)
    assert _difference(before, slot(7, syscalls=3, start_ns=6), 4)["syscalls"].tolist() == [3]
    assert _difference(before, slot(8, syscalls=2), 4)["syscalls"].tolist() == [2]


def test_a_thread_that_did_nothing_has_no_row() -> None:
    assert len(_difference(slot(7, syscalls=10), slot(7, syscalls=10), 4)) == 0


def test_kinds_are_counted_apart() -> None:
    before, now = slot(7), slot(7)
    now["io_count"][0][3], now["io_count"][0][8] = 5, 6
    rows = _difference(before, now, 4)
    assert (rows["io_count"][0][3], rows["io_count"][0][8], rows["io_count"].sum()) == (5, 6, 11)


def test_longest_call_is_that_of_the_interval() -> None:
    before = slot(7, syscalls=1, syscall_ns=10)
    now = slot(7, syscalls=4, syscall_ns=100, max_epoch=(4, 3), max_ns=(60, 900))
    assert _difference(before, now, 4)["syscall_max_ns"].tolist() == [60]
    # It ended just when the interval did: no less than the mean, no more than the sum.
    assert _difference(before, now, 6)["syscall_max_ns"].tolist() == [30]


def test_rows_of_the_overflow_hash_are_matched_by_thread() -> None:
    earlier = np.concatenate([slot(7, syscalls=1), slot(9, syscalls=2)])
    later = np.concatenate([slot(9, syscalls=5), slot(7, syscalls=5, start_ns=6), slot(3)])
    assert _same_of(earlier, later)["syscalls"].tolist() == [2, 0, 0]


def test_what_ended_an_interval_ago_may_be_forgotten() -> None:
    rows = np.concatenate([slot(1), slot(2, exit_epoch=3), slot(3, exit_epoch=4)])
    assert _was_read(rows, 4).tolist() == [False, True, False]


def test_another_thread_of_the_same_number_begins_at_0() -> None:
    """Without the kernel's BTF the start is when it was first seen."""
    earlier, later = slot(7, syscalls=900, start_ns=100, exit_epoch=2), slot(7, syscalls=4, start_ns=200)
    assert _difference(earlier, later, 4)["syscalls"].tolist() == [4]
    assert _same_of(earlier, later)["syscalls"].tolist() == [0]


class Slots:
    """The kernel side as TaskCounts reads it."""

    def __init__(self) -> None:
        self.tasks = np.zeros(8, SLOT)
        self.touched = np.zeros(8, np.dtype([("value", "<u8")]))

    def values(self, _name: str) -> Rows:
        return self.tasks[:0].copy()

    def call(self, tid: int, epoch: int) -> None:
        one = self.tasks[tid]
        one["tid"], one["start_ns"] = tid, 5
        one["syscalls"] += 1
        self.touched["value"][tid] = epoch


def test_only_slots_with_events_are_looked_at_and_a_late_one_is_in_the_next_interval() -> None:
    programs: Any = Slots()
    counts = TaskCounts(programs)
    programs.call(3, 1)
    assert counts.take(1)["tid"].tolist() == [3]
    programs.call(3, 1)  # an event that began in the interval before
    programs.call(5, 2)
    assert counts.take(2)["tid"].tolist() == [3, 5]
    programs.tasks["syscalls"][3] += 1
    assert counts.take(9)["tid"].tolist() == [], "it was not touched"

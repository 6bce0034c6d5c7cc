"""What an interval may have changed, by hand-made lists of the kernel side."""

import struct
from typing import Any

import numpy as np
import pytest

from schedtop.model.rows import Rows
from schedtop.sources.scheduler.noted import SCAN_RATIO, SHARE, ChangedSlots, Lists, Noted

SLOTS = 1 << 16
ROOM, PAIR_ROOM = 32, 4
NOBODY = np.zeros(0, np.int64)


class Written:
    """The lists of all CPUs, filled as bpf/scheduler/changes.h does."""

    def __init__(self, cpus: int = 2, room: int = ROOM) -> None:
        self.rows: Rows = np.zeros(cpus, [(name, "<u4", (2,)) for name in ("epoch", "slot_count", "pair_count")])
        self.slots, self.pairs = np.zeros((cpus, 2, room), np.uint64), np.zeros((cpus, 2, PAIR_ROOM), np.uint64)
        self.room = room

    def noted(self) -> Noted:
        return Noted(Lists(self.rows, self.slots.ravel(), self.pairs.ravel()))

    def note(self, epoch: int, *slots: int, cpu: int = 0) -> None:
        row, parity = self._of(epoch, cpu)
        for slot in slots:
            place = int(row["slot_count"][parity])
            if place < self.room:
                self.slots[cpu, parity, place] = slot
            row["slot_count"][parity] = place + 1

    def note_pair(self, epoch: int, victim: int, other: int, cpu: int = 0) -> None:
        row, parity = self._of(epoch, cpu)
        place = int(row["pair_count"][parity])
        if place < PAIR_ROOM:
            self.pairs[cpu, parity, place] = other << 32 | victim
        row["pair_count"][parity] = place + 1

    def _of(self, epoch: int, cpu: int) -> tuple[Any, int]:
        row, parity = self.rows[cpu], epoch & 1
        if row["epoch"][parity] != epoch & 0xFFFFFFFF:
            row["epoch"][parity] = epoch & 0xFFFFFFFF
            row["slot_count"][parity] = row["pair_count"][parity] = 0
        return row, parity


@pytest.fixture
def lists() -> Written:
    return Written()


def begun(lists: Written) -> ChangedSlots:
    """As it is after the first reading, which compares all slots."""
    changed = ChangedSlots(lists.noted(), SLOTS)
    changed.look_back(0)
    assert changed.among(0, NOBODY) is None
    return changed


def among(changed: ChangedSlots, epoch: int, running: tuple[int, ...] = ()) -> set[int]:
    """What is compared at the end of an epoch, beside the share of all slots that comes by turns."""
    changed.look_back(epoch)
    found = changed.among(epoch, np.array(running, np.int64))
    assert found is not None
    assert (np.diff(found) > 0).all()
    return {slot for slot in found.tolist() if slot >= SLOTS // 2}


def test_only_what_was_noted_is_compared(lists: Written) -> None:
    changed = begun(lists)
    lists.note(1, *range(40_000, 40_010))
    lists.note(1, *range(50_000, 50_010), cpu=1)
    changed.look_back(1)
    found = changed.among(1, NOBODY)
    assert found is not None
    assert len(found) == 20 + SLOTS // SHARE


def test_what_was_noted_on_several_cpus_is_compared_once(lists: Written) -> None:
    changed = begun(lists)
    lists.note(1, 40_000)
    lists.note(1, 40_000, 40_001, cpu=1)
    assert among(changed, 1) == {40_000, 40_001}


def test_what_comes_late_is_found_an_interval_later(lists: Written) -> None:
    changed = begun(lists)
    lists.note(1, 40_000)
    assert among(changed, 1) == {40_000}
    lists.note(1, 40_001)  # by a program that had read the epoch before it ended
    lists.note(2, 40_002)
    # And that of the interval before is looked at again: it may have changed after it was read.
    assert among(changed, 2) == {40_000, 40_001, 40_002}
    assert among(changed, 3) == {40_002}
    assert among(changed, 4) == set()


def test_a_list_of_an_older_interval_is_not_taken_again(lists: Written) -> None:
    changed = begun(lists)
    lists.note(1, 40_000)
    assert [among(changed, epoch) for epoch in (1, 2, 3)] == [{40_000}, {40_000}, set()]


def test_what_waits_or_runs_is_compared_without_being_noted(lists: Written) -> None:
    changed = begun(lists)
    changed.waiting = np.array([60_000])
    assert among(changed, 1, (3 * SLOTS + 61_000, 0)) == {60_000, 61_000}


def test_with_a_full_list_all_slots_are_compared_and_in_the_next_interval_too() -> None:
    lists = Written(room=8)
    changed = begun(lists)
    lists.note(1, *range(40_000, 40_009), cpu=1)
    for epoch in (1, 2):
        changed.look_back(epoch)
        assert changed.among(epoch, NOBODY) is None
    assert among(changed, 3) == set()


def test_a_list_that_is_just_full_is_enough() -> None:
    lists = Written(room=8)
    changed = begun(lists)
    lists.note(1, *range(40_000, 40_008))
    assert among(changed, 1) == set(range(40_000, 40_008))


def test_where_most_slots_change_all_are_compared() -> None:
    lists = Written(room=SLOTS)
    changed = begun(lists)
    lists.note(1, *range(SLOTS // SCAN_RATIO + 1))
    changed.look_back(1)
    assert changed.among(1, NOBODY) is None


def test_every_slot_has_its_turn(lists: Written) -> None:
    """A CPU may have been stopped in the middle of a switch for longer than an interval."""
    changed = begun(lists)
    compared: set[int] = set()
    for epoch in range(1, SHARE + 1):
        changed.look_back(epoch)
        found = changed.among(epoch, NOBODY)
        assert found is not None
        compared.update(found.tolist())
    assert len(compared) == SLOTS


def test_pairs_are_the_keys_of_their_map(lists: Written) -> None:
    lists.note_pair(5, 17, 4_000_000)
    lists.note_pair(5, 17, 4_000_000, cpu=1)
    lists.note_pair(4, 1, 2)
    noted = lists.noted()
    assert noted.pairs(5) == [struct.pack("=II", 17, 4_000_000)]
    assert noted.pairs(6) == []
    for _ in range(PAIR_ROOM):
        lists.note_pair(5, 1, 1)
    assert noted.pairs(5) is None


def test_an_epoch_is_compared_by_its_32_bits(lists: Written) -> None:
    lists.note(1 << 32 | 6, 40_000)
    found = lists.noted().slots(1 << 32 | 6)
    assert found is not None
    assert found.tolist() == [40_000]

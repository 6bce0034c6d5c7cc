"""Which entries of the overflow map are over, and when they are taken out of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from schedtop.model.rows import Rows
from schedtop.sources.kernel import bpf_syscall
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.scheduler.overflow import OverflowReader

SLOT = np.dtype(
    [("tid", "<u4"), ("flags", "<u4"), ("start_ns", "<u8"), ("wait_start_ns", "<u8"), ("exit_epoch", "<u8")]
)
EPOCH, SLOTS = 10, 16
NOTHING = np.zeros(2, np.uint64)


class Entries:
    """What is in the map, by tid."""

    def __init__(self) -> None:
        self.rows: Rows = np.zeros(1, SLOT)
        self.rows[0]["tid"], self.rows[0]["start_ns"] = 21, 50

    def all(self, breathe: Callable[[], object]) -> Rows:
        """As HashReader has it."""
        return self.rows

    def delete(self, fd: int, key: bytes) -> None:
        """As delete_element has it."""
        self.rows = self.rows[self.rows["tid"] != int.from_bytes(key, "little")]


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> Entries:
    found = Entries()
    monkeypatch.setattr(bpf_syscall, "delete_element", found.delete)
    return found


def left(entries: Entries, slots: Rows, running: np.ndarray = NOTHING) -> list[list[int]]:
    """The tids of two readings, one after the other."""
    reader = OverflowReader(3, entries, slots)  # type: ignore[arg-type]
    return [reader.read(1, EPOCH, running)["tid"].tolist() for _ in range(2)]


@pytest.mark.parametrize(
    ("state", "is_over"),
    [
        ({}, False),
        ({"flags": SCHEDULER.TASK_EXITED}, True),
        ({"flags": SCHEDULER.TASK_EXITING, "exit_epoch": EPOCH - 2}, True),
        ({"flags": SCHEDULER.TASK_EXITING, "exit_epoch": EPOCH - 1}, False),
        ({"flags": SCHEDULER.TASK_EXITING, "exit_epoch": EPOCH - 2, "wait_start_ns": 7}, False),
    ],
)
def test_an_entry_is_returned_once_more_when_its_task_has_ended(
    entries: Entries, state: dict[str, int], is_over: bool
) -> None:
    for name, value in state.items():
        entries.rows[0][name] = value
    assert left(entries, np.zeros(SLOTS, SLOT)) == [[21], [] if is_over else [21]]
    assert len(entries.rows) == (not is_over)


def test_a_task_that_exits_and_still_runs_stays(entries: Entries) -> None:
    entries.rows["flags"], entries.rows["exit_epoch"] = SCHEDULER.TASK_EXITING, 1
    assert left(entries, np.zeros(SLOTS, SLOT), np.array([21, 0], np.uint64)) == [[21], [21]]


@pytest.mark.parametrize(
    ("tid", "start_ns", "is_over"), [(21, 50, True), (21, 60, True), (21, 40, False), (5, 60, False)]
)
def test_an_entry_of_a_task_with_a_slot_is_dropped(entries: Entries, tid: int, start_ns: int, is_over: bool) -> None:
    """Of two users of a tid the one that started later lives; 5 is another task of the same slot."""
    slots = np.zeros(SLOTS, SLOT)
    slots[5]["tid"], slots[5]["start_ns"] = tid, start_ns
    assert left(entries, slots) == [[21], [] if is_over else [21]]


def test_a_map_into_which_nothing_was_ever_put_is_not_read() -> None:
    reader = OverflowReader(3, None, np.zeros(SLOTS, SLOT))  # type: ignore[arg-type]
    assert reader.read(0, EPOCH, NOTHING).dtype == SLOT

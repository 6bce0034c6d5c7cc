"""Memory of large arrays goes back to the system, also when something small was made after them."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from schedtop.ui import memory
from schedtop.ui.memory import GIVE_BACK_FRAMES, GROWN_BYTES, MIDDLE_FRAMES, OLD_FRAMES, SETTLED_FRAMES, Collector

_CODE = """
import sys
import numpy as np
from schedtop.ui.memory import return_large_arrays

def own():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

if sys.argv[1] == "told":
    return_large_arrays()
for _ in range(3):
    np.ones(1 << 21)
before, large, small = own(), [], []
for _ in range(40):
    large.append(np.ones(1 << 18))
    small.append(bytearray(200_000))
large.clear()
print(own() - before)
"""


def left(told: str) -> int:
    """KiB that 40 arrays of 2 MiB leave behind, with 8 MiB of other things in use."""
    command = [sys.executable, "-c", _CODE, told]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_large_arrays_leave_nothing_behind() -> None:
    assert left("told") < 20 << 10


class Knot:
    """What refers to itself, and so is left to the collector."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """One that does not freeze what the other tests leave."""
    thresholds = gc.get_threshold()
    monkeypatch.setattr(memory.gc, "freeze", lambda: None)
    try:
        yield Collector()
    finally:
        gc.set_threshold(*thresholds)


def test_garbage_of_frames_is_collected_between_them(collector: Collector) -> None:
    for _ in range(SETTLED_FRAMES):
        collector.frame_drawn()
    gone = weakref.ref(Knot())
    kept = [[] for _ in range(2 * memory.YOUNG_OBJECTS)]
    assert gone() is not None
    collector.frame_drawn()
    assert gone() is None
    del kept


def test_garbage_that_has_survived_a_frame_is_collected_later(collector: Collector) -> None:
    knot = Knot()
    gone = weakref.ref(knot)
    gc.collect(0)
    del knot
    for _ in range(MIDDLE_FRAMES):
        collector.frame_drawn()
    assert gone() is None


def test_free_pages_are_returned_once_much_has_been_held(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[int] = []
    looked: list[int] = []
    monkeypatch.setattr(memory, "return_free_pages", lambda: returned.append(1))
    monkeypatch.setattr(memory.gc, "collect", lambda generation=2: looked.append(generation))
    for _ in range(SETTLED_FRAMES):
        collector.frame_drawn(70 << 20)
    returned.clear()  # once after the start
    for _ in range(2 * GIVE_BACK_FRAMES):
        collector.frame_drawn(70 << 20)
    assert not returned
    for _ in range(3 * GIVE_BACK_FRAMES):
        collector.frame_drawn((70 << 20) + 2 * GROWN_BYTES)
    assert len(returned) == 1
    assert 2 not in looked, "all that is held is not looked through for it: that would be one long burst"


def test_what_a_flood_has_left_is_returned_when_the_history_has_turned_over(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    returned: list[int] = []
    looked: list[int] = []
    monkeypatch.setattr(memory, "return_free_pages", lambda: returned.append(1))
    monkeypatch.setattr(memory.gc, "collect", lambda generation=2: looked.append(generation))
    for _ in range(GIVE_BACK_FRAMES):
        collector.frame_drawn(70 << 20)
    for _ in range(OLD_FRAMES - GIVE_BACK_FRAMES - 1):
        collector.frame_drawn((70 << 20) + 2 * GROWN_BYTES)
    assert len(returned) == 2 and 2 not in looked, "after the start, and as it grew"
    collector.frame_drawn((70 << 20) + 2 * GROWN_BYTES)
    assert len(returned) == 3 and looked.count(2) == 1
    for _ in range(OLD_FRAMES):
        collector.frame_drawn(70 << 20)
    assert len(returned) == 3 and looked.count(2) == 1


def test_all_is_looked_through_after_much_was_held_alone_and_not_again_and_again(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    monkeypatch.setattr(memory.gc, "collect", lambda generation=2: looked.append(generation))
    for _ in range(2 * OLD_FRAMES):
        collector.frame_drawn(70 << 20)
    assert 2 not in looked
    for _ in range(5 * OLD_FRAMES):  # of a chart, which stays
        collector.frame_drawn((70 << 20) + 2 * GROWN_BYTES)
    assert looked.count(2) == 1

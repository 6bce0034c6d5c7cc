"""Block I/O that is done: how it is taken out of rings, and of which device it was."""

from pathlib import Path

import numpy as np
import pytest

from schedtop.model.rows import Integers
from schedtop.sources.interrupts import completions
from schedtop.sources.interrupts.completions import CompletionReader, CompletionRing, device_name
from schedtop.sources.kernel.constants import INTERRUPTS

COMPLETION = np.dtype([("time_ns", "<u8"), ("device", "<u4"), ("reserved", "<u4")])
COUNT = np.dtype([("count", "<u8")])
PLACES = 8


class Ring:
    """That of one CPU, as the kernel side fills it."""

    def __init__(self) -> None:
        self.rows = np.zeros(PLACES, COMPLETION)
        self.count = 0
        self.reader = CompletionRing(self.rows)

    def done(self, time_ns: int, device: int) -> None:
        self.rows[self.count % PLACES] = (time_ns, device, 0)
        self.count += 1

    def last(self, *spans: tuple[int, int]) -> list[int]:
        since, until = at(*(one for one, _ in spans)), at(*(one for _, one in spans))
        return self.reader.last(since, until).tolist()


def at(*times: int) -> Integers:
    return np.array(times)


def test_the_last_one_in_a_span_is_told() -> None:
    ring = Ring()
    assert ring.last((0, 100)) == [0]
    ring.done(10, 7)
    ring.done(20, 8)
    ring.reader.collect(ring.count)
    assert ring.last((0, 9), (0, 10), (0, 19), (0, 99), (15, 99), (21, 99)) == [0, 7, 7, 8, 8, 0]


def test_what_was_overwritten_is_not_taken_for_another() -> None:
    ring = Ring()
    for number in range(1, 20):
        ring.done(10 * number, number)
    ring.reader.collect(ring.count)
    assert ring.last((0, 110), (0, 130), (0, 500)) == [0, 13, 19]


def test_old_ones_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Ring()
    monkeypatch.setattr(completions, "KEPT", 4)
    for number in range(1, 10):
        ring.done(10 * number, number)
        ring.reader.collect(ring.count)
    assert ring.last((0, 10), (0, 50), (0, 90)) == [0, 5, 9]


def test_rings_belong_to_their_cpus() -> None:
    rows, counts = np.zeros(2 * INTERRUPTS.COMPLETIONS, COMPLETION), np.zeros(2, COUNT)
    rows[INTERRUPTS.COMPLETIONS], counts["count"] = (10, 7, 0), (0, 1)
    reader = CompletionReader(rows, counts)
    reader.collect()
    assert [int(reader.last(cpu, at(0), at(99))[0]) for cpu in (0, 1, 2)] == [0, 7, 0]
    assert CompletionReader(rows[:1], counts).last(0, at(0), at(99)).tolist() == [0], "not asked for"


def test_a_device_has_the_name_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "devices/vda/vda1").mkdir(parents=True)
    (tmp_path / "dev/block").mkdir(parents=True)
    (tmp_path / "dev/block/254:1").symlink_to(tmp_path / "devices/vda/vda1")
    assert device_name(254 << INTERRUPTS.DEVICE_MINOR_BITS | 1, tmp_path) == "vda1"
    assert device_name(254 << INTERRUPTS.DEVICE_MINOR_BITS | 2, tmp_path) == ""
    assert device_name(0, tmp_path) == ""

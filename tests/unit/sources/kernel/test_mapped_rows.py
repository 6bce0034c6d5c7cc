"""Rows of a mapped array: here of a file in memory, which can be mapped as an array of the kernel can."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from schedtop.sources.kernel.mapped_rows import PART_BYTES, MappedRows

ROW = np.dtype([("number", "<u8"), ("padding", "V200")])
COUNT = 2000
LAST = COUNT - 1
ACROSS = PART_BYTES // ROW.itemsize
"""The row that begins in the first part and ends in the second."""


@pytest.fixture
def array() -> Iterator[int]:
    fd = os.memfd_create("array")
    os.ftruncate(fd, COUNT * ROW.itemsize)
    write(fd, range(COUNT))
    yield fd
    os.close(fd)


def write(fd: int, numbers: range, add: int = 0) -> None:
    for number in numbers:
        os.pwrite(fd, (number + add).to_bytes(8, "little"), number * ROW.itemsize)


def mapped_parts() -> int:
    """How many parts of the array are mapped: neighbours are one line of the file."""
    spans = [line.split()[0] for line in Path("/proc/self/maps").read_text().splitlines() if "memfd:array" in line]
    ends = [[int(end, 16) for end in span.split("-")] for span in spans]
    return sum(-(-(end - start) // PART_BYTES) for start, end in ends)


def test_rows_are_those_of_the_array(array: int) -> None:
    rows = MappedRows(array, ROW, COUNT)
    assert mapped_parts() == 0, "nothing was read"
    chosen = np.array([LAST, 0, ACROSS, 7])
    assert rows.take(chosen)["number"].tolist() == chosen.tolist()
    assert mapped_parts() == 3, "the first two and the last of seven"
    write(array, range(8), add=100)
    assert rows.take(chosen)["number"].tolist() == [LAST, 100, ACROSS, 107], "as it is now"
    assert np.asarray(rows)["number"].tolist() == [100 + at if at < 8 else at for at in range(COUNT)]
    assert len(rows) == COUNT


def test_what_is_not_taken_is_given_back(array: int) -> None:
    rows = MappedRows(array, ROW, COUNT)
    np.asarray(rows)
    assert mapped_parts() == 7
    rows.take(np.array([LAST]))
    rows.give_back()
    assert mapped_parts() == 1, "the others were never taken"
    rows.give_back()
    assert mapped_parts() == 0
    assert rows.take(np.array([ACROSS, LAST]))["number"].tolist() == [ACROSS, LAST]


def test_an_array_that_cannot_be_mapped_says_so() -> None:
    rows = MappedRows(-1, ROW, COUNT)
    with pytest.raises(OSError, match="Bad file descriptor"):
        rows.take(np.array([0]))

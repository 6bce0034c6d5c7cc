"""Rows of many tasks in parts: what is asked of a few tasks is done for few rows, and for few at one stretch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.model.rows import Integers, Rows, take_rows

MOST_PARTS = 1 << 12
STRETCH_ROWS = 1 << 14
"""So many numbers are looked at in less than a millisecond."""


def parts_for(rows: int, most_rows: int | None) -> int:
    """How many parts, a power of two, make about `most_rows` rows each; `None`: one."""
    if most_rows is None:
        return 1
    return min(MOST_PARTS, 1 << max(0, (rows // most_rows).bit_length()))


def distinct(columns: Iterable[Integers], breathe: Callable[[], object] = keep_on) -> Integers:
    """The numbers that occur in any of them, in order. `breathe` is called in between."""
    found = [np.empty(0, np.uint32)]
    for column in columns:
        for at in range(0, len(column), STRETCH_ROWS):
            found.append(np.unique(column[at : at + STRETCH_ROWS]))
            breathe()
    return np.unique(np.concatenate(found))


class Parted:
    """The part of a task is its tid modulo the number of parts. Rows of a part stay in their order."""

    def __init__(self, rows: Rows, parts: int, breathe: Callable[[], object] = keep_on) -> None:
        """`parts`: a power of two, at most MOST_PARTS. `breathe` is called in between."""
        self.rows = rows
        if parts == 1:
            self._order = None
            return
        keys = (rows["tid"] & (parts - 1)).astype(np.uint16)
        breathe()
        # Stable, and of 16 bits: a radix sort, which takes 5 ns a row.
        self._order = np.argsort(keys, kind="stable")
        self._bounds = np.concatenate(([0], np.cumsum(np.bincount(keys, minlength=parts))))

    def part(self, part: int) -> Rows:
        """Its rows."""
        if self._order is None:
            return self.rows
        return take_rows(self.rows, self._order[self._bounds[part] : self._bounds[part + 1]])

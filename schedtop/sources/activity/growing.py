"""Counters of the kernel side that are added up by key, and that may be taken out of it to make room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Rows

Merge = Callable[[Sequence[Rows]], Rows]
Key = tuple[int, ...]


class Growing:
    """What has come between two looks at such counters; `merge` adds rows of one key, the last one's names stay.

    Parts of a sum may be seen late, because they lie in several maps that are not read at one moment: what is missing
    in one look comes with the next, and nothing is told twice.
    """

    def __init__(self, merge: Merge, keys: tuple[str, ...], counters: tuple[str, ...]) -> None:
        self._merge, self._keys, self._counters = merge, keys, counters
        self._told: Rows | None = None
        self._last: set[Key] = set()

    def take(self, sums: Rows) -> Rows:
        """The differences to what was told so far, of those that there are; `sums`: rows of each key, in any number."""
        now = self._merge([sums])
        told = now[:0] if self._told is None else self._told
        change = self._merge([self._negative(told), now])
        for name in self._counters:
            change[name] = change[name].clip(0)
        present = self._key_set(now)
        kept = self._merge([told, change])
        known = present | self._last
        self._told = kept[[key in known for key in self._key_list(kept)]] if len(kept) else kept
        self._last = present
        return change[self._any(change)]

    def forget(self, taken: Rows) -> None:
        """These sums are in the kernel no more: what comes next of their keys begins at 0."""
        if self._told is not None and len(taken):
            gone = self._negative(self._merge([taken]))
            gone = gone[[key in self._last for key in self._key_list(gone)]]
            # The names are those of before.
            self._told = self._merge([gone, self._told])

    def quiet(self, sums: Rows, change: Rows) -> npt.NDArray[np.bool_]:
        """Which of `sums` have nothing in the `change` that was told last."""
        busy = self._key_set(change)
        return np.array([key not in busy for key in self._key_list(sums)], bool)

    def _negative(self, rows: Rows) -> Rows:
        negative = rows.copy()
        for name in self._counters:
            negative[name] = -negative[name]
        return negative

    def _any(self, rows: Rows) -> npt.NDArray[np.bool_]:
        return reduce(or_, (rows[name] != 0 for name in self._counters))

    def _key_list(self, rows: Rows) -> list[Key]:
        return list(zip(*(rows[name].tolist() for name in self._keys), strict=True))

    def _key_set(self, rows: Rows) -> set[Key]:
        return set(self._key_list(rows))

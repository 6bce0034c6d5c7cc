"""Arrays and counts as plain values of JSON, and back. What is read may come from anywhere: what cannot be is refused.

Counters that are mostly zero are lists of places and values. Nothing is rounded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_COUNT = 1 << 50
"""Thirteen days in ns: what is below can be added up without running over."""
_MOST_IN_BUCKET = 1 << 36
_NARROW = (1 << 32) - 1
NARROW_BYTES = 4
"""Of a count that was read from `decode_sparse`, unless one of them needs more."""


def encode_sparse(counts: npt.NDArray[Any]) -> list[list[int]]:
    """Places in the flattened array, each as the distance from the one before, and the values there."""
    places = np.flatnonzero(counts)
    return [np.diff(places, prepend=0).tolist(), counts.ravel()[places].tolist()]


def decode_sparse(data: list[list[int]], shape: tuple[int, ...], told: int | None = None) -> npt.NDArray[Any]:
    """Counts in an array of this shape, as narrow as they can be; only the first `told` of its places may be told."""
    places = np.cumsum(whole_numbers(data[0]))
    values = whole_numbers(data[1])
    size = math.prod(shape)
    if len(places) and (
        places[0] < 0 or places[-1] >= (size if told is None else told) or (np.diff(places) <= 0).any()
    ):
        raise IndexError("a bucket that does not exist")
    if not is_within(values, _MOST_IN_BUCKET):
        raise ValueError("a count that cannot be")
    counts = np.zeros(size, np.uint32 if is_within(values, _NARROW) else np.int64)
    counts[places] = values
    return counts.reshape(shape)


def whole_numbers(data: Any) -> npt.NDArray[np.int64]:
    """A list of whole numbers as an array. Raises TypeError for anything else: text would be as wide as the longest."""
    if not isinstance(data, list) or not set(map(type, data)) <= {int}:
        raise TypeError("a list holds something else than whole numbers")
    return np.array(data, np.int64)


def decode_integers(data: Any, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Counts in an array of this shape of at most two dimensions, from as many of them in lists of lists."""
    rows = data if len(shape) == 2 else [data]
    values = np.stack([whole_numbers(row if shape else [row]) for row in rows]).reshape(shape)
    if not is_within(values, MOST_COUNT):
        raise ValueError("a count below zero, or one that cannot be so large")
    return values


def is_within(values: npt.NDArray[np.int64], most: int) -> bool:
    """Whether all of them are from 0 to `most`: without a sign what is below zero is larger than anything."""
    return bool(values.view(np.uint64).max(initial=0) <= most)

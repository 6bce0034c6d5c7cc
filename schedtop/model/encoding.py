"""Arrays and counts as plain values of JSON, and back. What is read may come from anywhere: what cannot be is refused.

Counters that are mostly zero are lists of places and values. Nothing is rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MOST_COUNT = 1 << 50
"""Thirteen days in ns: what is below can be added up without running over."""
_MOST_IN_BUCKET = 1 << 36


def encode_sparse(counts: npt.NDArray[Any]) -> list[list[int]]:
    """Places in the flattened array, each as the distance from the one before, and the values there."""
    places = np.flatnonzero(counts)
    return [np.diff(places, prepend=0).tolist(), counts.ravel()[places].tolist()]


def decode_sparse(data: list[list[int]], shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Counts in an array of this shape."""
    counts = np.zeros(int(np.prod(shape)), np.int64)
    places = np.cumsum(np.array(data[0], np.int64))
    if len(places) and (places[0] < 0 or places[-1] >= len(counts) or (np.diff(places) <= 0).any()):
        raise IndexError("a bucket that does not exist")
    counts[places] = data[1]
    if not is_within(counts, _MOST_IN_BUCKET):
        raise ValueError("a count that cannot be")
    return counts.reshape(shape)


def decode_integers(data: Any, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Counts in an array of this shape, from as many of them in lists of any shape."""
    values = np.array(data, np.int64).reshape(shape)
    if not is_within(values, MOST_COUNT):
        raise ValueError("a count below zero, or one that cannot be so large")
    return values


def is_within(values: npt.NDArray[np.int64], most: int) -> bool:
    """Whether all of them are from 0 to `most`: without a sign what is below zero is larger than anything."""
    return bool(values.view(np.uint64).max(initial=0) <= most)

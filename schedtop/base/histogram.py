"""Log-linear latency histogram: 8 sub-buckets an octave, from 64 ns to 2**40 ns (1,099 s).

Bucket 0 holds what is shorter, the last bucket what is longer. `bpf/histogram.h` computes the same index.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.integer]

SUB_BITS = 3
SUB_BUCKETS = 1 << SUB_BITS
FIRST_OCTAVE = 6
LAST_OCTAVE = 39
BUCKETS = (LAST_OCTAVE - FIRST_OCTAVE + 1) * SUB_BUCKETS + 2


def _edges() -> npt.NDArray[np.int64]:
    octaves = np.int64(1) << np.arange(FIRST_OCTAVE, LAST_OCTAVE + 1, dtype=np.int64)
    sub_buckets = np.arange(SUB_BUCKETS, dtype=np.int64) + SUB_BUCKETS
    lows = (octaves[:, None] // SUB_BUCKETS * sub_buckets).ravel()
    return np.concatenate(([0], lows, [np.int64(1) << (LAST_OCTAVE + 1)]))


LOW_NS: npt.NDArray[np.int64] = _edges()
"""Lower edge of each bucket, shape (BUCKETS,), nanoseconds."""

HIGH_NS: npt.NDArray[np.int64] = np.append(LOW_NS[1:], np.int64(2**62))
"""Upper edge (exclusive) of each bucket, shape (BUCKETS,), nanoseconds."""

# The harmonic mean of a bucket's edges has the smallest worst-case relative error over the
# bucket: (high - low) / (high + low), 5.9 % for eight sub-buckets. The outer two have no such value.
VALUE_NS: npt.NDArray[np.float64] = 2 * LOW_NS.astype(float) * HIGH_NS / (LOW_NS + HIGH_NS)
VALUE_NS[0], VALUE_NS[-1] = HIGH_NS[0] / 2, LOW_NS[-1]
"""The value that stands for each bucket, shape (BUCKETS,), nanoseconds."""


def bucket_index(ns: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The bucket of each duration in nanoseconds, same shape as `ns`."""
    index: npt.NDArray[np.int64] = np.searchsorted(LOW_NS, np.asarray(ns), side="right") - 1
    return np.maximum(index, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Waits by length: `counts` of shape (BUCKETS,), their sum and the longest, in nanoseconds."""

    counts: Counts
    sum_ns: int
    max_ns: int

    @classmethod
    def empty(cls) -> Histogram:
        """A histogram that holds nothing."""
        return cls(np.zeros(BUCKETS, np.int64), 0, 0)

    @classmethod
    def of(cls, waits_ns: npt.ArrayLike) -> Histogram:
        """The histogram of exact waits in nanoseconds."""
        waits = np.asarray(waits_ns, np.int64)
        if not waits.size:
            return cls.empty()
        counts = np.bincount(bucket_index(waits), minlength=BUCKETS)
        return cls(counts, int(waits.sum()), int(waits.max()))

    def __add__(self, other: Histogram) -> Histogram:
        counts = np.add(self.counts, other.counts, dtype=np.int64)
        return Histogram(counts, self.sum_ns + other.sum_ns, max(self.max_ns, other.max_ns))

    @property
    def count(self) -> int:
        """How many waits it holds."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def mean_ns(self) -> float | None:
        """The average wait, `None` without waits."""
        return self.sum_ns / self.count if self.count else None

    def percentile_ns(self, ratio: float) -> int | None:
        """The wait that a share `ratio` of all waits does not exceed (nearest rank), `None` without waits.

        Off by at most 5.9 %: half a bucket. Never more than the longest wait.
        """
        running = self.counts.cumsum(dtype=np.int64)
        total = int(running[-1])
        if not total:
            return None
        rank = max(1, math.ceil(ratio * total - 1e-9))
        index = int(running.searchsorted(rank))
        if index == BUCKETS - 1:
            return self.max_ns
        # Down, not to the nearest: in the short buckets the nearest integer can be 6.3 % off the lower edge.
        value = int(VALUE_NS[index])
        return min(value, self.max_ns) if self.max_ns else value

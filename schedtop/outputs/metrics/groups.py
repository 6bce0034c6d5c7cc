"""Counters of groups with a bounded number of series: the heaviest have one each, all the others share `other`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.model.rows import Integers

OTHER = "other"
"""The label of what has no series of its own, and of what is not known."""

MEMORY_S = 60.0
"""What a group did counts for this long: its weight fades by 1/e meanwhile."""

QUIET_NS = 600 * NS_PER_S
"""A series may be replaced when its group has been below the entry weight for this long: twice the five minutes for
which Prometheus looks back."""

MOST_CANDIDATES = 4096
"""How many groups are watched for a series of their own; with more, the heaviest."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Counters by label, each of shape (counters,); OTHER is always there. `replaced`: series that ended so far."""

    counts: Mapping[str, Integers]
    replaced: int


class GroupTotals:
    """Counters of groups since the start, in at most `most` series and `other`.

    A group gets a series when its weight of about the last minute reaches `entry_ns` and there is room; what it had
    before stays in `other`. The series stays. Only when all are taken, a new group takes the place of the one that has
    been quiet for longest, at least QUIET_NS; that series ends, and begins at zero if it ever comes back.
    """

    def __init__(self, counters: int, most: int, entry_ns: int) -> None:
        self._most = most
        self._entry_ns = entry_ns
        self._totals: dict[str, Integers] = {OTHER: np.zeros(counters, np.int64)}
        self._weights: dict[str, float] = {}
        self._active_ns: dict[str, int] = {}
        self._now_ns = 0
        self._replaced = 0

    def add(self, interval_ns: int, labels: Sequence[str], counts: Integers, weights_ns: Integers) -> None:
        """Adds an interval. `counts`: shape (labels, counters); `weights_ns`: shape (labels,).

        Labels may repeat; an empty one is of a group that is not known.
        """
        self._now_ns += interval_ns
        self._weigh(interval_ns, labels, weights_ns)
        self._choose()
        for label, row in zip(labels, counts, strict=True):
            total = self._totals.get(label)
            self._totals[OTHER if total is None else label] += row

    def counts(self) -> GroupCounts:
        """The counters until now, as copies."""
        copies = {label: total.copy() for label, total in self._totals.items()}
        return GroupCounts(MappingProxyType(copies), self._replaced)

    def _weigh(self, interval_ns: int, labels: Sequence[str], weights_ns: Integers) -> None:
        fading = math.exp(-interval_ns / NS_PER_S / MEMORY_S)
        least = self._entry_ns / 1000
        weights = {label: weight * fading for label, weight in self._weights.items() if weight * fading > least}
        for label, weight in zip(labels, weights_ns.tolist(), strict=True):
            if label and label != OTHER and weight > 0:
                weights[label] = weights.get(label, 0.0) + weight
        if len(weights) > MOST_CANDIDATES:
            heaviest = sorted(weights, key=lambda label: -weights[label])[:MOST_CANDIDATES]
            weights = {label: weights[label] for label in heaviest}
        self._weights = weights

    def _choose(self) -> None:
        """Gives series to those that are heavy enough, the heaviest first."""
        heavy = [label for label, weight in self._weights.items() if weight >= self._entry_ns]
        for label in heavy:
            if label in self._active_ns:
                self._active_ns[label] = self._now_ns
        for label in sorted(heavy, key=lambda label: (-self._weights[label], label)):
            if label not in self._active_ns and not self._take(label):
                return

    def _take(self, label: str) -> bool:
        """Whether there was room for a series."""
        if len(self._active_ns) >= self._most:
            quietest = min(self._active_ns, key=lambda other: self._active_ns[other], default=None)
            if quietest is None or self._now_ns - self._active_ns[quietest] < QUIET_NS:
                return False
            del self._active_ns[quietest], self._totals[quietest]
            self._replaced += 1
        self._active_ns[label] = self._now_ns
        self._totals[label] = np.zeros_like(self._totals[OTHER])
        return True

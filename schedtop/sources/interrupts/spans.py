"""The interrupts that are over, one by one, as far back as they are kept: what had a CPU while a task waited for it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from schedtop.model.rows import Integers, Rows
from schedtop.sources.kernel.constants import INTERRUPTS

KEPT = 1 << 20
"""How many are kept for all CPUs together; the newest ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Some interrupts on one CPU: time within what was asked for, source, interrupted task (0: idle), and raiser.

    `raiser`: of a softirq, as in bpf/interrupts/current.h; 0: it is not known.
    """

    ns: Integers
    source: Integers
    tid: Integers
    raiser: Integers

    def by_source(self) -> list[tuple[int, int]]:
        """Sources, each with its time, the longest first."""
        sums = np.bincount(self.source, self.ns).astype(np.int64)
        order = np.argsort(-sums, kind="stable")
        return [(source, int(sums[source])) for source in order.tolist() if sums[source]]

    def raiser_of(self, source: int) -> int:
        """What raised most of the time of a source; 0: that is not known."""
        mine = self.source == source
        raisers, places = np.unique(self.raiser[mine], return_inverse=True)
        return int(raisers[np.argmax(np.bincount(places, self.ns[mine]))]) if len(raisers) else 0

    def by_tid(self) -> dict[int, int]:
        """What was taken from each task; 0 is the idle task."""
        tids, places = np.unique(self.tid, return_inverse=True)
        return dict(zip(tids.tolist(), np.bincount(places, self.ns).astype(np.int64).tolist(), strict=True))


class SpanRing:
    """The interrupts of one level of one CPU: copied from the ring that the kernel side fills, in order of time."""

    def __init__(self, ring: Rows) -> None:
        """`ring`: rows of `struct span`, a power of two."""
        self._ring = ring
        self._head = 0
        self._pieces: deque[Rows] = deque()
        self._kept = 0
        self._index: tuple[Rows, Integers, Integers] | None = None
        self.overwritten = 0

    def collect(self, count: int, after: int, most: int) -> None:
        """Takes in what is new. `count`, `after`: how many there ever were, before and after the ring is looked at.

        At most the newest `most` stay, by and large.
        """
        size = len(self._ring)
        first = max(self._head, count - size)
        rows = self._ring[np.arange(first, count) & (size - 1)]
        # What was written meanwhile may be in the place of the oldest ones.
        torn = max(0, min(len(rows), after + 1 - size - first))
        self.overwritten += first - self._head + torn
        self._head = count
        if len(rows) > torn:
            self._pieces.append(rows[torn:])
            self._kept += len(rows) - torn
            self._index = None
        while len(self._pieces) > 1 and self._kept > most:
            self._kept -= len(self._pieces.popleft())

    def between(self, start_ns: Integers, end_ns: Integers) -> tuple[Integers, Integers, Integers]:
        """Of spans of time: the places of the interrupts that end in each (from, to), and their time altogether."""
        _, ends, sums = self._indexed()
        first, last = np.searchsorted(ends, start_ns, "right"), np.searchsorted(ends, end_ns, "right")
        return first, last, sums[last] - sums[first]

    def all(self) -> tuple[Rows, Integers]:
        """All that are kept, and when they ended."""
        return self._indexed()[:2]

    def rows(self, first: int, last: int) -> Rows:
        """Those at these places."""
        return self._indexed()[0][first:last]

    def _indexed(self) -> tuple[Rows, Integers, Integers]:
        """All that are kept, when they ended, and their time before each: only put together when that is asked for."""
        if self._index is None:
            rows = np.concatenate(self._pieces) if self._pieces else np.zeros(0, self._ring.dtype)
            self._pieces = deque([rows]) if len(rows) else deque()
            sums = np.concatenate(([0], np.cumsum(rows["ns"].astype(np.int64))))
            self._index = rows, rows["end_ns"].astype(np.int64), sums
        return self._index


class SpanReader:
    """What was taken out of all rings. `overwritten`: interrupts that came faster than they were taken out."""

    def __init__(self, spans: Rows, levels: Rows, places: int) -> None:
        """`spans`, `levels`: as in InterruptPrograms; `places`: of each ring."""
        self._levels = levels
        self._rings = [SpanRing(spans[at * places : (at + 1) * places]) for at in range(len(levels))]

    @property
    def overwritten(self) -> int:
        """How many, of all rings."""
        return sum(ring.overwritten for ring in self._rings)

    def collect(self) -> None:
        """Takes in what came since the last call."""
        most = max(1, KEPT // len(self._rings))
        counts = self._levels["span_count"].astype(np.int64).tolist()
        for at, (ring, count) in enumerate(zip(self._rings, counts, strict=True)):
            if count:
                ring.collect(count, int(self._levels["span_count"][at]), most)

    def total_ns(self, cpu: int, start_ns: Integers, end_ns: Integers) -> Integers:
        """The time that interrupts had a CPU in each of some spans of time (CLOCK_MONOTONIC)."""
        total: Integers = np.zeros(len(start_ns), np.int64)
        for ring in self._of_cpu(cpu):
            total = total + ring.between(start_ns, end_ns)[2]
        most: Integers = np.minimum(total, end_ns - start_ns)
        return most

    def during(self, cpu: int, start_ns: int, end_ns: int) -> Spans:
        """The interrupts on a CPU between two times."""
        found = []
        for ring in self._of_cpu(cpu):
            first, last, _ = ring.between(np.array([start_ns]), np.array([end_ns]))
            found.append(ring.rows(int(first[0]), int(last[0])))
        rows = np.concatenate(found)
        # The first one may have begun before.
        ns = np.minimum(rows["ns"].astype(np.int64), rows["end_ns"].astype(np.int64) - start_ns)
        packed = rows["source_and_tid"].astype(np.int64)
        source, tid = packed >> INTERRUPTS.SOURCE_SHIFT, packed & (1 << INTERRUPTS.SOURCE_SHIFT) - 1
        return Spans(ns, source, tid, rows["raiser"].astype(np.int64))

    def under_way(self, cpu: int, level: int, times: Integers) -> tuple[Integers, Integers]:
        """Source and raiser of what a level of a CPU handled at some times; source -1: nothing that was noted."""
        rings = self._of_cpu(cpu)
        rows, ends = rings[level].all()
        if not len(rows):
            return np.full(len(times), -1, np.int64), np.zeros(len(times), np.int64)
        at = np.searchsorted(ends, times)
        there = at < len(rows)
        at = np.minimum(at, len(rows) - 1)
        # One that is of a level: what ended next had begun by then, without the hard interrupts that came in it.
        took = rows["ns"][at].astype(np.int64)
        if level == INTERRUPTS.LEVEL_SOFT:
            took = took + rings[INTERRUPTS.LEVEL_HARD].between(times, ends[at])[2]
        there &= ends[at] - times <= took
        sources = rows["source_and_tid"][at].astype(np.int64) >> INTERRUPTS.SOURCE_SHIFT
        return np.where(there, sources, -1), np.where(there, rows["raiser"][at].astype(np.int64), 0)

    def _of_cpu(self, cpu: int) -> list[SpanRing]:
        return self._rings[cpu * INTERRUPTS.LEVELS : (cpu + 1) * INTERRUPTS.LEVELS]

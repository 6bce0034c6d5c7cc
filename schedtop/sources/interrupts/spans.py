"""The interrupts that are over, one by one, as far back as they are kept: what had a CPU while a task waited for it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedtop.model.interrupts import INTERRUPTION_DTYPE
from schedtop.model.rows import Integers, Rows
from schedtop.sources.kernel.constants import INTERRUPTS

KEPT = 1 << 20
"""How many are kept for all CPUs together, if no other number is asked for; the newest ones."""


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


def is_own(rows: Rows) -> npt.NDArray[np.bool_]:
    """Which rows of `struct span` are softirqs that ksoftirqd did: its own work, taken from nothing."""
    found: npt.NDArray[np.bool_] = rows["nested"] & INTERRUPTS.SPAN_OF_KSOFTIRQD != 0
    return found


_LOOK_AT = 16
"""So many spans at first, then so many times as many."""


def begins(rows: Rows) -> Integers:
    """When those of rows of `struct span` began."""
    nested = rows["nested"] & (INTERRUPTS.SPAN_OF_KSOFTIRQD - 1)
    began: Integers = rows["end_ns"].astype(np.int64) - rows["ns"].astype(np.int64) - nested.astype(np.int64)
    return began


class SpanRing:
    """The interrupts of one level of one CPU: copied from the ring that the kernel side fills, in order of time.

    `kept`: how many there are. Softirqs of ksoftirqd are among them, but have taken no time from anything.
    """

    def __init__(self, ring: Rows) -> None:
        """`ring`: rows of `struct span`, a power of two."""
        self._ring = ring
        self._head = 0
        self._pieces: deque[Rows] = deque()
        self.kept = 0
        self._index: tuple[Rows, Integers, Integers] | None = None
        self.overwritten = 0

    def collect(self, count: int, after: int) -> None:
        """Takes in what is new. `count`, `after`: how many there ever were, before and after the ring is looked at."""
        size = len(self._ring)
        first = max(self._head, count - size)
        rows = self._ring[np.arange(first, count) & (size - 1)]
        # What was written meanwhile may be in the place of the oldest ones.
        torn = max(0, min(len(rows), after + 1 - size - first))
        self.overwritten += first - self._head + torn
        self._head = count
        if len(rows) > torn:
            self._pieces.append(rows[torn:])
            self.kept += len(rows) - torn
            self._index = None

    def forget(self, count: int) -> int:
        """Drops so many, the oldest ones; gives when the last of them ended."""
        until_ns = 0
        while count > 0 and self._pieces:
            rows = self._pieces.popleft()
            until_ns = int(rows["end_ns"][min(count, len(rows)) - 1])
            if len(rows) > count:
                self._pieces.appendleft(rows[count:].copy())
            self.kept -= min(count, len(rows))
            count -= len(rows)
        self._index = None
        return until_ns

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
            sums = np.concatenate(([0], np.cumsum(np.where(is_own(rows), 0, rows["ns"].astype(np.int64)))))
            self._index = rows, rows["end_ns"].astype(np.int64), sums
        return self._index


class SpanReader:
    """What was taken out of all rings. `overwritten`: interrupts that came faster than they were taken out.

    `dropped`: those that came too long ago to be kept, until `dropped_until_ns`.
    """

    def __init__(self, spans: Rows, levels: Rows, places: int, kept: int = KEPT) -> None:
        """`spans`, `levels`: as in InterruptPrograms; `places`: of each ring; `kept`: how many are kept in all."""
        self._levels = levels
        self._most = kept
        self.dropped = self.dropped_until_ns = 0
        self._rings = [SpanRing(spans[at * places : (at + 1) * places]) for at in range(len(levels))]

    @property
    def overwritten(self) -> int:
        """How many, of all rings."""
        return sum(ring.overwritten for ring in self._rings)

    def collect(self) -> None:
        """Takes in what came since the last call."""
        counts = self._levels["span_count"].astype(np.int64).tolist()
        for at, (ring, count) in enumerate(zip(self._rings, counts, strict=True)):
            if count:
                ring.collect(count, int(self._levels["span_count"][at]))
        while (excess := sum(ring.kept for ring in self._rings) - self._most) > 0:
            # A busy CPU does not push out what others have. More than has to be: it takes a copy of the rest.
            fullest = max(self._rings, key=lambda ring: ring.kept)
            dropped = min(fullest.kept, max(excess, fullest.kept // 4))
            self.dropped_until_ns = max(self.dropped_until_ns, fullest.forget(dropped))
            self.dropped += dropped

    def has(self, cpu: int) -> bool:
        """Whether there are rings of that CPU."""
        return 0 <= cpu < len(self._rings) // INTERRUPTS.LEVELS

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
        rows = rows[~is_own(rows)]
        # The first one may have begun before.
        ns = np.minimum(rows["ns"].astype(np.int64), rows["end_ns"].astype(np.int64) - start_ns)
        packed = rows["source_and_tid"].astype(np.int64)
        source, tid = packed >> INTERRUPTS.SOURCE_SHIFT, packed & (1 << INTERRUPTS.SOURCE_SHIFT) - 1
        return Spans(ns, source, tid, rows["raiser"].astype(np.int64))

    def taken_from(self, tids: Integers, start_ns: int, end_ns: int) -> dict[int, dict[int, int]]:
        """How long each source took from each of some tasks, of the interrupts that ended between two times."""
        found: dict[int, dict[int, int]] = {}
        for ring in self._rings:
            rows, ends = ring.all()
            low, high = np.searchsorted(ends, (start_ns, end_ns), "right")
            rows = rows[low:high]
            rows = rows[~is_own(rows) & np.isin(rows["source_and_tid"] & (1 << INTERRUPTS.SOURCE_SHIFT) - 1, tids)]
            packed, places = np.unique(rows["source_and_tid"], return_inverse=True)
            sums = np.bincount(places, rows["ns"], len(packed)).astype(np.int64)
            for key, ns in zip(packed.tolist(), sums.tolist(), strict=True):
                sources = found.setdefault(key & (1 << INTERRUPTS.SOURCE_SHIFT) - 1, {})
                sources[key >> INTERRUPTS.SOURCE_SHIFT] = sources.get(key >> INTERRUPTS.SOURCE_SHIFT, 0) + ns
        return found

    def under_way(self, cpu: int, level: int, times: Integers) -> tuple[Integers, Integers, Integers]:
        """Source, raiser and beginning of what a level of a CPU handled at some times.

        A source of -1: nothing that was noted.
        """
        rows, ends = self._of_cpu(cpu)[level].all()
        if not len(rows):
            return np.full(len(times), -1, np.int64), np.zeros(len(times), np.int64), times
        at = np.searchsorted(ends, times)
        there = at < len(rows)
        at = np.minimum(at, len(rows) - 1)
        # One that is of a level: what ended next had begun by then.
        began = begins(rows[at])
        there &= began <= times
        sources = rows["source_and_tid"][at].astype(np.int64) >> INTERRUPTS.SOURCE_SHIFT
        return np.where(there, sources, -1), np.where(there, rows["raiser"][at].astype(np.int64), 0), began

    def last_raiser(self, cpu: int, softirq: int, at_ns: int) -> int:
        """What raised the last softirq of that number which had begun on a CPU by then; 0: none had, or not known."""
        rows, ends = self._of_cpu(cpu)[INTERRUPTS.LEVEL_SOFT].all()
        stop = int(np.searchsorted(ends, at_ns, "right"))
        # Softirqs of a CPU do not overlap: of those that end later only the next one may have begun.
        stop += len(rows) > stop and int(begins(rows[stop : stop + 1])[0]) <= at_ns
        # There may be a million of them, and it is among the last few.
        look_at = _LOOK_AT
        while stop > 0:
            start = max(0, stop - look_at)
            same = np.flatnonzero(rows["source_and_tid"][start:stop] >> INTERRUPTS.SOURCE_SHIFT == softirq)
            if len(same):
                return int(rows["raiser"][start + same[-1]])
            stop, look_at = start, look_at * _LOOK_AT
        return 0

    def taken(self, start_ns: int, end_ns: int) -> Rows:
        """The interrupts that took time from tasks, or came in idle time, between two times: INTERRUPTION_DTYPE.

        `source` is the kernel side's number.
        """
        found = [np.zeros(0, INTERRUPTION_DTYPE)]
        for at, ring in enumerate(self._rings):
            rows, ends = ring.all()
            rows = rows[(ends > start_ns) & (begins(rows) < end_ns) & ~is_own(rows)]
            piece = np.zeros(len(rows), INTERRUPTION_DTYPE)
            piece["start_ns"], piece["end_ns"], piece["ns"] = begins(rows), rows["end_ns"], rows["ns"]
            piece["source"] = rows["source_and_tid"] >> INTERRUPTS.SOURCE_SHIFT
            piece["cpu"], piece["is_soft"] = at // INTERRUPTS.LEVELS, at % INTERRUPTS.LEVELS == INTERRUPTS.LEVEL_SOFT
            found.append(piece)
        return np.concatenate(found)

    def _of_cpu(self, cpu: int) -> list[SpanRing]:
        return self._rings[cpu * INTERRUPTS.LEVELS : (cpu + 1) * INTERRUPTS.LEVELS]

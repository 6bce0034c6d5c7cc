"""The interrupts that are over, one by one, as far back as they are kept: what had a CPU while a task waited for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.model.interrupts import INTERRUPTION_DTYPE
from schedtop.model.rows import Integers, Rows
from schedtop.sources.kernel.constants import INTERRUPTS

KEPT = 1 << 19
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


MORE_ROOM = 1.25
"""So many times the room that is needed is taken: what is kept is copied once in a quarter of it."""

COPIED = 4_000
"""Interrupts that are copied or looked at between two breaths."""


class SpanRing:
    """The interrupts of one level of one CPU: copied from the ring that the kernel side fills, in order of time.

    `kept`: how many there are. Softirqs of ksoftirqd are among them, but have taken no time from anything.
    """

    def __init__(self, ring: Rows) -> None:
        """`ring`: rows of `struct span`, a power of two."""
        self._ring = ring
        self._head = 0
        self._rows = np.zeros(0, ring.dtype)
        self._ends = np.zeros(0, np.int64)
        self._sums = np.zeros(1, np.int64)
        """The time of all before each of `_rows`, and of all."""
        self._first = self._last = 0
        """Where those that are kept begin and end in `_rows`; what is new is appended, and nothing is read again."""
        self.overwritten = 0

    @property
    def kept(self) -> int:
        return self._last - self._first

    def collect(self, count: int, count_now: Callable[[], int], breathe: Callable[[], object] = keep_on) -> None:
        """Takes in what is new. `count`: how many there ever were; `count_now` is asked after the ring was copied."""
        if count == self._head:
            return
        size = len(self._ring)
        first = max(self._head, count - size)
        low, high = first & (size - 1), count & (size - 1)
        rows = self._ring[low:high].copy() if low < high else np.concatenate((self._ring[low:], self._ring[:high]))
        rows = rows[: count - first]
        # What was written meanwhile may be in the place of the oldest ones.
        torn = max(0, min(len(rows), count_now() + 1 - size - first))
        self.overwritten += first - self._head + torn
        self._head = count
        if len(rows) > torn:
            self._append(rows[torn:], breathe)

    def _append(self, rows: Rows, breathe: Callable[[], object]) -> None:
        if self._last + len(rows) > len(self._rows):
            self._make_room(len(rows), breathe)
        end = self._last + len(rows)
        self._rows[self._last : end] = rows
        self._ends[self._last : end] = rows["end_ns"]
        sums = np.cumsum(np.where(is_own(rows), 0, rows["ns"]), dtype=np.int64)
        self._sums[self._last + 1 : end + 1] = sums + self._sums[self._last]
        self._last = end

    def _make_room(self, more: int, breathe: Callable[[], object]) -> None:
        """Moves what is kept to where there is room for more behind it."""
        kept, room = self.kept, int(MORE_ROOM * (self.kept + more))
        rows, ends, sums = np.empty(room, self._ring.dtype), np.empty(room, np.int64), np.empty(room + 1, np.int64)
        for at in range(0, kept, COPIED):
            low, high = self._first + at, min(self._first + at + COPIED, self._last)
            rows[at : at + high - low], ends[at : at + high - low] = self._rows[low:high], self._ends[low:high]
            sums[at : at + high - low] = self._sums[low:high]
            breathe()
        sums[kept] = self._sums[self._last]
        self._rows, self._ends, self._sums = rows, ends, sums
        self._first, self._last = 0, kept

    def forget(self, count: int) -> int:
        """Drops so many, at least one, the oldest ones; gives when the last of them ended."""
        self._first += count
        return int(self._ends[self._first - 1])

    def between(self, start_ns: Integers, end_ns: Integers) -> tuple[Integers, Integers, Integers]:
        """Of spans of time: the places of the interrupts that end in each (from, to), and their time altogether."""
        _, ends = self.all()
        sums = self._sums[self._first : self._last + 1]
        first, last = np.searchsorted(ends, start_ns, "right"), np.searchsorted(ends, end_ns, "right")
        return first, last, sums[last] - sums[first]

    def all(self) -> tuple[Rows, Integers]:
        """All that are kept, and when they ended."""
        return self._rows[self._first : self._last], self._ends[self._first : self._last]

    def rows(self, first: int, last: int) -> Rows:
        """Those at these places."""
        return self.all()[0][first:last]


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

    def collect(self, breathe: Callable[[], object] = keep_on) -> None:
        """Takes in what came since the last call; `breathe` is called where many are copied."""
        counts = self._levels["span_count"].astype(np.int64).tolist()
        for at, (ring, count) in enumerate(zip(self._rings, counts, strict=True)):
            if count:
                ring.collect(count, partial(self._count, at), breathe)
        while (excess := sum(ring.kept for ring in self._rings) - self._most) > 0:
            # A busy CPU does not push out what others have.
            fullest = max(self._rings, key=lambda ring: ring.kept)
            dropped = min(fullest.kept, excess)
            self.dropped_until_ns = max(self.dropped_until_ns, fullest.forget(dropped))
            self.dropped += dropped

    def _count(self, at: int) -> int:
        return int(self._levels["span_count"][at])

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

    def taken_from(
        self, tids: Integers, start_ns: int, end_ns: int, breathe: Callable[[], object] = keep_on
    ) -> dict[int, dict[int, int]]:
        """How long each source took from each of some tasks, of the interrupts that ended between two times.

        `breathe` is called where there are many.
        """
        found: dict[int, dict[int, int]] = {}
        for ring in self._rings:
            every, ends = ring.all()
            low, high = np.searchsorted(ends, (start_ns, end_ns), "right").tolist()
            for at in range(low, high, COPIED):
                rows = every[at : min(at + COPIED, high)]
                rows = rows[~is_own(rows) & np.isin(rows["source_and_tid"] & (1 << INTERRUPTS.SOURCE_SHIFT) - 1, tids)]
                packed, places = np.unique(rows["source_and_tid"], return_inverse=True)
                sums = np.bincount(places, rows["ns"], len(packed)).astype(np.int64)
                for key, ns in zip(packed.tolist(), sums.tolist(), strict=True):
                    sources = found.setdefault(key & (1 << INTERRUPTS.SOURCE_SHIFT) - 1, {})
                    sources[key >> INTERRUPTS.SOURCE_SHIFT] = sources.get(key >> INTERRUPTS.SOURCE_SHIFT, 0) + ns
                breathe()
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
        # There may be half a million of them, and it is among the last few.
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

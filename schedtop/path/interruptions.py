"""The interrupts of a capture, by CPU and time: what they took of a span."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from schedtop.capture.events import Capture
from schedtop.model.rows import Integers, Rows


@dataclass(frozen=True, slots=True, eq=False)
class _Kind:
    """The interrupts of one kind on one CPU, which do not overlap; `sums`: their time before each of them."""

    starts: memoryview[int]
    ends: memoryview[int]
    ns: Integers
    sources: Integers
    sums: Integers

    @classmethod
    def of(cls, rows: Rows) -> _Kind:
        rows = rows[np.argsort(rows["end_ns"], kind="stable")]
        ns = rows["ns"].astype(np.int64)
        # By how they are measured they cannot overlap; a search in them relies on it.
        starts = np.maximum(rows["start_ns"], np.append(rows["start_ns"][:1], rows["end_ns"][:-1]))
        ends = np.ascontiguousarray(rows["end_ns"])
        # A search for one number is several times as quick in these.
        return cls(
            starts.data, ends.data, ns, rows["source"].astype(np.int64),
            np.concatenate(([0], np.cumsum(ns))),
        )  # fmt: skip

    def places(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        """Which of them reach into a span: from, to."""
        return bisect_right(self.ends, start_ns), bisect_left(self.starts, end_ns)

    def total_ns(self, start_ns: int, end_ns: int) -> int:
        """Their time in a span, where none of them has others in it."""
        low, high = self.places(start_ns, end_ns)
        if low >= high:
            return 0
        before, after = start_ns - self.starts[low], self.ends[high - 1] - end_ns
        return int(self.sums[high] - self.sums[low]) - max(0, before) - max(0, after)


_NONE = _Kind.of(np.empty(0, [(name, "<i8") for name in ("start_ns", "end_ns", "ns", "source")]))


class Interruptions:
    """What a capture tells of interrupts; of one without them nothing was taken."""

    def __init__(self, capture: Capture) -> None:
        rows = capture.interruptions
        self._names = capture.interrupt_names
        self._kinds = {
            (int(cpu), is_soft): _Kind.of(rows[(rows["cpu"] == cpu) & (rows["is_soft"] == is_soft)])
            for cpu in np.unique(rows["cpu"])
            for is_soft in (False, True)
        }

    def during(self, cpu: int, start_ns: int, end_ns: int) -> tuple[tuple[str, int], ...]:
        """What interrupts took of a CPU's time, by source, most time first: never more than there is of it."""
        if not self._kinds:
            return ()
        hard, soft = (self._kinds.get((cpu, is_soft), _NONE) for is_soft in (False, True))
        sums = np.zeros(len(self._names), np.int64)
        any_at_all = False
        for kind, within in ((hard, _NONE), (soft, hard)):
            low, high = kind.places(start_ns, end_ns)
            if low >= high:
                continue
            any_at_all = True
            ns = kind.ns[low:high].copy()
            for place in {low, high - 1}:
                start, end = max(kind.starts[place], start_ns), min(kind.ends[place], end_ns)
                ns[place - low] = min(int(ns[place - low]), max(0, end - start - within.total_ns(start, end)))
            sums += np.bincount(kind.sources[low:high], ns, len(sums)).astype(np.int64)
        if not any_at_all:
            return ()
        left, found = end_ns - start_ns, []
        for source in np.argsort(-sums, kind="stable").tolist():
            time_ns = min(int(sums[source]), left)
            if time_ns <= 0:
                break
            found.append((self._names[source], time_ns))
            left -= time_ns
        return tuple(found)

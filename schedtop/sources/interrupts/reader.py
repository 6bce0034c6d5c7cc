"""What interrupts took, read from the programs' maps: cumulative, and as a table between two readings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from schedtop.model.interrupts import RAISED_DTYPE, InterruptTable, SourceName
from schedtop.model.rows import Integers, Rows, copy_rows
from schedtop.sources.interrupts.completions import CompletionReader
from schedtop.sources.interrupts.front_end import interrupt_front_end
from schedtop.sources.interrupts.names import SourceNames
from schedtop.sources.interrupts.programs import InterruptPrograms, build
from schedtop.sources.interrupts.spans import KEPT, SpanReader
from schedtop.sources.kernel.constants import INTERRUPTS

_NO_RAISED = np.zeros(0, RAISED_DTYPE)


@dataclass(frozen=True, slots=True, eq=False)
class InterruptReading:
    """What was counted since the programs were attached.

    `handled`: rows of `struct handled`, shape (cpus, sources); `levels`: rows of `struct level_state`, shape
    (cpus * LEVELS,); `names`: those of the sources that had any; `epoch`: the number of the interval that ends here;
    `overwritten`: interrupts that came faster than we took note of each; `raised`: what raised softirqs in that
    interval alone, rows of RAISED_DTYPE with the kernel's numbers of softirqs.
    """

    handled: Rows
    levels: Rows
    names: dict[int, SourceName]
    epoch: int
    overwritten: int = 0
    raised: Rows = field(default_factory=lambda: _NO_RAISED)

    def named(self, comms: Callable[[Integers], npt.NDArray[np.bytes_]]) -> InterruptReading:
        """The same with the names of the tasks that raised softirqs; `comms` gives those of tids."""
        tasks, raised = np.flatnonzero(self.raised["tid"]), self.raised.copy()
        raised["by"][tasks] = comms(raised["tid"][tasks])
        return replace(self, raised=raised)


@dataclass(frozen=True, slots=True, eq=False)
class Interrupted:
    """How long interrupts kept tasks from what they did in one interval: `ns` by `tid`, in ascending order of it."""

    tid: Integers
    ns: Integers

    def of(self, tids: Integers) -> Integers:
        """The time taken from each of some tasks, 0 from those that are not in it."""
        if not len(self.tid):
            return np.zeros(len(tids), np.int64)
        at = np.minimum(np.searchsorted(self.tid, tids), len(self.tid) - 1)
        found: Integers = np.where(self.tid[at] == tids, self.ns[at], 0)
        return found


class InterruptReader:
    """The attached programs and what is read of them. Opened, used and closed by the thread that takes Frames."""

    def __init__(
        self, cpus: int, interrupting_fd: int | None, epoch: int, kept: int = KEPT, completions: bool = False
    ) -> None:
        """`cpus`: possible ones; `kept`: how many interrupts stay known one by one; `completions`: with block I/O.

        Raises SourceError.
        """
        front_end = interrupt_front_end(completions)
        self.missing = front_end.missing
        self._programs = InterruptPrograms(front_end, build(front_end, cpus), interrupting_fd, epoch)
        self._names = SourceNames()
        self._names.read()
        self.completions = CompletionReader(self._programs.completions, self._programs.completion_counts)
        self.spans = SpanReader(self._programs.spans, self._programs.levels, self._programs.places, kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Detaches the programs; their maps go with them."""
        self._programs.close()

    def begin_epoch(self, epoch: int) -> None:
        """From now on the longest ones, and what is taken from tasks, are of another interval."""
        self._programs.begin_epoch(epoch)

    def read(self, epoch: int) -> InterruptReading:
        """What was counted so far, in the interval of that number and before."""
        programs = self._programs
        handled = copy_rows(programs.handled).reshape(-1, programs.sources)
        used = np.flatnonzero((handled["count"] > 0).any(axis=0)).tolist()
        if not self._names.know(used):
            self._names.read()
        names = {source: self._names.name(source) for source in used}
        return InterruptReading(
            handled, copy_rows(programs.levels), names, epoch, self.spans.overwritten, self._raised(epoch)
        )

    def _raised(self, epoch: int) -> Rows:
        """What raised the softirqs of an interval; the names of tasks are not known here."""
        parity, slots = epoch & 1, self._programs.raised
        found = np.flatnonzero(slots["epoch"][:, parity] == np.uint32(epoch & 0xFFFFFFFF))
        rows = np.zeros(len(found), RAISED_DTYPE)
        rows["cpu"] = found // INTERRUPTS.RAISED_SLOTS
        for name, kernel_name in (("source", "softirq"), ("count", "count"), ("total_ns", "ns")):
            rows[name] = slots[kernel_name][found, parity]
        raisers = slots["raiser"][found, parity]
        rows["tid"] = np.where(raisers >> INTERRUPTS.SOURCE_SHIFT, 0, raisers)
        rows["by"] = [self.name(raiser >> INTERRUPTS.SOURCE_SHIFT) if raiser >> INTERRUPTS.SOURCE_SHIFT else b""
                      for raiser in raisers.tolist()]  # fmt: skip
        return rows[rows["count"] > 0]

    def interrupted(self, epoch: int) -> Interrupted:
        """What was taken from tasks in an interval: the one that has just ended."""
        parity, slots = epoch & 1, self._programs.interrupted
        found = np.flatnonzero(slots["epoch"][:, parity] == np.uint32(epoch & 0xFFFFFFFF))
        tids, ns = (slots[name][found, parity].astype(np.int64) for name in ("tid", "ns"))
        order = np.argsort(tids)
        return Interrupted(tids[order], ns[order])

    def name(self, source: int) -> bytes:
        """What a source is called in a sentence, for a field of rows."""
        return str(self._names.name(source)).encode()

    def raiser(self, raiser: int, comms: Callable[[Integers], npt.NDArray[np.bytes_]]) -> bytes:
        """What raised a softirq, by its number in bpf/interrupts/current.h, for a field of rows."""
        if source := raiser >> INTERRUPTS.SOURCE_SHIFT:
            return self.name(source)
        return b"%s (%d)" % (bytes(comms(np.array([raiser]))[0]), raiser) if raiser else b""

    def misses(self) -> int:
        """Interrupts that the kernel kept from our programs."""
        return self._programs.misses()

    def run_ns(self) -> int:
        """How long our programs have run while the kernel timed them."""
        return self._programs.run_ns()


def difference(earlier: InterruptReading | None, later: InterruptReading | None) -> InterruptTable | None:
    """What came between two readings, of the sources that had any; `None` unless both were taken."""
    if earlier is None or later is None or earlier.handled.shape != later.handled.shape:
        return None
    counts, total_ns = (
        later.handled[name].astype(np.int64) - earlier.handled[name].astype(np.int64) for name in ("count", "total_ns")
    )
    if (counts < 0).any():
        return None  # attached anew in between
    used = np.flatnonzero((counts > 0).any(axis=0) | (total_ns > 0).any(axis=0))
    parity = later.epoch & 1
    current = later.handled["max_epoch"][:, used, parity] == later.epoch
    longest = np.where(current, later.handled["max_ns"][:, used, parity], 0).astype(np.int64)
    counts, total_ns = counts[:, used], total_ns[:, used]
    # One that ended just when the interval did is counted in the one and the longest of the other.
    longest = np.clip(longest, -(-total_ns // np.maximum(counts, 1)), total_ns)
    sums = {
        name: int(later.levels[name].sum()) - int(earlier.levels[name].sum())
        for name in ("unmatched", "unattributed_ns")
    }
    sources = tuple(later.names.get(source) or SourceName("hardirq", f"source {source}") for source in used.tolist())
    overwritten = later.overwritten - earlier.overwritten
    raised = later.raised[np.isin(later.raised["source"], used)]
    raised["source"] = np.searchsorted(used, raised["source"])
    return InterruptTable.of(sources, counts, total_ns, longest, **sums, overwritten=overwritten, raised=raised)

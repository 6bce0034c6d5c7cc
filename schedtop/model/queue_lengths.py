"""QueueTable: how long the run queues were when they were sampled, by kind and CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.model.encoding import NARROW_BYTES, decode_integers, decode_sparse, encode_sparse
from schedtop.model.rows import Integers

QUEUE_KINDS = ("all", "fair")
"""First axis of `QueueTable.counts`: the tasks of all classes of a CPU, and those of the fair class alone."""


MOST_QUEUED = 511
"""QUEUE_SLOTS - 1 of bpf/scheduler/maps.h: queues of this length or longer are counted together."""


@dataclass(frozen=True, slots=True, eq=False)
class QueueLengths:
    """Samples of the run queues of one or several CPUs.

    `counts`: how many samples found so many tasks waiting, by that number; MOST_QUEUED stands for longer ones, too.
    `samples`: how many samples; `total`: the sum of all lengths; `longest`: the longest one.
    """

    counts: Integers
    samples: int
    total: int
    longest: int

    @property
    def mean(self) -> float | None:
        """The average length, `None` without samples."""
        return self.total / self.samples if self.samples else None

    @property
    def waiting_ratio(self) -> float | None:
        """The share of samples in which at least one task waited."""
        return 1 - int(self.counts[0]) / self.samples if self.samples else None

    def percentile(self, ratio: float) -> int | None:
        """The length that this share of the samples does not exceed; MOST_QUEUED means: that or more."""
        if not self.samples:
            return None
        return int(np.searchsorted(np.cumsum(self.counts), ratio * self.samples - 1e-9))


@dataclass(frozen=True, slots=True, eq=False)
class QueueTable:
    """How long the run queues were when they were sampled: how many tasks waited, the running one not counted.

    `hz`: samples a second on each CPU. `counts`: shape (len(QUEUE_KINDS), cpus, lengths from 0 to at most MOST_QUEUED);
    `sums` and `longest`: shape (len(QUEUE_KINDS), cpus); `samples` and `expected` (what there would be if none was
    late): shape (cpus,). `slept`, among `samples`: not taken, because the CPU was idle and its clock stood still, as in
    some virtual machines; there was no task to wait.
    """

    hz: int
    counts: Integers
    sums: Integers
    longest: Integers
    samples: Integers
    expected: Integers
    slept: Integers

    def lengths(self, kind: str, cpus: Sequence[int] | None = None) -> QueueLengths:
        """The samples of one of QUEUE_KINDS on some CPUs (or all)."""
        index = QUEUE_KINDS.index(kind)
        rows = slice(None) if cpus is None else [cpu for cpu in cpus if cpu < len(self.samples)]
        longest = self.longest[index, rows]
        counts = self.counts[index, rows].sum(axis=0, dtype=np.int64)
        return QueueLengths(
            counts,
            int(counts.sum()),
            int(self.sums[index, rows].sum()),
            int(longest.max()) if longest.size else 0,
        )

    def means(self, kind: str) -> npt.NDArray[np.float64]:
        """The average length on each CPU, 0 without samples, shape (cpus,)."""
        means: npt.NDArray[np.float64] = self.sums[QUEUE_KINDS.index(kind)] / np.maximum(self.samples, 1)
        return means

    def missed(self, cpus: Sequence[int] | None = None) -> int:
        """How many samples were not taken: the CPU had its interrupts off, or the hypervisor had the CPU."""
        rows = slice(None) if cpus is None else [cpu for cpu in cpus if cpu < len(self.samples)]
        return int(np.maximum(self.expected[rows] - self.samples[rows], 0).sum())


def length_ranges(longest: int, most: int) -> list[tuple[int, int]]:
    """Ranges of lengths (first and last) from 0 to `longest`, at most `most`: each length, or by powers of a number."""
    if longest < most:
        return [(length, length) for length in range(longest + 1)]
    for base in (2, 4, 8, 32, MOST_QUEUED + 1):
        ranges, first = [(0, 0)], 1
        while first <= longest:
            ranges.append((first, first * base - 1))
            first *= base
        if len(ranges) <= most:
            return ranges
    return [(0, longest)]


def merge_queues(tables: Sequence[QueueTable | None]) -> QueueTable | None:
    """Samples added, the longest kept, of the tables there are; `None` if there is none."""
    known = [table for table in tables if table is not None]
    if len(known) < 2:
        return known[0] if known else None
    cpus = max(len(table.samples) for table in known)
    kinds, width = len(QUEUE_KINDS), max(table.counts.shape[2] for table in known)
    merged = QueueTable(
        known[-1].hz,
        np.zeros((kinds, cpus, width), np.int64),
        *(np.zeros((kinds, cpus), np.int64) for _ in "ab"),
        *(np.zeros(cpus, np.int64) for _ in "abc"),
    )
    for table in known:
        rows = len(table.samples)
        merged.counts[:, :rows, : table.counts.shape[2]] += table.counts
        merged.sums[:, :rows] += table.sums
        np.maximum(merged.longest[:, :rows], table.longest, out=merged.longest[:, :rows])
        merged.samples[:rows] += table.samples
        merged.expected[:rows] += table.expected
        merged.slept[:rows] += table.slept
    return merged


def encode_queues(queue: QueueTable | None) -> dict[str, Any] | None:
    """Plain values of JSON."""
    if queue is None:
        return None
    return {
        "hz": queue.hz,
        "lengths": queue.counts.shape[2],
        "counts": encode_sparse(queue.counts),
        **{name: getattr(queue, name).tolist() for name in ("sums", "longest", "samples", "expected", "slept")},
    }


def decode_queues(data: dict[str, Any] | None, cpus: int) -> QueueTable | None:
    """The table of what `encode_queues` gave. Recordings made before the run queues were sampled have none."""
    if data is None:
        return None
    kinds, lengths = len(QUEUE_KINDS), int(data["lengths"])
    if not 1 <= lengths <= MOST_QUEUED + 1:
        raise ValueError("run queues that cannot be so long")
    counts = decode_sparse(data["counts"], (kinds, cpus, lengths))
    return QueueTable(
        int(decode_integers(data["hz"], ())),
        counts,
        decode_integers(data["sums"], (kinds, cpus)),
        decode_integers(data["longest"], (kinds, cpus)),
        decode_integers(data["samples"], (cpus,)),
        decode_integers(data["expected"], (cpus,)),
        decode_integers(data["slept"], (cpus,)),
    )


def claimed_queues(data: dict[str, Any] | None, cpus: int) -> int:
    """How many bytes `decode_queues` would take."""
    return len(QUEUE_KINDS) * cpus * int(data["lengths"]) * NARROW_BYTES if data else 0

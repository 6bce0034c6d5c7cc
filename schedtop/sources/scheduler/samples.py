"""What the samples of the run queues between two readings are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedtop.base.units import NS_PER_S
from schedtop.model.queue_lengths import MOST_QUEUED, QUEUE_KINDS, QueueTable
from schedtop.model.rows import Rows
from schedtop.sources.kernel.front_end import SAMPLING_HZ


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """What is known of an interval: its length, its `epoch` of the kernel side, and what its CPUs did.

    `sampled`: CPUs whose run queues were sampled in it; `idle_ns`, `online`: shape (cpus,).
    """

    interval_ns: int
    epoch: int
    sampled: tuple[int, ...]
    idle_ns: npt.NDArray[np.int64]
    online: npt.NDArray[np.bool_] | None


def queue_table(old: Rows, new: Rows, between: Between) -> QueueTable:
    """The samples between two readings of `struct queue_samples`, rows a CPU."""
    kinds, cpus = len(QUEUE_KINDS), len(new)
    counts = (new["counts"] - old["counts"]).reshape(cpus, kinds, -1).transpose(1, 0, 2)
    used = np.flatnonzero(counts.any(axis=(0, 1)))
    width = int(used[-1]) + 1 if len(used) else 1
    counts = np.ascontiguousarray(counts[:, :, :width])
    # What the last slot holds may be longer. A sample taken just now may be counted in the one and not in the other.
    longest = np.where(counts > 0, np.arange(width), 0).max(axis=2).astype(np.int64)
    parity = between.epoch & 1
    current = new["longest_epoch"][:, parity] == between.epoch
    noted = np.where(current[:, None], new["longest"].reshape(cpus, 2, kinds)[:, parity], 0).T.astype(np.int64)
    longest = np.where(longest < MOST_QUEUED, longest, np.maximum(longest, noted))
    expected = np.zeros(cpus, np.int64)
    expected[list(between.sampled)] = between.interval_ns * SAMPLING_HZ // NS_PER_S
    if between.online is not None:
        expected[~between.online] = 0
    taken, idle = ((new[name] - old[name]).astype(np.int64) for name in ("samples", "idle"))
    asleep = between.idle_ns * SAMPLING_HZ // NS_PER_S - idle
    slept = np.maximum(np.minimum(expected - taken, asleep), 0)
    counts[:, :, 0] += slept.astype(counts.dtype)
    sums = (new["sum"] - old["sum"]).astype(np.int64).T.copy()
    return QueueTable(SAMPLING_HZ, counts, sums, longest, taken + slept, expected, slept)

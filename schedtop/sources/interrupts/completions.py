"""Block I/O that was done: the device for which an interrupt woke a task right after (bpf/interrupts/completions.h)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from schedtop.model.rows import Integers, Rows
from schedtop.sources.kernel.constants import INTERRUPTS

KEPT = 1 << 17
"""How many of each CPU are kept, by and large; the newest ones."""


class CompletionRing:
    """Those of one CPU: copied from the ring that the kernel side fills, in order of time."""

    def __init__(self, ring: Rows) -> None:
        """`ring`: rows of `struct completion`, a power of two."""
        self._ring = ring
        self._head = 0
        self._kept = ring[:0].copy()

    def collect(self, count: int) -> None:
        """Takes in what is new; `count`: how many there ever were. What was overwritten is not known."""
        size = len(self._ring)
        # The oldest one may be written anew while it is copied.
        rows = self._ring[np.arange(max(self._head, count - size + 1), count) & (size - 1)]
        self._head = count
        if len(rows):
            self._kept = np.concatenate((self._kept[-KEPT:], rows))

    def last(self, since_ns: Integers, until_ns: Integers) -> Integers:
        """The device of the last one in each of some spans of time, as the kernel numbers it; 0: there was none."""
        times = self._kept["time_ns"].astype(np.int64)
        if not len(times):
            return np.zeros(len(until_ns), np.int64)
        at = np.searchsorted(times, until_ns, "right") - 1
        there = (at >= 0) & (times[at] >= since_ns)
        found: Integers = np.where(there, self._kept["device"][at].astype(np.int64), 0)
        return found


class CompletionReader:
    """What was taken out of all rings."""

    def __init__(self, completions: Rows, counts: Rows) -> None:
        """`completions`, `counts`: the maps of the kernel side; empty where they were not asked for."""
        places = INTERRUPTS.COMPLETIONS
        self._counts = counts
        self._rings = [
            CompletionRing(completions[at : at + places]) for at in range(0, len(completions) - places + 1, places)
        ]

    def collect(self) -> None:
        """Takes in what came since the last call."""
        for ring, count in zip(self._rings, self._counts["count"].astype(np.int64).tolist(), strict=False):
            ring.collect(count)

    def last(self, cpu: int, since_ns: Integers, until_ns: Integers) -> Integers:
        """As that of the ring of a CPU."""
        return self._rings[cpu].last(since_ns, until_ns) if cpu < len(self._rings) else np.zeros(len(until_ns), int)


def device_name(device: int, sysfs: Path = Path("/sys")) -> str:
    """The name of a block device by the kernel's number, of a partition its own: `vda1`; empty: there is none."""
    minor = device & (1 << INTERRUPTS.DEVICE_MINOR_BITS) - 1
    path = sysfs / "dev/block" / f"{device >> INTERRUPTS.DEVICE_MINOR_BITS}:{minor}"
    return path.resolve().name if device and path.exists() else ""

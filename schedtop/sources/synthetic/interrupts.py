"""Interrupts of a made-up host: a network card with a busy softirq, a disk, timers."""

from __future__ import annotations

import numpy as np

from schedtop.model.interrupts import RAISED_DTYPE, InterruptTable, SourceName
from schedtop.model.rows import Integers, Rows

_SOURCES = (
    # (source, how many a second on a CPU, mean ns)
    (SourceName("softirq", "NET_RX"), 9000, 6_000),
    (SourceName("hardirq", "eth0-rx-0"), 4500, 1_800),
    (SourceName("vector", "local_timer"), 1000, 4_200),
    (SourceName("softirq", "TIMER"), 260, 2_500),
    (SourceName("softirq", "SCHED"), 210, 3_600),
    (SourceName("softirq", "RCU"), 420, 1_500),
    (SourceName("vector", "reschedule"), 600, 700),
    (SourceName("hardirq", "nvme0q1"), 150, 2_100),
)

_RAISERS = (
    # (softirq, tid, raised by, its share)
    ("NET_RX", 0, b"irq eth0-rx-0", 0.8),
    ("NET_RX", 4711, b"iperf3", 0.2),
    ("TIMER", 0, b"local_timer", 1.0),
    ("SCHED", 0, b"local_timer", 0.9),
    ("RCU", 0, b"local_timer", 1.0),
)


def interrupts(number: int, cpus: int, interval_ns: int) -> InterruptTable:
    """Those of the interval `number`: the network's are on the first quarter of the CPUs."""
    rng = np.random.default_rng(number)
    shape = cpus, len(_SOURCES)
    counts, total_ns, max_ns = (np.zeros(shape, np.int64) for _ in range(3))
    for index, (source, hz, mean_ns) in enumerate(_SOURCES):
        counts[:, index] = rng.poisson(hz * interval_ns / 1e9, cpus)
        if "NET" in source.name or "eth" in source.name:
            counts[max(1, cpus // 4) :, index] //= 20
        total_ns[:, index] = counts[:, index] * mean_ns * (0.9 + 0.2 * rng.random(cpus))
        max_ns[:, index] = np.minimum(total_ns[:, index], mean_ns * (8 + 20 * rng.random(cpus)))
    sources = tuple(source for source, _, _ in _SOURCES)
    return InterruptTable.of(sources, counts, total_ns, max_ns, raised=_raised(sources, counts, total_ns))


def _raised(sources: tuple[SourceName, ...], counts: Integers, total_ns: Integers) -> Rows:
    pieces = []
    for softirq, tid, by, share in _RAISERS:
        source = sources.index(SourceName("softirq", softirq))
        rows = np.zeros(len(counts), RAISED_DTYPE)
        rows["cpu"], rows["source"], rows["tid"], rows["by"] = np.arange(len(counts)), source, tid, by
        rows["count"], rows["total_ns"] = counts[:, source] * share, total_ns[:, source] * share
        pieces.append(rows[rows["count"] > 0])
    return np.concatenate(pieces)


def taken(run_ns: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """What interrupts took from tasks that ran so long: a little from each, more from some."""
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = run_ns * (np.arange(len(run_ns)) % 7) // 60
    return found

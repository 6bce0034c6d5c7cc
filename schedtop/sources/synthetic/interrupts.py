"""Interrupts of a made-up host: a network card with a busy softirq, a disk, timers."""

from __future__ import annotations

import numpy as np

from schedtop.model.interrupts import InterruptTable, SourceName

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
    return InterruptTable.of(tuple(source for source, _, _ in _SOURCES), counts, total_ns, max_ns)


def taken(run_ns: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """What interrupts took from tasks that ran so long: a little from each, more from some."""
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = run_ns * (np.arange(len(run_ns)) % 7) // 60
    return found

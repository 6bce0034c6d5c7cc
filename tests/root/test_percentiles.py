"""Percentiles from buckets against exact ones, from all waits of one recorded sample."""

from __future__ import annotations

import subprocess
import time

import numpy as np
import pytest

from schedtop.base.histogram import BUCKETS, Histogram
from schedtop.sources.host import proc
from schedtop.sources.kernel.front_end import choose_front_end
from schedtop.sources.scheduler.programs import Limits, Programs, build

PERCENTILES = (0.1, 0.5, 0.9, 0.99, 0.999)


@pytest.mark.parametrize("load", [["hackbench", "-l", "300", "-g", "2"], ["stress", "-c", "6", "-t", "2"]])
def test_percentiles_within_six_percent(load: list[str]) -> None:
    # A threshold of 0 makes every wait a slow one, and the limit is lifted: the ring then holds the exact sample.
    front_end = choose_front_end()
    compiled = build(front_end, proc.possible_cpus(), Limits(slow_waits_per_s=100_000_000))
    programs = Programs(front_end, compiled, threshold_ns=0)
    try:
        process = subprocess.Popen(load, stdout=subprocess.DEVNULL)
        waits = []
        while process.poll() is None:
            waits.append(programs.slow_waits()["wait_ns"])
            time.sleep(0.001)
        before = programs.cpus["latency"].copy()
        waits.append(programs.slow_waits()["wait_ns"])
        cpus = programs.cpus.copy()
    finally:
        programs.close()
    exact = np.concatenate(waits)
    counts = before.reshape(-1, BUCKETS).sum(axis=0)
    assert counts.sum() > 1000
    dropped = int(cpus["ring_dropped"].sum())
    assert abs(int(counts.sum()) - len(exact) - dropped) <= 20
    assert dropped < 0.001 * counts.sum(), "the sample has holes: it proves nothing"
    histogram = Histogram(counts, int(exact.sum()), int(exact.max()))
    print(f"\n{' '.join(load)}: {len(exact)} waits")
    for ratio in PERCENTILES:
        truth = float(np.percentile(exact, ratio * 100, method="inverted_cdf"))
        ours = histogram.percentile_ns(ratio)
        print(f"p{ratio * 100:<5g} exact {truth:12.0f} ns, from buckets {ours:12.0f} ns, {ours / truth - 1:+.2%}")
        assert ours == pytest.approx(truth, rel=0.06)

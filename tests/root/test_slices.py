"""Time slices of slow waits, as the tasks have asked for them."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from conftest import Collector
from loads import ended, python, stop_all

from schedtop.base.time_slice import set_slice, slice_of
from schedtop.base.units import NS_PER_MS
from schedtop.sources.scheduler.source import LiveSource

pytestmark = pytest.mark.skipif(not slice_of(0), reason="this kernel tells no slices (6.12 does)")

SPINS = "while True: pass"
LONG_NS, SHORT_NS = 50 * NS_PER_MS, 10 * NS_PER_MS


def test_a_slow_wait_tells_the_slices_of_victim_and_blocker(front_end: str) -> None:
    """Two busy loops on one CPU, which wait for each other; each has asked for another slice."""
    hogs = [python(SPINS, preexec_fn=lambda: os.sched_setaffinity(0, {1})) for _ in range(2)]
    wanted = dict(zip((hog.pid for hog in hogs), (LONG_NS, SHORT_NS), strict=True))
    with ended(*hogs), LiveSource(500 * NS_PER_MS, NS_PER_MS, front_end) as source:
        for tid, slice_ns in wanted.items():
            set_slice(tid, slice_ns)
        with Collector(source) as watched:
            time.sleep(3)
            stop_all(hogs)
    rows = watched.frame.slow_waits
    rows = rows[np.isin(rows["tid"], list(wanted)) & np.isin(rows["blocker_tid"][:, 0], list(wanted))]
    # Those at the end are of tasks that stand still: the kernel tells their slices all the same.
    assert len(rows) > 10
    told = rows[(rows["slice_ns"] > 0) & (rows["blocker_slice_ns"][:, 0] > 0)]
    assert len(told) >= 0.9 * len(rows)
    assert all(wanted[tid] == slice_ns for tid, slice_ns in told[["tid", "slice_ns"]].tolist())
    blockers = zip(told["blocker_tid"][:, 0].tolist(), told["blocker_slice_ns"][:, 0].tolist(), strict=True)
    assert all(wanted[tid] == slice_ns for tid, slice_ns in blockers)

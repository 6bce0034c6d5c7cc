"""Time slices of slow waits, as the tasks have asked for them."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence

import numpy as np
import pytest
from conftest import Collector
from loads import ended, python, stop_all

from schedtop.base.time_slice import set_slice, slice_of
from schedtop.base.units import NS_PER_MS
from schedtop.model.frame import Frame
from schedtop.sources.scheduler.source import LiveSource

pytestmark = pytest.mark.skipif(not slice_of(0), reason="this kernel tells no slices (6.12 does)")

SPINS = "while True: pass"
LONGEST_S = 20
LONG_NS, SHORT_NS = 50 * NS_PER_MS, 10 * NS_PER_MS


def test_a_slow_wait_tells_the_slices_of_victim_and_blocker(front_end: str) -> None:
    """Two busy loops on one CPU, which wait for each other; each has asked for another slice."""
    hogs = [python(SPINS, preexec_fn=lambda: os.sched_setaffinity(0, {1})) for _ in range(2)]
    wanted = dict(zip((hog.pid for hog in hogs), (LONG_NS, SHORT_NS), strict=True))
    with ended(*hogs), LiveSource(500 * NS_PER_MS, NS_PER_MS, front_end) as source:
        for tid, slice_ns in wanted.items():
            set_slice(tid, slice_ns)
        with Collector(source) as watched:
            deadline = time.monotonic() + LONGEST_S
            while len(slices_of(watched.frames, wanted)[1]) < 2 * len(wanted) and time.monotonic() < deadline:
                time.sleep(0.5)
            stop_all(hogs)
    victims, blockers = slices_of(watched.frames, wanted)
    for found in (victims, blockers):
        assert found, "they have waited, and for each other"
        told = [pair for pair in found if pair[1]]
        assert len(told) >= 0.8 * len(found), "at the end they stand still, but are there"
        assert all(wanted[tid] == slice_ns for tid, slice_ns in told)


def slices_of(frames: Sequence[Frame], tids: Collection[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Of these tasks, as victims and as blockers of each other: tid and slice, once a slow wait."""
    if not frames:
        return [], []
    waits = np.concatenate([frame.slow_waits for frame in frames])
    waits = waits[np.isin(waits["tid"], list(tids))]
    pairs = zip(waits["blocker_tid"].ravel().tolist(), waits["blocker_slice_ns"].ravel().tolist(), strict=True)
    return waits[["tid", "slice_ns"]].tolist(), [pair for pair in pairs if pair[0] in tids]

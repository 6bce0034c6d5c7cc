"""Beside a scheduler of sched_ext nothing is claimed of queues that are no CPU's."""

from __future__ import annotations

import time

import ext_scheduler
import numpy as np
import pytest
from conftest import Collector
from loads import ended, python, stop_all

from schedtop.base.units import NS_PER_MS
from schedtop.model.frame import Frame
from schedtop.model.rows import Rows
from schedtop.model.waits import Evidence
from schedtop.sources.host.sched_ext import DIRECTORY, loaded_scheduler
from schedtop.sources.scheduler.source import LiveSource

HOGS = 5
HELD = "import os; os.sched_setaffinity(0, {1})\nwhile True: pass"


def waits_of(frame: Frame, tids: set[int]) -> Rows:
    return frame.slow_waits[np.isin(frame.slow_waits["tid"], list(tids))]


@pytest.mark.skipif(not DIRECTORY.is_dir(), reason="this kernel has no sched_ext")
def test_a_queue_of_sched_ext_is_no_cpus(front_end: str) -> None:
    hogs = [python("while True: pass") for _ in range(HOGS)]
    with ended(*hogs), LiveSource(500 * NS_PER_MS, NS_PER_MS, front_end) as source:
        with ext_scheduler.loaded(), Collector(source) as beside:
            assert loaded_scheduler() == ext_scheduler.NAME
            time.sleep(4)
            truth = stop_all(hogs)
            time.sleep(1)
        assert not loaded_scheduler()
    frame = beside.frame
    for part in ("queue", "queue_length"):
        assert ext_scheduler.NAME in frame.unavailable[part]
    rows = waits_of(frame, set(truth))
    assert len(rows) > HOGS
    assert (rows["evidence"] == Evidence.SCHED_EXT).all()
    assert (rows["idle_cpu"] == -1).all()
    assert (rows["queue_length"] == -1).all()
    assert not rows["covered_ns"].any()
    assert not rows["stolen_ns"].any()
    assert not rows["blocker_tid"].any()
    assert not np.isin(frame.pairs["victim_tid"][frame.pairs["blocked_ns"] > 0], list(truth)).any()


@pytest.mark.skipif(not DIRECTORY.is_dir(), reason="this kernel has no sched_ext")
def test_what_is_known_without_sched_ext_is_known_again_after_it(front_end: str) -> None:
    hogs = [python(HELD) for _ in range(HOGS)]
    with ended(*hogs), LiveSource(500 * NS_PER_MS, NS_PER_MS, front_end) as source:
        with ext_scheduler.loaded():
            time.sleep(0.5)
        with Collector(source) as after:
            time.sleep(4)
    last = after.frames[-1]
    assert not {"queue", "queue_length"} & last.unavailable.keys()
    rows = waits_of(after.frame, {hog.pid for hog in hogs})
    assert not (rows["evidence"] == Evidence.SCHED_EXT)[-HOGS:].any()
    assert rows["covered_ns"][-HOGS:].any()

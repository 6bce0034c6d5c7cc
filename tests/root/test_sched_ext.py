"""Beside a scheduler of sched_ext nothing is claimed of queues that are no CPU's, and it has its name."""

from __future__ import annotations

import threading
import time

import ext_scheduler
import numpy as np
import pytest
from conftest import Collector
from loads import ended, python, stop_all

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture.events import BEHIND
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.frame import Frame
from schedtop.model.rows import Rows
from schedtop.model.sched_class import SchedClass
from schedtop.model.waits import Evidence
from schedtop.path.paths import find_paths
from schedtop.path.segments import QUEUED
from schedtop.path.targets import Targets
from schedtop.sources.capture.source import CaptureSource
from schedtop.sources.host.sched_ext import DIRECTORY, loaded_scheduler
from schedtop.sources.scheduler.source import LiveSource
from schedtop.verdict.engine import judge

pytestmark = pytest.mark.skipif(not DIRECTORY.is_dir(), reason="this kernel has no sched_ext")

HOGS = 5
HELD = "import os; os.sched_setaffinity(0, {1})\nwhile True: pass"
OF_EXT = "import os; os.sched_setaffinity(0, {0}); os.sched_setscheduler(0, 7, os.sched_param(0))\nwhile True: pass"
"""Of policy SCHED_EXT (include/uapi/linux/sched.h)."""
SLEEPS = "import time\nwhile True: time.sleep(0.05)"


def waits_of(frame: Frame, tids: set[int]) -> Rows:
    return frame.slow_waits[np.isin(frame.slow_waits["tid"], list(tids))]


def test_a_queue_of_sched_ext_is_no_cpus(front_end: str) -> None:
    hogs, sleeper = [python("while True: pass") for _ in range(HOGS)], python(SLEEPS)
    with ended(*hogs, sleeper), LiveSource(500 * NS_PER_MS, NS_PER_MS, front_end) as source:
        with ext_scheduler.loaded(), Collector(source) as beside:
            assert loaded_scheduler() == ExtScheduler(ext_scheduler.NAME, "enabled", takes_all=True)
            time.sleep(4)
            truth = stop_all(hogs)
            time.sleep(1)
        assert not loaded_scheduler()
    frame = beside.frame
    assert frame.sched_ext == ExtScheduler(ext_scheduler.NAME, "enabled", takes_all=True)
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
    assert set(rows["sched_class"].tolist()) == {SchedClass.EXT}
    tasks = frame.tasks[np.isin(frame.tasks["tid"], [*truth, sleeper.pid])]
    assert len(tasks) == HOGS + 1
    assert set(tasks["sched_class"].tolist()) == {SchedClass.EXT}, "also one that sleeps most of the time"
    verdict = judge(History(source.host, beside.frames).view(ViewSettings(window_ns=frame.interval_ns)))
    assert verdict.rule == "sched-ext", verdict
    assert f"waited in the sched_ext scheduler {ext_scheduler.NAME}" in verdict.headline


def test_what_is_known_without_sched_ext_is_known_again_after_it(front_end: str) -> None:
    hogs = [python(HELD) for _ in range(HOGS)]
    with ended(*hogs), LiveSource(500 * NS_PER_MS, NS_PER_MS, front_end) as source:
        with ext_scheduler.loaded():
            time.sleep(0.5)
        with Collector(source) as after:
            time.sleep(4)
    last = after.frames[-1]
    assert not {"queue", "queue_length"} & last.unavailable.keys()
    assert last.sched_ext is None
    rows = waits_of(after.frame, {hog.pid for hog in hogs})
    assert not (rows["evidence"] == Evidence.SCHED_EXT)[-HOGS:].any()
    assert rows["covered_ns"][-HOGS:].any()


def test_beside_a_partial_scheduler_ordinary_tasks_have_their_blockers() -> None:
    """With BTF: tracepoints do not tell which class a task is of."""
    fair, of_ext = ([python(code) for _ in range(2)] for code in (HELD, OF_EXT))
    source = LiveSource(500 * NS_PER_MS, NS_PER_MS, "btf")
    with ended(*fair, *of_ext), source, ext_scheduler.loaded(partial=True), Collector(source) as beside:
        time.sleep(4)
        truths = [set(stop_all(hogs)) for hogs in (fair, of_ext)]
        time.sleep(1)
    assert beside.frame.sched_ext == ExtScheduler(ext_scheduler.NAME, "enabled", takes_all=False)
    ordinary, others = (waits_of(beside.frame, tids) for tids in truths)
    assert len(ordinary) > HOGS
    assert len(others) > HOGS
    assert (others["evidence"] == Evidence.SCHED_EXT).all()
    assert not (ordinary["evidence"] == Evidence.SCHED_EXT).any()
    assert [set(some["sched_class"].tolist()) for some in (ordinary, others)] == [{SchedClass.FAIR}, {SchedClass.EXT}]
    assert np.isin(ordinary["blocker_tid"][:, 0], list(truths[0])).any()


def test_a_path_says_not_what_had_a_cpu_that_its_task_did_not_wait_for() -> None:
    hogs = [python("while True: pass") for _ in range(HOGS)]
    with ended(*hogs), CaptureSource(path_ns=NS_PER_MS) as source, ext_scheduler.loaded():
        taken = source.take(2 * NS_PER_S, threading.Event())
    assert ext_scheduler.NAME in taken.unavailable[BEHIND]
    paths = find_paths(taken, Targets(tids=tuple(hog.pid for hog in hogs)), NS_PER_MS)
    queued = [segment for episode in paths.episodes for segment in episode.segments if segment.state == QUEUED]
    assert len(queued) > HOGS
    assert not any(segment.behind for segment in queued)

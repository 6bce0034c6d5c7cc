"""The lists of what changed in an interval: what is read by them is what a look at all slots gives."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from conftest import NS_PER_MS, Collector
from loads import ended, kernel_numbers, load_share, python, stop_all

from schedtop.sources.scheduler.noted import ChangedSlots
from schedtop.sources.scheduler.programs import Limits
from schedtop.sources.scheduler.source import LiveSource

TASKS = 1024
SLEEPERS = """
import os, sys, time
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if not pid:
        while True: time.sleep(0.03)
    print(pid, flush=True)
time.sleep(1000)
"""
WANDERER = """
import os, time
while True:
    for cpu in (0, 1):
        os.sched_setaffinity(0, {cpu})
        time.sleep(0.003)
"""
COUNTERS = {"timeslices": "timeslices", "voluntary_switches": "voluntary", "involuntary_switches": "involuntary"}


class Watched(ChangedSlots):
    """Keeps how many slots were compared in each interval; `None`: all."""

    compared: list[int | None]

    def among(self, epoch, running_tids):
        found = super().among(epoch, running_tids)
        self.compared = [*getattr(self, "compared", []), None if found is None else len(found)]
        return found


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedtop.sources.scheduler.source.ChangedSlots", Watched)


@contextmanager
def sleepers(count: int) -> Iterator[list[int]]:
    """So many tasks that come and go thirty times a second each."""
    parent = python(SLEEPERS, str(count), start_new_session=True, stdout=subprocess.PIPE)
    try:
        yield [int(parent.stdout.readline()) for _ in range(count)]
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()


def held(source: LiveSource, pids: list[int]) -> np.ndarray:
    """What the kernel side holds of tasks that stand still."""
    slots = source._programs.tasks
    rows = slots.take(np.array(pids) % len(slots))
    assert (rows["tid"] == pids).all(), "another task has the slot"
    return rows


@pytest.mark.beside
@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize(
    ("front_end", "room"),
    [
        ("btf", 64),
        ("tracepoint", 4096),
        *(pytest.param(*each, marks=pytest.mark.stress) for each in (("btf", 4096), ("tracepoint", 64))),
    ],
)
def test_a_thousand_tasks_that_change_at_once_are_exact(front_end: str, room: int) -> None:
    count = max(2 * 64, int(TASKS * load_share()))
    source = LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS, front_end, Limits(changed_slots=room))
    with source, Collector(source) as collector, sleepers(count) as pids:
        time.sleep(1.5)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.6)
        rows = held(source, pids).copy()
        truth = [kernel_numbers(pid).timeslices for pid in pids]
        reported = collector.frame.tasks
        compared = source._changed.compared[1:]
    # Lists of 64 are full, so all slots are compared; in the others there is room.
    assert (None in compared) == (room == 64)
    at = np.searchsorted(reported["tid"], pids)
    assert (reported["tid"][at] == pids).all()
    for name, kernel_name in COUNTERS.items():
        assert (reported[name][at] == rows[kernel_name]).all(), name
    assert (reported["run_ns"][at] == rows["run_ns"]).all()
    assert (reported["run_delay_ns"][at] == rows["run_delay_ns"]).all()
    assert np.abs(reported["timeslices"][at] - truth).max() <= 2


@pytest.mark.usefixtures("watched")
def test_few_active_tasks_are_few_comparisons(front_end: str) -> None:
    source = LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS, front_end)
    with source, Collector(source), sleepers(20):
        time.sleep(1.5)
        compared = source._changed.compared
    assert compared[0] is None
    assert min(count for count in compared if count) < len(source._programs.tasks) // 16


@pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason="needs the CPUs 0 and 1")
def test_a_task_that_changes_cpus_is_exact(front_end: str) -> None:
    source = LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS, front_end)
    with source, Collector(source) as collector:
        wanderer = python(WANDERER)
        with ended(wanderer):
            time.sleep(1.5)
            truth = stop_all([wanderer])[wanderer.pid]
            time.sleep(0.5)
            row = held(source, [wanderer.pid])[0].copy()
            found = collector.frame.tasks
    found = found[found["tid"] == wanderer.pid]
    assert len(found) == 1
    assert found[0]["migrations"] > 10
    for name, kernel_name in {**COUNTERS, "migrations": "migrations", "run_ns": "run_ns"}.items():
        assert found[0][name] == row[kernel_name], name
    assert abs(int(found[0]["timeslices"]) - truth.timeslices) <= 2


def test_an_unused_overflow_map_is_not_read_and_a_used_one_is(front_end: str) -> None:
    """With 16 slots nearly every task is in the overflow map; with all of them, hardly any."""
    source = LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS, front_end, Limits(task_slots=16))
    with source, Collector(source) as collector, sleepers(40) as pids:
        time.sleep(1.2)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.6)
        inserted = int(source._programs.cpus["overflowed"].sum())
        reported = collector.frame.tasks
        truth = [kernel_numbers(pid).timeslices for pid in pids]
    assert inserted >= 24
    at = np.searchsorted(reported["tid"], pids)
    assert (reported["tid"][at] == pids).all()
    assert np.abs(reported["timeslices"][at] - truth).max() <= 2

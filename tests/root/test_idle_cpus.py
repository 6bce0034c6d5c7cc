"""Waits beside an idle CPU that the scheduler could not have used: real tasks, real kernels."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bound_task import ROUNDS
from conftest import NS_PER_MS, Collector, mostly_btf

from schedtop.model.rows import Rows
from schedtop.model.waits import CAUSES, EVIDENCE, Distance
from schedtop.sources.host.isolation import read_isolation, unified_hierarchies
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.scheduler import source as live

Collect = Callable[..., AbstractContextManager[Collector]]
BOUND_TASK = Path(__file__).with_name("bound_task.py")
SPIN = "while :; do :; done"

front_end = mostly_btf


@dataclass(frozen=True, slots=True)
class Chosen:
    """What bound the task of a slow wait as the source hands it on, and the idle CPU that was chosen (-1: none)."""

    tid: int
    bonds: int
    idle_cpu: int


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[Chosen]:
    """That of all slow waits, besides what comes out of it."""
    seen: list[Chosen] = []
    choose = live.note_idle_cpus

    def note(rows: Rows, bonds: Any, *more: Any) -> None:
        choose(rows, bonds, *more)
        seen.extend(map(Chosen, rows["tid"].tolist(), bonds.tolist(), rows["idle_cpu"].tolist()))

    monkeypatch.setattr(live, "note_idle_cpus", note)
    return seen


def slow_waits(collector: Collector) -> Rows:
    return np.concatenate([frame.slow_waits for frame in collector.frames])


@contextmanager
def hogs(cpu: int) -> Iterator[set[int]]:
    """Two busy loops that may use one CPU alone."""
    started = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", SPIN]) for _ in range(2)]
    try:
        yield {each.pid for each in started}
    finally:
        for each in started:
            each.kill()
            each.wait()


@pytest.mark.skipif(platform.machine() != "x86_64" or os.cpu_count() == 1, reason="needs x86-64 and two CPUs")
def test_a_task_with_migration_disabled_is_no_failure_of_the_balancer(
    front_end: str, collect: Collect, chosen: list[Chosen]
) -> None:
    command = [sys.executable, str(BOUND_TASK)]
    with (
        collect(front_end, interval_ns=200 * NS_PER_MS, threshold_ns=5 * NS_PER_MS),
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as task,
    ):
        assert task.stdin
        assert task.stdout
        if task.stdout.readline() != "ready\n":
            pytest.skip("this kernel runs no sleepable program for us, or has no userfaultfd")
        print(file=task.stdin, flush=True)
        assert task.stdout.readline() == "done\n"
    # Of its other waits, behind others on this machine, nothing is known here.
    bound = [wait for wait in chosen if wait.tid == task.pid and wait.bonds == SCHEDULER.BOUND_TO_CPU]
    assert len(bound) >= 0.6 * ROUNDS, chosen
    assert {wait.idle_cpu for wait in bound} == {-1}


@pytest.mark.skipif(os.cpu_count() == 1, reason="needs two CPUs")
def test_tasks_that_a_mask_binds_are_bound_by_nothing_else(
    front_end: str, collect: Collect, chosen: list[Chosen]
) -> None:
    with collect(front_end, threshold_ns=2 * NS_PER_MS) as collector, hogs(1) as tids:
        time.sleep(1.5)
    rows = slow_waits(collector)
    rows = rows[np.isin(rows["tid"], list(tids))]
    assert len(rows) >= 10
    assert {wait.bonds for wait in chosen if wait.tid in tids} == {0}
    idle = rows[rows["cause"] == CAUSES.index("idle-cpu")]
    # Through tracepoints the mask is read later: of the last ones after the tasks have ended.
    ended = set() if front_end == "btf" else {""}
    assert {EVIDENCE[number] for number in idle["evidence"]} <= {"pinned"} | ended
    assert np.all(idle["idle_distance"] != Distance.NONE)


@contextmanager
def isolated_partition(cpu: int) -> Iterator[None]:
    """The CPU is in a cpuset partition of type `isolated`, and in no other group."""
    roots = unified_hierarchies(Path("/proc/self/mounts").read_text())
    if not roots or not (roots[0] / "cpuset.cpus.isolated").exists():
        pytest.skip("no cgroup v2 that tells of isolated partitions (kernel 6.7 and later) has the cpuset controller")
    (roots[0] / "cgroup.subtree_control").write_text("+cpuset")
    group = roots[0] / f"schedtop-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpuset.cpus").write_text(str(cpu))
        with suppress(FileNotFoundError):
            (group / "cpuset.cpus.exclusive").write_text(str(cpu))
        (group / "cpuset.cpus.partition").write_text("isolated")
        if cpu not in read_isolation(hierarchies=roots).isolated:
            pytest.skip(f"the kernel isolates no CPU: {(group / 'cpuset.cpus.partition').read_text().strip()}")
        yield
    finally:
        with suppress(OSError):
            (group / "cpuset.cpus.partition").write_text("member")
        group.rmdir()


@pytest.mark.skipif(os.cpu_count() == 1, reason="needs two CPUs")
def test_an_isolated_cpu_is_no_idle_cpu(front_end: str, collect: Collect) -> None:
    with isolated_partition(1):
        assert_never_idle(1, front_end, collect)


@pytest.mark.skipif(os.cpu_count() == 1, reason="needs two CPUs")
def test_a_cpu_that_the_command_line_isolates_is_no_idle_cpu(front_end: str, collect: Collect) -> None:
    if 1 not in read_isolation().isolated:
        pytest.skip("the kernel was not told isolcpus=1: make test-kernels ARGS='--append isolcpus=1'")
    assert_never_idle(1, front_end, collect)


def assert_never_idle(cpu: int, front_end: str, collect: Collect) -> None:
    """Two loops wait for CPU 0, and the other CPU, which nobody uses, is never said to be an idle one."""
    with collect(front_end, threshold_ns=2 * NS_PER_MS) as collector, hogs(0) as tids:
        time.sleep(2)
    rows = slow_waits(collector)
    rows = rows[np.isin(rows["tid"], list(tids))]
    assert len(rows) >= 10
    assert not np.any(rows["idle_cpu"] == cpu)

"""Run queues whose length is known by construction: so many busy tasks on one CPU, of which one runs."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from loads import ended, python
from scenarios import cgroup

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.frame import Frame, merge
from schedtop.sources.kernel import front_end, loader
from schedtop.sources.scheduler.source import LiveSource

CPU = max(os.sched_getaffinity(0))
SPAN_NS = NS_PER_S
TRIES = 2
MOST = 0.7
"""In at least this share of the samples the queue is just as long as it should be, if the machine is ours."""

MOST_OUTSIDERS = 0.2
"""So many others may wait on average; with more of them a test says so instead."""

BUSY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
if sys.argv[2] == "fifo": os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
else: os.setpriority(os.PRIO_PROCESS, 0, -15)
if sys.argv[3]: open(sys.argv[3], "w").write("0")
print(flush=True)
sys.stdin.readline()
end = time.monotonic() + float(sys.argv[4])
while time.monotonic() < end: pass
"""

LIFE_S = 12
"""So long they are busy at most: what a real-time task holds up, in the kernel too, goes on then."""

Processes = Sequence[subprocess.Popen[bytes]]


def busy(count: int, policy: str = "fair", group: Path | None = None) -> list[subprocess.Popen[bytes]]:
    """Tasks that never sleep, all on one CPU."""
    procs = str(group / "cgroup.procs") if group else ""
    words = (str(CPU), policy, procs, str(LIFE_S))
    return [python(BUSY, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]


@contextmanager
def at_once() -> Iterator[None]:
    """This thread gets a CPU as soon as it wants one."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def running(processes: Processes) -> Iterator[None]:
    """From when all of them are busy until the end of the block.

    None begins before all have started: behind a busy real-time task the others would need a minute for that.
    """
    with ended(*processes):
        for process in processes:
            assert process.stdout
            process.stdout.readline()
        for process in processes:
            assert process.stdin
            process.stdin.close()
        yield


def sampled(
    start: Callable[[], Processes] = tuple, front_end: str = "auto", threshold_ns: int = 5 * NS_PER_MS
) -> Frame:
    """A Frame with samples of the run queues, all of it while the processes run."""
    with LiveSource(SPAN_NS, threshold_ns, front_end) as source, running(start()):
        source.set_sampling(True)
        return next(source.frames(threading.Event()))


def outsiders(frame: Frame, pids: Sequence[int]) -> float:
    """How many other tasks waited, on average, on whatever CPU: they may have come from there."""
    others = frame.tasks[~np.isin(frame.tasks["tid"], pids)]
    return int(others["run_delay_ns"].sum()) / frame.interval_ns


def undisturbed(start: Callable[[], Processes], front_end: str, threshold_ns: int) -> tuple[Frame, list[int]]:
    """A Frame in which the CPU was theirs, or almost (else the last of TRIES), and who they were."""
    pids: list[int] = []

    def start_and_note() -> Processes:
        processes = start()
        pids[:] = [process.pid for process in processes]
        return processes

    for _ in range(TRIES):
        frame = sampled(start_and_note, front_end, threshold_ns)
        if outsiders(frame, pids) < MOST_OUTSIDERS:
            break
    return frame, pids


def share(frame: Frame, kind: str, length: int) -> float:
    """The share of the samples of the CPU that found so many tasks waiting."""
    assert frame.queue is not None
    counts = frame.queue.lengths(kind, [CPU]).counts
    return float(counts[length] / counts.sum()) if length < len(counts) else 0.0


def test_four_busy_tasks_make_a_queue_of_three_exact_in_a_slow_wait(front_end: str) -> None:
    frame, pids = undisturbed(lambda: busy(4), front_end, 2 * NS_PER_MS)
    waits = frame.slow_waits[np.isin(frame.slow_waits["tid"], pids)]
    assert len(waits) > 20
    # Others can only make it longer.
    for kind in ("all", "fair"):
        assert sum(share(frame, kind, length) for length in range(3)) < 0.05
    # One of them got the CPU, and the three others, with the one that had to leave it, go on waiting.
    for name in ("queue_length", "fair_queue_length"):
        assert (waits[name] >= 3).mean() > 0.95
    assert frame.cpus.queue_length[CPU] >= 3, "the gauge counts the same"
    if (others := outsiders(frame, pids)) > MOST_OUTSIDERS:
        pytest.skip(f"not longer than it should be? Others wait on this machine, too: {others:.1f} on average")
    for kind in ("all", "fair"):
        assert share(frame, kind, 3) > MOST
    for name in ("queue_length", "fair_queue_length"):
        assert (waits[name] == 3).mean() > MOST


def test_real_time_tasks_are_in_the_whole_queue_only() -> None:
    table = sampled(lambda: [*busy(2), *busy(2, "fifo")]).queue
    assert table is not None
    # One of the real-time tasks runs, so that one of them and both of the others wait. For a twentieth of the time the
    # kernel lets the others run all the same: then one of those and both real-time tasks wait.
    whole, fair = (float(table.means(kind)[CPU]) for kind in ("all", "fair"))
    assert 0.8 < whole - fair < 1.3
    assert fair > 1.8


def test_while_a_real_time_task_runs_every_fair_one_waits() -> None:
    table = sampled(lambda: [*busy(3), *busy(1, "fifo")]).queue
    assert table is not None
    whole, fair = (float(table.means(kind)[CPU]) for kind in ("all", "fair"))
    assert abs(whole - fair) < 0.3
    assert fair > 2.8


def test_tasks_in_nested_cgroups_are_counted_one_by_one() -> None:
    with ExitStack() as stack:
        outer = stack.enter_context(cgroup("queue"))
        inner = stack.enter_context(cgroup("inner", parent=outer))
        frame = sampled(lambda: [*busy(3, group=inner), *busy(1, group=outer)])
    # The queue of the root group holds one group only.
    for kind in ("all", "fair"):
        assert sum(share(frame, kind, length) for length in range(3)) < 0.05


def test_idle_cpu_has_an_empty_queue() -> None:
    frame = sampled()
    assert frame.queue is not None
    for cpu in frame.cpus.ids:
        idle = int(frame.cpus.column("idle_ns")[cpu]) / frame.interval_ns
        waiting = frame.queue.lengths("all", [cpu]).waiting_ratio
        assert waiting is not None
        assert waiting <= 1 - idle + 0.15, "who waits finds the CPU busy"


def test_samples_agree_with_the_exact_run_delay() -> None:
    """Little's law: how many wait on average is the sum of all waits over the time, whatever else runs here."""
    frame = sampled(lambda: busy(5))
    assert frame.queue is not None
    # Those that came and went are among the tasks.
    exact = int(frame.tasks["run_delay_ns"].sum()) / frame.interval_ns
    assert exact > 3
    # The edges of the interval, and what a hundred samples of a random thing are off.
    assert float(frame.queue.means("all").sum()) == pytest.approx(exact, rel=0.3, abs=0.8)


def test_waiting_and_running_tasks_are_those_that_the_kernel_counts() -> None:
    """`procs_running` of /proc/stat: the sum of `nr_running` of all CPUs, the one that reads it included."""
    counted: list[int] = []
    frames: list[Frame] = []
    # A reader that had to wait itself would see the shorter queues.
    with LiveSource(100 * NS_PER_MS, 5 * NS_PER_MS) as source, running(busy(6)), at_once():
        source.set_sampling(True)
        for frame in source.frames(threading.Event()):
            frames.append(frame)
            for _ in range(5):
                counted.append(procs_running())
                time.sleep(0.01)
            if len(frames) == 15:
                break
    whole = merge(frames)
    assert whole.queue is not None
    busy_cpus = len(whole.cpus.ids) - whole.cpus.column("idle_ns").sum() / whole.interval_ns
    here = float(whole.queue.means("all").sum()) + busy_cpus
    # It is read at other moments.
    assert here == pytest.approx(float(np.mean(counted)) - 1, rel=0.5, abs=1.5)


def procs_running() -> int:
    lines = Path("/proc/stat").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("procs_running")).split()[1])


def test_the_clocks_are_held_only_while_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    attach, clocks = loader.calls.attach_clock, set[int]()

    def attach_and_note(program: int, hz: int, cpu: int) -> int:
        clocks.add(fd := attach(program, hz, cpu))
        return fd

    def held() -> int:
        return sum("perf_event" in link_of(fd) for fd in clocks)

    monkeypatch.setattr(loader.calls, "attach_clock", attach_and_note)
    with LiveSource(100 * NS_PER_MS, 5 * NS_PER_MS) as source:
        frames = source.frames(threading.Event())
        assert next(frames).queue is None
        assert not clocks
        source.set_sampling(True)
        table = [next(frames) for _ in range(3)][-1].queue
        assert table is not None
        assert held() == len(os.sched_getaffinity(0)) == (table.expected > 0).sum()
        source.set_sampling(False)
        assert [next(frames).queue for _ in range(3)][-1] is None
        assert not held(), "detached"
        source.set_sampling(True)
        assert [next(frames).queue for _ in range(3)][-1] is not None, "attached again"
        assert held()
    assert not held()


def link_of(fd: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except FileNotFoundError:
        return ""


def test_queue_lengths_without_btf_are_unknown_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_end, "KERNEL_BTF", Path("/nowhere"))
    frame = sampled(lambda: busy(3), "tracepoint", 2 * NS_PER_MS)
    assert frame.queue is None
    assert "BTF" in frame.unavailable["queue"]
    assert len(frame.slow_waits)
    assert (frame.slow_waits["queue_length"] == -1).all()
    assert frame.cpus.queue_length[CPU] >= 2, "the gauge does not need it"

"""Run delay is the kernel's: to the nanosecond where its accounting can be read, and close to it elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import NS_PER_MS, Collector
from loads import KernelNumbers, ended, kernel_numbers, load_share, python, stop_all, stopped_whole_life

from schedtop.model.frame import Frame
from schedtop.model.waits import Beginning
from schedtop.sources.kernel.front_end import BY_CLOCK, choose_front_end
from schedtop.sources.scheduler.source import LiveSource

CPU = 1
CHILDREN = 60
_SCHED_DEADLINE = 6
TIMES = 6

_FORKS = f"""
import os, time
os.sched_setaffinity(0, {{{CPU}}})
for _ in range({CHILDREN}):
    if not os.fork():
        end = time.thread_time_ns() + 3_000_000
        while time.thread_time_ns() < end: pass
        os.kill(os.getpid(), 19)
        os._exit(0)
time.sleep(90)
"""
_TIMER = f"""
import os, time
os.sched_setaffinity(0, {{{CPU}}})
for _ in range(1500): time.sleep(0.0005)
os.kill(os.getpid(), 19)
"""


@pytest.fixture
def by_account() -> str:
    """The name of the front end that measures by the kernel's accounting."""
    if not any(flag.startswith("-DRQ_CLOCK_OFFSET") for flag in choose_front_end().flags):
        pytest.skip("this kernel's accounting of waits cannot be read at a switch")
    return "btf"


def stopped(pids: list[int]) -> dict[int, KernelNumbers]:
    """Waits for tasks that stop themselves; the kernel's numbers of each."""
    for pid in pids:
        while Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T":
            time.sleep(0.01)
    time.sleep(0.05)  # the last switch out comes a little after the state changes
    return {pid: kernel_numbers(pid) for pid in pids}


@contextmanager
def forked() -> Iterator[dict[int, KernelNumbers]]:
    """Children forked onto one CPU that work one after the other and stop; they stand still until the block ends."""
    parent = python(_FORKS)
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    pids: list[int] = []
    with ended(parent):
        try:
            while len(pids) < CHILDREN and parent.poll() is None:
                time.sleep(0.01)
                pids = [int(pid) for pid in children.read_text().split()]
            yield stopped(pids)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)


def run_delays(frame: Frame, truth: dict[int, KernelNumbers]) -> dict[int, int]:
    """The run delay of each of these tasks by schedtop."""
    return {int(row["tid"]): int(row["run_delay_ns"]) for row in frame.tasks if int(row["tid"]) in truth}


@pytest.mark.parametrize("front_end", ["btf", BY_CLOCK, "tracepoint"])
def test_forked_children_wait_from_their_fork_on(collect, front_end: str) -> None:
    """They were counted from the first preemption on, and 7 % of their run delay was missing."""
    with ExitStack() as stack, collect(front_end) as collector:
        truth = stack.enter_context(forked())
    delays = run_delays(collector.frame, truth)
    assert delays.keys() == truth.keys()
    kernel = sum(numbers.run_delay_ns for numbers in truth.values())
    assert kernel > CHILDREN * 1_000_000 * load_share()
    assert sum(delays.values()) == pytest.approx(kernel, rel=0.02)


def sleepers(stack: ExitStack) -> dict[int, KernelNumbers]:
    timers = [python(_TIMER) for _ in range(2)]
    stack.enter_context(ended(*timers))
    return stopped([timer.pid for timer in timers])


def movers(stack: ExitStack) -> dict[int, KernelNumbers]:
    """Three tasks that may run on every CPU, beside a loop on one."""
    hogs = [python("while True: pass") for _ in range(3)]
    pinned = subprocess.Popen(["taskset", "-c", str(CPU), "sh", "-c", "while :; do :; done"])
    stack.enter_context(ended(*hogs, pinned))
    time.sleep(1.5)
    return stop_all(hogs)


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(lambda stack: stack.enter_context(stopped_whole_life(2, CPU, 3)), id="loops"),
        pytest.param(sleepers, id="sleepers"),
        pytest.param(movers, id="movers"),
        pytest.param(lambda stack: stack.enter_context(forked()), id="forks"),
    ],
)
def test_run_delay_over_a_whole_life_is_schedstats(collect, by_account: str, load) -> None:
    """By our own clock sleepers had up to 85 % more, because the kernel counts from when its clock was last updated."""
    with ExitStack() as stack, collect(by_account) as collector:
        truth = load(stack)
    delays = run_delays(collector.frame, truth)
    assert delays == {tid: numbers.run_delay_ns for tid, numbers in truth.items()}
    assert all(delays.values())


_SLEPT_NS = 100_000_000
_NAPS = f"""
import os, random, sys, time
def run_delay(): return int(open("/proc/self/schedstat").read().split()[1])
while True:
    os.sched_setaffinity(0, {{{CPU}}})
    end = time.monotonic_ns() + random.randrange(10_000_000, 30_000_000)
    while time.monotonic_ns() < end: pass
    before = run_delay()
    print("sleeps", flush=True)
    time.sleep({_SLEPT_NS / 1e9})
    print(run_delay() - before, flush=True)
"""


def counted_sleeps(sleeper: subprocess.Popen[bytes]) -> list[int]:
    """Has it moved as soon as it sleeps, until the kernel has counted two such sleeps as run delay; what it counted."""
    counted: list[int] = []
    assert sleeper.stdout
    for _ in range(150):
        assert sleeper.stdout.readline() == b"sleeps\n"
        time.sleep(0.0001)  # it is on its way
        os.sched_setaffinity(sleeper.pid, {0})
        run_delay_ns = int(sleeper.stdout.readline())
        if run_delay_ns > 0.8 * _SLEPT_NS:
            counted.append(run_delay_ns)
        if len(counted) == 2:
            break
    return counted


def test_a_sleep_that_the_kernel_counts_as_run_delay_is_no_wait(collect, by_account: str) -> None:
    """A shell in `sleep 4` was an alarm: `Tasks wait up to 4.00 s for each other` (docs/kernels-found.md)."""
    with ExitStack() as stack, collect(by_account) as collector:
        hog = python(f"import os; os.sched_setaffinity(0, {{{CPU}}})\nwhile True: pass")
        sleeper = python(_NAPS, stdout=subprocess.PIPE)
        stack.enter_context(ended(hog, sleeper))
        counted = counted_sleeps(sleeper)
        truth = stop_all([sleeper])
        if not counted:
            pytest.skip("this kernel counts no sleep as run delay")
    ours = run_delays(collector.frame, truth)[sleeper.pid]
    left_out = truth[sleeper.pid].run_delay_ns - ours
    assert 0.8 * _SLEPT_NS * len(counted) < left_out <= sum(counted)
    assert ours > 0


_PERIODIC = """
import os, time
while True:
    end = time.thread_time_ns() + 300_000
    while time.thread_time_ns() < end: pass
    os.sched_yield()
"""


@pytest.mark.parametrize("front_end", ["btf", BY_CLOCK])
def test_a_deadline_task_that_ends_its_period_waits_for_nothing(collect, front_end: str) -> None:
    """Its yield was a slow wait of 18 ms in each 20, with the advice to block on a futex."""
    period = ["--sched-runtime", "2000000", "--sched-deadline", "20000000", "--sched-period", "20000000"]
    with collect(front_end) as collector:
        command = ["chrt", "-d", *period, "0", "/usr/bin/python3", "-c", _PERIODIC]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        with ended(process):
            time.sleep(2)
            if process.poll() is not None:
                assert process.stderr
                pytest.skip(f"no deadline tasks here: {process.stderr.read()}")
            if os.sched_getscheduler(process.pid) != _SCHED_DEADLINE:
                pytest.skip("chrt made no deadline task")
            before = kernel_numbers(process.pid)
    frame = collector.frame
    waits = frame.slow_waits[frame.slow_waits["tid"] == process.pid]
    # Until it is a deadline task, it waits like any other.
    assert not (waits["kind"] == Beginning.YIELD).any()
    mine = frame.tasks[frame.tasks["tid"] == process.pid]
    assert before.timeslices > 50
    assert int(mine["timeslices"].sum()) >= before.timeslices
    assert int(mine["run_delay_ns"].sum()) < before.run_delay_ns / 2


_SLEEPS = f"""
import os, sys, time
os.sched_setaffinity(0, {{{CPU}}})
while True:
    for _ in range(int(sys.argv[1])): pass
    time.sleep(float(sys.argv[2]))
"""


def often_detached(front_end: str) -> Iterator[tuple[np.void, KernelNumbers]]:
    """Hogs and sleepers over their whole lives, while the program at sched_switch is not there half of the time.

    Some kernels keep switches from the tracepoint (docs/kernels-found.md): so any kernel does. Gives what our kernel
    side has counted of each task, and the kernel: a Frame has in it for how long a task seemed to wait or run when it
    was read.
    """
    source = LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS, front_end)
    with ExitStack() as stack, source, Collector(source) as collector:
        tasks = [python(f"import os; os.sched_setaffinity(0, {{{CPU}}})\nwhile True: pass") for _ in range(2)]
        tasks += [python(_SLEEPS, loops, seconds) for loops, seconds in (("1000", "0.0001"), ("100000", "0.01"))]
        stack.enter_context(ended(*tasks))
        time.sleep(0.3)
        for _ in range(TIMES):
            source._programs._detach("btf_sched_switch")
            time.sleep(0.15)
            source._programs._attach("btf_sched_switch")
            time.sleep(0.15)
        truth = stop_all(tasks)
        rows = np.asarray(source._programs.tasks)
        slots = {int(row["tid"]): row.copy() for row in rows[np.isin(rows["tid"], list(truth))]}
    assert slots.keys() == truth.keys(), "another task has the slot"
    assert collector.frame.loss.waits_unseen >= TIMES
    for tid, numbers in truth.items():
        yield slots[tid], numbers


def test_waits_that_were_not_seen_are_in_run_delay_all_the_same(by_account: str) -> None:
    for slot, kernel in often_detached(by_account):
        assert int(slot["run_delay_ns"]) == kernel.run_delay_ns
        assert int(slot["timeslices"]) == kernel.timeslices


@pytest.mark.parametrize("front_end", ["btf", BY_CLOCK])
def test_slices_that_were_not_seen_are_in_run_time_all_the_same(front_end: str) -> None:
    """They were lost, or were another task's: 2 of 4 seconds."""
    for slot, kernel in often_detached(front_end):
        # Of a wakeup the kernel has the way to the switch in it, where it does not look at the clock again.
        less_ns = 10_000 * kernel.timeslices
        # Ours has in it what the hypervisor and interrupts took.
        assert 0.999 * kernel.run_ns - less_ns <= int(slot["run_ns"]) <= 1.05 * kernel.run_ns


_READS = f"""
import os, sys
os.sched_setaffinity(0, {{{CPU}}})
while os.read(0, 1): pass
"""


def test_a_task_that_was_not_seen_to_run_does_not_starve() -> None:
    """A thread whose switches the kernel hides was an alarm, `has been waiting for 18.3 s and still does not run`."""
    source = LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS)
    with ExitStack() as stack, source, Collector(source) as collector:
        reader = subprocess.Popen(["/usr/bin/python3", "-c", _READS], stdin=subprocess.PIPE)
        stack.enter_context(ended(reader))
        assert reader.stdin
        pipe = reader.stdin.fileno()
        time.sleep(0.5)
        os.write(pipe, b"a")
        time.sleep(0.5)
        source._programs._detach("btf_sched_switch")
        os.write(pipe, b"b")
        time.sleep(0.2)
        source._programs._attach("btf_sched_switch")
        time.sleep(1.5)
        slots = np.asarray(source._programs.tasks)
        (slot,) = slots[slots["tid"] == reader.pid]
        frames = [frame for frame in collector.frames if frame.end_ns > int(slot["wait_start_ns"]) + 500 * NS_PER_MS]
    assert slot["wait_start_ns"] > 0, "its wait goes on by what the kernel side saw"
    assert len(frames) > 2
    for frame in frames:
        assert not frame.tasks["waiting_ns"][frame.tasks["tid"] == reader.pid].any()
        assert not frame.tasks["run_delay_ns"][frame.tasks["tid"] == reader.pid].any()

"""Tasks that two CPUs see at once, and slots that are taken while their tasks still have something to do."""

from __future__ import annotations

import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from conftest import NS_PER_MS, Collector
from loads import KernelNumbers, ended, kernel_numbers, python
from test_limits import CPU, collector_with, update_element

from schedtop.sources.kernel import bpf_syscall
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.scheduler.programs import Limits

_ON_CPU = f"import os, sys, time\nos.sched_setaffinity(0, {{{CPU}}})\n"
_REAL_TIME = (
    _ON_CPU
    + """
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print(flush=True)
sys.stdin.read(1)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end: pass
"""
)
_PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}


def told(process: subprocess.Popen[bytes]) -> None:
    """Goes on with what it waits for."""
    assert process.stdin
    process.stdin.write(b"x")


def ready(process: subprocess.Popen[bytes]) -> None:
    """Waits for its first line; then it waits for us."""
    assert process.stdout
    process.stdout.readline()
    time.sleep(0.05)


@pytest.mark.parametrize("whose", ["its own", "another's"])
def test_a_claim_that_fails_leaves_no_eternal_waiter(any_front_end: str, whose: str) -> None:
    """As if the CPU that wakes a task, and the one that it leaves, saw it for the first time at once."""
    with ExitStack() as stack, collector_with(Limits(), any_front_end) as source, Collector(source) as collector:
        sleeper = python(_ON_CPU + "print(flush=True)\nsys.stdin.read(1)\ntime.sleep(60)", **_PIPES)
        hog = python(_REAL_TIME, "0.5", **_PIPES)
        stack.enter_context(ended(sleeper, hog))
        ready(sleeper)
        ready(hog)
        programs, pid = source._programs, sleeper.pid
        tasks, claims = programs._fds["tasks"], programs._fds["claims"]
        index = (pid % len(programs.tasks)).to_bytes(4, "little")
        row = programs.tasks.take(pid % len(programs.tasks)).copy()
        assert row["tid"] == pid
        # Not seen yet, and its slot in the hands of another CPU.
        update_element(tasks, index, bytes(row.nbytes))
        claim = np.array([pid if whose == "its own" else pid + 1, int(programs.config["epoch"][0])], "<u4")
        update_element(claims, index, claim.tobytes()[: programs._compiled.maps["claims"].dtype.itemsize])
        told(hog)
        time.sleep(0.05)
        told(sleeper)
        time.sleep(0.1)
        # That one is done, while the task waits.
        update_element(tasks, index, row.tobytes())
        bpf_syscall.delete_element(claims, index)
        hog.wait()
        seen = len(collector.frames)
        while len(collector.frames) < seen + 5:
            time.sleep(0.05)
        left = [int(tid) for tid in programs.overflow()["tid"]]
    for frame in collector.frames[-2:]:
        mine = frame.tasks[frame.tasks["tid"] == pid]
        assert not mine["waiting_ns"].any()
    assert pid not in left
    if whose == "its own":
        assert collector.frame.loss.tasks_untracked


def test_an_exiting_task_keeps_its_slot(any_front_end: str) -> None:
    """Since 6.16 its memory goes after sched_process_exit; what it waited meanwhile was lost with the slot."""
    last_pid = Path("/proc/sys/kernel/ns_last_pid")
    if not last_pid.exists():
        pytest.skip("this kernel cannot be asked for a certain pid (no ns_last_pid)")
    limits = Limits(task_slots=1024)
    code = _ON_CPU + "memory = b'x' * (1 << 30)\nprint(flush=True)\nsys.stdin.read(1)\nos._exit(0)"
    with ExitStack() as stack, collector_with(limits, any_front_end) as source, Collector(source) as collector:
        dying = python(code, **_PIPES)
        hog = python(_REAL_TIME, "0.8", **_PIPES)
        stack.enter_context(ended(dying, hog))
        ready(dying)
        ready(hog)
        programs, pid = source._programs, dying.pid
        place = pid % len(programs.tasks)
        slot = programs.tasks.take(place)
        assert slot["tid"] == pid, "another task has the slot"
        told(dying)
        while not programs.tasks.take(place)["flags"] & SCHEDULER.TASK_EXITING:
            pass
        told(hog)
        # Longer than two intervals: then a task of the same slot comes.
        time.sleep(0.6)
        highest = int(Path("/proc/sys/kernel/pid_max").read_text())
        last_pid.write_text(str((pid + 1024 if pid + 1024 < highest else pid - 1024) - 1))
        other = python("import time\ntime.sleep(60)")
        stack.enter_context(ended(other))
        hog.wait()
        while Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
            time.sleep(0.01)
        time.sleep(0.05)
        truth = kernel_numbers(pid)
    frame = collector.frame
    rows = frame.tasks[frame.tasks["tid"] == pid]
    assert not frame.loss.tasks_untracked
    if truth.run_delay_ns < 500 * NS_PER_MS:
        pytest.skip("before 6.16 its memory has gone before")
    assert rows["run_delay_ns"].sum() == pytest.approx(truth.run_delay_ns, rel=0.03)
    assert abs(int(rows["timeslices"].sum()) - truth.timeslices) <= 2


_EXEC_BY_A_THREAD = """
import os, sys, threading, time
memory = b"x" * (300 << 20)  # given back in the middle of the exec, which takes a while
def replace():
    os.sched_setaffinity(0, {1})
    for _ in range(20): time.sleep(0.0001)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    print(threading.get_native_id(), flush=True)
    os.read(0, 1)
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; print(flush=True); time.sleep(60)"])
threading.Thread(target=replace).start()
time.sleep(60)
"""
_TICKS = "import os, time\nos.sched_setaffinity(0, {1})\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))\n"
_TICKS += "while True: time.sleep(0.02)"


def test_a_thread_that_is_preempted_in_its_exec_keeps_its_run_time(any_front_end: str) -> None:
    """It has the leader's tid long before sched_process_exec: its slice was lost, and false switches were counted."""
    times = 9
    with ExitStack() as stack, collector_with(Limits(), any_front_end) as source, Collector(source) as collector:
        stack.enter_context(ended(python(_TICKS)))
        truth: dict[tuple[int, int], tuple[KernelNumbers, KernelNumbers]] = {}
        for _ in range(times):
            process = python(_EXEC_BY_A_THREAD, **_PIPES)
            stack.enter_context(ended(process))
            assert process.stdout
            tid = int(process.stdout.readline())
            time.sleep(0.05)
            leader = kernel_numbers(process.pid)
            told(process)
            ready(process)
            truth[process.pid, tid] = leader, kernel_numbers(process.pid)
    frame = collector.frame
    whole = 0
    for tids, (leader, thread) in truth.items():
        rows = frame.tasks[np.isin(frame.tasks["tid"], tids)]
        assert abs(int(rows["timeslices"].sum()) - leader.timeslices - thread.timeslices) <= 4
        # Ours includes what the hypervisor took, and of a wakeup not the way to the switch, which the kernel has in it.
        kernel_ns = leader.run_ns + thread.run_ns
        whole += rows["run_ns"].sum() > 0.995 * kernel_ns - 10_000 * thread.timeslices
    # Of a slice whose beginning the kernel hides the tracepoint tells nothing.
    assert whole == times or (any_front_end == "tracepoint" and frame.loss.switches_unseen and whole >= times // 3)

"""Tasks that come and go: no stale and no mixed-up record."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from loads import ended, load_share, python

from schedtop.base.units import NS_PER_S

pytestmark = pytest.mark.beside

NAME = f"short-{os.getpid()}".encode()
"""Several of these tests run at once."""
_SET_NAME = f"open('/proc/self/comm', 'w').write('{NAME.decode()}')\n"


@pytest.mark.parametrize(
    ("front_end", "most"),
    [("btf", 4_000), ("tracepoint", 2_000), pytest.param("btf", 20_000, marks=pytest.mark.stress)],
)
def test_thousands_of_short_processes_are_all_counted(collect, front_end: str, most: int) -> None:
    count = round(most * load_share())
    code = (
        "import os\n"
        + _SET_NAME
        + (f"for _ in range({count}):\n    pid = os.fork()\n    if not pid: os._exit(0)\n    os.waitpid(pid, 0)\n")
    )
    with collect(front_end) as collector:
        parent = python(code)
        assert parent.wait() == 0
    frame = collector.frame
    children = frame.tasks[(frame.tasks["comm"] == NAME)]
    assert not frame.loss.tasks_untracked
    assert len(children) == pytest.approx(count + 1 - frame.loss.tasks_evicted, abs=1)
    assert frame.loss.tasks_evicted < 20
    assert (children["timeslices"] > 0).all()
    # A slice whose beginning the kernel did not report has no known length.
    assert np.count_nonzero(children["run_ns"] == 0) <= frame.loss.switches_unseen
    # Nothing that ended in an earlier Frame shows up again in a later one.
    lives: dict[tuple[int, int], list[int]] = {}
    for number, each in enumerate(collector.frames):
        for row in each.tasks[each.tasks["comm"] == NAME]:
            if row["tid"] != parent.pid:
                lives.setdefault((int(row["tid"]), int(row["start_ns"])), []).append(number)
    assert all(max(numbers) - min(numbers) <= 1 for numbers in lives.values())


def started_as(wanted: int, *call: str) -> subprocess.Popen[bytes]:
    """A Python process with this pid, which other tests' processes may take before it does."""
    for _ in range(50):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(wanted - 1))
        process = python(*call)
        if process.pid == wanted:
            return process
        process.kill()
        process.wait()
    pytest.fail(f"others take the pid {wanted}")


def test_a_reused_tid_is_another_task(collect, front_end) -> None:
    last_pid = Path("/proc/sys/kernel/ns_last_pid")
    if not last_pid.exists():
        pytest.skip("this kernel cannot be asked for a certain pid (no ns_last_pid)")
    spin = (
        "import sys, time\n"
        + "open('/proc/self/comm', 'w').write(sys.argv[1])\n"
        + ("end = time.process_time() + float(sys.argv[2])\nwhile time.process_time() < end: pass")
    )
    # Both front ends may be tried at the same time, and must not take each other's numbers or names.
    first = {"btf": 31_000, "tracepoint": 29_000}[front_end]
    # One that nothing has for long: a thread is told, too, if it is asked for.
    wanted = next(tid for tid in range(first, first + 1_000) if not Path(f"/proc/{tid}").exists())
    names = [f"{front_end[:5]}-{letter}" for letter in "abc"]
    with collect(front_end) as collector:
        for number, name in enumerate(names):
            process = started_as(wanted, spin, name, str(0.05 * (number + 1)))
            assert process.wait() == 0
            # Two users of a tid within one interval leave one record: the other is counted as evicted.
            time.sleep(0.5)
    rows = collector.frame.tasks
    rows = rows[(rows["tid"] == wanted) & np.isin(rows["comm"], [name.encode() for name in names])]
    rows = rows[np.argsort(rows["start_ns"])]
    assert [row["comm"].decode() for row in rows] == names
    run_s = rows["run_ns"] / 1e9
    assert 0.05 <= run_s[0] < run_s[1] < run_s[2]
    assert run_s[1] >= 0.10
    assert run_s[2] >= 0.15


def test_exec_by_a_thread_takes_the_leaders_tid(collect, front_end, tmp_path) -> None:
    code = """
import os, sys, threading, time
def replace():
    time.sleep(0.3)
    # Nobody interrupts it from before the exec on, so that nearly all of its time is in one slice.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c",
        "import time\\nopen('/proc/self/comm', 'w').write('after-exec')\\nend = time.process_time() + 0.2\\n"
        "while time.process_time() < end: pass\\ntime.sleep(0.5)"])
thread = threading.Thread(target=replace); thread.start()
print(thread.native_id, flush=True)
time.sleep(10)
"""
    with collect(front_end) as collector:
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE)
        with ended(process):
            assert process.stdout
            thread = int(process.stdout.readline())
            assert process.wait() == 0
    rows = collector.frame.tasks
    leader = rows[rows["tid"] == process.pid]
    assert len(leader) == 1
    assert leader[0]["comm"] == b"after-exec"
    assert leader[0]["run_ns"] > 200_000_000
    old = rows[rows["tid"] == thread]
    assert len(old) <= 1
    assert all(row["comm"] != b"after-exec" for row in old)
    # The tid that nobody has any more neither runs nor waits.
    assert thread not in collector.frames[-1].tasks["tid"]


def test_an_exited_task_is_not_shown_as_waiting(collect, front_end) -> None:
    with collect(front_end) as collector:
        children = [python("pass") for _ in range(50)]
        assert [child.wait() for child in children] == [0] * 50
        time.sleep(3 * collector.source.interval_ns / NS_PER_S)
    seen = {int(tid) for frame in collector.frames for tid in frame.tasks["tid"]}
    gone = {child.pid for child in children}
    assert gone <= seen
    assert not gone & set(collector.frames[-1].tasks["tid"].tolist())

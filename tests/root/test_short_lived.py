"""Short-lived tasks are counted exactly: by command, by who started them and by how they ended, however many."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import NS_PER_MS, Collector
from loads import ended, python

from schedtop.model.frame import Frame
from schedtop.model.rows import Rows
from schedtop.model.short_lived import by_command, by_exit_code, by_parent
from schedtop.sources.scheduler.programs import Limits
from schedtop.sources.scheduler.source import LiveSource

SECOND_NS = 1000 * NS_PER_MS

_NAMED = "import os, sys\nopen('/proc/self/comm', 'w').write(sys.argv[1])\n"

_ENDINGS = (
    _NAMED
    + """
import signal, time
def child(action):
    pid = os.fork()
    if not pid:
        action()
        os._exit(99)
    return os.waitpid(pid, 0)[1]
def killed():
    open('/proc/self/comm', 'w').write('sl-killed')
    os.kill(os.getpid(), signal.SIGKILL)
def failing():
    open('/proc/self/comm', 'w').write('sl-failing')
    os._exit(3)
for _ in range(40): child(lambda: os.execv('/bin/true', ['true']))
for _ in range(30): child(failing)
for _ in range(20): child(killed)
"""
)

_FORKS = (
    _NAMED
    + "for _ in range(int(sys.argv[2])):\n    pid = os.fork()\n    if not pid: os._exit(0)\n    os.waitpid(pid, 0)\n"
)

_THREADS = (
    _NAMED
    + """
import threading, time
def idle(): pass
for _ in range(300):
    thread = threading.Thread(target=idle); thread.start(); thread.join()
time.sleep(1.5)
"""
)

_EXEC_BY_THREAD = (
    _NAMED
    + """
import threading, time
def replace(): os.execv('/bin/true', ['true'])
pid = os.fork()
if not pid:
    threading.Thread(target=replace).start()
    time.sleep(10)
os.waitpid(pid, 0)
"""
)

# A child is burning CPU time beside a hog on its CPU; what the kernel says of it is asked while it is a zombie.
_CONTENDED = (
    _NAMED
    + """
import json, time
os.sched_setaffinity(0, {1})
hog = os.fork()
if not hog:
    while True: pass
truth = []
try:
    for _ in range(25):
        pid = os.fork()
        if not pid:
            open('/proc/self/comm', 'w').write('sl-burning')
            end = time.thread_time_ns() + 8_000_000
            while time.thread_time_ns() < end: pass
            os._exit(0)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        time.sleep(0.02)  # its last switch comes a little later
        truth.append([int(word) for word in open(f'/proc/{pid}/schedstat').read().split()])
        os.waitpid(pid, 0)
finally:
    os.kill(hog, 9)
print(json.dumps(truth))
"""
)


def commands(frame: Frame, comm: bytes) -> Rows:
    """The row of a command's processes."""
    rows = by_command(frame.short_lived)
    return rows[(rows["comm"] == comm) & (rows["is_thread"] == 0)]


def forks() -> int:
    """`processes` of /proc/stat: all that were started on this host, threads too."""
    line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("processes"))
    return int(line.split()[1])


def test_commands_parents_and_exit_codes_are_those_of_the_script(collect, front_end: str) -> None:
    with collect(front_end, interval_ns=SECOND_NS) as collector:
        script = python(_ENDINGS, "sl-starter")
        with ended(script):
            assert script.wait() == 0
    frame = collector.frame
    own = frame.short_lived[(frame.short_lived["parent"] == b"sl-starter") & (frame.short_lived["is_thread"] == 0)]
    counts = {name: int(own["count"][own["comm"] == name].sum()) for name in np.unique(own["comm"]).tolist()}
    assert counts == {b"true": 40, b"sl-failing": 30, b"sl-killed": 20}
    assert {int(tgid) for tgid in own["parent_tgid"]} == {script.pid}
    if front_end == "tracepoint":
        assert (own["exit_code"] == -1).all()
        assert "exit_codes" in frame.unavailable
        return
    assert by_exit_code(own) == [(0, 40), (3 << 8, 30), (9, 20)]
    endings = {name: commands(frame, name)[0] for name in (b"sl-failing", b"sl-killed")}
    assert endings[b"sl-failing"]["failed"] == 30
    assert endings[b"sl-killed"]["killed"] == 20
    # The single rows say the same.
    tasks = frame.tasks[(frame.tasks["parent_tgid"] == script.pid) & (frame.tasks["ended"] == 1)]
    assert np.unique(tasks["exit_code"], return_counts=True)[1].tolist() == [40, 20, 30]
    assert (tasks["parent"] == b"sl-starter").all()


def test_fork_storm_is_counted_without_loss(collect, front_end: str) -> None:
    before = forks()
    with collect(front_end, interval_ns=500 * NS_PER_MS) as collector:
        storms = [python(_FORKS, "sl-storm", "1500") for _ in range(2)]
        with ended(*storms):
            assert [storm.wait() for storm in storms] == [0, 0]
    frame, kernel = collector.frame, forks() - before
    own = frame.short_lived["comm"] == b"sl-storm"
    # On a fast machine the scripts themselves live no longer than an interval, either.
    storm = frame.short_lived[own & (frame.short_lived["parent"] == b"sl-storm")]
    # What was forked lived shorter than an interval, unless it was kept waiting for half a second.
    assert 2_980 <= int(storm["count"].sum()) <= 3_000
    assert int(frame.short_lived["count"].sum()) <= kernel
    assert frame.loss.short_lived_dropped == 0
    assert [(parent.comm, parent.tgid) for parent in by_parent(storm)] == [(b"sl-storm", 0)], "two parents, one name"
    # In each interval, too, and no interval has more than it could.
    assert sum(int(each.short_lived["count"].sum()) for each in collector.frames) == int(
        frame.short_lived["count"].sum()
    )


def test_threads_are_counted_apart(collect) -> None:
    # The front end that must find out whose thread it is.
    with collect("tracepoint", interval_ns=SECOND_NS) as collector:
        script = python(_THREADS, "sl-threads")
        with ended(script):
            assert script.wait() == 0
    rows = collector.frame.short_lived
    own = rows[rows["comm"] == b"sl-threads"]
    assert int(own["count"][own["is_thread"] == 1].sum()) == 300
    assert (own["parent"][own["is_thread"] == 1] == b"sl-threads").all()
    # The process itself lived longer than an interval.
    assert int(own["count"][own["is_thread"] == 0].sum()) == 0


def test_an_exec_by_a_thread_does_not_end_its_process(collect) -> None:
    with collect("btf", interval_ns=SECOND_NS) as collector:
        script = python(_EXEC_BY_THREAD, "sl-exec")
        with ended(script):
            assert script.wait() == 0
    rows = collector.frame.short_lived
    own = rows[(rows["parent_tgid"] == script.pid) & (rows["is_thread"] == 0)]
    assert [(row["comm"], int(row["count"]), int(row["exit_code"])) for row in own] == [(b"true", 1, 0)]


def test_orphan_keeps_the_task_that_started_it(collect, front_end: str) -> None:
    code = _NAMED + (
        "import time\n"
        "for _ in range(10):\n    if not os.fork():\n        time.sleep(0.2)\n"
        "        open('/proc/self/comm', 'w').write('sl-orphan')\n        os._exit(0)\n"
    )
    with collect(front_end, interval_ns=SECOND_NS) as collector:
        script = python(code, "sl-gone")
        with ended(script):
            assert script.wait() == 0
        time.sleep(0.4)
    orphans = collector.frame.short_lived
    orphans = orphans[orphans["comm"] == b"sl-orphan"]
    assert [(row["parent"], int(row["parent_tgid"]), int(row["count"])) for row in orphans] == [
        (b"sl-gone", script.pid, 10)
    ]


def test_run_time_and_run_delay_are_the_kernels_own(collect) -> None:
    for last in (False, False, True):
        with collect("btf", interval_ns=SECOND_NS) as collector:
            script = python(_CONTENDED, "sl-contended", stdout=subprocess.PIPE)
            with ended(script):
                output = script.communicate(timeout=60)[0]
        truth = json.loads(output)
        burning = commands(collector.frame, b"sl-burning")
        run_ns, delay_ns = sum(row[0] for row in truth), sum(row[1] for row in truth)
        steal = collector.frame.ratio("steal_ns") or 0
        try:
            assert int(burning["count"][0]) == len(truth) == 25
            # Ours has what the hypervisor took and the time until the switch; the kernel's clock leaves interrupts out.
            assert int(burning["run_ns"][0]) == pytest.approx(run_ns, rel=0.05 + 2 * steal)
            assert delay_ns > 25 * 2 * NS_PER_MS, "there was no contention"
            assert int(burning["run_delay_ns"][0]) == pytest.approx(delay_ns, rel=0.05 + 2 * steal)
            return
        except AssertionError:
            if last:
                raise


@contextmanager
def collecting(limits: Limits) -> Iterator[Collector]:
    with LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS, "btf", limits) as source, Collector(source) as collector:
        yield collector


def test_short_lived_table_counts_tasks_that_find_no_room() -> None:
    code = _NAMED + (
        "for number in range(300):\n    pid = os.fork()\n    if not pid:\n"
        "        open('/proc/self/comm', 'w').write(f'sl-{number}')\n        os._exit(0)\n    os.waitpid(pid, 0)\n"
    )
    with collecting(Limits(short_lived=16)) as collector:
        script = python(code, "sl-many")
        with ended(script):
            assert script.wait() == 0
        time.sleep(0.6)  # the places of what was read are free again
        again = python(_FORKS, "sl-again", "50")
        with ended(again):
            assert again.wait() == 0
    frame = collector.frame
    own = frame.short_lived[frame.short_lived["parent"] == b"sl-many"]
    assert 0 < int(own["count"].sum()) < 300
    total = int(frame.short_lived["count"].sum()) + frame.loss.short_lived_dropped
    assert total >= 350
    again_rows = frame.short_lived[frame.short_lived["parent"] == b"sl-again"]
    assert int(again_rows["count"].sum()) == 50


def test_the_frames_add_up_to_what_the_kernel_side_counted() -> None:
    """Also what ends while the entries are being read."""
    stop = threading.Event()
    with LiveSource(100 * NS_PER_MS, 5 * NS_PER_MS, "btf") as source:
        frames = []
        storm = python(_FORKS, "sl-sum", "1000000")
        with ended(storm):
            for frame in source.frames(stop):
                frames.append(frame)
                if len(frames) == 8:
                    first = int(source._programs.cpus["short_lived"].sum())
                if len(frames) == 18:
                    stop.set()
            counted = sum(int(frame.short_lived["count"].sum()) for frame in frames[8:])
            last = int(source._programs.cpus["short_lived"].sum())
    # Each end of the span lies within the few ends that happen meanwhile.
    assert counted == pytest.approx(last - first, abs=0.02 * (last - first) + 20)

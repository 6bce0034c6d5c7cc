"""As root schedtop and its session have a raised priority, nothing else has, and all is as before afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_commands import SCHEDTOP, Terminal

from schedtop.base.time_slice import LONG_NS
from schedtop.run.mover import CROWD, crowded
from schedtop.run.priority import NICE
from tests.time_slices import slice_ns

BUSY = "while True: pass"

LEADER = """
import subprocess, sys
for line in sys.stdin: subprocess.Popen(line, shell=True, process_group=0)
"""

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not os.access("/proc/self/autogroup", os.W_OK), reason="no CONFIG_SCHED_AUTOGROUP"),
]


def session_nice(pid: int) -> int:
    return int(Path(f"/proc/{pid}/autogroup").read_text().rpartition(" ")[2])


def until(condition: Callable[[], bool], timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def leader() -> Iterator[subprocess.Popen[bytes]]:
    """The first process of a session; it starts lines in a process group each, as a shell in a terminal does."""
    shell = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", LEADER],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    yield shell
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(directory.name)) == shell.pid:
                os.kill(int(directory.name), signal.SIGKILL)
        except OSError:
            continue
    shell.wait()


def tell(leader: subprocess.Popen[bytes], line: str) -> None:
    assert leader.stdin
    leader.stdin.write(line.encode() + b"\n")
    leader.stdin.flush()


def started(leader: subprocess.Popen[bytes], tmp_path: Path, options: str = "") -> int:
    """A recorder in the background of the session, by its pid."""
    pid = tmp_path / "pid"
    command = " ".join([*SCHEDTOP, "record", "-o", str(tmp_path / "a.rec"), "--interval", "0.2s", options])
    tell(leader, f"echo $$ > {pid}; exec {command}")
    until(lambda: pid.exists() and pid.read_text().endswith("\n"))
    until((tmp_path / "a.rec").exists)
    return int(pid.read_text())


def test_calm_session_is_raised_and_given_back_at_the_end(leader: subprocess.Popen[bytes], tmp_path: Path) -> None:
    pid = started(leader, tmp_path)
    assert session_nice(leader.pid) == NICE
    assert os.getpriority(os.PRIO_PROCESS, pid) == NICE
    assert os.getpriority(os.PRIO_PROCESS, leader.pid) == os.getpriority(os.PRIO_PROCESS, 0)
    os.kill(pid, signal.SIGTERM)
    until(lambda: session_nice(leader.pid) == 0)


def test_suspended_session_is_as_before_and_raised_when_it_goes_on(
    leader: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    pid = started(leader, tmp_path)
    os.kill(pid, signal.SIGTSTP)
    until(lambda: ") T " in Path(f"/proc/{pid}/stat").read_text())
    assert session_nice(leader.pid) == 0
    os.kill(pid, signal.SIGCONT)
    until(lambda: session_nice(leader.pid) == NICE)


def test_session_in_which_something_works_is_left_alone(leader: subprocess.Popen[bytes], tmp_path: Path) -> None:
    for _ in range(4):  # the others of a busy host leave each of them little
        tell(leader, f"{sys.executable} -I -S -c '{BUSY}'")
    time.sleep(2)  # the load must have worked before it can be seen
    pid = started(leader, tmp_path)
    assert session_nice(leader.pid) == 0
    assert os.getpriority(os.PRIO_PROCESS, pid) == NICE


def test_session_is_given_back_when_something_begins_to_work(leader: subprocess.Popen[bytes], tmp_path: Path) -> None:
    started(leader, tmp_path)
    assert session_nice(leader.pid) == NICE
    tell(leader, f"echo $$ > {tmp_path / 'busy'}; exec {sys.executable} -I -S -c '{BUSY}'")
    until(lambda: session_nice(leader.pid) == 0)
    os.kill(int((tmp_path / "busy").read_text()), signal.SIGKILL)
    until(lambda: session_nice(leader.pid) == NICE)


def test_no_renice_leaves_all_alone(leader: subprocess.Popen[bytes], tmp_path: Path) -> None:
    pid = started(leader, tmp_path, "--no-renice")
    assert slices(pid) == {slice_ns(leader.pid)}
    assert session_nice(leader.pid) == 0
    assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, leader.pid)


def test_snapshot_says_its_priority(leader: subprocess.Popen[bytes], tmp_path: Path) -> None:
    written = tmp_path / "snapshot.json"
    for options, expected in (("", (NICE, NICE)), ("--no-renice", (os.getpriority(os.PRIO_PROCESS, 0), None))):
        command = " ".join([*SCHEDTOP, "snapshot", "--duration", "0.2s", options])
        tell(leader, f"{command} > {written}.part; mv {written}.part {written}")
        until(written.exists)
        cost = json.loads(written.read_text())["overhead"]
        assert (cost["nice"], cost["session_nice"]) == expected
        written.unlink()


def test_dashboard_is_an_ordinary_task_that_gives_back_when_stopped() -> None:
    terminal = Terminal(SCHEDTOP, columns=160, lines=48)
    pid = terminal.process.pid
    try:
        until(lambda: b"LIVE" in terminal.drawn)
        until(lambda: f"nice {NICE}, session {NICE}".encode() in terminal.drawn)
        assert session_nice(pid) == NICE
        policies = {os.sched_getscheduler(int(tid)) for tid in os.listdir(f"/proc/{pid}/task")}
        assert policies == {os.SCHED_OTHER}
        os.kill(pid, signal.SIGTSTP)
        until(lambda: ") T " in Path(f"/proc/{pid}/stat").read_text())
        assert session_nice(pid) == 0
        os.kill(pid, signal.SIGCONT)
        until(lambda: session_nice(pid) == NICE)
    finally:
        terminal.process.kill()
        terminal.process.wait()


def slices(pid: int) -> set[int]:
    return {slice_ns(int(tid)) for tid in os.listdir(f"/proc/{pid}/task")}


@pytest.mark.skipif(not slice_ns(0), reason="this kernel has no slices of a task's own")
def test_whoever_is_woken_goes_first_except_in_a_crowd(leader: subprocess.Popen[bytes], tmp_path: Path) -> None:
    until(lambda: not crowded())
    ordinary = slice_ns(leader.pid)
    pid = started(leader, tmp_path)
    until(lambda: slices(pid) == {LONG_NS})
    crowd = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", BUSY], start_new_session=True)
        for _ in range((CROWD + 1) * (os.cpu_count() or 1))
    ]
    try:
        until(lambda: slices(pid) == {ordinary})
    finally:
        for one in crowd:
            one.kill()
            one.wait()
    until(lambda: slices(pid) == {LONG_NS})

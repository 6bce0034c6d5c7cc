"""A thread of ours that gets no slice is moved to another CPU, and may run on all of them afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedtop.run.mover import Mover, crowded

BUSY = "while True: pass"

BEGINS = """
import time
from schedtop.run import mover
mover.CROWD = {crowd}
print(mover.begin(), flush=True)
time.sleep(60)
"""

CPUS = sorted(os.sched_getaffinity(0))

pytestmark = [pytest.mark.root, pytest.mark.beside, pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")]


def busy(policy: int = os.SCHED_OTHER) -> subprocess.Popen[bytes]:
    def begin() -> None:
        os.sched_setscheduler(0, policy, os.sched_param(0))

    return subprocess.Popen([sys.executable, "-I", "-S", "-c", BUSY], preexec_fn=begin)


@pytest.fixture
def hogs() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two busy loops on each of two CPUs."""
    begun = [busy() for _ in range(4)]
    for number, hog in enumerate(begun):
        os.sched_setaffinity(hog.pid, {CPUS[number % 2]})
    yield begun
    for hog in begun:
        hog.kill()
        hog.wait()


def cpu_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[36])


def switches(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[2])


def moves_of(pid: int, looks: int) -> int:
    """To how many other CPUs the Mover's looks have brought it."""
    mover, found = Mover(pid), 0
    for _ in range(looks):
        before = cpu_of(pid)
        mover.look()
        found += cpu_of(pid) != before
        time.sleep(0.005)
    return found


def test_what_starves_is_moved(hogs: list[subprocess.Popen[bytes]]) -> None:
    starving = busy(os.SCHED_IDLE)  # it gets a three-hundredth
    try:
        os.sched_setaffinity(starving.pid, CPUS[:2])
        assert moves_of(starving.pid, 200) >= 10
        assert os.sched_getaffinity(starving.pid) == set(CPUS[:2])
    finally:
        starving.kill()
        starving.wait()


def test_what_is_pinned_stays(hogs: list[subprocess.Popen[bytes]]) -> None:
    assert moves_of(hogs[0].pid, 100) == 0
    assert os.sched_getaffinity(hogs[0].pid) == {CPUS[0]}


def test_what_sleeps_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        time.sleep(0.1)
        before = switches(sleeping.pid)
        assert moves_of(sleeping.pid, 50) == 0
        assert switches(sleeping.pid) == before
        sleeping.kill()


def test_it_ends_with_us_in_a_session_of_its_own() -> None:
    ours = subprocess.Popen([sys.executable, "-c", BEGINS.format(crowd=-1)], stdout=subprocess.PIPE, text=True)
    try:
        assert ours.stdout
        pid = int(ours.stdout.readline())
        deadline = time.monotonic() + 10
        while Path(f"/proc/{pid}/comm").read_text() != "schedtop-mover\n":
            assert time.monotonic() < deadline
        assert os.getsid(pid) == pid
    finally:
        ours.kill()
        ours.wait()
    while Path(f"/proc/{pid}").exists() and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_without_a_crowd_there_is_none(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BEGINS.format(crowd=10000)], stdout=subprocess.PIPE, text=True
    ) as ours:
        assert ours.stdout and ours.stdout.readline() == "None\n"
        ours.kill()
    for runnable, expected in ((1, False), (3 * (os.cpu_count() or 1) + 1, True)):
        (tmp_path / "loadavg").write_text(f"1.00 2.00 3.00 {runnable}/500 1234\n")
        assert crowded(str(tmp_path)) is expected

"""A thread of ours that gets no slice is moved to another CPU, and may run on all of them afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedtop.base import helpers
from schedtop.base.time_slice import LONG_NS
from schedtop.run.mover import Mover, crowded
from schedtop.sources.host.own_cost import OwnCost
from tests.time_slices import slice_ns

BUSY = "while True: pass"

BEGINS = """
import os, time
from schedtop.run import mover
mover.crowded = lambda: os.path.exists("{crowd}")
mover.CALM_S = 0.1
print(mover.begin(), flush=True)
while True: {does}
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


class Looked:
    """A process that has begun a mover, which takes a file for a crowd. `does`: what the process does for ever."""

    def __init__(self, directory: Path, does: str = "time.sleep(1)") -> None:
        self.crowd = directory / "crowd"
        self.process = subprocess.Popen(
            [sys.executable, "-c", BEGINS.format(crowd=self.crowd, does=does)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.mover = int(self.process.stdout.readline())
        until(lambda: Path(f"/proc/{self.mover}/comm").read_text() == "schedtop-mover\n")

    def __enter__(self) -> Looked:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.communicate()


def until(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def has_ended(pid: int) -> bool:
    return (
        not Path(f"/proc/{pid}").exists() or Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    )


def test_it_ends_with_us_in_a_session_of_its_own_without_our_streams(tmp_path: Path) -> None:
    with Looked(tmp_path) as ours:
        assert os.getsid(ours.mover) == ours.mover
        assert {os.readlink(f"/proc/{ours.mover}/fd/{stream}") for stream in range(3)} == {os.devnull}
    until(lambda: has_ended(ours.mover))


def test_a_crowd_that_comes_later_is_seen(hogs: list[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    with Looked(tmp_path, "pass") as ours:
        pid = ours.process.pid
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        os.sched_setaffinity(pid, CPUS[:2])
        before = migrations(pid)
        time.sleep(1)
        calm, before = migrations(pid) - before, migrations(pid)
        ours.crowd.touch()
        until(lambda: migrations(pid) - before >= calm + 10)
        assert os.sched_getaffinity(pid) <= set(CPUS[:2])


@pytest.mark.skipif(not slice_ns(0), reason="this kernel has no slices of a task's own")
def test_long_slices_are_taken_back_in_a_crowd_without_a_session_of_ours(tmp_path: Path) -> None:
    with Looked(tmp_path) as ours:
        pids = ours.process.pid, ours.mover
        assert [slice_ns(pid) for pid in pids] == [LONG_NS] * 2
        ours.crowd.touch()
        until(lambda: [slice_ns(pid) for pid in pids] == [slice_ns(0)] * 2)
        ours.crowd.unlink()
        until(lambda: [slice_ns(pid) for pid in pids] == [LONG_NS] * 2)


def test_what_it_takes_is_our_own_cost(tmp_path: Path) -> None:
    with Looked(tmp_path) as ours:
        helpers.HELPERS.append(ours.mover)
        cost = OwnCost()
        try:
            ours.crowd.touch()  # it looks a hundred times a second then
            before_ns, own_ns, its_ns = cost.now().cpu_ns, time.process_time_ns(), helper_ns(ours.mover)
            until(lambda: helper_ns(ours.mover) > its_ns + 10_000_000)
            own_ns = time.process_time_ns() - own_ns
            assert cost.now().cpu_ns - before_ns >= own_ns + 10_000_000
        finally:
            cost.close()
            helpers.HELPERS.remove(ours.mover)


def helper_ns(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def migrations(pid: int) -> int:
    lines = Path(f"/proc/{pid}/sched").read_text().splitlines()
    return next(int(line.rpartition(":")[2]) for line in lines if line.startswith("se.nr_migrations"))


def test_a_crowd_is_three_runnable_tasks_a_cpu(tmp_path: Path) -> None:
    for runnable, expected in ((1, False), (3 * (os.cpu_count() or 1) + 1, True)):
        (tmp_path / "loadavg").write_text(f"1.00 2.00 3.00 {runnable}/500 1234\n")
        assert crowded(str(tmp_path)) is expected

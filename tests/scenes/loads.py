"""What happens in each scene: loads that start and end at their time, whose behaviour is known by construction."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

MOST_S = 120
"""A load ends by itself after that, if nobody is left to end it."""

QUOTA_PERIOD_US = 100_000
WEIGHT = 20
"""Of the group with a quota, in groups that weigh as usual: who else works on this machine makes little difference."""

_REQUESTS = """
import os, sys, time
name, group, work_ms, every_ms, phase_ms, busy_from_s, busy_until_s = sys.argv[1:]
open("/proc/self/comm", "w").write(name)
if group: open(group, "w").write("0")
work_s, every_s = float(work_ms) / 1000, float(every_ms) / 1000
begin = time.monotonic()
due = (begin // every_s + 1) * every_s + float(phase_ms) / 1000
while True:
    time.sleep(max(0, due - time.monotonic()))
    end = time.thread_time() + work_s
    while time.thread_time() < end: pass
    busy = float(busy_from_s) <= time.monotonic() - begin < float(busy_until_s)
    step_s = every_s / 2 if busy else every_s
    due += step_s * max(1, (time.monotonic() - 0.2 - due) // step_s)
"""
"""A worker of a service: so much work for each request, requests at a fixed rate, twice as many while it is busy."""

_LOOP = """
import sys
open("/proc/self/comm", "w").write(sys.argv[1])
while True: pass
"""

_FLOOD = """
import os, socket, sys
open("/proc/self/comm", "w").write(sys.argv[1])
us, them = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "ab")
them.bind(("127.0.0.1", 0))
us.connect(them.getsockname())
while True:
    us.send(b"x" * 64)
    them.recv(64)
"""
"""Sends itself packets."""

_MONITOR = """#!/bin/sh
# A monitoring script as many hosts have one: it starts a program for each number that it wants.
while :; do
    load=$(cat /proc/loadavg); now=$(date +%s)
    expr "$now" + 1 >/dev/null; test -r /nowhere || false
    /bin/true
done
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A recording to be made: of so many seconds, with what options, what runs meanwhile.

    `kept`: the names of its tasks, all others become one name; `cgroup`: a group of its own, with a quota; who records
    then looks at nobody else.
    """

    name: str
    seconds: int
    threshold: str
    kept: tuple[str, ...]
    cgroup: str = ""
    most_others: float = 0.2
    """Which share of all CPUs may go to what is not of the scene."""
    least_steal: float = 0.0
    """Which share the hypervisor must have had of an interval; that one is shown with some before and after it."""


SCENES = (
    Scene("contention", 45, "1ms", ("stress",)),
    Scene("quota", 35, "2ms", ("checkout",), "checkout.service", most_others=1.0),
    Scene("steal", 45, "20ms", (), most_others=1.0, least_steal=0.03),
    Scene("fork-storm", 16, "10ms", ("monitor.sh", "cat", "date", "expr", "true"), most_others=0.6),
)


def play(scene: Scene, directory: Path, group: Path | None) -> None:
    """Performs a scene; `directory` is for what it needs to write, `group` that of its cgroup."""
    {"contention": _contention, "quota": _quota, "steal": _steal, "fork-storm": _fork_storm}[scene.name](
        scene, group or directory
    )


def _contention(scene: Scene, _directory: Path) -> None:
    """Quiet, then two busy loops on one of two CPUs, then quiet again."""
    time.sleep(12)
    with running(["taskset", "-c", "1", "stress", "-c", "2"]):
        time.sleep(scene.seconds - 12 - 8)
    time.sleep(8)


def _quota(scene: Scene, group: Path) -> None:
    """A quota of 60 % of a CPU; for a while twice as many requests come."""
    with workers(group, 10, scene.seconds - 10):
        time.sleep(scene.seconds)


@contextmanager
def workers(group: Path | None, busy_from_s: float, busy_until_s: float) -> Iterator[None]:
    """Four workers that need 40 % of a CPU, and while they are busy twice as much."""
    with ExitStack() as stack:
        for number in range(4):
            # One after the other, also when twice as many come: nothing but the quota keeps them waiting.
            numbers = (2, 20, 2.5 * number, busy_from_s, busy_until_s)
            stack.enter_context(
                running([
                    sys.executable, "-I", "-S", "-c", _REQUESTS, "checkout",
                    str(group / "cgroup.procs") if group else "", *map(str, numbers),
                ])
            )  # fmt: skip
        yield


@contextmanager
def reports() -> Iterator[None]:
    """Two services that sleep most of the time, and two busy loops, all on CPU 1."""
    services = [(name, "", *map(str, (3, 15, phase_ms, 0, 0))) for name, phase_ms in (("web", 0), ("api", 7))]
    loops = [("report",)] * 2
    with ExitStack() as stack:
        for program, each in [*((_REQUESTS, each) for each in services), *((_LOOP, each) for each in loops)]:
            stack.enter_context(running(["taskset", "-c", "1", sys.executable, "-I", "-S", "-c", program, *each]))
        yield


@contextmanager
def floods() -> Iterator[None]:
    """Two programs on CPU 1 that send packets to themselves."""
    with ExitStack() as stack:
        for name in ("flood-a", "flood-b"):
            stack.enter_context(running(["taskset", "-c", "1", sys.executable, "-I", "-S", "-c", _FLOOD, name]))
        yield


def _steal(scene: Scene, _directory: Path) -> None:
    """Nothing of its own: nobody in a virtual machine can make its host take a CPU away, only wait for it."""
    time.sleep(scene.seconds)


def _fork_storm(scene: Scene, directory: Path) -> None:
    """Quiet, then the storm."""
    time.sleep(5)
    with monitors(directory):
        time.sleep(scene.seconds - 5)


@contextmanager
def monitors(directory: Path) -> Iterator[None]:
    """A script that starts a few programs again and again, twice."""
    script = directory / "monitor.sh"
    script.write_text(_MONITOR)
    script.chmod(0o700)
    # Before everything else on this machine: who waits then, waits for the storm.
    command = ["nice", "-n", "-15", str(script)]
    with running(command), running(command):
        yield


@contextmanager
def running(command: Sequence[str]) -> Iterator[None]:
    """A command and all that it starts, in a process group of their own that is killed at the end."""
    process = subprocess.Popen(
        ["timeout", str(MOST_S), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def quota_group(name: str, cpus: float = 0.6) -> Iterator[Path | None]:
    """The directory of a new cgroup with a quota of so many CPUs, on a v1 or v2 hierarchy; removed at the end.

    Without a name there is none.
    """
    if not name:
        yield None
        return
    first = Path("/sys/fs/cgroup/cpu")
    directory = (first if first.is_dir() else Path("/sys/fs/cgroup")) / name
    directory.mkdir()
    try:
        quota_us = round(cpus * QUOTA_PERIOD_US)
        if first.is_dir():
            (directory / "cpu.cfs_period_us").write_text(str(QUOTA_PERIOD_US))
            (directory / "cpu.cfs_quota_us").write_text(str(quota_us))
            (directory / "cpu.shares").write_text(str(1024 * WEIGHT))
        else:
            (directory / "cpu.max").write_text(f"{quota_us} {QUOTA_PERIOD_US}")
            (directory / "cpu.weight").write_text(str(100 * WEIGHT))
        yield directory
    finally:
        for _ in range(100):
            try:
                directory.rmdir()
                break
            except OSError:
                time.sleep(0.02)  # it is busy for a moment after its last process has gone

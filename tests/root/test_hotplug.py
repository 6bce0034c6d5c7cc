"""A CPU that goes offline and comes back: it is not there meanwhile, whatever it did last."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from conftest import NS_PER_MS, Collector
from loads import load_share

from schedtop.model.frame import Frame
from schedtop.sources.task.source import LiveTaskSource

CPU = 1
ONLINE = Path(f"/sys/devices/system/cpu/cpu{CPU}/online")
OFFLINE_S = 1.2
SPIN = "while :; do :; done"

pytestmark = pytest.mark.skipif(
    not ONLINE.exists() or os.cpu_count() == 1, reason=f"CPU {CPU} of this machine cannot be taken offline"
)


def switch(on: bool) -> None:
    """Takes the CPU offline, or online again; the kernel refuses it for moments, and where it would break promises."""
    deadline = time.monotonic() + 10
    while True:
        try:
            ONLINE.write_text("1" if on else "0")
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            if time.monotonic() > deadline:
                pytest.skip(f"the kernel does not let CPU {CPU} go: {error.strerror}")
        time.sleep(0.2)


@contextmanager
def offline() -> Iterator[None]:
    """The CPU is offline within."""
    try:
        switch(on=False)
        yield
    finally:
        switch(on=True)


@contextmanager
def hogs(cpu: int, number: int) -> Iterator[list[int]]:
    """Busy loops that may use one CPU alone."""
    started = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", SPIN]) for _ in range(number)]
    try:
        yield [each.pid for each in started]
    finally:
        for each in started:
            each.kill()
            each.wait()


def stopper() -> int:
    """The thread that a CPU runs last before it is offline."""
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            if comm.read_text() == f"migration/{CPU}\n":
                return int(comm.parent.name)
    pytest.skip("the kernel's threads are not to be seen here")


def ran_ns(tid: int) -> int:
    """Run time by the kernel's own account."""
    return int(Path(f"/proc/{tid}/schedstat").read_text().split()[0])


def run_ns(frames: list[Frame], tid: int) -> int:
    """The same by ours."""
    return sum(int(frame.tasks["run_ns"][frame.tasks["tid"] == tid].sum()) for frame in frames)


def test_an_offline_cpu_is_absent_until_it_returns(
    front_end: str, collect: Callable[..., AbstractContextManager[Collector]]
) -> None:
    tid = stopper()
    with collect(front_end, interval_ns=200 * NS_PER_MS, threshold_ns=2 * NS_PER_MS) as collector:
        collector.source.set_sampling(True)
        before_ns = ran_ns(tid)
        with hogs(0, 2), offline():
            time.sleep(OFFLINE_S)
        with hogs(CPU, 1) as (hog,):
            time.sleep(0.8)
            after_ns, hog_ns = ran_ns(tid), ran_ns(hog)
    frames = collector.frames
    gone = [frame for frame in frames if not frame.cpus.online[CPU]]
    assert len(gone) >= 3
    for frame in gone[1:]:
        assert tid not in frame.tasks["tid"]
        for name in ("switches", "idle_ns", "busy_ns", "steal_ns", "accounted_ns"):
            assert frame.cpus.column(name)[CPU] == 0, name
        assert frame.cpus.queue_length[CPU] == 0
        assert frame.queue is None or frame.queue.expected[CPU] == 0
    # The hogs on CPU 0 waited beside a CPU that was no longer there.
    waits = np.concatenate([frame.slow_waits for frame in gone[1:]])
    assert len(waits)
    assert not np.any(waits["idle_cpu"] == CPU)
    # It comes back with neither the time of its absence nor that of its whole life.
    assert run_ns(frames, tid) <= after_ns - before_ns + (5 if load_share() == 1 else 50) * NS_PER_MS
    for frame in frames:
        assert frame.cpus.column("accounted_ns")[CPU] <= frame.interval_ns + 20 * NS_PER_MS
        assert frame.cpus.column("idle_ns")[CPU] <= frame.interval_ns
    assert frames[-1].cpus.online[CPU]
    assert run_ns(frames, hog) >= 0.95 * hog_ns


def test_the_task_view_of_what_an_offline_cpu_ran_last(front_end: str) -> None:
    stop = threading.Event()
    with LiveTaskSource(stopper(), whole_process=False, interval_ns=200 * NS_PER_MS, source=front_end) as source:
        frames = source.frames(stop)
        with offline():
            next(frames)  # in which it went
            gone = next(frames) + next(frames)
        back = next(frames) + next(frames)
        stop.set()
    assert gone.states.running_ns < 0.05 * gone.interval_ns
    assert gone.states.sleeping_ns > 0.9 * gone.interval_ns
    assert back.states.running_ns < 0.2 * back.interval_ns, "it took the time of its absence with it"

"""The worst that a host can do to the collector, at the shortest interval: seconds each, a minute in `make stress`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from conftest import NS_PER_MS

from schedtop.history.history import History

INTERVAL_NS = 200 * NS_PER_MS

FORK_STORM = """
import os
while True:
    for _ in range(50):
        if not os.fork(): os._exit(0)
    for _ in range(50): os.wait()
"""
THREADS = """
import threading, time
threading.stack_size(65536)
def nap():
    while True: time.sleep(0.5)
for _ in range(10_000): threading.Thread(target=nap, daemon=True).start()
time.sleep(600)
"""
STRESS_NG = ["stress-ng", "--timeout", "600", "--quiet", "--oom-avoid"]
LOADS = {
    "fork storm": [sys.executable, "-I", "-S", "-c", FORK_STORM],
    "10,000 threads": [sys.executable, "-I", "-S", "-c", THREADS],
    "hackbench": ["hackbench", "-l", "100000000"],
    "stress-ng --switch": [*STRESS_NG, "--switch", "4"],
    "stress-ng --yield": [*STRESS_NG, "--yield", "4"],
}


@contextmanager
def running(command: list[str]) -> Iterator[None]:
    """A load with all its workers, which are one process group."""
    load = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
    try:
        yield
        assert load.poll() is None, "the load ended early"
    finally:
        # stress-ng's workers are groups of their own, which only it can end.
        os.killpg(load.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            load.wait(5)
        with suppress(ProcessLookupError):
            os.killpg(load.pid, signal.SIGKILL)
        load.wait()


def anonymous_bytes() -> int:
    """Our own memory: RssAnon of /proc/self/status."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize("seconds", [4, pytest.param(60, marks=pytest.mark.stress)])
@pytest.mark.parametrize("name", LOADS)
def test_totals_match_under_stress(collect, name: str, seconds: int) -> None:
    with collect(interval_ns=INTERVAL_NS) as collector:
        history = History(collector.source.host)
        with running(LOADS[name]):
            samples = []
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(min(5, seconds / 10))
                take(collector.frames, history)
                samples.append(anonymous_bytes())
    take(collector.frames, history)
    frames = history.frames
    switches = sum(frame.total("switches") for frame in frames)
    kernel = sum(frame.kernel_switches or 0 for frame in frames)
    loss = {}
    for frame in frames:
        for field in frame.loss.__slots__:
            loss[field] = loss.get(field, 0) + getattr(frame.loss, field)
    rate = f"{switches / sum(frame.duration_s for frame in frames):,.0f} switches/s"
    print(f"\n{name}: {switches} of {kernel} switches, {rate}, {loss}, anonymous {[s >> 20 for s in samples]} MiB")
    assert kernel > 100 * seconds, "the load did not load"
    assert switches == pytest.approx(kernel, rel=0.01)
    assert loss["tasks_untracked"] == 0
    assert loss["tasks_evicted"] == 0
    # A reader that gets no CPU, as on a host that is stolen from, cannot empty the ring; what is lost then is counted.
    in_time = [frame for frame in frames if frame.interval_ns < 2 * INTERVAL_NS]
    assert sum(frame.loss.ring_dropped for frame in in_time) == 0
    # In the second half nothing grows but the History, which has its own bound.
    assert samples[-1] - samples[len(samples) // 2] < history.keep_bytes + (16 << 20)


def take(frames: list, history: History) -> None:
    """Moves what was collected into the History, as the dashboard does."""
    while frames:
        history.append(frames.pop(0))

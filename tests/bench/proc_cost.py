"""What it costs to poll /proc without privileges: a look at many tasks once a second, most of them asleep."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.sources.proc.polling import TaskPolling
from tests.bench.batches import Batches
from tests.bench.report import Goal, Options, Table, Topic, number, share

SIZES, QUICK_SIZES = (1_000, 10_000, 20_000), (1_000, 10_000)
ACTIVE = (0, 500)
MOST_RATIO = 0.10
"""The goal: so much of a CPU for 10,000 tasks at 1 Hz."""

_SLEEPERS = """
import sys, threading, time
threading.stack_size(32768)
count, active = map(int, sys.argv[1:])
stop = threading.Event()
def doze():
    while True: time.sleep(0.5)
for number in range(count):
    threading.Thread(target=doze if number < active else stop.wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


def measure(options: Options) -> Topic:
    """CPU time of a look, with all asleep and with 500 that run now and then."""
    rows, data, goals = [], {}, []
    for size in QUICK_SIZES if options.quick else SIZES:
        for active in ACTIVE:
            with sleepers(size, active):
                begin_ms, cost, late = _looks(3 if options.quick else 3 + options.rounds)
            cells = (number(cost.best, 1), share(cost.spread_ratio), f"{(cost.best or 0) / 1000:.1%}", number(late))
            rows.append((f"{size:,} tasks, {active} of them active", number(begin_ms), *cells))
            data[f"{size}_{active}"] = {"look_ms": cost.to_data(), "begin_ms": begin_ms, "late": late}
            if size == 10_000:
                words = f"10,000 tasks at 1 Hz without privileges, {active} active: share of a CPU"
                goals.append(Goal(words, (cost.best or 0) / 1000, MOST_RATIO, ""))
    table = Table(
        "Polling /proc (source proc), CPU time in ms",
        ("", "the first look", "a look, best", "median", "of a CPU at 1 Hz", "read late"),
        rows,
        ["the threads of one process; what the rest of the machine runs is polled, too"],
    )
    return Topic([table], data, goals)


def _looks(count: int) -> tuple[float, Batches, float]:
    """The first look, the later ones, and how many tasks had to wait for another one, on average; times in ms."""
    polling, cost, late = TaskPolling(lambda _number: 0), Batches(), 0
    try:
        begin_ns = time.thread_time_ns()
        polling.begin(_forks())
        begun_ms = (time.thread_time_ns() - begin_ns) / NS_PER_MS
        for _ in range(count):
            time.sleep(1)
            begin_ns = time.thread_time_ns()
            late += polling.look(_forks(), int(0.08 * NS_PER_S)).late
            cost.add((time.thread_time_ns() - begin_ns) / NS_PER_MS)
    finally:
        polling.close()
    return begun_ms, cost, late / count


@contextmanager
def sleepers(count: int, active: int) -> Iterator[None]:
    """A process with so many threads, some of which run twice a second."""
    command = [sys.executable, "-I", "-S", "-c", _SLEEPERS, str(count), str(active)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def _forks() -> int:
    lines = Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("processes"))

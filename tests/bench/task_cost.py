"""What an open task view costs: the task that it looks at, everybody else, and nobody once it is closed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from schedtop.sources.task.source import LiveTaskSource
from tests.bench.batches import Batches, minus
from tests.bench.report import Options, Table, Topic, number, share
from tests.bench.tools import NotHere, find

CALLS, QUICK_CALLS = 1_500_000, 1_000_000
ROUND_TRIPS, QUICK_ROUND_TRIPS = 40_000, 30_000
STRACE_PART = 100
"""With strace a hundredth of the calls takes as long."""

BATCHES = 4
"""Rounds of all situations for each round of the bench: neighbours on the machine change its speed meanwhile."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is open while a load runs; `watch` opens it for the load's process, which has not begun yet."""

    words: str
    watch: Callable[[int], Iterator[None]]
    part: int = 1


@dataclass(slots=True)
class Costs:
    """Nanoseconds for each system call (getppid), and each context switch of a ping-pong."""

    call_ns: Batches = field(default_factory=Batches)
    switch_ns: Batches = field(default_factory=Batches)


def measure(options: Options) -> Topic:
    """Each round: nothing open, open on another task, on this one, and closed again."""
    situations = [
        Situation("nothing open, before", _nothing),
        Situation("open on another task", _open_on_another),
        Situation("open on this task", _open),
        Situation("closed again", _closed),
        Situation("strace -c on this task", _strace, STRACE_PART),
    ]
    costs = [Costs() for _ in situations]
    missing = ""
    for _ in range(options.rounds * BATCHES):
        for situation, cost in zip(situations, costs, strict=True):
            try:
                _measure(situation, cost, options)
            except NotHere as reason:
                missing = str(reason)
    return _topic(situations, costs, missing)


def _measure(situation: Situation, cost: Costs, options: Options) -> None:
    calls = (QUICK_CALLS if options.quick else CALLS) // situation.part
    trips = (QUICK_ROUND_TRIPS if options.quick else ROUND_TRIPS) // situation.part
    cost.call_ns.add(_timed(situation, ["syscall", "basic", "--loop", str(calls)]) / calls)
    # There and back are two switches.
    cost.switch_ns.add(_timed(situation, ["sched", "pipe", "-l", str(trips)]) / trips / 2)


def _timed(situation: Situation, load: list[str]) -> float:
    """Nanoseconds that the load says it took."""
    cpu = str(max(os.sched_getaffinity(0)))
    command = ["taskset", "-c", cpu, "sh", "-c", 'read go; exec "$@"', "sh", find("perf"), "bench", *load]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0)
    try:
        time.sleep(0.05)
        with contextmanager(situation.watch)(process.pid):
            output, _ = process.communicate("\n", timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    found = re.search(r"Total time: ([\d.]+)", output)
    if not found:
        raise NotHere(f"perf bench {load[0]} says nothing")
    return float(found[1]) * 1e9


def _nothing(_pid: int) -> Iterator[None]:
    yield


def _open(pid: int) -> Iterator[None]:
    with LiveTaskSource(pid, True):
        yield


def _open_on_another(_pid: int) -> Iterator[None]:
    with LiveTaskSource(os.getpid(), True):
        yield


def _closed(pid: int) -> Iterator[None]:
    with LiveTaskSource(pid, True):
        pass
    yield


def _strace(pid: int) -> Iterator[None]:
    tracer = subprocess.Popen([find("strace"), "-qq", "-c", "-f", "-o", os.devnull, "-p", str(pid)])
    try:
        time.sleep(0.2)
        yield
    finally:
        tracer.wait(10)


def _topic(situations: list[Situation], costs: list[Costs], missing: str) -> Topic:
    columns = ("task", "call, best", "median", "cost", "switch, best", "median", "cost")
    table = Table("Cost of an open task view (ns): getppid, and a switch of a pipe ping-pong, on one CPU", columns)
    for situation, cost in zip(situations, costs, strict=True):
        cells = []
        for mine, before in ((cost.call_ns, costs[0].call_ns), (cost.switch_ns, costs[0].switch_ns)):
            cells += [number(mine.best), share(mine.spread_ratio), number(minus(mine.best, before.best))]
        table.rows.append((situation.words, *cells))
    if missing:
        table.notes.append(missing)
    data = {
        situation.words: {"call_ns": cost.call_ns.to_data(), "switch_ns": cost.switch_ns.to_data()}
        for situation, cost in zip(situations, costs, strict=True)
    }
    return Topic([table], data)

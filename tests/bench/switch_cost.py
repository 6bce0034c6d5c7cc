"""Cost of a context switch, with one thing or another attached to the scheduler's events."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.bench import noise
from tests.bench.attached import Attachment, Tend, attachments
from tests.bench.batches import Batches, alternating, minus
from tests.bench.report import Goal, Options, Table, Topic, number, share
from tests.bench.tools import NotHere, find

PIPE_LOOPS, QUICK_PIPE_LOOPS = 60_000, 40_000
LIMIT = 0.33
"""The share of what `runqlat` adds to a switch that the full collector may add."""

PIPE_BATCHES = 3
"""Batches of the ping-pong each time something is attached."""


@dataclass(slots=True)
class Costs:
    """Nanoseconds per context switch, in wall time and in CPU time, which other tasks on the CPU do not lengthen."""

    pipe_ns: Batches = field(default_factory=Batches)
    pipe_cpu_ns: Batches = field(default_factory=Batches)
    hackbench_ns: Batches = field(default_factory=Batches)
    hackbench_cpu_ns: Batches = field(default_factory=Batches)
    reason: str = ""

    def to_data(self) -> dict[str, Any]:
        """All of it for the JSON file."""
        figures = ("pipe_ns", "pipe_cpu_ns", "hackbench_ns", "hackbench_cpu_ns")
        return {name: getattr(self, name).to_data() for name in figures} | {"unavailable": self.reason or None}


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a load: its output, its CPU time, its own context switches, and those of the machine meanwhile."""

    output: str
    cpu_ns: float
    own_switches: int
    machine_switches: int


def measure(options: Options) -> Topic:
    """Attaches everything in turn, `options.rounds` times, and times both loads."""
    costs = {attachment.name: Costs() for attachment in attachments()}
    loads = _missing_loads()
    for attachment in alternating(attachments(), options.rounds):
        if not costs[attachment.name].reason:
            _measure_attached(attachment, costs[attachment.name], options)
    return _topic(costs, loads)


def _measure_attached(attachment: Attachment, costs: Costs, options: Options) -> None:
    try:
        with attachment.attach() as tend:
            _measure_loads(costs, tend, options)
    except NotHere as reason:
        costs.reason = str(reason)


def _measure_loads(costs: Costs, tend: Tend, options: Options) -> None:
    with suppress(NotHere):  # said once, in the notes
        for _ in range(PIPE_BATCHES):
            tend()
            run_pipe(costs, QUICK_PIPE_LOOPS if options.quick else PIPE_LOOPS)
    with suppress(NotHere):
        tend()
        run_hackbench(costs)


def run_pipe(costs: Costs, loops: int) -> None:
    """Two processes that wake each other over pipes, on one CPU."""
    cpu = max(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(cpu), find("perf"), "bench", "-f", "simple", "sched", "pipe", "-l", str(loops)]
    done = _run(command)
    costs.pipe_ns.add(float(done.output) * 1e9 / done.own_switches)
    costs.pipe_cpu_ns.add(done.cpu_ns / done.own_switches)


def run_hackbench(costs: Costs) -> None:
    """Many senders and receivers on all CPUs; the switches are the machine's, those to idle among them."""
    done = _run([find("hackbench"), "-g", "4", "-l", "400"])
    match = re.search(r"Time: ([\d.]+)", done.output)
    if match:
        costs.hackbench_ns.add(float(match[1]) * 1e9 / done.machine_switches)
        costs.hackbench_cpu_ns.add(done.cpu_ns / done.machine_switches)


def _run(command: Sequence[str]) -> Run:
    before = noise.switches()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    with process.stdout as stdout:
        output = stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise NotHere(f"{command[0]} ended with status {process.returncode}")
    cpu_ns = (usage.ru_utime + usage.ru_stime) * 1e9
    return Run(output, cpu_ns, usage.ru_nvcsw + usage.ru_nivcsw, noise.switches() - before)


def _missing_loads() -> list[str]:
    missing = []
    for load in ("perf", "hackbench", "taskset"):
        try:
            find(load)
        except NotHere as reason:
            missing.append(f"{reason}: its column is empty")
    return missing


def _topic(costs: dict[str, Costs], missing: list[str]) -> Topic:
    columns = ("attached", "wall, best", "median", "cost", "CPU, best", "median", "cost", "of runqlat")
    pipes = Table("Cost per context switch: pipe ping-pong on one CPU (ns)", columns, notes=_notes(costs, missing))
    hackbench = Table("Cost per context switch: hackbench on all CPUs (ns per switch of the machine)", columns)
    for attachment in attachments():
        pipes.rows.append((attachment.words, *_cells(costs, attachment.name, "pipe")))
        hackbench.rows.append((attachment.words, *_cells(costs, attachment.name, "hackbench")))
    data = {name: figures.to_data() for name, figures in costs.items()}
    return Topic([pipes, hackbench], data, _goals(costs))


def _notes(costs: dict[str, Costs], missing: list[str]) -> list[str]:
    words = {attachment.name: attachment.words for attachment in attachments()}
    return [
        "cost: the best batch minus the best one with nothing attached; median: how far above the best (the noise)",
        "CPU: time of the load's own tasks, which other tasks on the CPU do not lengthen; the ratio is of these costs",
        *missing,
        *(f"{words[name]}: {figures.reason}" for name, figures in costs.items() if figures.reason),
    ]


def _cells(costs: dict[str, Costs], name: str, load: str) -> list[str]:
    cells = []
    for figure in (f"{load}_ns", f"{load}_cpu_ns"):
        batches = getattr(costs[name], figure)
        cells += [number(batches.best), share(batches.spread_ratio), number(_cost(costs, name, figure))]
    own, tool = (_cost(costs, which, f"{load}_cpu_ns") for which in (name, "runqlat"))
    return [*cells, number(_ratio(own, tool), 2)]


def _cost(costs: dict[str, Costs], name: str, figure: str = "pipe_cpu_ns") -> float | None:
    """What it adds to a switch, in nanoseconds."""
    return minus(getattr(costs[name], figure).best, getattr(costs["nothing"], figure).best)


def _goals(costs: dict[str, Costs]) -> list[Goal]:
    full, floor = _cost(costs, "collector_btf"), _cost(costs, "floor")
    clocks = minus(_cost(costs, "floor_clocks"), floor)
    limit = 2 * floor + clocks if floor is not None and clocks is not None else None
    share_of_runqlat = _ratio(full, _cost(costs, "runqlat"))
    return [
        Goal(
            "full collector (btf), as a share of what runqlat adds to a switch (CPU time)",
            share_of_runqlat,
            round(1 / 3, 2),
            "",
        ),
        Goal("full collector (btf), against twice the floor and two clock reads (CPU time)", full, limit, "ns"),
    ]


def _ratio(part: float | None, whole: float | None) -> float | None:
    """A share, `None` where the noise is larger than the figures."""
    return part / whole if part is not None and whole and whole > 0 and part >= 0 else None

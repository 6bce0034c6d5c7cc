"""How merge, view, draw and export grow with CPUs and tasks, on synthetic Frames."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame, merge
from schedtop.outputs.scheduler.snapshot import to_json
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource, make_frame
from schedtop.ui.app import SchedtopApp
from schedtop.ui.feed import FrameArrived
from tests.bench.batches import Batches, alternating
from tests.bench.report import Options, Table, Topic, number

CPUS, QUICK_CPUS = (2, 8, 64, 256, 1024), (2, 64, 1024)
TASKS, QUICK_TASKS = (100, 1_000, 10_000, 100_000), (100, 1_000, 10_000)
WINDOW = 60
"""Frames that are merged."""

_MADE = 3
_DRAWS = 3
_MERGE_BYTES_PER_TASK = 3 * 144  # the tables together, in order, and one more on the way
STEPS = ("merge", "view", "draw", "export")


@dataclass(frozen=True, slots=True)
class Host:
    """A made-up host and a minute of it."""

    cpus: int
    tasks: int
    frames: tuple[Frame, ...]


Costs = dict[tuple[int, str], Batches]
"""CPU milliseconds by size and step."""


def measure(options: Options) -> Topic:
    """Both kinds of growth."""
    cpus, tasks = (QUICK_CPUS, QUICK_TASKS) if options.quick else (CPUS, TASKS)
    rounds = 2 if options.quick else min(options.rounds, 4)
    tables, data = [], {}
    for words, sizes, build in (
        ("CPUs (200 tasks)", cpus, lambda size: make_host(size, 200)),
        ("tasks (8 CPUs)", tasks, lambda size: make_host(8, size)),
    ):
        costs = _measure(sizes, build, rounds)
        tables.append(_table(words, sizes, costs))
        data[words.split()[0].lower()] = _data(sizes, costs)
    return Topic(tables, data)


def make_host(cpus: int, tasks: int) -> Host:
    """A minute of Frames; a few are made, and come again with later times."""
    scenario = Scenario(cpus=cpus, tasks=tasks, slow_waits=30)
    rng = np.random.default_rng(scenario.seed)
    made = [make_frame(scenario, number, rng) for number in range(_MADE)]
    frames = (replace(made[place % _MADE], end_ns=(place + 1) * 10**9) for place in range(WINDOW))
    return Host(cpus, tasks, tuple(frames))


def _measure(sizes: Sequence[int], build: Callable[[int], Host], rounds: int) -> Costs:
    hosts = {size: build(size) for size in sizes}
    costs: Costs = {(size, step): Batches() for size in sizes for step in STEPS}
    for size in alternating(sizes, rounds):
        host = hosts[size]
        if _memory_bytes() > 2 * WINDOW * host.tasks * _MERGE_BYTES_PER_TASK:
            costs[size, "merge"].add(cpu_ms(partial(merge, host.frames)))
        history = History(SyntheticSource().host, host.frames)
        settings = ViewSettings(window_ns=WINDOW * 10**9)
        costs[size, "view"].add(cpu_ms(partial(history.view, settings)))
        costs[size, "draw"].add(asyncio.run(_draw_ms(host)))
        view = History(SyntheticSource().host, host.frames[-1:]).view(ViewSettings())
        costs[size, "export"].add(cpu_ms(partial(to_json, view, None)))
    return costs


def cpu_ms(work: Callable[[], object]) -> float:
    """CPU time of a piece of work in this process, in milliseconds."""
    begin = time.process_time_ns()
    work()
    return (time.process_time_ns() - begin) / 1e6


async def _draw_ms(host: Host) -> float:
    """One new Frame in the app: taken, merged into the window of 1 s, and drawn by every pane. The best of a few."""
    app = SchedtopApp(SyntheticSource(Scenario(frames=0)))
    costs = []
    async with app.run_test(size=(160, 50)) as pilot:
        for frame in host.frames[: _DRAWS + 1]:
            begin = time.process_time_ns()
            app.post_message(FrameArrived(frame))
            while app.dashboard.view is None or app.dashboard.view.latest_ns != frame.end_ns:
                await asyncio.sleep(0)
            await pilot.pause()
            costs.append((time.process_time_ns() - begin) / 1e6)
    return min(costs[1:])


def exponent(sizes: Sequence[int], values: Sequence[float | None]) -> float | None:
    """The slope of the line through the points on logarithmic axes: 1 is linear, 2 quadratic. `None` below two."""
    points = [(math.log(size), math.log(value)) for size, value in zip(sizes, values, strict=True) if value]
    if len(points) < 2:
        return None
    x, y = zip(*points, strict=True)
    return float(np.polyfit(x, y, 1)[0])


def _table(words: str, sizes: Sequence[int], costs: Costs) -> Table:
    table = Table(
        f"Growth with {words}: CPU ms, best batch",
        ("step", *(f"{size:,}" for size in sizes), "exponent", "last step"),
        notes=["exponent: slope on logarithmic axes, over all sizes and over the last two; 1 is linear"],
    )
    for step, label in zip(
        STEPS, ("merge of 60 Frames", "view of 60 s", "draw, 160x50", "export, all tasks"), strict=True
    ):
        best = [costs[size, step].best for size in sizes]
        slopes = (exponent(sizes, best), exponent(sizes[-2:], best[-2:]))
        table.rows.append((label, *(number(value, 1) for value in best), *(number(slope, 2) for slope in slopes)))
    if not all(costs[size, "merge"].values for size in sizes):
        table.notes.append("merge: left out where it would take more than half of the free memory")
    return table


def _data(sizes: Sequence[int], costs: Costs) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for step in STEPS:
        best = [costs[size, step].best for size in sizes]
        data[step] = {
            "cpu_ms": {str(size): costs[size, step].to_data() for size in sizes},
            "exponent": exponent(sizes, best),
            "last_exponent": exponent(sizes[-2:], best[-2:]),
        }
    return data


def _memory_bytes() -> int:
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024

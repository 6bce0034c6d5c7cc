"""CPU time of a frame of the dashboard, with the task view over it, and with many CPUs, in the usual sizes."""

from __future__ import annotations

from tests.bench.batches import Batches, alternating
from tests.bench.frame_cost import one_frame
from tests.bench.report import Goal, Options, Table, Topic, number, share

SIZES = ((80, 24), (120, 40), (160, 50), (200, 60))
FRAMES, QUICK_FRAMES = 30, 8
MANY_CPUS, MANY_MS = 1024, 20.0
MANY_SIZES = ((80, 24), (200, 60), (240, 70))


def measure(options: Options) -> Topic:
    """Each size in turn."""
    shown = [(size, task) for size in SIZES for task in (False, True)]
    costs = {one: Batches() for one in shown}
    for size, task in alternating(shown, 1 if options.quick else 2):
        costs[size, task].values += one_frame(size, QUICK_FRAMES if options.quick else FRAMES, task).values
    table = Table(
        "One frame of the dashboard in a terminal, 2 CPUs, 200 tasks (CPU ms, source left out)",
        ("size", "best", "median", "task view over it", "median"),
    )
    for columns, lines in SIZES:
        cells = (costs[(columns, lines), task] for task in (False, True))
        numbers = [text for cost in cells for text in (number(cost.best, 1), share(cost.spread_ratio))]
        table.rows.append((f"{columns}x{lines}", *numbers))
    many = {size: Batches() for size in MANY_SIZES}
    for size in alternating(MANY_SIZES, 1 if options.quick else 2):
        many[size].values += one_frame(size, QUICK_FRAMES if options.quick else FRAMES, cpus=MANY_CPUS).values
    wide = Table(f"The same with {MANY_CPUS} CPUs", ("size", "best", "median"))
    for columns, lines in MANY_SIZES:
        cost = many[columns, lines]
        wide.rows.append((f"{columns}x{lines}", number(cost.best, 1), share(cost.spread_ratio)))
    goals = [
        Goal(f"frame at 1,024 CPUs, {columns}x{lines}", many[columns, lines].best, MANY_MS, "ms of CPU")
        for columns, lines in MANY_SIZES
    ]
    return Topic(
        [table, wide],
        {
            f"{columns}x{lines}{' task' if task else ''}": cost.to_data()
            for ((columns, lines), task), cost in costs.items()
        }
        | {f"{columns}x{lines} {MANY_CPUS} CPUs": cost.to_data() for (columns, lines), cost in many.items()},
        goals,
    )

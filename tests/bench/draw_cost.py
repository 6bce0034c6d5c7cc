"""CPU time of one frame of the dashboard, at the usual sizes of a terminal."""

from __future__ import annotations

from tests.bench.batches import Batches, alternating
from tests.bench.frame_cost import one_frame
from tests.bench.report import Options, Table, Topic, number, share

SIZES = ((80, 24), (120, 40), (160, 50), (200, 60))
FRAMES, QUICK_FRAMES = 30, 8


def measure(options: Options) -> Topic:
    """Each size in turn."""
    costs = {size: Batches() for size in SIZES}
    for size in alternating(SIZES, 1 if options.quick else 2):
        costs[size].values += one_frame(size, QUICK_FRAMES if options.quick else FRAMES).values
    table = Table(
        "One frame of the dashboard in a terminal, 2 CPUs, 200 tasks (CPU ms, source left out)",
        ("size", "best", "median"),
    )
    for (columns, lines), cost in costs.items():
        table.rows.append((f"{columns}x{lines}", number(cost.best, 1), share(cost.spread_ratio)))
    return Topic([table], {f"{columns}x{lines}": cost.to_data() for (columns, lines), cost in costs.items()})

"""What the quota of a cgroup has taken of waits under way: their rows as if each ended now (bpf/task/held.h)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Rows
from schedtop.sources.task.proc import RUNNABLE, RUNNING, THROTTLED


def noted(threads: Rows) -> npt.NDArray[np.bool_]:
    """Which threads are in a wait that a quota may have a part of."""
    waits: npt.NDArray[np.bool_] = np.isin(threads["state"], (RUNNABLE, THROTTLED))
    waits |= (threads["state"] == RUNNING) & (threads["cpu_and_one"] == 0)  # is_as_at_start() of bpf/task/held.h
    waits &= threads["noted_ns"] == threads["since_ns"]
    return waits


def split(threads: Rows, held: Rows) -> Rows:
    """The rows with waits under way split by what was told of them (`struct task_held`).

    What came before is in `state_ns`, and `since_ns` and `state` are those of the part that goes on.
    """
    told = {int(row["tid"]): row for row in held}
    split_rows = threads.copy()
    for place in np.flatnonzero(noted(threads)).tolist():
        row, now = split_rows[place], told.get(int(threads["tid"][place]))
        if now is None or now["since_ns"] != row["since_ns"]:
            continue  # it has begun since
        wait_ns = int(now["at_ns"]) - int(now["since_ns"])
        held_ns = min(int(now["held_ns"]), wait_ns)
        over, state, ns = (RUNNABLE, THROTTLED, wait_ns - held_ns) if now["held"] else (THROTTLED, RUNNABLE, held_ns)
        row["state_ns"][over] += ns
        row["since_ns"] += ns
        row["state"] = state
    return split_rows

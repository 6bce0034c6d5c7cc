"""How long tasks ran and waited in a window: the sum of some Frames, of which small tasks lose their names."""

from __future__ import annotations

import numpy as np

from schedtop.model.frame import Frame
from schedtop.model.rows import TASK_DTYPE, Rows, merge_tasks, take_rows

MOST_TASKS = 4096
"""How many tasks are kept by name; of others only what they used of which CPU."""


class Times:
    """`rows`: of TASK_DTYPE, one a task; `small_ns`: what others ran, by their last CPU. Not shared by threads."""

    def __init__(self) -> None:
        self.interval_ns = 0
        self.rows: Rows = np.empty(0, TASK_DTYPE)
        self.cpus: tuple[int, ...] = ()
        self.small_ns: dict[int, int] = {}
        self.unavailable = ""

    def add(self, frame: Frame) -> None:
        """Takes the next Frame."""
        self.unavailable = next((why for part in ("tasks", "run_delay") if (why := frame.unavailable.get(part))), "")
        self.interval_ns += frame.interval_ns
        self.cpus = tuple(map(int, frame.cpus.ids))
        rows = merge_tasks([self.rows, frame.tasks])
        if len(rows) > MOST_TASKS:
            order = np.argsort(-(rows["run_ns"] + rows["run_delay_ns"]), kind="stable")
            rest = rows[order[MOST_TASKS:]]
            for cpu, run_ns in zip(rest["last_cpu"].tolist(), rest["run_ns"].tolist(), strict=True):
                self.small_ns[cpu] = self.small_ns.get(cpu, 0) + run_ns
            rows = take_rows(rows, np.sort(order[:MOST_TASKS]))
        self.rows = rows


class TimesSince:
    """Times from `begin` on, or of all there is where that is nothing. `begin` may come from another thread."""

    def __init__(self) -> None:
        self._all, self._since = Times(), Times()
        self._begin_ns = 0

    def begin(self, wall_ns: int) -> None:
        """Frames count that begin at this moment or later."""
        self._begin_ns = wall_ns

    def add(self, frame: Frame) -> None:
        """Takes the next Frame."""
        self._all.add(frame)
        if 0 < self._begin_ns <= frame.start_time_ns:
            self._since.add(frame)

    @property
    def best(self) -> Times:
        """Those since the beginning, if there are any."""
        return self._since if self._since.interval_ns else self._all

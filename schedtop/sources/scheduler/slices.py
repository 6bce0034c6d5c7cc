"""Time slices of the tasks in slow waits, asked of the kernel when the waits are read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from schedtop.base.breath import Breath
from schedtop.base.time_slice import slice_of
from schedtop.base.units import NS_PER_S
from schedtop.model.rows import Rows
from schedtop.model.sched_class import SchedClass

KEEP_NS = 3 * NS_PER_S
"""How long a task keeps the slice that it was found with."""

MOST_TASKS = 64
"""Of how many tasks an interval it is asked for: those of the longest waits."""


class Slices:
    """The slices of tasks of the fair class. `inside`: the tid that a system call here takes for one of the host."""

    def __init__(self, inside: Callable[[int], int], ask: Callable[[int], int] = slice_of) -> None:
        self._inside = inside
        self._ask = ask
        self._known: dict[int, tuple[int, int]] = {}

    def note(self, rows: Rows, now_ns: int, breath: Breath) -> None:
        """Fills `slice_ns` and `blocker_slice_ns` of slow waits; 0: not known, or the task is of another class.

        Takes breaths.
        """
        self._known = {tid: known for tid, known in self._known.items() if known[0] > now_ns - KEEP_NS}
        tids = np.column_stack((rows["tid"], rows["blocker_tid"]))
        tids[np.column_stack((rows["sched_class"], rows["blocker_sched_class"])) != SchedClass.FAIR] = 0
        longest_first = tids[np.argsort(-rows["wait_ns"], kind="stable")]
        unknown = [tid for tid in dict.fromkeys(longest_first.ravel().tolist()) if tid and tid not in self._known]
        for tid in breath.between(unknown[:MOST_TASKS]):
            self._known[tid] = (now_ns, self._of(tid))
        slices = {tid: known[1] for tid, known in self._known.items()}
        found = np.array([slices.get(tid, 0) for tid in tids.ravel().tolist()]).reshape(tids.shape)
        rows["slice_ns"], rows["blocker_slice_ns"] = found[:, 0], found[:, 1:]

    def _of(self, tid: int) -> int:
        number = self._inside(tid)
        return self._ask(number) if number else 0  # 0 would be ourselves

"""Tasks that found their place in the table taken: read only where there are any, and removed once they are gone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.model.rows import Integers, Rows, rows_where
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.kernel.hash_reader import HashReader
from schedtop.sources.kernel.mapped_rows import MappedRows


class OverflowReader:
    """Reads the overflow map of descriptor `fd`. An entry that is over is taken out of it at the reading after.

    That is one of a task that has exited, or that has a slot in the table `slots`, where all its events go.
    """

    def __init__(self, fd: int, values: HashReader, slots: Rows | MappedRows) -> None:
        self._fd, self._values, self._slots = fd, values, slots
        self._inserted = 0
        self._rows: Rows = np.zeros(0, slots.dtype)
        self._over: set[tuple[int, int]] = set()

    def read(self, inserted: int, epoch: int, running_tids: Integers, breathe: Callable[[], object] = keep_on) -> Rows:
        """Its rows; `inserted`: how many were ever put into it. Without a new one an empty map is not read.

        `breathe` is called while it is read.
        """
        if inserted == self._inserted and not len(self._rows):
            return self._rows
        self._inserted, rows = inserted, self._values.all(breathe)
        names = list(zip(rows["tid"].tolist(), rows["start_ns"].tolist(), strict=True))
        over = {names[at] for at in np.flatnonzero(self._are_over(rows, epoch, running_tids)).tolist()}
        removed = over & self._over
        for tid, _ in removed:
            calls.delete_element(self._fd, tid.to_bytes(4, "little"))
        self._over = over - removed
        self._rows = rows_where(rows, np.array([name not in removed for name in names], bool)) if removed else rows
        return self._rows

    def _are_over(self, rows: Rows, epoch: int, running_tids: Integers) -> npt.NDArray[np.bool_]:
        """Which of them nothing is written to any more, as is_reclaimable() of bpf/scheduler/tasks.h has it."""
        over: npt.NDArray[np.bool_] = rows["flags"] & SCHEDULER.TASK_EXITED != 0
        exiting = (rows["flags"] & SCHEDULER.TASK_EXITING != 0) & (rows["exit_epoch"].astype(np.int64) + 2 <= epoch)
        over |= exiting & (rows["wait_start_ns"] == 0) & ~np.isin(rows["tid"], running_tids)
        slots = self._slots.take(rows["tid"].astype(np.int64) & (len(self._slots) - 1))
        # Of two users of a tid the one that started later lives.
        over |= (slots["tid"] == rows["tid"]) & (slots["start_ns"] >= rows["start_ns"])
        return over

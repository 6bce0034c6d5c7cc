"""Tasks that found their place in the table taken: read only where there are any, and removed after they exited."""

from __future__ import annotations

import numpy as np

from schedtop.model.rows import Rows
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.kernel.hash_reader import HashReader


class OverflowReader:
    """Reads the overflow map of descriptor `fd`. One that has exited is taken out of it at the reading after."""

    def __init__(self, fd: int, values: HashReader) -> None:
        self._fd, self._values = fd, values
        self._inserted = -1
        self._rows: Rows = np.zeros(0, [("tid", "<u4")])
        self._exited: set[tuple[int, int]] = set()

    def read(self, inserted: int) -> Rows:
        """Its rows; `inserted`: how many were ever put into it. Without a new one an empty map is not read."""
        if inserted == self._inserted and not len(self._rows):
            return self._rows
        self._inserted, rows = inserted, self._values.all()
        gone = rows[rows["flags"] & SCHEDULER.TASK_EXITED != 0]
        exited = set(zip(gone["tid"].tolist(), gone["start_ns"].tolist(), strict=True))
        for tid, _ in exited & self._exited:
            calls.delete_element(self._fd, tid.to_bytes(4, "little"))
        self._exited, self._rows = exited, rows
        return rows

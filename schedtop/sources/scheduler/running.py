"""What each CPU does now, by its row, where that is still true: a CPU that is offline does nothing any more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Integers, Rows

RUNNING_DTYPE = np.dtype([("current_tid", "<u8"), ("slice_start_ns", "<u8")])
"""The fields of `struct cpu_state` that tell of the slice under way; 0 since: none is known."""


class Running:
    """The slices under way, without those that a CPU took with it when it went offline.

    The last one is that of its stopper thread (`migration/N`): tracepoints are off on a CPU that is not online
    (TP_CONDITION in include/linux/tracepoint.h), so its switch to idle is not seen, nor anything before it returns.
    """

    def __init__(self) -> None:
        self._left_ns: Integers | None = None

    def clear_left(self, cpus: Rows, online: npt.NDArray[np.bool_]) -> None:
        """The same in a copy of rows of `struct cpu_state`: a CPU that went offline has no slice under way."""
        if self._left_ns is not None or not online.all():
            cpus["slice_start_ns"] = self.now(cpus, online)["slice_start_ns"]

    def now(self, cpus: Rows, online: npt.NDArray[np.bool_]) -> Rows:
        """Rows of RUNNING_DTYPE; `cpus`: rows of `struct cpu_state`, `online`: which of the CPUs are."""
        running = np.zeros(len(cpus), RUNNING_DTYPE)
        # They may be the kernel's own memory: the tid first, so that it is of that slice, if this began before.
        running["current_tid"] = cpus["current_tid"]
        running["slice_start_ns"] = starts = cpus["slice_start_ns"]
        if self._left_ns is None:
            if online.all():
                return running
            self._left_ns = np.zeros(len(cpus), starts.dtype)
        # One that is back has not switched yet, as long as its row tells of the same slice.
        self._left_ns = np.where(online, self._left_ns, running["slice_start_ns"])
        running[running["slice_start_ns"] == self._left_ns] = 0
        return running

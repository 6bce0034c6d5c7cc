"""What schedtop itself costs, and the priority that it has."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from schedtop.base.helpers import HELPERS
from schedtop.base.session_nice import OWN
from schedtop.base.time_slice import slice_of
from schedtop.model.counts import Overhead

SLICE_LOOKS = 8
"""How many readings priority and time slice hold for: they change when the host gets crowded, or calm."""

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class OwnCost:
    """Of this process and its helpers, through files that are kept open."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        """Raises OSError where there is no /proc."""
        self._statm = os.open(proc / "self" / "statm", os.O_RDONLY | os.O_CLOEXEC)
        self._helpers: dict[int, int] = {}
        for pid in HELPERS:
            with suppress(OSError):  # it has ended, or this kernel keeps no such times
                self._helpers[os.open(proc / str(pid) / "schedstat", os.O_RDONLY | os.O_CLOEXEC)] = 0
        self._looks = 0
        self._nice, self._slice_ns = 0, 0

    def close(self) -> None:
        """Nothing can be read afterwards."""
        for descriptor in (self._statm, *self._helpers):
            os.close(descriptor)
        self._helpers = {}

    def now(self, bpf_ns: int | None = None) -> Overhead:
        """CPU time since the start, resident memory of this process, priority of this thread; BPF time as given.

        Raises OSError.
        """
        pages = int(os.pread(self._statm, 256, 0).split(maxsplit=2)[1])
        if self._looks % SLICE_LOOKS == 0:
            self._nice, self._slice_ns = os.getpriority(os.PRIO_PROCESS, 0), slice_of(0)
        self._looks += 1
        return Overhead(
            time.process_time_ns() + self._helpers_ns(),
            pages * _PAGE_BYTES,
            bpf_ns,
            nice=self._nice,
            session_nice=OWN.nice,
            slice_ns=self._slice_ns or None,
        )

    def _helpers_ns(self) -> int:
        """What they have run; of one that has ended as much as was last known."""
        for descriptor in self._helpers:
            with suppress(OSError):
                self._helpers[descriptor] = int(os.pread(descriptor, 128, 0).split(maxsplit=1)[0])
        return sum(self._helpers.values())

"""Which interrupt woke a task, in a capture beside which interrupts were timed."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from schedtop.capture.events import WAKEUP_NEW, WAKING, Capture
from schedtop.model.rows import Integers, text
from schedtop.model.waits import WokenBy
from schedtop.sources.host.proc import possible_cpus
from schedtop.sources.interrupts.reader import InterruptReader
from schedtop.sources.kernel.constants import INTERRUPTS

_COLLECT_S = 0.1
"""Their rings hold a third of a second of the worst that there is."""


class WakingInterrupts:
    """Times interrupts while it is open; a thread of its own takes note of them meanwhile. Raises SourceError."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        self._reader = InterruptReader(possible_cpus(), None, 1)
        self._thread = threading.Thread(target=self._collect, name="interrupts")
        self._thread.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._end()
        self._reader.close()

    def named(self, capture: Capture) -> Capture:
        """The same capture with the names of the interrupts that woke tasks. Interrupts are noted no longer."""
        self._end()
        self._reader.spans.collect()
        comms = _Comms(capture)
        events = capture.events
        chosen = ((events["kind"] == WAKING) | (events["kind"] == WAKEUP_NEW)) & (events["other_tid"] == 0)
        found: dict[tuple[int, int], str] = {}
        for by, level in ((WokenBy.INTERRUPT, INTERRUPTS.LEVEL_HARD), (WokenBy.SOFTIRQ, INTERRUPTS.LEVEL_SOFT)):
            wakeups = events[chosen & (events["woken_by"] == by)]
            for cpu in np.unique(wakeups["seen_on"]).tolist():
                mine = wakeups[wakeups["seen_on"] == cpu]
                sources, raisers = self._reader.spans.under_way(cpu, level, mine["time_ns"].astype(np.int64))
                for row, source, raiser in zip(mine, sources.tolist(), raisers.tolist(), strict=True):
                    if source >= 0:
                        raised_by = text(self._reader.raiser(raiser, comms.of))
                        name = text(self._reader.name(source)) + (f" raised by {raised_by}" if raised_by else "")
                        found[int(row["tid"]), int(row["time_ns"])] = name
        return replace(capture, interrupts=found)

    def _collect(self) -> None:
        while not self._stop.wait(_COLLECT_S):
            self._reader.spans.collect()

    def _end(self) -> None:
        self._stop.set()
        self._thread.join()


class _Comms:
    """The last names of the tasks of a capture."""

    def __init__(self, capture: Capture) -> None:
        self._names = dict(zip(capture.names["tid"].tolist(), capture.names["comm"].tolist(), strict=True))

    def of(self, tids: Integers) -> npt.NDArray[np.bytes_]:
        """Those of some, in their order."""
        return np.array([self._names.get(tid, b"") for tid in tids.tolist()], "S16")

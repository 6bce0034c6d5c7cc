"""When a source reads: once an interval, as long as nothing says stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from schedtop.base.units import NS_PER_S

Wait = Callable[[int, threading.Event], bool]
"""Waits until a moment of CLOCK_MONOTONIC; false: the event was set before."""


def wait_until(moment_ns: int, stop: threading.Event) -> bool:
    """Does nothing else meanwhile."""
    return not stop.wait(max(0, moment_ns - time.monotonic_ns()) / NS_PER_S)


class Ticks:
    """Deadlines that are `interval_ns` apart. A late tick skips to the next deadline: `late` counts those left out."""

    def __init__(self, interval_ns: int, wait: Wait = wait_until) -> None:
        """`wait`: what is done until a deadline has come."""
        self._interval_ns = interval_ns
        self._wait = wait
        self.late = 0

    def until(self, stop: threading.Event, first_ns: int) -> Iterator[None]:
        """A tick at each deadline from `first_ns` (CLOCK_MONOTONIC) on; ends when the event is set."""
        deadline_ns = first_ns
        while self._wait(deadline_ns, stop):
            yield
            deadline_ns += self._interval_ns
            missed = max(0, (time.monotonic_ns() - deadline_ns) // self._interval_ns + 1)
            self.late += missed
            deadline_ns += missed * self._interval_ns

"""The screen goes first: a key is drawn at once under the highest load, too.

A raised nice value is not enough there: with eighty busy tasks a CPU, a key waited for up to 2.5 s. So the threads of
this process get the lowest of the real-time priorities. They need a tenth of a CPU; should they ever keep one for
BURST_S, they go back among the ordinary ones. What they start begins as an ordinary task (SCHED_RESET_ON_FORK).
"""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

PRIORITY = 1

BURST_S = 1
"""CPU time without a pause (RLIMIT_RTTIME) after which the kernel tells us, and we give the priority back."""


class Urgency:
    """Which threads have the priority. `keep` must be called from time to time: new threads begin without it."""

    def __init__(self) -> None:
        self.held = False
        self._raised: set[int] = set()

    def take(self) -> None:
        """Raises all threads of now, if the system lets us."""
        self.held = True
        self.keep()

    def keep(self) -> None:
        """Raises the threads that are new."""
        if not self.held:
            return
        for thread in threading.enumerate():
            if thread.native_id and thread.native_id not in self._raised:
                self._raise(thread.native_id)

    def give_back(self) -> None:
        """All threads are ordinary ones again; their nice value has been kept."""
        self.held = False
        while self._raised:
            with suppress(OSError):  # a thread that has ended
                os.sched_setscheduler(self._raised.pop(), os.SCHED_OTHER, os.sched_param(0))

    def _raise(self, thread: int) -> None:
        try:
            policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(thread, policy, os.sched_param(PRIORITY))
        except ProcessLookupError:
            return
        except OSError:  # not permitted: not root, or a cgroup without real-time
            self.held = False
        else:
            self._raised.add(thread)


@contextmanager
def urgent(wanted: bool) -> Iterator[Urgency]:
    """While it lasts, this process goes first, if that is `wanted`."""
    urgency = Urgency()
    if not wanted:
        yield urgency
        return

    def too_long(_number: int, _frame: FrameType | None) -> None:
        urgency.give_back()

    before, limits = signal.signal(signal.SIGXCPU, too_long), resource.getrlimit(resource.RLIMIT_RTTIME)
    try:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_RTTIME, (BURST_S * 1_000_000, limits[1]))
            urgency.take()
        yield urgency
    finally:
        urgency.give_back()
        resource.setrlimit(resource.RLIMIT_RTTIME, limits)
        signal.signal(signal.SIGXCPU, before)

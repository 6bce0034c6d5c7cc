"""The screen goes first: a key is drawn at once under the highest load, too.

A raised nice value is not enough there: with eighty busy tasks a CPU, a key waited for up to 2.5 s. So the threads of
this process get the lowest of the real-time priorities. They need a tenth of a CPU; should they ever keep one for
BURST_S, or take more than MOST_SHARE of one for SHARE_S, they go back among the ordinary ones, for good. What they
start begins as an ordinary task (SCHED_RESET_ON_FORK).
"""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

PRIORITY = 1

BURST_S = 1
"""CPU time without a pause (RLIMIT_RTTIME) after which the kernel tells us, and we give the priority back."""

MOST_SHARE = 0.5
SHARE_S = 10
"""The kernel counts from the last pause on, and two threads that wait for each other's lock pause all the time."""


class Urgency:
    """Which threads have the priority. `keep` must be called from time to time: new threads begin without it."""

    def __init__(self) -> None:
        self.held = False
        self._raised: set[int] = set()
        self._since = (0.0, 0.0)
        """When the share began to be measured: wall time and CPU time of this process."""

    def take(self) -> None:
        """Raises all threads of now, if the system lets us."""
        self.held = True
        self._since = (time.monotonic(), time.process_time())
        self.keep()

    def keep(self) -> None:
        """Raises the threads that are new; gives all back if they take too much."""
        if self.held and self._takes_too_much():
            self.give_back()
        if not self.held:
            return
        self._raised &= own_threads()
        for thread in threading.enumerate():
            if self.held and thread.native_id and thread.native_id not in self._raised:
                self._raise(thread.native_id)
        if not self.held:  # given back by a signal in the midst of it
            self.give_back()

    def give_back(self) -> None:
        """All threads are ordinary ones again; their nice value has been kept."""
        self.held = False
        # The kernel gives the number of a thread that has ended to another one.
        self._raised &= own_threads()
        while self._raised:
            with suppress(OSError):  # a thread that has ended
                os.sched_setscheduler(self._raised.pop(), os.SCHED_OTHER, os.sched_param(0))

    def _takes_too_much(self) -> bool:
        wall, cpu = time.monotonic() - self._since[0], time.process_time() - self._since[1]
        if wall < SHARE_S:
            return False
        self._since = (self._since[0] + wall, self._since[1] + cpu)
        return cpu > MOST_SHARE * wall

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


def own_threads() -> set[int]:
    """The numbers of this process's threads."""
    try:
        found = set(map(int, os.listdir("/proc/self/task")))
    except OSError:  # no /proc
        found = set()
    # The host's /proc in a container has other numbers than system calls take: then what Python knows.
    return found if os.getpid() in found else {one.native_id for one in threading.enumerate() if one.native_id}


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

"""Work for others' sake in short stretches: a thread that sleeps gives the CPU to whatever waits for it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")

SLEEP_S = 0.0005
"""A yield would not do: within a session of its own (autogroup) or a cgroup, nothing else is asked."""

STRETCH_S = 0.0004
"""How long a thread may keep the CPU. A sleep costs 0.07 ms, and caches that others have used."""

LOAD = "/proc/loadavg"


@cache
def _load_file() -> int | None:
    """Of this process and, as it is only read at an offset, of those that it forks."""
    try:
        return os.open(LOAD, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def is_alone() -> bool:
    """Whether nothing but this thread is runnable on any CPU, by proc(5); False where that cannot be read."""
    if (file := _load_file()) is None:
        return False
    try:
        return os.pread(file, 64, 0).partition(b"/")[0].endswith(b" 1")
    except OSError:
        return False


def keep_on() -> None:
    """No breath: where nobody else is to be spared."""


class Breath:
    """Of one thread."""

    def __init__(self) -> None:
        self._begun_s = 0.0

    def begin(self) -> None:
        """The thread has just been woken: a stretch begins."""
        self._begun_s = time.monotonic()

    def take(self) -> None:
        """Gives the CPU away, if it was kept for a stretch and something may wait for it."""
        if time.monotonic() - self._begun_s > STRETCH_S:
            if not is_alone():
                time.sleep(SLEEP_S)
            self._begun_s = time.monotonic()

    def between(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items; breaths are taken after what is done with each."""
        for item in items:
            yield item
            self.take()

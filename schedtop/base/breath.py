"""Work for others' sake in short stretches: a thread that sleeps gives the CPU to whatever waits for it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

SLEEP_S = 0.0005
"""A yield would not do: within a session of its own (autogroup) or a cgroup, nothing else is asked."""

STRETCH_S = 0.0004
"""How long a thread may keep the CPU. A sleep costs 0.07 ms, and caches that others have used."""


class Breath:
    """Of one thread."""

    def __init__(self) -> None:
        self._begun_s = 0.0

    def begin(self) -> None:
        """The thread has just been woken: a stretch begins."""
        self._begun_s = time.monotonic()

    def take(self) -> None:
        """Gives the CPU away, if it was kept for a stretch."""
        if time.monotonic() - self._begun_s > STRETCH_S:
            time.sleep(SLEEP_S)
            self._begun_s = time.monotonic()

    def between(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items; breaths are taken after what is done with each."""
        for item in items:
            yield item
            self.take()

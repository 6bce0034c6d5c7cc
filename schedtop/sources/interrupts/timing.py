"""Interrupts are timed while it is wanted: nothing is in the kernel before and after."""

from __future__ import annotations

from collections.abc import Callable

from schedtop.base.breath import keep_on
from schedtop.model.source import SourceError
from schedtop.sources.interrupts.reader import Interrupted, InterruptReader, InterruptReading


class InterruptTiming:
    """Opens and closes an InterruptReader as it is asked. Used by the thread that takes Frames.

    `why_not`: why interrupts cannot be timed, empty as long as that is not known.
    """

    def __init__(self, cpus: int, interrupting_fd: int) -> None:
        """`cpus`: possible ones; `interrupting_fd`: the map in which the scheduler's programs look."""
        self.why_not = ""
        self._cpus = cpus
        self._interrupting_fd = interrupting_fd
        self._reader: InterruptReader | None = None
        self._misses_before = 0

    def close(self) -> None:
        """Ends it."""
        if self._reader:
            self._misses_before += self._reader.misses()
            self._reader.close()
            self._reader = None

    def begin_epoch(self, epoch: int, wanted: bool) -> None:
        """An interval begins in which interrupts are to be timed, or not."""
        if not wanted:
            self.close()
        elif self._reader:
            self._reader.begin_epoch(epoch)
        elif not self.why_not:
            try:
                self._reader = InterruptReader(self._cpus, self._interrupting_fd, epoch)
            except SourceError as error:
                self.why_not = str(error)

    def read(self, epoch: int) -> InterruptReading | None:
        """What was counted so far, `None` while interrupts are not timed."""
        return self._reader.read(epoch) if self._reader else None

    def interrupted(self, epoch: int) -> Interrupted | None:
        """What was taken from tasks in the interval that has just ended."""
        return self._reader.interrupted(epoch) if self._reader else None

    @property
    def reader(self) -> InterruptReader | None:
        """What interrupts are timed with, `None` while they are not."""
        return self._reader

    def collect(self, breathe: Callable[[], object] = keep_on) -> None:
        """Takes note of the interrupts since the last call, one by one; `breathe` is called where there are many."""
        if self._reader:
            self._reader.spans.collect(breathe)

    def misses(self) -> int:
        """Interrupts so far that the kernel kept from our programs."""
        return self._misses_before + (self._reader.misses() if self._reader else 0)

"""Off-CPU measurements on their way to the screen: prepared in the thread of their source, and not too often."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from schedtop.offcpu import OffCpuSource
from schedtop.offcpu_threads import Measured, measured

LARGEST_SHARE = 0.2
"""Of a CPU, for reading and preparing what was measured: the screen must stay quick, and so must the host."""


class _Prepared:
    """A source whose measurements come as the screen shows them: made in the source's thread, not in the screen's."""

    def __init__(self, source: OffCpuSource) -> None:
        self._source = source

    def frames(self, stop: threading.Event) -> Iterator[Measured]:
        before_s = time.thread_time()
        for offcpu in self._source.frames(stop):
            yield measured(offcpu)
            # The longer it measures, the more there is to read: then it reads less often.
            spent_s = time.thread_time() - before_s
            if stop.wait(max(0.0, spent_s / LARGEST_SHARE - 1)):
                return
            before_s = time.thread_time()


@contextmanager
def prepared(source: OffCpuSource) -> Iterator[_Prepared]:
    """The source as the screen takes it, to be opened in the source's thread."""
    with source:
        yield _Prepared(source)

"""Off-CPU measurements on their way to the screen: prepared in the thread of their source, and not too often."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from schedtop.offcpu.measurement import OffCpuSource
from schedtop.offcpu.threads import Measured, measured


class _Prepared:
    """A source of measurements as the screen shows them: made in the source's thread, not in the screen's."""

    def __init__(self, source: OffCpuSource) -> None:
        self._source = source

    def frames(self, stop: threading.Event) -> Iterator[Measured]:
        return map(measured, self._source.frames(stop))


@contextmanager
def prepared(source: OffCpuSource) -> Iterator[_Prepared]:
    """The source as the screen takes it, to be opened in the source's thread."""
    with source:
        yield _Prepared(source)

"""Waits for a quota: no histogram of the run queue has them, so what shows latency tells them beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from schedtop.base.units import format_brief_ns, format_ns
from schedtop.model.frame import Frame
from schedtop.model.rows import Rows, rows_where
from schedtop.model.waits import Cause, Evidence
from schedtop.widgets.strips import Span

Cpus = tuple[int, ...] | None


def throttled_ns(frame: Frame, cpus: Cpus = None) -> tuple[int, ...]:
    """How long each slow wait for a quota was, on these CPUs (`None`: all), in nanoseconds."""
    return tuple(_throttled(frame, cpus)["wait_ns"].tolist()) if len(frame.slow_waits) else ()


def throttled_words(longest_ns: int, frames: Sequence[Frame], cpus: Cpus = None, brief: bool = False) -> list[Span]:
    """`throttled to 67.9 ms`, or `RT limit 50.0 ms` where real-time tasks alone were taken off; nothing if none was."""
    if not longest_ns:
        return []
    by_limit = all((_throttled(frame, cpus)["evidence"] == Evidence.RT_RUNTIME).all() for frame in frames)
    words = "RT limit " if frames and by_limit else "throttled to "
    return [(words, "dim"), (format_brief_ns(longest_ns) if brief else format_ns(longest_ns), "throttled")]


def _throttled(frame: Frame, cpus: Cpus) -> Rows:
    rows = frame.slow_waits
    chosen = rows["cause"] == Cause.THROTTLED
    return rows_where(rows, chosen if cpus is None else chosen & np.isin(rows["cpu"], cpus))


class ThrottledWaits:
    """Those of many Frames; each is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Frame, tuple[int, ...]]] = {}
        self._cpus: Cpus = None

    def forget(self) -> None:
        """Drops what is kept of Frames."""
        self._known.clear()

    def of(self, placed: Sequence[tuple[int, int, Frame]], cpus: Cpus) -> list[tuple[int, int, int]]:
        """The waits, each with the first and the last column of its Frame."""
        if cpus != self._cpus:
            self._cpus = cpus
            self.forget()
        known, found = {}, []
        for first, last, frame in placed:
            kept = self._known.get(id(frame)) or (frame, throttled_ns(frame, cpus))
            known[id(frame)] = kept
            found += [(first, last, ns) for ns in kept[1]]
        self._known = known
        return found


def longest_in(waits: Iterable[tuple[int, int, int]], column: int) -> int:
    """The longest of the waits in a column, 0 without any."""
    return max((ns for first, last, ns in waits if first <= column <= last), default=0)

"""Waits for a quota: no histogram of the run queue has them, so what shows latency tells them beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from schedtop.base.units import format_brief_ns, format_ns
from schedtop.model.frame import Frame
from schedtop.model.rows import Integers
from schedtop.model.waits import Cause, Evidence
from schedtop.panes.levels import THROTTLED, THROTTLED_MARK
from schedtop.panes.scheduler.latency.heat_map import LogScale
from schedtop.widgets.strips import Span

Cpus = tuple[int, ...] | None


def throttled_ns(frame: Frame, cpus: Cpus = None) -> tuple[int, ...]:
    """How long each slow wait for a quota was, on these CPUs (`None`: all), in nanoseconds."""
    return tuple(_of_waits(frame, cpus, "wait_ns").tolist())


def throttled_glance(frame: Frame, cpus: Cpus = None) -> list[Span]:
    """` ◆68 ms`, the longest of them, behind what a strip tells of other waits; nothing if there was none."""
    longest_ns = max(throttled_ns(frame, cpus), default=0)
    return [(f" {THROTTLED_MARK}{format_brief_ns(longest_ns)}", THROTTLED)] if longest_ns else []


def throttled_words(longest_ns: int, frames: Sequence[Frame], cpus: Cpus = None, brief: bool = False) -> list[Span]:
    """`throttled to 67.9 ms`, or `RT limit 50.0 ms` where real-time tasks alone were taken off; nothing if none was."""
    if not longest_ns:
        return []
    by_limit = all((_of_waits(frame, cpus, "evidence") == Evidence.RT_RUNTIME).all() for frame in frames)
    words = "RT limit " if frames and by_limit else "throttled to "
    return [(words, "dim"), (format_brief_ns(longest_ns) if brief else format_ns(longest_ns), "throttled")]


def _of_waits(frame: Frame, cpus: Cpus, field: str) -> Integers:
    """A field of the slow waits for a quota."""
    rows = frame.slow_waits
    chosen = rows["cause"] == Cause.THROTTLED
    found: Integers = rows[field][chosen if cpus is None else chosen & np.isin(rows["cpu"], cpus)]
    return found


class ColumnWaits(NamedTuple):
    """Waits of Frames that are columns: of each the first and the last column of its Frame, and how long it was."""

    first: Integers
    last: Integers
    ns: Integers

    def longest_in(self, column: int) -> int:
        """The longest of those in a column, 0 without any."""
        return int(self.ns[(self.first <= column) & (column <= self.last)].max(initial=0))

    def cells(self, scale: LogScale, columns: int) -> npt.NDArray[np.bool_]:
        """Which cells of a map they are in, shape (rows of the scale, columns)."""
        # Where they begin and end along each row, so that thousands of them are added at once.
        edges = np.zeros((scale.rows, columns + 1), np.int64)
        rows = scale.rows_of(np.log10(np.maximum(self.ns, 1)))
        np.add.at(edges, (rows, np.maximum(self.first, 0)), 1)
        np.add.at(edges, (rows, np.minimum(self.last + 1, columns)), -1)
        cells: npt.NDArray[np.bool_] = edges.cumsum(axis=1)[:, :columns] > 0
        return cells


class ThrottledWaits:
    """Those of many Frames; each is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Frame, Integers]] = {}
        self._cpus: Cpus = None

    def forget(self) -> None:
        """Drops what is kept of Frames."""
        self._known.clear()

    def of(self, placed: Sequence[tuple[int, int, Frame]], cpus: Cpus) -> ColumnWaits:
        """The waits of Frames that are placed: the first and the last column of each."""
        if cpus != self._cpus:
            self._cpus = cpus
            self.forget()
        known = {}
        for _, _, frame in placed:
            known[id(frame)] = self._known.get(id(frame)) or (frame, _of_waits(frame, cpus, "wait_ns"))
        self._known = known
        waits = [known[id(frame)][1] for _, _, frame in placed]
        if not any(map(len, waits)):
            return ColumnWaits(*(np.zeros(0, np.int64) for _ in ColumnWaits._fields))
        counts = [len(each) for each in waits]
        firsts, lasts = (np.repeat([place[edge] for place in placed], counts) for edge in (0, 1))
        return ColumnWaits(firsts, lasts, np.concatenate(waits))

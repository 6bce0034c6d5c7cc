"""The activity of the last minutes, bounded in time and memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Self

from schedtop.activity.activity import Activity
from schedtop.activity.view import ActivitySettings, ActivityView, view_of
from schedtop.base.units import NS_PER_S

KEEP_NS = 600 * NS_PER_S
"""How far back it reaches at most, as the dashboard's."""

KEEP_BYTES = 48 << 20
"""Above this the oldest intervals go: of 140 busy threads there are ten minutes, of 20,000 four seconds."""


class ActivityHistory:
    """Intervals from oldest to newest. Not shared between threads."""

    def __init__(self, intervals: Iterable[Activity] = (), keep_bytes: int = KEEP_BYTES) -> None:
        self._keep_bytes = keep_bytes
        self._intervals: list[Activity] = []
        self._bytes = 0
        self._beginning = "it was opened here"
        for interval in intervals:
            self.append(interval)

    def __len__(self) -> int:
        return len(self._intervals)

    @property
    def latest_ns(self) -> int:
        """The `end_ns` of the newest interval, 0 without any."""
        return self._intervals[-1].end_ns if self._intervals else 0

    @property
    def beginning(self) -> str:
        """Why it reaches back no further, in words."""
        return self._beginning

    def append(self, interval: Activity) -> None:
        """Adds the newest interval; drops what is too old, and what there is no room for. The newest one stays."""
        self._intervals.append(interval)
        self._bytes += _bytes_of(interval)
        while len(self._intervals) > 1 and interval.end_ns - self._intervals[0].end_ns > KEEP_NS:
            self._drop_oldest(f"{KEEP_NS // (60 * NS_PER_S)} minutes are kept")
        while len(self._intervals) > 1 and self._bytes > self._keep_bytes:
            self._drop_oldest("older time was dropped, because there is too much in each second")

    def copy(self) -> Self:
        """A history that stays as this one is now (it shares the intervals, which never change)."""
        twin = type(self)(keep_bytes=self._keep_bytes)
        twin._intervals, twin._bytes, twin._beginning = self._intervals.copy(), self._bytes, self._beginning
        return twin

    def step(self, end_ns: int, steps: int) -> int:
        """The `end_ns` of the interval `steps` after (or before) the one that ends at `end_ns`, within bounds."""
        ends = [interval.end_ns for interval in self._intervals]
        index = bisect_right(ends, end_ns) - 1 + steps
        return ends[min(max(index, 0), len(ends) - 1)]

    def view(self, settings: ActivitySettings, end_ns: int | None = None, latest_ns: int | None = None) -> ActivityView:
        """The view of the window that ends at `end_ns` (`None`: now). Raises ValueError without intervals."""
        found = self._intervals
        if end_ns is not None:
            found = [interval for interval in found if interval.end_ns <= end_ns] or found[:1]
        if not found:
            raise ValueError("there is no data yet")
        spanned_ns, first = found[-1].interval_ns, len(found) - 1
        # Half an interval is near enough: they are never exactly a second long.
        while first and spanned_ns + found[first - 1].interval_ns // 2 <= settings.window_ns:
            first -= 1
            spanned_ns += found[first].interval_ns
        latest = self.latest_ns if latest_ns is None else latest_ns
        return view_of(found[first:], settings, behind_ns=None if end_ns is None else latest - found[-1].end_ns)

    def _drop_oldest(self, why: str) -> None:
        self._bytes -= _bytes_of(self._intervals.pop(0))
        self._beginning = why


def _bytes_of(interval: Activity) -> int:
    """Nearly all of it is its rows."""
    return interval.rows.nbytes + interval.connections.nbytes

"""A place in a recording, as it is typed: `90s`, `14:03:10`, a date and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from schedtop.base.units import NS_PER_S, NS_PER_US, parse_duration

_FAR_NS = 10**18  # thirty years: no recording is longer


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a recording: nanoseconds after its beginning, a time of day, or a time. One of them is there."""

    text: str
    offset_ns: int | None = None
    clock: datetime | None = None
    """A time of day, local unless it has a zone; its date says nothing."""
    moment: datetime | None = None

    def time_ns(self, start_time_ns: int) -> int:
        """The wall-clock time it means in a recording that begins then; a time of day is the first one after that."""
        if self.offset_ns is not None:
            return start_time_ns + self.offset_ns
        if self.moment is not None:
            return _ns_of(self.moment)
        assert self.clock is not None
        start = datetime.fromtimestamp(start_time_ns // NS_PER_S, self.clock.tzinfo)
        that_day = datetime.combine(start.date(), self.clock.timetz())
        # A second less: people read the beginning without its fraction.
        return _ns_of(that_day if that_day >= start - timedelta(seconds=1) else that_day + timedelta(days=1))


def parse_place(text: str) -> Place:
    """A Place of `90s`, `2m` (a bare number: seconds), `14:03:10`, or an ISO 8601 time. Raises ValueError."""
    text = text.strip()
    try:
        offset_ns = parse_duration(text)
        if offset_ns < _FAR_NS:
            return Place(text, offset_ns=offset_ns)
    except (ValueError, OverflowError):
        pass
    try:
        if "-" in text[:8]:
            moment = datetime.fromisoformat(text)
            _ns_of(moment)
            return Place(text, moment=moment)
        if ":" in text[:3]:
            return Place(text, clock=datetime.fromisoformat(f"2000-01-01T{text}"))
    except (ValueError, OverflowError, OSError):
        pass
    raise ValueError("write 90s or 2m (from the beginning), 14:03:10 or 2026-07-01T14:03:10Z")


def _ns_of(moment: datetime) -> int:
    return round(moment.replace(microsecond=0).timestamp()) * NS_PER_S + moment.microsecond * NS_PER_US

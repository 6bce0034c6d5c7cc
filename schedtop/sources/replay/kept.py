"""What is kept of a recording while it is open: it grows with the file, and not beyond it."""

from __future__ import annotations

import sys
from collections.abc import Sized
from pathlib import Path

from schedtop.base.limits import KEPT_BYTES
from schedtop.base.units import format_bytes
from schedtop.model.source import SourceError
from schedtop.recording.lines import Entry, Event

_INTERVAL_BYTES, _EVENT_BYTES, _NAME_BYTES = 560, 200, 140
"""Of an interval, an event and the name of a cgroup, beside the text of both."""


class Kept:
    """Counts what intervals, events and names take. Raises SourceError once that is more than such a file may.

    `read_bytes`: how much has been read of the file.
    """

    def __init__(self, path: Path) -> None:
        self.read_bytes = 0
        self._path = path
        self._bytes = 0

    def interval(self, entry: Entry) -> None:
        """An interval, with the names that it tells."""
        self._add(_INTERVAL_BYTES + sum(_NAME_BYTES + sys.getsizeof(path) for path in entry.cgroups.values()))

    def event(self, event: Event) -> None:
        """An event."""
        self._add(_EVENT_BYTES + sys.getsizeof(event.text) + sys.getsizeof(event.kind))

    def names_again(self, names: Sized) -> None:
        """A mapping of its own for the names so far."""
        self._add(_NAME_BYTES * len(names))

    def _add(self, size: int) -> None:
        self._bytes += size
        most = KEPT_BYTES + self.read_bytes
        if self._bytes > most:
            raise SourceError(
                f"cannot read {self._path}: its intervals, events and names of cgroups take more than "
                f"{format_bytes(most)} of memory, more than a recording of this size needs"
            )

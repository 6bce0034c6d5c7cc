"""A recording as it lies on the disk: an index of its intervals, and each of them by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from schedtop.base.limits import HEADER_BYTES, LINE_BYTES
from schedtop.base.units import format_bytes
from schedtop.model.frame import Frame
from schedtop.model.source import SourceError
from schedtop.recording.lines import (
    End,
    Entry,
    Event,
    Header,
    OtherVersion,
    RecordingError,
    read_entry,
    read_frame,
    read_header,
)
from schedtop.sources.replay.kept import Kept
from schedtop.sources.replay.pieces import Pieces, open_regular

MOST_INTERVALS = 1 << 23
"""Three months of seconds."""

MOST_DAMAGE = 1 << 16
"""With more damaged lines than this it is no recording, whatever its first line says."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """An interval and where it is: `place` of its piece of the file, `line` within that, cgroups that are named."""

    entry: Entry
    place: int
    line: int
    cgroups: Mapping[int, str]


class Recording:
    """An open recording: `header`, the index `intervals`, `events` in order, `end` if it was closed.

    What is damaged is left out: `gaps` has for each line that was how many intervals are before it, and `damage` says
    in one line what is wrong with the file, empty if nothing is. Opening raises SourceError if it holds no interval at
    all. Not shared between threads.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.intervals: list[Indexed] = []
        self.events: list[Event] = []
        self.end: End | None = None
        self.damage = ""
        self.gaps: list[int] = []
        self._piece: tuple[int, list[bytes]] = (-1, [])
        self._kept = Kept(path)
        self._names = _Names(self._kept)
        try:
            self._file = open_regular(path)
        except OSError as error:
            raise SourceError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error
        try:
            self._pieces = Pieces(path, self._file)
            self.header = self._scan()
        except OSError as error:
            self._file.close()
            raise SourceError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        self._file.close()

    @property
    def left_out(self) -> int:
        """How many damaged lines were left out."""
        return len(self.gaps)

    def __len__(self) -> int:
        return len(self.intervals)

    def __iter__(self) -> Iterator[Frame]:
        return (self.frame(number) for number in range(len(self)))

    def frame(self, number: int) -> Frame:
        """The Frame of an interval. Raises SourceError if its line is damaged within, or the file has changed."""
        indexed = self.intervals[number]
        try:
            if self._piece[0] != indexed.place:
                self._piece = (indexed.place, self._pieces.at(indexed.place))
            return read_frame(self._piece[1][indexed.line], indexed.cgroups)
        except (RecordingError, IndexError, OSError) as error:
            raise SourceError(f"{self.path}: interval {number + 1} is damaged: {error}") from error

    def _scan(self) -> Header:
        """Reads the header, and the beginning of each line after it. What is damaged is left out, and counted."""
        lines = iter(self._pieces)
        header = self._read_header(lines)
        first_damage = ""
        for place, number, line in lines:
            try:
                if isinstance(line, RecordingError):
                    raise line
                if len(line) > LINE_BYTES:
                    raise RecordingError(f"a line is longer than {format_bytes(LINE_BYTES)}")
                self._kept.read_bytes = self._pieces.read_bytes
                self._take(read_entry(line), place, number)
            except RecordingError as error:
                self.gaps.append(len(self))
                if self.left_out > MOST_DAMAGE:
                    raise SourceError(
                        f"{self.path} is not a schedtop recording: hardly a line of it is whole"
                    ) from error
                first_damage = first_damage or f"after interval {len(self)}: {error}"
        if not self.intervals:
            why = first_damage.removeprefix("after interval 0")
            raise SourceError(f"cannot read {self.path}: it holds no whole interval{why}")
        damage = [f"{self.left_out} damaged line{'s' * (self.left_out > 1)} left out, {first_damage}"] * bool(
            first_damage
        )
        if self.end is None:
            # Also where the disk had no room for the line that says so.
            killed = f"the recorder was killed after interval {len(self)}"
            damage.append(f"it was not closed: {killed}, the disk was full, or it still works")
        self.damage = "; ".join(damage)
        return header

    def _read_header(self, lines: Iterator[tuple[int, int, bytes | RecordingError]]) -> Header:
        first = next(lines, None)
        if first is None:
            raise SourceError(f"{self.path} is not a schedtop recording: it is empty, or has no whole first line")
        try:
            if isinstance(first[2], RecordingError):
                raise first[2]
            if len(first[2]) > HEADER_BYTES:
                raise RecordingError(f"its first line is longer than {format_bytes(HEADER_BYTES)}")
            return read_header(first[2])
        except OtherVersion as error:
            raise SourceError(f"cannot read {self.path}: {error}") from error
        except RecordingError as error:
            raise SourceError(f"{self.path} is not a schedtop recording: {error}") from error

    def _take(self, thing: Entry | Event | End, place: int, number: int) -> None:
        """Raises RecordingError if it does not fit what came before."""
        if isinstance(thing, End):
            self.end = thing
        elif isinstance(thing, Event):
            self._kept.event(thing)
            self.events.append(thing)
        else:
            self._add(thing, place, number)

    def _add(self, entry: Entry, place: int, number: int) -> None:
        if self.intervals and entry.end_ns <= self.intervals[-1].entry.end_ns:
            raise RecordingError("an interval is not later than the one before")
        if entry.interval_ns <= 0:
            raise RecordingError("an interval has no length")
        if len(self) == MOST_INTERVALS:
            raise SourceError(f"cannot read {self.path}: it has more than {MOST_INTERVALS} intervals")
        self._kept.interval(entry)
        self._names.tell(entry.cgroups)
        self.intervals.append(Indexed(entry, place, number, self._names.view))


class _Names:
    """The names of cgroups that were told until now, as one mapping that all intervals share.

    With one for each interval, a host that makes a group a second would need gigabytes for a day. So an interval
    may have names that a later one told: ids are not used twice. Where one is all the same, what follows has a mapping
    of its own; a file in which that happens again and again is damaged.
    """

    _MOST_ANEW = 64

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._names: dict[int, str] = {}
        self._anew = 0
        self.view: Mapping[int, str] = MappingProxyType(self._names)

    def tell(self, names: Mapping[int, str]) -> None:
        """Raises RecordingError."""
        if any(self._names.get(number, path) != path for number, path in names.items()):
            self._anew += 1
            if self._anew > self._MOST_ANEW:
                raise RecordingError("names of cgroups change too often")
            self._kept.names_again(self._names)
            self._names = dict(self._names)
            self.view = MappingProxyType(self._names)
        self._names.update(names)

"""A recording as it lies on the disk: an index of its intervals, and each of them by number."""

from __future__ import annotations

import io
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Self

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

CHUNK_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_MEMBER_START = b"\x1f\x8b\x08\0\0\0\0\0"
"""Of a member that the recorder wrote: deflated, without a name, without a time."""
_GZIP_WBITS = 31

MOST_LINE_BYTES = 64 << 20
"""No line of a recording is longer: what is, is no recording, and would only fill the memory."""

MOST_PIECE_BYTES = 256 << 20
MOST_PIECE_LINES = 1 << 20
"""What a recording that was packed as a whole may hold: all of it is unpacked at once."""

MOST_INTERVALS = 1 << 23
"""Three months of seconds."""

MOST_DAMAGE = 1 << 16
"""With more damaged lines than this it is no recording, whatever its first line says."""

MOST_SOUGHT_BYTES = 1 << 30
"""So much is unpacked in vain to find where a damaged file goes on."""

MOST_EVENTS = 1 << 20
MOST_CGROUPS = 1 << 18
"""Names of cgroups that a recording may tell."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """An interval and where it is: `place` of its piece of the file, `line` within that, cgroups named until then."""

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
        self._names = _Names()
        self._sought_bytes = 0
        try:
            self._file = open_regular(path)
        except OSError as error:
            raise SourceError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error
        try:
            self._packed = self._file.read(2) == _GZIP_MAGIC
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
                self._piece = (indexed.place, self._lines_at(indexed.place))
            return read_frame(self._piece[1][indexed.line], indexed.cgroups)
        except (RecordingError, IndexError, OSError) as error:
            raise SourceError(f"{self.path}: interval {number + 1} is damaged: {error}") from error

    def _scan(self) -> Header:
        """Reads the header, and the beginning of each line after it. What is damaged is left out, and counted."""
        lines = self._all_lines()
        header = self._read_header(lines)
        first_damage = ""
        for place, number, line in lines:
            try:
                if isinstance(line, RecordingError):
                    raise line
                if len(line) > MOST_LINE_BYTES:
                    raise RecordingError("a line is too long")
                self._take(read_entry(line), place, number)
            except RecordingError as error:
                self.gaps.append(len(self))
                if self.left_out > MOST_DAMAGE:
                    raise SourceError(
                        f"{self.path} is not a schedtop recording: hardly a line of it is whole"
                    ) from error
                first_damage = first_damage or f"after interval {len(self)}: {error}"
        if not self.intervals:
            raise SourceError(f"cannot read {self.path}: it holds no whole interval")
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
            if len(self.events) == MOST_EVENTS:
                raise RecordingError("there are too many events")
            self.events.append(thing)
        else:
            self._add(Indexed(thing, place, number, self._names.view))
            self._names.tell(thing.cgroups)

    def _add(self, indexed: Indexed) -> None:
        if self.intervals and indexed.entry.end_ns <= self.intervals[-1].entry.end_ns:
            raise RecordingError("an interval is not later than the one before")
        if indexed.entry.interval_ns <= 0:
            raise RecordingError("an interval has no length")
        if len(self) == MOST_INTERVALS:
            raise SourceError(f"cannot read {self.path}: it has more than {MOST_INTERVALS} intervals")
        self.intervals.append(indexed)

    def _all_lines(self) -> Iterator[tuple[int, int, bytes | RecordingError]]:
        """Place, number within it, and text of each whole line; an error instead of a piece that is damaged."""
        place: int | None = 0
        while place is not None:
            try:
                lines = self._lines_at(place)
            except RecordingError as error:
                yield place, 0, error
                place = self._next_member(place)
                continue
            if not lines:
                return
            yield from ((place, number, line) for number, line in enumerate(lines))
            place = self._file.tell()

    def _lines_at(self, place: int) -> list[bytes]:
        """The whole lines of the piece there: a gzip member, or one line; none at the end of the file.

        The file is left at the end of the piece. A line that was cut off by the end of the file is none. Raises
        RecordingError if the piece is damaged.
        """
        self._file.seek(place)
        if not self._packed:
            line = self._file.readline(MOST_LINE_BYTES)
            if len(line) == MOST_LINE_BYTES and not line.endswith(b"\n"):
                raise SourceError(
                    f"cannot read {self.path}: it has a line of more than {format_bytes(MOST_LINE_BYTES)}"
                )
            return [line] if line.endswith(b"\n") else []
        data, whole = unpack(self._file)
        if not whole and data and self._next_member(place) is not None:
            # Damage can look like data that goes on and on: it has eaten what came after it.
            raise RecordingError(f"a piece has no end, {place} bytes from the beginning")
        if data.count(b"\n") > MOST_PIECE_LINES:
            raise RecordingError(f"a piece has too many lines, {place} bytes from the beginning")
        return [line for line in io.BytesIO(data) if line.endswith(b"\n")]

    def _next_member(self, place: int) -> int | None:
        """Where the first whole gzip member after this place begins, `None` without one."""
        self._file.seek(place := place + 1)
        window = b""
        while chunk := self._file.read(CHUNK_BYTES):
            window += chunk
            found = -1
            while (found := window.find(_MEMBER_START, found + 1)) >= 0:
                self._file.seek(place + found)
                with suppress(RecordingError):
                    if unpack(self._file)[1]:
                        return place + found
                # A file may be made so that each byte looks like the beginning of all the rest.
                self._sought_bytes += max(1024, self._file.tell() - place - found)
                if self._sought_bytes > MOST_SOUGHT_BYTES:
                    return None
            keep = len(_MEMBER_START) - 1
            place += len(window) - len(window[-keep:])
            window = window[-keep:]
            self._file.seek(place + len(window))
        return None


class _Names:
    """The names of cgroups that were told until now, as one mapping that all intervals share.

    With one for each interval, a host that makes a group a second would need gigabytes for a day. So an interval
    may have names that a later one told: ids are not used twice. Where one is all the same, what follows has a mapping
    of its own; a file in which that happens again and again is damaged.
    """

    _MOST_ANEW = 64

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._anew = 0
        self.view: Mapping[int, str] = MappingProxyType(self._names)

    def tell(self, names: Mapping[int, str]) -> None:
        """Raises RecordingError."""
        if len(self._names) + len(names) > MOST_CGROUPS:
            raise RecordingError("there are too many names of cgroups")
        if any(self._names.get(number, path) != path for number, path in names.items()):
            self._anew += 1
            if self._anew > self._MOST_ANEW:
                raise RecordingError("names of cgroups change too often")
            self._names = dict(self._names)
            self.view = MappingProxyType(self._names)
        self._names.update(names)


def open_regular(path: Path) -> BinaryIO:
    """A file opened for reading. Raises SourceError if it is a pipe or a device, without opening it, and OSError."""
    wrong = SourceError(f"{path} is not a schedtop recording: it is not a regular file")
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise wrong
    # It may be another one by now: a pipe would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    file = os.fdopen(descriptor, "rb")
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return file
    file.close()
    raise wrong


def unpack(file: BinaryIO) -> tuple[bytes, bool]:
    """The content of the gzip member that begins here, and whether it is whole; the file is left at its end.

    Cut off by the end of the file: what there is. Raises RecordingError if it is damaged.
    """
    start = file.tell()
    inflate, parts, size = zlib.decompressobj(_GZIP_WBITS), [], 0
    try:
        while not inflate.eof and (chunk := file.read(CHUNK_BYTES)):
            parts.append(inflate.decompress(chunk, MOST_PIECE_BYTES + 1 - size))
            size += len(parts[-1])
            if size > MOST_PIECE_BYTES:
                raise RecordingError("it was packed as a whole, and is too large for that: unpack it with gunzip")
    except zlib.error as error:
        raise RecordingError(f"it cannot be unpacked ({error}), {start} bytes from its beginning") from error
    file.seek(file.tell() - len(inflate.unused_data))
    return b"".join(parts), inflate.eof

"""A recording as it lies on the disk: an index of its intervals, and each of them by number."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Self

from schedtop.model import Frame, SourceError
from schedtop.recording import End, Entry, Event, Header, RecordingError, read_entry, read_frame, read_header

CHUNK_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WBITS = 31

MOST_LINE_BYTES = 256 << 20
"""No line of a recording is longer: what is, is no recording, and would only fill the memory."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """An interval and where it is: `place` of its piece of the file, `line` within that, cgroups named until then."""

    entry: Entry
    place: int
    line: int
    cgroups: Mapping[int, str]


class Recording:
    """An open recording: `header`, the index `intervals`, `events` in order, `end` if it was closed.

    `damage` says in one line what is wrong with the rest of the file, empty if nothing is. Opening raises SourceError
    if it holds no interval at all. Not shared between threads.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.intervals: list[Indexed] = []
        self.events: list[Event] = []
        self.end: End | None = None
        self.damage = ""
        self._piece: tuple[int, list[bytes]] = (-1, [])
        try:
            self._file = path.open("rb")
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

    def __len__(self) -> int:
        return len(self.intervals)

    def __iter__(self) -> Iterator[Frame]:
        return (self.frame(number) for number in range(len(self)))

    def frame(self, number: int) -> Frame:
        """The Frame of an interval. Raises SourceError if its line is damaged within, or the file has changed."""
        indexed = self.intervals[number]
        if self._piece[0] != indexed.place:
            self._piece = (indexed.place, self._lines_at(indexed.place))
        try:
            return read_frame(self._piece[1][indexed.line], indexed.cgroups)
        except (RecordingError, IndexError) as error:
            raise SourceError(f"{self.path}: interval {number + 1} is damaged: {error}") from error

    def _scan(self) -> Header:
        """Reads the header, and the beginning of each line after it."""
        header: Header | None = None
        cgroups: Mapping[int, str] = MappingProxyType({})
        try:
            for place, number, line in self._all_lines():
                if header is None:
                    header = read_header(line)
                    continue
                thing = read_entry(line)
                if isinstance(thing, Entry):
                    self.intervals.append(Indexed(thing, place, number, cgroups))
                    if thing.cgroups:
                        cgroups = MappingProxyType({**cgroups, **thing.cgroups})
                elif isinstance(thing, Event):
                    self.events.append(thing)
                else:
                    self.end = thing
        except RecordingError as error:
            if header is None:
                raise SourceError(f"cannot read {self.path}: {error}") from error
            self.damage = str(error)
        if header is None:
            raise SourceError(f"cannot read {self.path}: it is empty")
        if not self.intervals:
            raise SourceError(f"cannot read {self.path}: it holds no whole interval")
        if self.damage:
            self.damage = f"damaged after interval {len(self)}, what follows is left out: {self.damage}"
        elif self.end is None:
            self.damage = f"it was not closed: the recorder was killed after interval {len(self)}, or still works"
        return header

    def _all_lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Place, number within it, and text of each whole line. Raises RecordingError at what cannot be unpacked."""
        place = 0
        while lines := self._lines_at(place):
            yield from ((place, number, line) for number, line in enumerate(lines))
            place = self._file.tell()

    def _lines_at(self, place: int) -> list[bytes]:
        """The whole lines of the piece there: a gzip member, or one line; none at the end of the file.

        The file is left at the end of the piece. A line that was cut off by the end of the file is none.
        """
        self._file.seek(place)
        if not self._packed:
            line = self._file.readline(MOST_LINE_BYTES)
            return [line] if line.endswith(b"\n") else []
        data = unpack(self._file)
        return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def unpack(file: BinaryIO) -> bytes:
    """The content of the gzip member that begins here; the file is left at its end. Cut off: what there is.

    Raises RecordingError if it is damaged.
    """
    start = file.tell()
    inflate, parts, size = zlib.decompressobj(_GZIP_WBITS), [], 0
    try:
        while not inflate.eof and (chunk := file.read(CHUNK_BYTES)):
            parts.append(inflate.decompress(chunk))
            size += len(parts[-1])
            if size > MOST_LINE_BYTES:
                raise RecordingError("a line is too long for a recording")
    except zlib.error as error:
        raise RecordingError(f"it cannot be unpacked ({error}), {start} bytes from its beginning") from error
    file.seek(file.tell() - len(inflate.unused_data))
    return b"".join(parts)

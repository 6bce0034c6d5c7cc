"""A recording as pieces of a file, packed or not: the whole lines of each, and where it goes on after damage.

What was packed as a whole is not unpacked at once: it is pieces, too, for each of which there is a state of the
unpacking to begin from.
"""

from __future__ import annotations

import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from schedtop.base.limits import LINE_BYTES, STRETCH_BYTES, STRETCH_LINES, WHOLE_BYTES, WHOLE_LINES
from schedtop.base.units import format_bytes
from schedtop.model.source import SourceError
from schedtop.recording.lines import RecordingError

CHUNK_BYTES = 1 << 16
STEP_BYTES = 1 << 18
"""So much is unpacked at a time."""

_GZIP_MAGIC = b"\x1f\x8b"
_MEMBER_START = b"\x1f\x8b\x08\0\0\0\0\0"
"""Of a member that the recorder wrote: deflated, without a name, without a time."""

_GZIP_WBITS = 31

MOST_SOUGHT_BYTES = 1 << 30
"""So much is unpacked in vain to find where a damaged file goes on."""

MOST_SKIPPED_BYTES = 256 << 20
"""So much of a line that is too long is passed over to find its end."""


@dataclass(frozen=True, slots=True)
class _Within:
    """A place within a gzip member: how far it was unpacked, and how much of what comes next was told before.

    `offset`: where the file goes on, `rest` comes before that.
    """

    inflate: Any
    rest: bytes
    offset: int
    told: int = 0


class Pieces:
    """The pieces of an open file, each by its place. Not shared between threads. Raises OSError.

    A place is an offset in the file, or below zero: one of `_within`.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._sought_bytes = 0
        self._within: list[_Within] = []
        self._whole_bytes = self._whole_lines = 0
        self._packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC

    @property
    def read_bytes(self) -> int:
        """How far the file has been read."""
        return self._file.tell()

    def __iter__(self) -> Iterator[tuple[int, int, bytes | RecordingError]]:
        """Place, number within it, and text of each whole line; an error instead of a piece that is damaged."""
        place: int | None = 0
        while place is not None:
            try:
                lines, after = self._read(place)
            except RecordingError as error:
                yield place, 0, error
                place = self._after_damage(place)
                continue
            yield from ((place, number, line) for number, line in enumerate(lines))
            if place >= 0 and after is None and not lines:
                return
            place = self._file.tell() if after is None else self._note(after, lines)

    def at(self, place: int) -> list[bytes]:
        """The whole lines of the piece there: a gzip member or a part of one, or a line; none at the end of the file.

        A line that was cut off by the end of the file is none. Raises RecordingError if the piece is damaged.
        """
        return self._read(place)[0]

    def _read(self, place: int) -> tuple[list[bytes], _Within | None]:
        """The lines, and where the member goes on. If it does not, the file is left at the end of the piece."""
        if not self._packed:
            return self._line(place), None
        start = self._within[~place] if place < 0 else _Within(zlib.decompressobj(_GZIP_WBITS), b"", place)
        data, whole, after = _stretch(self._file, start)
        if not whole and after is None and data and place >= 0 and self._next_member(place) is not None:
            # Damage can look like data that goes on and on: it has eaten what came after it.
            raise RecordingError(f"a piece has no end, {place} bytes from the beginning")
        return [line for line in io.BytesIO(data) if line.endswith(b"\n")], after

    def _line(self, place: int) -> list[bytes]:
        self._file.seek(place)
        line = self._file.readline(LINE_BYTES)
        if len(line) < LINE_BYTES or line.endswith(b"\n"):
            return [line] if line.endswith(b"\n") else []
        skipped = 0
        while chunk := self._file.readline(CHUNK_BYTES):
            skipped += len(chunk)
            if skipped > MOST_SKIPPED_BYTES:
                raise SourceError(f"cannot read {self._path}: it has a line of more than {format_bytes(LINE_BYTES)}")
            if chunk.endswith(b"\n"):
                break
        raise _too_long()

    def _note(self, after: _Within, lines: list[bytes]) -> int:
        """The place where a member goes on that was packed as a whole. Raises SourceError if there is too much."""
        self._whole_bytes += sum(map(len, lines))
        self._whole_lines += len(lines)
        if self._whole_bytes > WHOLE_BYTES or self._whole_lines > WHOLE_LINES:
            raise SourceError(
                f"cannot read {self._path}: it was packed as a whole, and is too large for that: unpack it with gunzip"
            )
        self._within.append(after)
        return ~(len(self._within) - 1)

    def _after_damage(self, place: int) -> int | None:
        """Where the file goes on, `None` if it does not."""
        if not self._packed:
            return self._file.tell()
        return self._next_member(self._within[~place].offset if place < 0 else place)

    def _next_member(self, place: int) -> int | None:
        """Where the first whole gzip member after this place begins, `None` without one."""
        self._file.seek(place := place + 1)
        window = b""
        while chunk := self._file.read(CHUNK_BYTES):
            window += chunk
            found = -1
            while (found := window.find(_MEMBER_START, found + 1)) >= 0:
                with suppress(RecordingError):
                    if self._is_whole(place + found):
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

    def _is_whole(self, place: int) -> bool:
        """Whether a gzip member begins here that is whole, as far as its first stretch. Raises RecordingError."""
        _, whole, after = _stretch(self._file, _Within(zlib.decompressobj(_GZIP_WBITS), b"", place))
        return whole or after is not None


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


def _stretch(file: BinaryIO, start: _Within) -> tuple[bytes, bool, _Within | None]:
    """What comes next in a gzip member, whether it is whole then, and where it goes on if it holds too much for once.

    The whole of the usual one, which holds a line; else up to the end of a line. The file is left at the member's end.
    Cut off by the end of the file: what there is. Raises RecordingError if it is damaged or has too long a line.
    """
    file.seek(start.offset)
    inflate, rest, skip = start.inflate.copy(), start.rest, start.told
    parts: list[bytes] = []
    size = lines = since_line = 0
    while not inflate.eof:
        before = inflate.copy()
        try:
            part = inflate.decompress(given := rest or file.read(CHUNK_BYTES), STEP_BYTES)
        except zlib.error as error:
            raise RecordingError(f"it cannot be unpacked ({error}), {start.offset} bytes from its beginning") from error
        if not given and not part:
            break
        rest, told, skip = inflate.unconsumed_tail, skip, 0
        end = part.rfind(b"\n") + 1
        size += len(part) - told
        lines += part.count(b"\n", told)
        since_line = len(part) - end if end > told else since_line + len(part) - told
        if since_line > LINE_BYTES:
            raise _too_long()
        # What ends with its only line is the usual one, however long that is.
        if told < end < len(part) and (size >= STRETCH_BYTES or lines >= STRETCH_LINES):
            parts.append(part[told:end])
            return b"".join(parts), False, _Within(before, given, file.tell(), end)
        parts.append(part[told:])
    file.seek(file.tell() - len(inflate.unused_data))
    return b"".join(parts), inflate.eof, None


def _too_long() -> RecordingError:
    return RecordingError(f"a line is longer than {format_bytes(LINE_BYTES)}")

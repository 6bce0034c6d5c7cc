"""A recording as pieces of a file, packed or not: the whole lines of each, and where it goes on after damage."""

from __future__ import annotations

import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from schedtop.base.units import format_bytes
from schedtop.model.source import SourceError
from schedtop.recording.lines import RecordingError

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

MOST_SOUGHT_BYTES = 1 << 30
"""So much is unpacked in vain to find where a damaged file goes on."""


class Pieces:
    """The pieces of an open file, each by its place. Not shared between threads. Raises OSError."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._sought_bytes = 0
        self._packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC

    def __iter__(self) -> Iterator[tuple[int, int, bytes | RecordingError]]:
        """Place, number within it, and text of each whole line; an error instead of a piece that is damaged."""
        place: int | None = 0
        while place is not None:
            try:
                lines = self.at(place)
            except RecordingError as error:
                yield place, 0, error
                place = self._next_member(place)
                continue
            if not lines:
                return
            yield from ((place, number, line) for number, line in enumerate(lines))
            place = self._file.tell()

    def at(self, place: int) -> list[bytes]:
        """The whole lines of the piece there: a gzip member, or one line; none at the end of the file.

        The file is left at the end of the piece. A line that was cut off by the end of the file is none. Raises
        RecordingError if the piece is damaged.
        """
        self._file.seek(place)
        if not self._packed:
            line = self._file.readline(MOST_LINE_BYTES)
            if len(line) == MOST_LINE_BYTES and not line.endswith(b"\n"):
                raise SourceError(
                    f"cannot read {self._path}: it has a line of more than {format_bytes(MOST_LINE_BYTES)}"
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

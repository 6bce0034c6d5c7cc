"""Recorder: Frames into a file as they come, so that whatever ends us, all whole intervals are in it."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from schedtop.base.breath import Breath
from schedtop.model.frame import Frame
from schedtop.outputs.files import OutputError, reason, start_file
from schedtop.outputs.recording.fitting import fitting_line, told_later
from schedtop.recording.lines import End, Event, Header, end_line, event_line, header_line

LEVEL = 3
"""Of gzip. At 512 CPUs and 2,000 tasks a Frame takes 7 ms, level 6 24 ms for 6 % less, level 1 3 ms for 8 % more."""

GZIP = zlib.MAX_WBITS | 16
"""A gzip member around what is packed."""

STEP_BYTES, MOST_STEPS = 1 << 14, 64
"""How much is packed at a time (0.2 ms), and in how many steps at most, with a breath between them."""

MAX_BYTES = 1 << 30
"""How large a recording gets unless asked otherwise: a day of a small host, two hours of one with 512 CPUs."""


END_BYTES = 1 << 10
"""Of the largest size this much is kept for the last line."""


class RecordingFull(OutputError):
    """The recording has reached the size that it may have; it is closed and whole."""


class Recorder:
    """An open recording. Each line is written at once and is a gzip member of its own where the name ends in `.gz`.

    So nothing that comes later can damage what is there, and a reader finds each interval by its place in the file.
    Raises OutputError when the file cannot be made or written; what was written before stays whole.
    """

    def __init__(self, path: Path, header: Header, *, force: bool = False, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self.frames = 0
        self._max_bytes = max_bytes
        self._breath = Breath()
        self._packs = path.name.endswith(".gz")
        self._cgroups: Mapping[int, str] = MappingProxyType({})
        first = self._packed(header_line(header))
        self.bytes = len(first)
        self._started = start_file(path, first, force=force)
        self._file = self._started.file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close("interrupted" if exc[0] else "closed")

    @property
    def is_open(self) -> bool:
        """Whether anything more can be written."""
        return not self._file.closed

    def write(self, frame: Frame) -> None:
        """Adds a Frame. Raises RecordingFull without having written it, OutputError. No file without a Frame stays."""
        self._breath.begin()
        later = told_later(frame.cgroups, self._cgroups)
        known = {**self._cgroups, **later} if later else self._cgroups
        self._append_within_bound(self._packed(fitting_line(frame, known, self._breath)))
        self.frames += 1
        self._cgroups = frame.cgroups
        if later:
            self._cgroups = {key: path for key, path in frame.cgroups.items() if key not in later}

    def note(self, event: Event) -> None:
        """Adds an event. Raises as `write` does."""
        self._append_within_bound(self._packed(event_line(event)))

    def close(self, why: str) -> None:
        """Writes the last line, and what the system still holds to the disk. Raises OutputError."""
        if not self.is_open:
            return
        try:
            self._append(self._packed(end_line(End(self.frames, why))))
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._failure(error) from error
        finally:
            self._started.close()

    def discard(self) -> None:
        """Takes the file away, if it still is this one: without a Frame it cannot be read."""
        self._started.discard()

    def _append_within_bound(self, data: bytes) -> None:
        if self.bytes + len(data) + END_BYTES > self._max_bytes:
            if self.frames:
                self.close("it has reached its largest size")
            else:
                self.discard()
            raise RecordingFull(f"{self.path} has reached its largest size with {_intervals(self.frames)}")
        self._append(data)

    def _packed(self, line: str) -> bytes:
        data = line.encode("ascii")
        if not self._packs:
            return data
        packer, step = zlib.compressobj(LEVEL, wbits=GZIP), max(STEP_BYTES, len(data) // MOST_STEPS)
        steps = self._breath.between(range(0, len(data), step))
        return b"".join([*(packer.compress(data[at : at + step]) for at in steps), packer.flush()])

    def _append(self, data: bytes) -> None:
        try:
            self._write(data)
        except OSError as error:
            # What was half written is gone again, and where it was there is room for a line that says why.
            with suppress(OSError):
                self._write(self._packed(end_line(End(self.frames, f"it could not be written: {reason(error)}"))))
            if self.frames:
                self._started.close()
            else:
                self.discard()
            raise self._failure(error) from error

    def _write(self, data: bytes) -> None:
        """All of it or nothing. Raises OSError."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), self.bytes)
                self._file.seek(self.bytes)
            raise
        self.bytes += len(data)

    def _failure(self, error: OSError) -> OutputError:
        held = f"it holds {_intervals(self.frames)}" if self.frames else "nothing was recorded"
        return OutputError(f"cannot write {self.path}: {reason(error)}; {held}")


def _intervals(count: int) -> str:
    return f"{count} interval{'s' * (count != 1)}"

"""What was before and after a trigger, in one recording for all triggers that fire meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.outputs.names import FreeName, file_stem
from schedtop.outputs.recording.background import ENDING, BackgroundRecorder
from schedtop.recording.lines import Event, Header
from schedtop.triggers.watch import Fired

LONGEST_NS = 600 * NS_PER_S
"""Triggers that fire again and again extend a recording so far past the first one; then the next one begins."""


class Recordings(Protocol):
    """A thing that keeps open recordings, and hands each new Frame to them."""

    def start_recording(self, frames_before: Sequence[Frame] = ..., *, filters: str = ...) -> BackgroundRecorder:
        """Opens a file that begins with `frames_before`. Raises OutputError."""
        ...

    def stop_recording(self, recorder: BackgroundRecorder, why: str) -> None:
        """Ends one."""
        ...


class AroundRecording:
    """At most one recording at a time. Frames come to it through `Recordings`."""

    def __init__(self, recordings: Recordings, around_ns: int, filters: str = "") -> None:
        self._recordings = recordings
        self._around_ns = around_ns
        self._filters = filters
        self._recorder: BackgroundRecorder | None = None
        self._first_ns = 0
        self._until_ns = 0

    @property
    def path(self) -> Path | None:
        """The file that is being written."""
        return self._recorder.path if self._recorder and self._recorder.is_open else None

    def advance(self, frame: Frame) -> None:
        """Ends the recording if this Frame, which it has, was the last one that it shall have."""
        if self._recorder and frame.end_ns + frame.interval_ns // 2 >= self._until_ns:
            self.close("the time after the trigger is over")

    def fire(self, events: Sequence[Fired], frames: Sequence[Frame]) -> bool:
        """Begins a recording, or extends the one that is open; whether it has begun.

        `frames`: those that there are, the last one is that of the events. Raises OutputError.
        """
        end_ns = frames[-1].end_ns
        begins = self.path is None
        if begins:
            before = [frame for frame in frames if frame.end_ns - frame.interval_ns // 2 > end_ns - self._around_ns]
            self._recorder = self._recordings.start_recording(before or frames[-1:], filters=self._filters)
            self._first_ns = end_ns
            # The recordings that were open have heard of it already.
            for event in events:
                self._recorder.note(event_of(event))
        self._until_ns = min(end_ns + self._around_ns, self._first_ns + max(LONGEST_NS, self._around_ns))
        return begins

    def close(self, why: str) -> None:
        """Ends the recording, if there is one."""
        if self._recorder:
            self._recordings.stop_recording(self._recorder, why)
            self._recorder = None


class FileRecordings:
    """Open recordings in a directory, without a screen. `say` hears what became of each."""

    def __init__(self, host: Host, directory: Path, triggers: Sequence[str]) -> None:
        self._host = host
        self._directory = directory
        self._triggers = tuple(triggers)
        self._open: list[BackgroundRecorder] = []
        self._ending: list[BackgroundRecorder] = []

    def start_recording(self, frames_before: Sequence[Frame] = (), *, filters: str = "") -> BackgroundRecorder:
        """Opens a file named after the end of the last of `frames_before`. Raises OutputError."""
        first, last = frames_before[0], frames_before[-1]
        stem = file_stem(self._host.name, last.start_time_ns + last.interval_ns)
        header = Header(self._host, first.start_time_ns, filters=filters, triggers=self._triggers)
        with FreeName(self._directory, stem, (ENDING,)) as name:
            recorder = BackgroundRecorder(name.path(ENDING), header, frames_before=frames_before)
        self._open.append(recorder)
        return recorder

    def stop_recording(self, recorder: BackgroundRecorder, why: str) -> None:
        """Ends one."""
        if recorder in self._open:
            self._open.remove(recorder)
            recorder.close(why)
            self._ending.append(recorder)

    def record(self, frame: Frame) -> None:
        """Hands a new Frame to those that are open."""
        for recorder in [*self._open]:
            recorder.write(frame)
            if recorder.failure:
                self.stop_recording(recorder, "failed")

    def record_event(self, event: Event) -> None:
        """Hands an event to those that are open."""
        for recorder in self._open:
            recorder.note(event)

    def ended(self, timeout_s: float = 0) -> list[str]:
        """What became of those that have ended, a line each; waits so long for each."""
        whole = [recorder for recorder in self._ending if recorder.join(timeout_s)]
        self._ending = [recorder for recorder in self._ending if recorder not in whole]
        return [
            recorder.failure or f"recorded {recorder.path}: {recorder.frames} interval{'s' * (recorder.frames != 1)}"
            for recorder in whole
        ]


def event_of(fired: Fired) -> Event:
    """What a recording says of it."""
    return Event(fired.end_ns, "trigger", str(fired))


def frames_of(history: History, end_ns: int) -> list[Frame]:
    """The Frames up to that moment."""
    return [frame for frame in history.frames if frame.end_ns <= end_ns]

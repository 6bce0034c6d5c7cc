"""BackgroundRecorder: a Recorder in a thread of its own, so that neither a screen nor a source waits for the disk."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from pathlib import Path

from schedtop.base.units import plural
from schedtop.model.frame import Frame, frame_bytes
from schedtop.outputs.files import OutputError
from schedtop.outputs.recording.recorder import MAX_BYTES, Recorder
from schedtop.recording.lines import Event, Header

ENDING = ".rec.gz"
"""Of files without a given name."""

MOST_WAITING_BYTES = 64 << 20
"""What may wait to be written beside the Frames of the start: a disk that is slower would fill the memory."""


class BackgroundRecorder:
    """An open recording that one may hand Frames to without waiting; they are written in the order they came.

    `frames_before` are written first. `failure` says in one line why nothing more is written (a full disk, the largest
    size), empty as long as all is well. Opening raises OutputError. Only one thread hands things over.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        *,
        frames_before: Iterable[Frame] = (),
        force: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.path = path
        self.failure = ""
        self._recorder = Recorder(path, header, force=force, max_bytes=max_bytes)
        self._things: queue.SimpleQueue[Frame | Event | str] = queue.SimpleQueue()
        self._closing = False
        # What was handed over and what was taken on: each is counted by one thread alone.
        self._handed_bytes = self._taken_bytes = 0
        for frame in frames_before:
            self._hand_over(frame)
        self._most_waiting_bytes = MOST_WAITING_BYTES + self._handed_bytes
        # A daemon: a disk that hangs must not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name="schedtop-recorder", daemon=True)
        self._thread.start()

    @property
    def frames(self) -> int:
        """How many Frames the file holds."""
        return self._recorder.frames

    @property
    def bytes(self) -> int:
        """How large the file is."""
        return self._recorder.bytes

    @property
    def is_open(self) -> bool:
        """Whether what is handed over now will be written, as far as one knows."""
        return not self._closing and not self.failure

    def write(self, frame: Frame) -> None:
        """Hands over a Frame; nothing happens if the recording is closed or has failed."""
        if not self.is_open:
            return
        if self._handed_bytes - self._taken_bytes >= self._most_waiting_bytes:
            many = self._things.qsize()
            waiting = f"{many} {plural(many, 'interval waits', 'intervals wait')} to be written"
            self.failure = f"{self.path}: the disk is too slow, {waiting}"
            self.close("too slow")
            return
        self._hand_over(frame)

    def note(self, event: Event) -> None:
        """Hands over an event: its place is behind the Frames that were handed over before."""
        if self.is_open:
            self._things.put(event)

    def close(self, why: str) -> None:
        """Asks for the end, with its reason in words; what was handed over is still written. See `join`.

        Without any Frame no file is left.
        """
        if not self._closing:
            self._closing = True
            self._things.put(why)

    def join(self, timeout_s: float | None = None) -> bool:
        """Waits until a recording that was asked to close is whole on the disk; false if it is not in time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _hand_over(self, frame: Frame) -> None:
        self._handed_bytes += frame_bytes(frame)
        self._things.put(frame)

    def _run(self) -> None:
        try:
            while True:
                thing = self._things.get()
                if isinstance(thing, Frame):
                    self._recorder.write(thing)
                    self._taken_bytes += frame_bytes(thing)
                elif isinstance(thing, Event):
                    self._recorder.note(thing)
                else:
                    if self.frames:
                        self._recorder.close(thing)
                    else:  # it could not be read
                        self._recorder.discard()
                    return
        except OutputError as problem:
            self.failure = str(problem)
        except Exception as problem:  # An error of this thread is seen nowhere else.
            self.failure = f"{self.path}: recording failed: {type(problem).__name__}: {problem}"

"""A recording from beginning to end, as fast as it can be read: for streams."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Self

from schedtop.model.frame import Frame
from schedtop.model.source import SourceError
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.settings import RecordedSettings
from schedtop.sources.replay.source import recorded_host


class WholeRecording(RecordedSettings):
    """An open Recording as a Source: each interval once. `damaged` counts those that cannot be read."""

    def __init__(self, recording: Recording) -> None:
        self.host = recorded_host(recording)
        self.damaged = recording.left_out
        self._recording = recording

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        self._recording.__exit__()

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """The Frames that can be read, until `stop` is set."""
        for number in range(len(self._recording)):
            if stop.is_set():
                return
            try:
                frame = self._recording.frame(number)
            except SourceError:
                self.damaged += 1
            else:
                yield frame

"""The thread that takes Frames from a Source and posts them to the app. It shares nothing else with the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable

from textual.message import Message

from schedtop.model import Frame, Source, SourceError


class FrameArrived(Message):
    """A new Frame."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame


class FeedEnded(Message):
    """There will be no more Frames: `error` says why, empty if the source simply came to its end."""

    def __init__(self, error: str = "") -> None:
        super().__init__()
        self.error = error


class Feed:
    """Runs `source.frames` in a thread of its own and posts what happens."""

    def __init__(self, source: Source, post: Callable[[Message], object]) -> None:
        self._source = source
        self._post = post
        self._stop = threading.Event()
        # A daemon: a source that does not stop in time must not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name="schedtop-source", daemon=True)

    def start(self) -> None:
        """Starts collecting."""
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Asks the source to stop and waits for it; false if it has not in time."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        error = ""
        try:
            for frame in self._source.frames(self._stop):
                if self._stop.is_set():
                    return
                self._post(FrameArrived(frame))
        except SourceError as problem:
            error = str(problem) or "the source failed"
        except Exception as problem:  # Any error of this thread must reach the user: nobody else sees it.
            error = f"collecting failed: {type(problem).__name__}: {problem}"
        if not self._stop.is_set():
            self._post(FeedEnded(error))

"""A thread that takes items from a source and posts them to the screen. The two share nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Generic, Protocol, TypeVar

from textual.message import Message

from schedtop.model.frame import Frame
from schedtop.model.source import SourceError

Item = TypeVar("Item")
Made = TypeVar("Made", covariant=True)

Items = Callable[[threading.Event], Iterator[Item]]
"""What a source gives until the event is set. It runs in the feed's thread, and is closed there, whatever happens."""


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


class ItemSource(Protocol[Made]):
    """A source that is not open yet: entering may take a second, leaving detaches."""

    def frames(self, stop: threading.Event) -> Iterator[Made]:
        """What it has to say, until the event is set."""


def opened_here(source: AbstractContextManager[ItemSource[Item]]) -> Items[Item]:
    """The items of a source that is opened and closed by the thread that takes them."""

    def items(stop: threading.Event) -> Iterator[Item]:
        with source as opened:
            if not stop.is_set():
                yield from opened.frames(stop)

    return items


class Feed(Generic[Item]):
    """Runs `items` in a thread of its own and posts what happens: `arrived(item)`, at last `ended(error)`."""

    def __init__(
        self,
        items: Items[Item],
        post: Callable[[Message], object],
        arrived: Callable[[Item], Message],
        ended: Callable[[str], Message] = FeedEnded,
    ) -> None:
        self._items = items
        self._post = post
        self._arrived = arrived
        self._ended = ended
        self._thread = _FeedThread(self._run)

    def start(self) -> None:
        """Starts collecting."""
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Asks the source to stop and waits for it; false if it has not in time."""
        return self._thread.end(timeout_s)

    def _run(self, stop: threading.Event) -> None:
        error = ""
        try:
            self._post_all(stop)
        except SourceError as problem:
            error = str(problem) or "the source failed"
        except Exception as problem:  # Any error of this thread must reach the user: nothing else tells it.
            error = f"collecting failed: {type(problem).__name__}: {problem}"
        if not stop.is_set():
            self._post(self._ended(error))

    def _post_all(self, stop: threading.Event) -> None:
        items = self._items(stop)
        try:
            for item in items:
                if stop.is_set():
                    return
                self._post(self._arrived(item))
        finally:
            # A generator ends here and now rather than when it is collected: it may hold what the kernel runs.
            if (close := getattr(items, "close", None)) is not None:
                close()


def stop_feeds(timeout_s: float) -> bool:
    """Asks all feeds that still run to stop and waits for them; false if one has not in time."""
    deadline = time.monotonic() + timeout_s
    threads = [thread for thread in threading.enumerate() if isinstance(thread, _FeedThread)]
    for thread in threads:
        thread.end(0)
    return all(thread.end(max(0.0, deadline - time.monotonic())) for thread in threads)


class _FeedThread(threading.Thread):
    """A daemon: a source that does not stop in time must not keep the program from ending."""

    def __init__(self, work: Callable[[threading.Event], None]) -> None:
        super().__init__(name="schedtop-source", daemon=True)
        self._work = work
        self._ending = threading.Event()

    def run(self) -> None:
        self._work(self._ending)

    def end(self, timeout_s: float) -> bool:
        self._ending.set()
        if self.ident is not None:
            self.join(timeout_s)
        return not self.is_alive()

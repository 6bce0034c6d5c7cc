"""Source: where Frames come from, and what it raises."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Protocol, Self

from schedtop.model.frame import Frame
from schedtop.model.host import Host

ALONE = "not collected: --only queue"
"""Why a part is unavailable of which nothing was asked for."""


class Source(Protocol):
    """Where Frames come from. A context manager, opened before the screen is taken.

    Opening raises `SourceError` with one sentence for the user.
    """

    host: Host

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: Any) -> None: ...

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """Frames as they come, each after its interval; ends within one interval when `stop` is set."""
        ...

    def set_threshold(self, threshold_ns: int) -> None:
        """Asks for another slow-wait threshold; it holds from the next interval on. Any thread may call it."""
        ...

    def set_grouping(self, kind: str) -> None:
        """Asks for `Frame.groups` by an id field of GROUPS, empty: no longer. Any thread may call it."""
        ...

    def set_sampling(self, on: bool) -> None:
        """Asks for `Frame.queue`: samples of the run queues, or no longer. Any thread may call it."""
        ...

    def set_interrupts(self, on: bool) -> None:
        """Asks for `Frame.interrupts`: the time that interrupts take, or no longer. Any thread may call it."""
        ...

    def set_measuring(self, on: bool) -> None:
        """Asks for the time that the source's kernel programs take, or no longer. Any thread may call it."""
        ...


class SourceError(Exception):
    """A source cannot be opened or has failed; the text says why and what to do, in one line."""


class NotPermitted(SourceError):
    """The kernel does not let this process do what a source needs."""

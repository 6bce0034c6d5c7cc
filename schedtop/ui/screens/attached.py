"""A screen over a source of its own, which is attached to the kernel only while the screen is open."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Generic

from textual import events, on
from textual.message import Message
from textual.screen import Screen

from schedtop.ui.feed import Feed, Item, ItemSource, opened_here


class AttachedScreen(Screen[None], Generic[Item]):
    """Opens its source in a thread when it comes (compiling takes a second) and closes it there when it goes, however
    it goes: by its key, with the dashboard, by a signal.

    Subclasses show `arrived` items; until the first one it `is_attaching`. What goes wrong is `failed`, and ends
    nothing but this source.
    """

    class Arrived(Message, bubble=False):
        """The source has something new; the item is of the screen's kind."""

        def __init__(self, item: object, number: int) -> None:
            super().__init__()
            self.item = item
            self.number = number

    class Ended(Message, bubble=False):
        """The source gives nothing any more; `error` says why, if it should have."""

        def __init__(self, error: str, number: int) -> None:
            super().__init__()
            self.error = error
            self.number = number

    def __init__(self, source: AbstractContextManager[ItemSource[Item]]) -> None:
        super().__init__()
        self.is_attaching = True
        self.failure = ""
        self._number = 0
        self._feed = self._feed_of(source)

    def attach(self, source: AbstractContextManager[ItemSource[Item]]) -> None:
        """Goes on with another source; the one before detaches, and what it still gives is dropped."""
        self._feed.stop(0)
        self.is_attaching = True
        self.failure = ""
        self._feed = self._feed_of(source)
        self._feed.start()

    def _feed_of(self, source: AbstractContextManager[ItemSource[Item]]) -> Feed[Item]:
        self._number += 1
        arrived, ended = (partial(message, number=self._number) for message in (self.Arrived, self.Ended))
        return Feed(opened_here(source), self.post_message, arrived, ended)

    def arrived(self, item: Item) -> None:
        """Takes what the source gives."""
        raise NotImplementedError

    def failed(self) -> None:
        """Says `failure`: nothing more will come."""
        raise NotImplementedError

    def on_mount(self, _event: events.Mount) -> None:
        self._feed.start()

    def on_unmount(self, _event: events.Unmount) -> None:
        # Without waiting: the thread detaches, and the app's end waits for it.
        self._feed.stop(0)

    @on(Arrived)
    def _source_gives(self, event: Arrived) -> None:
        if event.number != self._number:
            return
        self.is_attaching = False
        self.arrived(event.item)  # type: ignore[arg-type]

    @on(Ended)
    def _source_ended(self, event: Ended) -> None:
        if event.number != self._number:
            return
        self.is_attaching = False
        self.failure = event.error or "the source has ended"
        self.failed()

"""A screen over a source of its own, which is attached to the kernel only while the screen is open."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Generic

from textual import events, on
from textual.app import App
from textual.message import Message
from textual.screen import Screen

from schedtop.base.units import NS_PER_S
from schedtop.ui.feed import Feed, Item, ItemSource, opened_here
from schedtop.ui.memory import give_back
from schedtop.ui.screens.still import is_on_top
from schedtop.widgets.strips import Span

OLD_NS = 5 * NS_PER_S // 2
"""It is read once a second: what is older than this says so."""

GIVE_BACK_S = (1.0, 5.0, 15.0)
"""When after closing memory is given back: the source's thread detaches first, which takes longer on a loaded host."""


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

    @property
    def is_current(self) -> bool:
        """Whether it is to be painted."""
        return is_on_top(self)

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

    def state_words(self, end_ns: int | None, *, frozen: bool, ended: bool = False) -> Span:
        """Whether it is live, in words. `end_ns` (CLOCK_MONOTONIC): of what is shown, 0: it does not say; `None`:
        nothing is shown yet. `ended`: what is looked at has gone."""
        if self.failure:
            return (" FAILED " if end_ns is None else " ENDED ", "alarm")
        if frozen:
            return (" FROZEN ", "frozen")
        if self.is_attaching or end_ns is None:
            return ("attaching ...", "notice")
        if ended:
            return (" ENDED ", "notice")
        age_ns = time.monotonic_ns() - end_ns if end_ns else 0
        return (f"● LIVE, read {age_ns // NS_PER_S} s ago", "notice") if age_ns > OLD_NS else ("● LIVE", "live")

    def on_mount(self, _event: events.Mount) -> None:
        self._feed.start()

    def on_unmount(self, _event: events.Unmount) -> None:
        # Without waiting: the thread detaches, and the app's end waits for it.
        self._feed.stop(0)
        # By the app: timers that are set here hold this screen as long as they wait, and while they give back.
        self.app.call_later(_give_back_soon, self.app)

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


def _give_back_soon(app: App[Any]) -> None:
    for after_s in GIVE_BACK_S:
        app.set_timer(after_s, give_back)

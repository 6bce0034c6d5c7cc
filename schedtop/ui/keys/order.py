"""Keys one after the other: each goes to what the keys before it have opened, however fast they are typed.

Textual gives a key to what has the focus when the key arrives, while the key before it may still be on its way to its
action, and the focus that this asks for moves later still: `/nginx` typed at once ran as commands. So a key waits here
until the one before it has had all its effect. A marker follows that one through the same queues; when it is back, and
nothing is left in them, the next key is given out.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable

from textual import events
from textual.message import Message
from textual.message_pump import MessagePump
from textual.timer import Timer
from textual.widgets import Input

from schedtop.ui.terminal.textual_private import OpenApp

Give = Callable[[events.Event], Awaitable[None]]
"""How an event goes to what has the focus."""

LEAST_ROUNDS = 4
"""An action may post a message; its handler may post another one that moves the focus, which is a callback again."""

MOST_ROUNDS = 100
MOST_S = 0.3
"""When there is always something in a queue, keys are more important than their order.

Where drawing takes longer than the time from one interval to the next, a hundred rounds took seconds.
"""

LOOK_S = 0.05
"""How often a marker is looked for: a screen that closes takes those in its queue away."""

MOST_LOOKS = 100


class KeyOrder:
    """Has the keys (and pasted texts) of an app wait for the keys before them. Those with priority do not."""

    class Followed(Message, bubble=True, verbose=True):
        """The marker behind a key: it takes the same way, back to the app."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, app: OpenApp[int], give: Give) -> None:
        """`give`: what the app does with an event that need not wait."""
        self._app = app
        self._give = give
        self._keys: deque[events.Key | events.Paste] = deque()
        self._marker = 0
        self._rounds = 0
        self._looks = 0
        self._given_s = 0.0
        self._way: tuple[MessagePump, ...] = ()
        self._looking: Timer | None = None

    @property
    def is_settled(self) -> bool:
        """Whether all keys that came have had their effect."""
        return not self._way and not self._keys

    async def take(self, event: events.Event) -> None:
        """Gives an event on; a key when it is its turn."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded or self._has_priority(event):
            await self._give(event)
            return
        self._keys.append(event)
        if not self._way:
            await self._give_out()

    @property
    def _has_ended(self) -> bool:
        """Whether there are no screens any more: a marker, or a key, may outlive them."""
        return not self._app.screen_stack

    def _has_priority(self, event: events.Key | events.Paste) -> bool:
        return isinstance(event, events.Key) and self._app.has_priority(event.key)

    async def _give_out(self) -> None:
        """Gives the next key to what has the focus, with a marker behind it."""
        if not self._keys or self._has_ended:
            return
        self._rounds = self._looks = 0
        self._given_s = time.monotonic()
        way = self._way_now()
        first = self._keys.popleft()
        await self._give(first)
        # One letter of a text has no effect on where the next one goes.
        while self._keys and self._is_text(first) and self._is_text(self._keys[0]):
            await self._give(self._keys.popleft())
        self._follow(way)

    def _is_text(self, event: events.Key | events.Paste) -> bool:
        return isinstance(self._app.focused, Input) and (isinstance(event, events.Paste) or event.is_printable)

    def _way_now(self) -> tuple[MessagePump, ...]:
        """The queues that a key passes: from what has the focus to the app."""
        first = self._app.focused or self._app.screen
        return tuple(first.ancestors_with_self)

    def _follow(self, way: tuple[MessagePump, ...]) -> None:
        self._way = way
        self._marker += 1
        way[0].post_message(self.Followed(self._marker))
        if self._looking is None:
            self._looking = self._app.set_interval(LOOK_S, self._look)

    async def on_key_order_followed(self, event: Followed) -> None:
        """The marker is back."""
        event.stop()
        if event.number != self._marker or not self._way or self._has_ended:
            return
        self._rounds += 1
        before, now = self._way, self._way_now()
        still = before == now and not any(pump.message_queue_size for pump in now)
        enough = self._rounds >= MOST_ROUNDS or time.monotonic() - self._given_s > MOST_S
        if self._rounds < LEAST_ROUNDS or not (still or enough):
            self._follow(now)
        else:
            await self._settle()

    async def _settle(self) -> None:
        """The last key has had its effect."""
        self._way = ()
        if self._looking is not None and not self._keys:
            self._looking.stop()
            self._looking = None
        await self._give_out()

    async def _look(self) -> None:
        """Sends another marker where the last one has gone with its screen; gives up at last."""
        self._looks += 1
        if not self._way or self._has_ended:
            return
        if self._looks >= MOST_LOOKS:
            await self._settle()
        elif (
            not all(pump.is_running and pump.is_attached for pump in self._way[:-1])
            or self._app.screen not in self._way
        ):
            self._follow(self._way_now())

"""One pair of hands that know no purpose: what they do follows from a seed, and what they find is an AssertionError."""

from __future__ import annotations

import asyncio
import random
import string
import threading
import time
from collections import deque
from pathlib import Path

from textual import events
from textual.geometry import Size
from textual.keys import _character_to_key, key_to_character
from textual.pilot import Pilot

import schedtop.ui.app
from schedtop.ui.app import SchedtopApp
from tests.unit.panes.screen import assert_drawn_whole, assert_widths

LEAST, MOST = (20, 5), (240, 70)
USUAL = ((80, 24), (120, 40), (160, 50), (200, 60), (100, 30), (60, 15))
LOOK_EVERY = 25
"""Actions between two looks at the whole screen."""

MOST_SCREENS = 12
MOST_MORE_THREADS = 40
ANSWER_S = 60.0
"""An app that has not answered by then never will; beside a full load it needs ten seconds."""

NAVIGATION = ("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "enter", "escape")
FUNCTIONS = (*(f"f{number}" for number in range(1, 13)), "ctrl+p", "ctrl+l", "ctrl+r", "shift+f3", "insert", "delete")
CHARACTERS = string.printable.strip() + " äßµ漢字🦀́\u200b\u202e\ufffd─"
TEXTS = (
    "nginx",
    "comm:python tid:1 cpu:0-3",
    "[bold red]x[/]",
    "\x1b[31mred\x1b[0m",
    "a\nb\r\nc\td",
    "漢字" * 60,
    "x" * 5000,
    "\x00\x07\x7f",
    "cpu:99999999999999999999",
    "*?[(\\",
)


class MonkeyApp(SchedtopApp):
    """Stays whatever is pressed: what would end or suspend it is counted instead."""

    CSS_PATH = Path(schedtop.ui.app.__file__).with_name("schedtop.tcss")

    left = 0

    def action_leave(self) -> None:
        self.left += 1

    def action_interrupt(self) -> None:
        self.left += 1

    def action_suspend_process(self) -> None:
        self.left += 1

    async def action_quit(self) -> None:
        self.left += 1


class Hands:
    """Acts on an app through its Pilot for a while."""

    def __init__(self, pilot: Pilot[int], chance: random.Random) -> None:
        assert isinstance(pilot.app, MonkeyApp)
        self.pilot, self.app, self.chance = pilot, pilot.app, chance
        self.actions = 0
        self.last: deque[str] = deque(maxlen=60)
        self._threads = threading.active_count()

    async def play(self, seconds: float) -> None:
        """Acts until the time is over, then sees whether the app still answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self._act()
            self.actions += 1
            if self.actions % LOOK_EVERY == 0:
                await self._look()
        await self._answers()

    async def _act(self) -> None:
        kind = self.chance.choices(
            (self._key, self._burst, self._junk, self._paste, self._click, self._wheel, self._resize, self._wait),
            (40, 8, 8, 2, 12, 5, 4, 6),
        )[0]
        await kind()

    # What hands do.

    async def _key(self) -> None:
        self._post(self._some_key())
        await self._glance()

    async def _burst(self) -> None:
        """Keys faster than they can be drawn."""
        for _ in range(self.chance.randint(2, 12)):
            self._post(self._some_key())
        await self._glance()

    async def _junk(self) -> None:
        character = self.chance.choice(CHARACTERS)
        self.last.append(f"junk {character!r}")
        self.app.post_message(events.Key(_character_to_key(character), character))
        await self._glance()

    async def _paste(self) -> None:
        text = self.chance.choice(TEXTS)
        self.last.append(f"paste {text[:20]!r}")
        self.app.post_message(events.Paste(text))
        await self._glance()

    async def _click(self) -> None:
        width, height = self.app.size
        offset = self.chance.randrange(width), self.chance.randrange(height)
        times, button = self.chance.choice((1, 1, 1, 2, 3)), self.chance.choice((1, 1, 1, 1, 2, 3))
        self.last.append(f"click {offset} x{times} button {button}")
        for _ in range(times):
            for kind in (events.MouseMove, events.MouseDown, events.MouseUp):
                self._mouse(kind, *offset, 0 if kind is events.MouseMove else button)
        await self._glance()

    async def _wheel(self) -> None:
        width, height = self.app.size
        x, y = self.chance.randrange(width), self.chance.randrange(height)
        kind = self.chance.choice((events.MouseScrollUp, events.MouseScrollDown))
        self.last.append(f"{kind.__name__} {x, y}")
        for _ in range(self.chance.randint(1, 5)):
            self._mouse(kind, x, y, 0)
        await self._glance()

    async def _resize(self) -> None:
        for _ in range(self.chance.choice((1, 1, 5))):
            if self.chance.random() < 0.6:
                size = self.chance.choice(USUAL)
            else:
                size = self.chance.randint(LEAST[0], MOST[0]), self.chance.randint(LEAST[1], MOST[1])
            self.last.append(f"resize {size}")
            self._resize_to(*size)
        await self._glance()

    async def _wait(self) -> None:
        duration = self.chance.uniform(0, 0.15)
        self.last.append(f"wait {duration:.2f}")
        await asyncio.sleep(duration)

    def _resize_to(self, width: int, height: int) -> None:
        """As the driver does, without waiting until it is drawn."""
        size = Size(width, height)
        driver = self.app._driver
        assert driver is not None
        driver._size = (width, height)
        self.app.post_message(events.Resize(size, size))

    def _some_key(self) -> str:
        bound = sorted(self.app.screen.active_bindings)
        pool = self.chance.choices((bound, NAVIGATION, FUNCTIONS, string.digits[:6]), (10, 5, 1, 1))[0]
        return self.chance.choice(list(pool) or ["escape"])

    def _post(self, key: str) -> None:
        self.last.append(key)
        self.app.post_message(events.Key(key, key_to_character(key)))

    def _mouse(self, kind: type[events.MouseEvent], x: int, y: int, button: int) -> None:
        """As the driver posts it."""
        self.app.post_message(kind(None, x, y, 0, 0, button, False, False, False, x, y))

    async def _glance(self) -> None:
        """As long as it takes from one action to the next."""
        await asyncio.sleep(self.chance.choice((0, 0.002, 0.02)))

    # What must hold.

    async def _look(self) -> None:
        await self._settled()
        assert not self.app.failure, self.app.failure
        assert len(self.app.screen_stack) <= MOST_SCREENS, f"{len(self.app.screen_stack)} screens"
        threads = threading.active_count()
        assert threads <= self._threads + MOST_MORE_THREADS, [thread.name for thread in threading.enumerate()]
        assert_widths(self.app)
        assert_drawn_whole(self.app)

    async def _settled(self) -> None:
        end = time.monotonic() + ANSWER_S
        while not self.app.key_order.is_settled:
            assert time.monotonic() < end, "keys wait for ever"
            await self.pilot.pause(0.01)
        await self.pilot.pause()

    async def _answers(self) -> None:
        """Escape leads back to the dashboard, and a key does there what it always does."""
        for _ in range(10 * MOST_SCREENS):
            await self._settled()
            if len(self.app.screen_stack) == 1:
                break
            await self.pilot.press("escape")
        assert len(self.app.screen_stack) == 1, self.app.screen_stack
        await self.pilot.resize_terminal(120, 40)
        await self.pilot.press("escape")
        self.app.dashboard.pane_layout.current.focus()
        await self._look()
        before = self.app.dashboard.timeline.settings.window_ns
        await self.pilot.press("w")
        end = time.monotonic() + ANSWER_S
        while self.app.dashboard.timeline.settings.window_ns == before:
            assert time.monotonic() < end, f"w is not answered: {self.app.focused} of {self.app.screen}"
            await self.pilot.pause(0.01)
        await self._look()

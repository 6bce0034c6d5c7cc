"""Screens made of parts: what reaches a part, in which order keys are told, and what is refused."""

from __future__ import annotations

from typing import ClassVar

import pytest
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from schedtop.widgets.parts import keys_of, made_of


class Bell:
    """A part with a key, an action and a handler."""

    class Rung(Message):
        """It has rung."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "ring(2)", "Ring", id="ring")]

    def __init__(self, screen: Screen[None]) -> None:
        self.rung = 0
        self.heard = 0
        self._screen = screen

    def action_ring(self, times: int) -> None:
        """Rings."""
        self.rung += times
        self._screen.post_message(self.Rung())

    async def on_bell_rung(self) -> None:
        """Hears it; the message itself is not wanted."""
        self.heard += 1


class LoudBell(Bell):
    """A part in the place of another one."""


PARTS = {"bell": Bell}


@made_of(PARTS)
class House(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = keys_of(PARTS, [Binding("q", "app.quit", "Quit", id="quit")], ["ring"])

    def __init__(self) -> None:
        super().__init__()
        self.bell = Bell(self)


@made_of({"bell": LoudBell})
class Palace(House):
    def __init__(self) -> None:
        super().__init__()
        self.bell = LoudBell(self)


@pytest.mark.parametrize("make", [House, Palace])
async def test_keys_and_messages_reach_the_part_once(make: type[House]) -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        house = make()
        await app.push_screen(house)
        await pilot.press("r", "r")
        await pilot.pause()
        assert (house.bell.rung, house.bell.heard) == (4, 2)


def test_keys_come_in_the_order_that_is_asked_for() -> None:
    assert [one.id for one in House.BINDINGS if isinstance(one, Binding)] == ["ring", "quit"]
    assert [one.id for one in keys_of(PARTS) if isinstance(one, Binding)] == ["ring"]


def test_two_parts_with_the_same_action_are_refused() -> None:
    with pytest.raises(TypeError, match="action_ring"):
        made_of({"first": Bell, "second": Bell})(type("Both", (Screen,), {}))

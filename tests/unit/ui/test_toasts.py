"""Messages at 80x24: the keys and the selected row stay visible."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from schedtop.ui.toasts import REFRESHES
from schedtop.widgets.keyed_table import KeyedTable
from tests.unit.panes.screen import lines
from tests.unit.ui.drive import to_pane, until
from tests.unit.ui.keys.test_order import typed
from tests.unit.ui.screens.dashboard.test_dashboard import running

SIZE = (80, 24)
MESSAGES = ["a short one", "one that needs more than the sixty columns which the framework gives it", "one\ntwo\nthree"]


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("moves", [["end"], ["end", "up"], ["down"]], ids=str)
async def test_a_message_hides_neither_the_keys_nor_the_selected_row(message: str, moves: list[str]) -> None:
    async with running(SIZE) as (pilot, _source, dashboard):
        await to_pane(pilot, "tasks")
        await typed(pilot, "z", *moves)
        table = dashboard.pane_layout.current
        assert isinstance(table, KeyedTable)
        line = next(place for place, words in enumerate(lines(pilot.app)) if f" {table.selected_key[0]} " in words)
        before = lines(pilot.app)
        pilot.app.notify("in place of this one", markup=False)
        await until(pilot, lambda: any("in place of" in words for words in lines(pilot.app)))
        pilot.app.notify(message, markup=False)
        last = message.splitlines()[-1]
        await until(pilot, lambda: any(last in words for words in lines(pilot.app)))
        for _ in range(REFRESHES):
            await pilot.pause()
        shown = lines(pilot.app)
        assert shown[-1] == before[-1], "the keys"
        assert shown[line] == before[line], "the selected row"
        assert sum(one != two for one, two in zip(before, shown, strict=True)) == len(message.splitlines())


async def test_a_message_gives_way_to_a_selection_that_moves_below_it() -> None:
    async with running(SIZE) as (pilot, _source, dashboard):
        await to_pane(pilot, "tasks")
        await typed(pilot, "z", "down")
        pilot.app.notify("one\ntwo\nthree", timeout=60)
        await until(pilot, lambda: any("three" in words for words in lines(pilot.app)))
        await typed(pilot, "end")
        await pilot.pause()
        table = dashboard.pane_layout.current
        assert any(f" {table.selected_key[0]} " in words and "▌" not in words for words in lines(pilot.app))
        assert any("three" in words for words in lines(pilot.app))


async def test_a_click_at_a_message_that_was_removed_meanwhile_is_harmless() -> None:
    async with running(SIZE) as (pilot, _source, _dashboard):
        pilot.app.notify("a message", timeout=60)
        await until(pilot, lambda: any("a message" in words for words in lines(pilot.app)))
        screen = pilot.app.screen
        (toast,) = screen.query("Toast")
        x, y = toast.region.x + 4, toast.region.y
        removed = toast.parent.remove()
        while toast.parent is not None:
            await asyncio.sleep(0)
        assert screen.get_widget_at(x, y)[0] is toast, "the layout still has it"
        for kind in (events.MouseDown, events.MouseUp) * 3:
            pilot.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, screen_x=x, screen_y=y))
        await removed
        await pilot.pause()
        assert not screen.query("Toast")

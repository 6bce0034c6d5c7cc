"""Panes and orders chosen from a list, actions from the palette, with keys and by clicks."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from schedtop.panes.header import HeaderPane
from schedtop.panes.offcpu.threads import ThreadsPane
from schedtop.ui.screens.chooser import ChoiceList, Chooser
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.palette import Palette
from schedtop.ui.screens.task.screen import TaskScreen
from schedtop.ui.screens.task.sections import SECTIONS
from schedtop.ui.screens.text import Text, TextBox, TextScreen
from tests.unit.ui.drive import collected, to_pane
from tests.unit.ui.keys.test_order import typed
from tests.unit.ui.screens.dashboard.test_dashboard import running
from tests.unit.ui.screens.replay.test_screen import FRAMES, recorded, replaying

SIZES = [(80, 24), (120, 40)]


@pytest.mark.parametrize("size", SIZES)
async def test_a_pane_is_chosen_by_its_digit_or_with_enter(size: tuple[int, int]) -> None:
    async with running(size=size) as (pilot, _source, dashboard):
        await typed(pilot, "p8")
        assert dashboard.pane_layout.current.id == "blame"
        await typed(pilot, "p", "down", "enter")
        assert dashboard.pane_layout.current.id == "tasks"
        await typed(pilot, "p", "escape")
        assert pilot.app.screen is dashboard
        assert dashboard.pane_layout.current.id == "tasks"
        await typed(pilot, "p")
        assert await pilot.click(ChoiceList, offset=(10, 1))
        await pilot.pause()
        assert dashboard.pane_layout.current is dashboard.pane_layout.panes[0]


async def test_an_order_is_chosen() -> None:
    async with running() as (pilot, _source, dashboard):
        await to_pane(pilot, "tasks")
        await pilot.press("f6")
        assert isinstance(pilot.app.screen, Chooser)
        await typed(pilot, "5")
        assert dashboard.timeline.settings.task_sort == "run_ns"
        await to_pane(pilot, "blame")
        await typed(pilot, "F2")
        assert dashboard.timeline.settings.pair_sort == "count"
        await to_pane(pilot, "cpus")
        await typed(pilot, "F2")
        assert dashboard.timeline.settings.cpu_sort == "busy"
        assert dashboard.timeline.settings.task_sort == "run_ns"


@pytest.mark.parametrize("size", SIZES)
async def test_keys_after_the_palette_key_are_its_command(size: tuple[int, int]) -> None:
    async with running(size=size) as (pilot, _source, dashboard):
        await typed(pilot, ":freeze", "enter", "w")
        assert dashboard.timeline.is_frozen
        assert dashboard.timeline.settings.window_ns == 10_000_000_000
        await pilot.press("ctrl+p")
        assert isinstance(pilot.app.screen, Palette)
        await typed(pilot, "verdict", "enter")
        assert isinstance(pilot.app.screen, TextScreen)
        await typed(pilot, "escape", ":nothing like it", "enter", "escape")
        assert pilot.app.screen is dashboard


async def test_the_palette_does_what_belongs_to_the_focused_pane() -> None:
    async with running() as (pilot, _source, dashboard):
        await to_pane(pilot, "slow-waits")
        await typed(pilot, ":to tas", "enter")
        assert dashboard.pane_layout.current.id == "tasks"
        await to_pane(pilot, "slow-waits")
        await typed(pilot, ":details", "enter")
        assert isinstance(pilot.app.screen, TextScreen)
        await typed(pilot, "escape")
        assert dashboard.pane_layout.current.id == "slow-waits"


async def test_every_action_of_every_screen_has_one_name_and_a_meaning(tmp_path: Path) -> None:
    async with running() as (_pilot, _source, dashboard):
        for pane in dashboard.pane_layout.panes:
            dashboard.pane_layout.focus_pane(pane)
            rows = [row for _, row in dashboard.action_list.every()]
            assert len({row.name for row in rows}) == len(rows)
            assert all(row.name and row.meaning and row.word for row in rows), [row for row in rows if not row.meaning]
            keys = [key for node, row in dashboard.action_list.every() if node is dashboard for key in row.keys.split()]
            assert len(keys) == len(set(keys)), sorted(keys)
    path = recorded(tmp_path / "a.rec", FRAMES[:3])
    async with replaying(path) as (_pilot, _player, replay):
        keys = [
            key
            for node, row in replay.action_list.every()
            if node is replay and row.name != "track"
            for key in row.keys.split()
        ]
        assert len(keys) == len(set(keys)), sorted(keys)
        assert "record" not in {row.name for _, row in replay.action_list.every()}


async def test_keys_in_force_are_those_that_are_told() -> None:
    async with running(size=(120, 40)) as (pilot, _source, dashboard):
        pilot.app.set_keymap({"freeze": "f9", "filter": "ctrl+f"})
        dashboard.show_keys()
        await pilot.pause()
        assert "F9 Freeze" in "".join(text for line in dashboard.query_one("#key-bar")._lines for text, _ in line)
        await pilot.press("f9")
        assert dashboard.timeline.is_frozen
        rows = {row.name: row.keys for _, row in dashboard.action_list.every()}
        assert (rows["freeze"], rows["filter"]) == ("F9", "Ctrl+F")


async def test_the_help_begins_with_the_focused_pane_and_turns_pages() -> None:
    async with running(size=(80, 24)) as (pilot, _source, dashboard):
        await to_pane(pilot, "blame")
        await typed(pilot, "?")
        screen = pilot.app.screen
        assert isinstance(screen, HelpScreen)
        assert screen._content.topic.name == "Blame"
        await pilot.press("right")
        assert screen._content.topic.name == "Tasks"
        await pilot.press("tab", "left", "h")
        assert screen._content.topic.name == "Blame"
        # The first name of the list is that of the keys.
        await pilot.click(screen._content, offset=(4, 1))
        assert screen._content.topic.name == "Keys"
        await pilot.press("f10")
        assert pilot.app.screen is dashboard


async def test_every_column_of_every_pane_is_explained() -> None:
    async with running(size=(120, 40)) as (_pilot, _source, dashboard):
        for pane in dashboard.pane_layout.panes:
            for _, columns in pane.COLUMN_HELP:
                assert columns
                assert all(column.meaning for column in columns), pane.id
            if hasattr(pane, "table_columns"):
                explained = {column.header for _, columns in pane.COLUMN_HELP for column in columns}
                assert {column.header for column in pane.table_columns()} <= explained, pane.id


async def test_every_column_of_the_other_screens_is_explained() -> None:
    for kind in (*SECTIONS, ThreadsPane):
        for _, columns in kind.COLUMN_HELP:
            assert all(column.meaning for column in columns), kind.TITLE
    assert {kind.TITLE for kind in SECTIONS if kind.COLUMN_HELP} >= {"Threads", "Slow waits", "System calls"}
    assert ThreadsPane.COLUMN_HELP


async def test_clicks_on_the_verdict_and_twice_on_a_row() -> None:
    async with running(size=(120, 40)) as (pilot, _source, dashboard):
        await pilot.click(HeaderPane, offset=(30, 1))
        assert isinstance(pilot.app.screen, TextScreen)
        await typed(pilot, "escape")
        await to_pane(pilot, "tasks")
        await pilot.click(dashboard.pane_layout.current, offset=(10, 3), times=2)
        await pilot.pause()
        assert isinstance(pilot.app.screen, TaskScreen)


async def test_what_is_under_a_text_is_seen_around_it_and_goes_on() -> None:
    async with running(size=(160, 48)) as (pilot, source, dashboard):
        await pilot.press("v")
        assert isinstance(pilot.app.screen, TextScreen)
        before = _as_sent(pilot.app)
        assert "Latency over time" in before
        assert "Evidence" in before
        dashboard.details._text = None  # or it would follow the verdict
        await collected(pilot, source, 3)
        assert _as_sent(pilot.app) != before
        assert "Evidence" in _as_sent(pilot.app)
        await pilot.resize_terminal(150, 48)  # what is under it would be of the old size
        assert "Latency over time" not in _as_sent(pilot.app)
        await pilot.press("escape")
        assert pilot.app.screen is dashboard
        assert "Latency over time" in _as_sent(pilot.app)


async def test_an_open_text_that_changes_gets_no_lower_unless_the_terminal_does() -> None:
    def lines(count: int) -> Text:
        return lambda width: [[(f"line {number}", "text")] for number in range(count)]

    async with running(size=(120, 40)) as (pilot, _source, _dashboard):
        shown = TextScreen("Text", lines(12))
        await pilot.app.push_screen(shown)
        await pilot.pause()
        box = shown.query_one(TextBox)
        height = box.outer_size.height
        shown.replace("Text", lines(4))
        await pilot.pause()
        assert box.outer_size.height == height
        await pilot.resize_terminal(120, 10)
        await pilot.pause()
        assert box.outer_size.height <= 10


def _as_sent(app: App[Any]) -> str:
    """What the terminal shows, with what is under the uppermost screen."""
    return re.sub(
        "<style>.*?</style>|<[^>]*>", "", html.unescape(app.export_screenshot(simplify=True)), flags=re.DOTALL
    ).replace("\xa0", " ")

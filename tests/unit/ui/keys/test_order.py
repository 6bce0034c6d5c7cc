"""Keys that come all at once go where they would have gone one by one."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path

from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from schedtop.model.filters import Filter
from schedtop.ui.app import SchedtopApp
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.offcpu.screen import OffCpuScreen
from schedtop.ui.screens.task.screen import TaskScreen
from tests.unit.ui.drive import until
from tests.unit.ui.screens.dashboard.test_dashboard import running
from tests.unit.ui.screens.offcpu.test_screen import offcpu_screen
from tests.unit.ui.screens.replay.test_screen import FRAMES, recorded, replaying

NAMES = {"/": "slash", ":": "colon", " ": "space", "?": "question_mark", "!": "exclamation_mark"}


async def typed(pilot: Pilot[int], *keys: str) -> None:
    """All keys in one go, a string of several characters as its characters; then waits for their effect."""
    app = pilot.app
    assert isinstance(app, SchedtopApp)
    for key in _one_by_one(keys):
        character = next((sign for sign, name in NAMES.items() if name == key), key if len(key) == 1 else None)
        app.post_message(events.Key(key, character))
    await pilot.pause()  # they are only in the queue of messages so far
    await until(pilot, lambda: app.key_order.is_settled)


def _one_by_one(keys: Sequence[str]) -> list[str]:
    named = {"enter", "escape", "down", "up", "tab", "end", *NAMES.values()}
    whole: list[str] = []
    for key in keys:
        whole += [key] if key in named else [NAMES.get(sign, sign) for sign in key]
    return whole


async def test_keys_after_the_filter_key_are_the_filter() -> None:
    async with running() as (pilot, _source, dashboard):
        await typed(pilot, "fflholder", "enter")
        assert dashboard.timeline.settings.filter == Filter.parse("flholder")
        assert not dashboard.timeline.is_frozen
        assert pilot.app.screen is dashboard
        assert not dashboard.query_one(FilterBar).is_open
        await typed(pilot, "escape", "ftid:29394", "enter", "5")
        assert dashboard.timeline.settings.filter == Filter.parse("tid:29394")
        assert dashboard.pane_layout.current.id == "tasks"


async def test_every_letter_is_text_in_the_prompt() -> None:
    async with running() as (pilot, _source, dashboard):
        await typed(pilot, "f" + string.ascii_letters + string.digits)
        assert pilot.app.screen is dashboard
        assert dashboard.query_one(Input).value == string.ascii_letters + string.digits


async def test_keys_behind_the_prompt_are_commands_again() -> None:
    async with running() as (pilot, _source, dashboard):
        await typed(pilot, "fnginx", "enter", " ", "w", "5s")
        assert dashboard.timeline.is_frozen
        assert dashboard.timeline.settings.filter == Filter.parse("nginx")
        assert dashboard.timeline.settings.window_ns == 10_000_000_000
        assert dashboard.timeline.settings.task_sort == "max_wait_ns"


async def test_keys_behind_one_that_opens_a_screen_are_for_that_screen() -> None:
    async with running() as (pilot, _source, dashboard):
        await typed(pilot, "?", "down", "down", "down", "escape", "w")
        assert pilot.app.screen is dashboard
        assert dashboard.timeline.settings.window_ns == 10_000_000_000
        await typed(pilot, "5", "?", "escape", "?", "down", "down")
        assert isinstance(pilot.app.screen, HelpScreen)
        assert pilot.app.screen._content.top == 2


async def test_a_row_is_selected_and_opened_in_one_go() -> None:
    async with running() as (pilot, _source, dashboard):
        await typed(pilot, "5", "down", "enter")
        task = pilot.app.screen
        assert isinstance(task, TaskScreen)
        await typed(pilot, "escape", "w")
        assert pilot.app.screen is dashboard
        assert dashboard.timeline.settings.window_ns == 10_000_000_000


async def test_the_filter_of_another_screen() -> None:
    async with offcpu_screen() as (pilot, _screen, _make):
        await typed(pilot, "escape", "ofqqhwv", "enter")
        screen = pilot.app.screen
        assert isinstance(screen, OffCpuScreen)
        assert screen.listing.filter == Filter.parse("qqhwv")
        assert not screen.query_one(FilterBar).is_open


async def test_the_moment_of_a_replay(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.rec", FRAMES[:8])
    async with replaying(path) as (pilot, source, dashboard):
        await typed(pilot, "J3s", "enter", "w")
        assert source.position == 3
        assert dashboard.timeline.settings.window_ns == 10_000_000_000


async def test_keys_wait_no_longer_for_a_screen_that_has_gone() -> None:
    async with running() as (pilot, _source, dashboard):
        await typed(pilot, *["?", "escape"] * 20, "w")
        assert pilot.app.screen is dashboard
        assert dashboard.timeline.settings.window_ns == 10_000_000_000

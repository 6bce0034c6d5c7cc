"""The search: matches while one types, n and N, around the end, and Escape."""

from __future__ import annotations

import pytest

from schedtop.ui.bars.search import SearchBar
from schedtop.ui.screens.help.screen import HelpScreen
from tests.unit.ui.drive import to_pane
from tests.unit.ui.keys.test_order import typed
from tests.unit.ui.screens.dashboard.test_dashboard import running

SIZES = [(80, 24), (120, 40)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_match_is_selected_while_one_types(size: tuple[int, int]) -> None:
    async with running(size=size) as (pilot, _source, dashboard):
        await to_pane(pilot, "tasks")
        tasks = dashboard.pane_layout.current
        await typed(pilot, "/postg")
        assert tasks.selected_row["comm"] == b"postgres"
        assert dashboard.query_one(SearchBar).is_open
        assert tasks.marked == "postg"
        first = tasks.selected_key
        await typed(pilot, "enter", "n")
        assert not dashboard.query_one(SearchBar).is_open
        assert tasks.selected_row["comm"] == b"postgres"
        assert tasks.selected_key != first
        await typed(pilot, "N")
        assert tasks.selected_key == first
        await typed(pilot, "escape")
        assert tasks.marked == ""
        assert tasks.selected_key == first
        assert dashboard.focused is tasks


async def test_search_goes_around_the_end_and_says_so() -> None:
    async with running() as (pilot, _source, dashboard):
        await to_pane(pilot, "tasks")
        tasks = dashboard.pane_layout.current
        await typed(pilot, "/postgres", "enter")
        matches = [row for row, text in enumerate(tasks.search_texts()) if "postgres" in text]
        assert len(matches) > 1
        rows = []
        for _ in matches:
            rows.append(tasks.search_row)
            await typed(pilot, "n")
        assert rows == matches
        assert tasks.search_row == matches[0]
        assert [toast.message for toast in pilot.app._notifications] == ["postgres: on from the top"]


async def test_escape_while_typing_goes_back_to_where_one_was() -> None:
    async with running() as (pilot, _source, dashboard):
        await to_pane(pilot, "tasks")
        tasks = dashboard.pane_layout.current
        await typed(pilot, "down", "down")
        before = tasks.place
        await typed(pilot, "/stress", "escape")
        assert tasks.place == before
        assert tasks.marked == ""
        await typed(pilot, "/no such task", "enter")
        assert tasks.place == before


async def test_a_match_stands_out() -> None:
    async with running() as (pilot, _source, dashboard):
        await to_pane(pilot, "tasks")
        tasks = dashboard.pane_layout.current
        await typed(pilot, "/nginx", "enter")
        marked = [
            segment.text for strip in tasks._strips[1:] for segment in strip if segment.style and segment.style.reverse
        ]
        assert marked
        assert set(marked) == {"nginx"}


async def test_every_letter_of_a_search_is_text_and_keys_behind_it_are_commands() -> None:
    async with running() as (pilot, _source, dashboard):
        await to_pane(pilot, "tasks")
        await typed(pilot, "/", "qwpnjJ1", "enter", "w")
        assert pilot.app.screen is dashboard
        assert dashboard.search.sought == "qwpnjJ1"
        assert dashboard.timeline.settings.window_ns == 10_000_000_000


async def test_n_without_a_search_says_how_to_begin_one() -> None:
    async with running() as (pilot, _source, dashboard):
        await typed(pilot, "n")
        assert "/ searches" in [*pilot.app._notifications][-1].message
        assert dashboard.search.sought == ""


async def test_the_help_is_searched_through_all_topics() -> None:
    async with running() as (pilot, _source, _dashboard):
        await typed(pilot, "?", "/hypervisor", "enter")
        screen = pilot.app.screen
        assert isinstance(screen, HelpScreen)
        seen = set()
        for _ in range(30):
            assert "hypervisor" in screen._content.search_texts()[screen._content.search_row]
            seen.add(screen._content.topic.name)
            await typed(pilot, "n")
        assert len(seen) > 2
        await typed(pilot, "escape")
        assert pilot.app.screen is screen
        await typed(pilot, "escape")
        assert pilot.app.screen is not screen

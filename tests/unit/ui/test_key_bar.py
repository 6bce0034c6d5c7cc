"""The line at the bottom: every preset is named where that leaves room for the keys that are needed."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from schedtop.ui.app import SchedtopApp
from schedtop.ui.bars.keys import KeyBar
from tests.unit.ui.drive import GivenSource, collected, to_pane, until

TABS = "1 Overview 2 Latency 3 Blame 4 CPUs 5 Tasks 6 Trends"

pytestmark = pytest.mark.asyncio


def spans(pilot: Pilot[int]) -> list[tuple[str, str]]:
    return [*pilot.app.screen.query_one(KeyBar)._lines[0]]


def blocks(pilot: Pilot[int]) -> list[str]:
    return [text.strip() for text, style in spans(pilot) if style == "cursor"]


def words(pilot: Pilot[int]) -> str:
    return " ".join("".join(text for text, _ in spans(pilot)).split())


@pytest.mark.parametrize("width", [80, 120, 160])
async def test_all_presets_are_tabs_and_the_shown_one_is_marked(width: int) -> None:
    async with SchedtopApp(GivenSource()).run_test(size=(width, 24)) as pilot:
        await pilot.pause()
        assert words(pilot).startswith(TABS)
        assert "v Why q Quit" in words(pilot)
        for key, word in (("3", "3 Blame"), ("1", "1 Overview")):
            await pilot.press(key)
            await until(pilot, lambda word=word: blocks(pilot) == [word])


async def test_tabs_give_way_to_the_keys_that_are_needed() -> None:
    source = GivenSource()
    async with SchedtopApp(source).run_test(size=(80, 24)) as pilot:
        await collected(pilot, source, 2)
        await pilot.press("space")
        await pilot.pause()
        assert words(pilot).startswith("1 Overview 2 3 4 5 6 ? Help v Why q Quit ← → Step Space Thaw")
        await pilot.press("space")
        await pilot.pause()
        assert words(pilot).startswith(TABS)


async def test_a_click_on_a_tab_shows_its_preset() -> None:
    async with SchedtopApp(GivenSource()).run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        line = "".join(text for text, _ in spans(pilot))
        await pilot.click("#key-bar", offset=(1 + line.index("CPUs"), 0))
        app = pilot.app
        assert isinstance(app, SchedtopApp)
        assert app.dashboard.pane_layout.preset.word == "CPUs"


async def test_titles_name_the_keys_that_change_what_they_say() -> None:
    source = GivenSource(slow_waits=4)
    app = SchedtopApp(source)
    async with app.run_test(size=(160, 48)) as pilot:
        dashboard = await collected(pilot, source, 2)

        def title(name: str) -> str:
            return str(dashboard.pane_layout.pane_named(name).border_title)

        await until(pilot, lambda: title("tasks").endswith("sorted (s) by run delay"))
        assert title("slow-waits") == "Slow waits · 4 over 5 ms (+ -) · slowest first", "s acts on the focused pane"
        await to_pane(pilot, "blame")
        await until(pilot, lambda: title("blame") == "Blame: who held the CPU (b)")
        await pilot.press("b")
        await until(pilot, lambda: title("blame") == "Blame: who took the CPU (b)")
        await pilot.press("g")
        await until(pilot, lambda: title("blame").endswith("(b) · by process (g)"))


@pytest.mark.parametrize("width", [80, 120, 160])
async def test_a_selected_task_has_its_keys_in_the_bar(width: int) -> None:
    source = GivenSource(slow_waits=4)
    async with SchedtopApp(source).run_test(size=(width, 40)) as pilot:
        dashboard = await collected(pilot, source, 2)
        await pilot.press("5")
        assert "P Path" not in words(pilot)
        await pilot.press("down")
        await until(pilot, lambda: "v Why q Quit Enter Task P Path" in words(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: "P Path" not in words(pilot))
        await pilot.press("down")
        await to_pane(pilot, "cpus")
        await until(pilot, lambda: "P Path" not in words(pilot))
        assert dashboard.pane_layout.current.id == "cpus"

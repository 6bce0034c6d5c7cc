"""No dead area: panes with nothing to show give their places away, and the pane that the verdict is about is marked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from textual.color import Color
from textual.geometry import Region

from schedtop.panes.pane import Pane
from schedtop.ui.app import SchedtopApp
from schedtop.ui.layout.presets import NOT_IN_STRIP
from schedtop.ui.screens.dashboard.empty_panes import IDLE_NS
from schedtop.ui.screens.dashboard.flags import PANES_OF, flagged
from schedtop.verdict.engine import RULES
from schedtop.verdict.verdict import Verdict
from tests.unit.panes.screen import text
from tests.unit.ui.drive import GivenSource, collected, to_pane, until

ALARM = Verdict("alarm", "blocker", "stress had the CPU")

pytestmark = pytest.mark.asyncio


async def test_a_pane_without_content_gives_its_place_to_others_until_it_has_some() -> None:
    source = GivenSource(slow_waits=0, cpus=8, interval_ns=IDLE_NS // 4)
    app = SchedtopApp(source)
    async with app.run_test(size=(160, 48)) as pilot:
        dashboard = await collected(pilot, source, 2)
        layout = dashboard.pane_layout
        await until(pilot, lambda: "slow-waits" not in layout.arrangement.seen)
        assert "Slow waits none" in text(app)
        source.scenario = type(source.scenario)(slow_waits=4, cpus=8, interval_ns=IDLE_NS // 4)
        await collected(pilot, source, 1)
        await until(pilot, lambda: "slow-waits" in layout.arrangement.seen)
        source.scenario = type(source.scenario)(slow_waits=0, cpus=8, interval_ns=IDLE_NS // 4)
        await collected(pilot, source, 3)
        assert "slow-waits" in layout.arrangement.seen, "it stays for a minute"
        await collected(pilot, source, 1)
        await until(pilot, lambda: "slow-waits" not in layout.arrangement.seen)
        await to_pane(pilot, "slow-waits")
        assert "slow-waits" in layout.arrangement.seen, "who asks for it gets it"
        await collected(pilot, source, 1)
        assert dashboard.focused is layout.pane_named("slow-waits")


async def test_what_only_the_first_second_has_keeps_no_place() -> None:
    """schedtop's own start forks, so that a quiet host had a large empty pane of short-lived tasks for a minute."""
    source = GivenSource(slow_waits=3, cpus=8)
    app = SchedtopApp(source)
    async with app.run_test(size=(160, 48)) as pilot:
        layout = (await collected(pilot, source, 1)).pane_layout
        await until(pilot, lambda: "slow-waits" in layout.arrangement.seen)
        source.scenario = type(source.scenario)(slow_waits=0, cpus=8)
        await collected(pilot, source, 2)
        assert "slow-waits" in layout.arrangement.seen
        await collected(pilot, source, 3)
        await until(pilot, lambda: "slow-waits" not in layout.arrangement.seen)


async def test_nothing_leaves_its_place_while_one_moves_through_time() -> None:
    source = GivenSource(slow_waits=3, cpus=8)
    app = SchedtopApp(source)
    async with app.run_test(size=(160, 48)) as pilot:
        layout = (await collected(pilot, source, 2)).pane_layout
        await pilot.press("space")
        await pilot.pause()
        source.scenario = type(source.scenario)(slow_waits=0, cpus=8)
        await collected(pilot, source, 3)
        await pilot.press("right", "left")
        await pilot.pause()
        assert "slow-waits" in layout.arrangement.seen


def title_colour(pane: Pane[Any]) -> tuple[int, int, int]:
    """Of the letters of its title on the screen."""
    line = pane.render_lines(Region(0, 0, pane.size.width + 4, 1))[0]
    (style,) = {segment.style for segment in line if "Blame" in segment.text}
    assert style is not None and style.color is not None and style.color.triplet is not None
    return style.color.triplet


def themed(app: SchedtopApp, name: str) -> tuple[int, int, int]:
    return Color.parse(app.theme_variables[name]).rgb


async def test_the_pane_that_the_verdict_is_about_is_marked_in_title_or_strip() -> None:
    source = GivenSource(cpus=8)
    app = SchedtopApp(source)
    async with app.run_test(size=(160, 48)) as pilot:
        layout = (await collected(pilot, source, 2)).pane_layout
        blame = layout.pane_named("blame")
        layout.flag(ALARM)
        blame.draw()
        await pilot.pause()
        assert str(blame.border_title).startswith("!! Blame")
        assert title_colour(blame) == themed(app, "error")
        layout.flag(None)
        blame.draw()
        await pilot.pause()
        assert str(blame.border_title).startswith("Blame") and title_colour(blame) == themed(app, "foreground")
        await pilot.resize_terminal(80, 24)
        await to_pane(pilot, "cpus")
        layout.flag(ALARM)
        layout.strip.draw()
        await pilot.pause()
        assert "!! Blame " in text(app)


async def test_a_verdict_that_blames_nothing_marks_nothing() -> None:
    assert flagged(None, ()) == flagged(Verdict("ok", "calm", "fine"), ("blame",))
    assert flagged(Verdict("unknown", "few", "?"), ("blame",))[0] == ""
    assert flagged(ALARM, ("slow-waits", "tasks"))[0] == "slow-waits", "the first that is seen"
    assert flagged(ALARM, ())[0] == "blame"
    quota = replace(ALARM, rule="throttled")
    assert flagged(quota, ("steal",))[0] == "steal"
    held = quota.beside(kept="As of 2 s ago; now: Waits are short")
    assert flagged(held, ("steal",))[0] == "", "after the quota was raised it said `!! Steal 0 %`"


async def test_every_rule_that_blames_has_a_pane() -> None:
    blaming = {rule.id for rule in RULES if rule.level not in ("unknown", "ok")}
    assert blaming <= PANES_OF.keys()
    assert PANES_OF.keys() <= {rule.id for rule in RULES}
    assert not {name for names in PANES_OF.values() for name in names} & NOT_IN_STRIP

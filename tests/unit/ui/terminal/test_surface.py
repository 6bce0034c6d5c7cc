"""Lines that go past the framework: the terminal shows what the framework would have painted."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from textual.strip import Strip

from schedtop.ui.terminal.appearance import Appearance
from schedtop.ui.terminal.edge import Edge
from schedtop.ui.terminal.ink import Depth
from schedtop.ui.terminal.painter import Painter
from schedtop.ui.terminal.surface import difference
from schedtop.ui.terminal.themes import PREFIX
from tests.unit.panes.screen import lines
from tests.unit.ui.drive import GivenSource, collected
from tests.unit.ui.emulator import Drawing


def test_of_two_lines_only_the_spans_between_the_first_and_the_last_difference_are_painted() -> None:
    before = [("task ", "strong"), ("12", "dim"), (" ms", "text")]
    assert difference(before, [("task ", "strong"), ("13", "dim"), (" ms", "text")]) == (5, [("13", "dim")])
    assert difference(before, [("漢字 ", "strong"), ("12", "dim"), (" ms", "text")]) == (0, [("漢字 ", "strong")])
    assert difference(before, [*before[:2], (" m", "text"), ("!", "dim")]) == (7, [(" m", "text"), ("!", "dim")])
    assert difference(before, before) == (10, [])


@pytest.mark.parametrize(
    ("line", "label", "right"),
    [("╭─ Tasks ────╮", "Tasks", False), ("╰──── 1 of 2 ─╯", "1 of 2", True), ("+- Ta - sks -+", "Ta - sks", False)],
)
def test_an_edge_that_was_seen_is_drawn_again_with_other_labels(line: str, label: str, right: bool) -> None:
    painter = Painter()
    edge = Edge.seen_in(painter.cells(Strip([Segment(line)])), label, right=right)
    assert edge is not None
    assert "".join(edge.cells(label, len(line))[0]) == line
    corner, side = line[0], line[-2 if right else 1]
    for other in ("x", "a label that is much too long"):
        shown = "".join(edge.cells(other, len(line))[0])
        assert len(shown) == len(line)
        assert shown[0] == corner
        assert shown[-2 if right else 1] == side
        assert other[:7] in shown


def test_an_edge_of_another_shape_is_left_to_the_framework() -> None:
    painter = Painter()
    assert Edge.seen_in(painter.cells(Strip([Segment("╭── Tasks ───╮")])), "Tasks", right=False) is None
    assert Edge.seen_in(painter.cells(Strip([Segment("╭────────────╮")])), "", right=False) is None


@pytest.mark.parametrize(
    "appearance",
    [
        Appearance(),
        Appearance(ascii=True),
        Appearance(theme=f"{PREFIX}light", depth=Depth.PALETTE),
        Appearance(theme=f"{PREFIX}terminal", depth=Depth.SIXTEEN),
        Appearance(theme=f"{PREFIX}mono", depth=Depth.NONE),
    ],
    ids=lambda appearance: f"{appearance.theme}-{appearance.ascii}",
)
@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_what_goes_past_the_framework_is_what_it_would_paint(
    appearance: Appearance, size: tuple[int, int]
) -> None:
    source = GivenSource(cpus=2, tasks=40, slow_waits=8)
    app = Drawing(source, appearance=appearance)
    async with app.run_test(size=size) as pilot:
        await collected(pilot, source, 2)
        before = app.past_framework
        for keys in ("", "tab", "s", "w", "t", "5", "1", "c", "escape"):
            if keys:
                await pilot.press(keys)
                await pilot.pause()
            await collected(pilot, source)
            assert app.emulator is not None
            assert app.emulator.lines == lines(app), keys
            past = [list(line) for line in app.emulator.cells]
            app.action_redraw()
            await pilot.pause()
            assert app.emulator.cells == past, keys
        assert app.past_framework > before


@pytest.mark.parametrize("key", ["v", "question_mark", "ctrl+p"])
@pytest.mark.parametrize(
    "appearance",
    [Appearance(), Appearance(ascii=True), Appearance(theme=f"{PREFIX}light", depth=Depth.PALETTE)],
    ids=lambda appearance: f"{appearance.theme}-{appearance.ascii}",
)
async def test_what_is_seen_around_a_text_goes_on(appearance: Appearance, key: str) -> None:
    """The panes stood still behind `v`, while one waits there for what a command does."""
    source = GivenSource(cpus=2, tasks=40, slow_waits=8)
    app = Drawing(source, appearance=appearance)
    async with app.run_test(size=(160, 48)) as pilot:
        await collected(pilot, source, 2)
        await pilot.press(key)
        await pilot.pause()
        assert app.screen is not app.dashboard and app.emulator is not None
        before, shown = app.past_framework, app.emulator.lines
        for _ in range(3):
            await collected(pilot, source)
            past = [list(line) for line in app.emulator.cells]
            app.action_redraw()
            await pilot.pause()
            assert app.emulator.cells == past
            assert app.emulator.lines != shown, "numbers change"
            shown = app.emulator.lines
        assert app.past_framework > before
        await pilot.press("escape")
        await collected(pilot, source)
        past = [list(line) for line in app.emulator.cells]
        app.action_redraw()
        await pilot.pause()
        assert app.emulator.cells == past


async def test_lines_below_a_message_are_left_to_the_framework() -> None:
    source = GivenSource(cpus=2, tasks=40, slow_waits=8)
    app = Drawing(source)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 2)
        app.notify("a message over the panes", timeout=600)
        await pilot.pause(0.1)
        for _ in range(3):
            await collected(pilot, source)
            assert app.emulator is not None
            assert any("a message over the panes" in line for line in app.emulator.lines)
            assert app.emulator.lines == lines(app)
        app.clear_notifications()
        await pilot.pause(0.1)
        assert app.emulator.lines == lines(app)


async def test_lines_that_were_marked_are_painted_as_they_are_searched() -> None:
    source = GivenSource(cpus=2, tasks=40, slow_waits=8)
    app = Drawing(source)
    async with app.run_test(size=(120, 40)) as pilot:
        await collected(pilot, source, 2)
        app.dashboard.pane_layout.current.mark("n")
        for _ in range(2):
            await collected(pilot, source)
        app.dashboard.pane_layout.current.mark("")
        await collected(pilot, source)
        assert app.emulator is not None
        past = [list(line) for line in app.emulator.cells]
        app.action_redraw()
        await pilot.pause()
        assert app.emulator.cells == past

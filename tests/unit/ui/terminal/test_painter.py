"""Only cells that change are sent, and the terminal then shows the same as after a whole repaint."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual._compositor import LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from schedtop.ui.terminal.ink import Depth, ink_of, nearest, triplet_of
from schedtop.ui.terminal.painter import Painter, cells_of
from tests.unit.panes.screen import lines
from tests.unit.ui.drive import GivenSource, collected
from tests.unit.ui.emulator import Drawing, Emulator


def painted(painter: Painter, *segments: Segment, width: int = 12) -> str:
    line = Strip(list(segments)).adjust_cell_length(width)
    return painter.paint(LayoutUpdate([[line]], Region(0, 0, width, 1)), (width, 1))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_terminal_shows_what_the_screen_is(size: tuple[int, int]) -> None:
    source = GivenSource(cpus=4, tasks=60, slow_waits=12)
    app = Drawing(source)
    async with app.run_test(size=size) as pilot:
        await collected(pilot, source, 3)
        for keys in ("2", "3", "space", "left", "space", "4", "z", "z", "?", "escape", "v", "escape", "5", "t", "1"):
            await pilot.press(keys)
            await pilot.pause()
            await collected(pilot, source)
            assert app.emulator is not None
            assert app.emulator.lines == lines(app), keys
        assert app.past_framework > 5
        shown = [list(line) for line in app.emulator.cells]
        app.action_redraw()
        await pilot.pause()
        for y, line in enumerate(app.emulator.cells):
            assert [(x, a, b) for x, (a, b) in enumerate(zip(line, shown[y], strict=True)) if a != b] == [], y
        await pilot.resize_terminal(size[0] - 7, size[1] + 2)
        await collected(pilot, source)
        assert app.emulator.lines == lines(app)


def test_painter_sends_no_unchanged_cells() -> None:
    painter = Painter()
    red = Style.parse("red")
    assert painted(painter, Segment("some "), Segment("text", red)) == "\x1b[1;1Hsome \x1b[31mtext   \x1b[m"
    assert painted(painter, Segment("some "), Segment("text", red)) == ""
    assert painted(painter, Segment("some "), Segment("test", red)) == "\x1b[1;8H\x1b[31ms\x1b[m"
    assert painted(painter, Segment("tome "), Segment("test", red)) == "\x1b[1;1Ht"
    painter.forget()
    assert painted(painter, Segment("came")).startswith("\x1b[1;1Hcame")


def test_painter_rewrites_small_gaps_between_changes() -> None:
    painter = Painter()
    painted(painter, Segment("0.0.0......0"))
    assert painted(painter, Segment("1.1.1......1")) == "\x1b[1;1H1.1.1\x1b[6C1"


def test_wide_characters_and_marks_keep_their_cells() -> None:
    assert cells_of("a漢b") == ["a", "漢", "", "b"]
    assert cells_of("e\u0301x") == ["e\u0301", "x"]
    painter, emulator = Painter(), Emulator(12, 1)
    for text in ("a漢b", "ab漢", "a漢c", "漢字", "x字", "e\u0301x", "ex"):
        emulator.feed(painted(painter, Segment(text)))
        assert emulator.lines == [text + " " * (12 - Strip([Segment(text)]).cell_length)]


def test_painter_sends_no_control_characters_of_names() -> None:
    hostile = "a\x1b]0;b\x07\x9b31m\x7f\u202e\x00\t\ud800"
    assert painted(Painter(), Segment(hostile)) == "\x1b[1;1Ha]0;b31m?   "
    assert painted(Painter(), Segment(hostile + "日")) == "\x1b[1;1Ha]0;b31m?日 "


def test_colours_are_those_that_the_terminal_has() -> None:
    style = Style.parse("bold #56b4e9 on #0f1419")
    assert ink_of(style, Depth.TRUE) == ("1", "38;2;86;180;233", "48;2;15;20;25")
    assert ink_of(style, Depth.PALETTE) == ("1", "38;5;74", "48;5;233")
    assert ink_of(style, Depth.NONE) == ("1;7", "", "")
    assert ink_of(Style.parse("bright_red"), Depth.SIXTEEN).foreground == "91"
    assert ink_of(Style.parse("bright_red"), Depth.EIGHT).foreground == "31"
    assert ink_of(Style.parse("red on default"), Depth.TRUE) == ("", "31", "49")


def test_the_nearest_of_256_is_itself_where_it_is_one() -> None:
    for number in range(16, 256):
        assert triplet_of(nearest(*triplet_of(number))) == triplet_of(number)

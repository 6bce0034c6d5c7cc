"""Every screen without colours, in ASCII, and with few bytes a frame."""

from __future__ import annotations

import re
import statistics

import pytest
from textual.pilot import Pilot

from schedtop.sources.synthetic.offcpu import SyntheticOffCpu
from schedtop.sources.synthetic.task import synthetic_task
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.terminal.appearance import Appearance
from schedtop.ui.terminal.ink import Depth
from schedtop.ui.terminal.themes import MONO, TERMINAL
from tests.unit.panes.screen import assert_widths, lines
from tests.unit.ui.drive import GivenSource, collected, until
from tests.unit.ui.emulator import Drawing

ON_DEMAND = OnDemand(make_offcpu=SyntheticOffCpu, make_task=synthetic_task)

TOUR = (
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "5",
    "space",
    "left",
    "space",
    "question_mark",
    "escape",
    "v",
    "escape",
    "enter",
    "escape",
)
"""All presets, what is frozen, the help, the verdict, the task view."""


async def toured(pilot: Pilot[int], app: Drawing, source: GivenSource) -> None:
    await collected(pilot, source, 5)
    for keys in (*TOUR, "o", "escape"):
        await pilot.press(keys)
        await collected(pilot, source)
        if keys in ("o", "enter"):
            await until(pilot, lambda: not getattr(app.screen, "is_attaching", False))
        assert app.emulator is not None
        await until(pilot, lambda: app.emulator.lines == lines(app))
        assert_widths(app)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_ascii_terminal_receives_only_ascii(size: tuple[int, int]) -> None:
    source = GivenSource(cpus=4, tasks=40, slow_waits=12)
    app = Drawing(source, appearance=Appearance(ascii=True), on_demand=ON_DEMAND)
    async with app.run_test(size=size) as pilot:
        await toured(pilot, app, source)
        assert {char for data in app.sent for char in data if not char.isascii()} == set()
        assert "? LIVE" not in "".join(app.sent)


async def test_terminal_without_colors_receives_no_color_codes_and_marks_stay() -> None:
    source = GivenSource(cpus=4, tasks=40, slow_waits=12)
    app = Drawing(source, appearance=Appearance(theme=MONO.name, depth=Depth.NONE), on_demand=ON_DEMAND)
    async with app.run_test(size=(120, 40)) as pilot:
        await toured(pilot, app, source)
        assert numbers(app) <= {0, 1, 2, 3, 4, 7, 9}
        await pilot.press("5", "space")
        await pilot.pause()
        reversed_text = "".join(text for text, style in styled(app) if "at7" in style)
        assert "FROZEN" in reversed_text
        await pilot.press("down")
        await pilot.pause()
        assert any(app.dashboard.pane_layout.current.size.width - 4 <= count for count in reversed_lines(app)), (
            "the selected row"
        )
        assert any("at4" in style and text != " " for text, style in styled(app)), "the column that is sorted by"
        assert "┏" in "".join(lines(app)), "the pane that has the keys"


async def test_sixteen_colours_are_those_of_the_terminal() -> None:
    source = GivenSource(cpus=4, tasks=40, slow_waits=12)
    app = Drawing(source, appearance=Appearance(theme=TERMINAL.name, depth=Depth.EIGHT), on_demand=ON_DEMAND)
    async with app.run_test(size=(120, 40)) as pilot:
        await toured(pilot, app, source)
        assert numbers(app) <= {0, 1, 2, 3, 4, 7, 9, *range(30, 38), 39, *range(40, 48), 49}
        assert numbers(app) & set(range(30, 38)), "there are some"


def numbers(app: Drawing) -> set[int]:
    """The numbers in all codes of styles."""
    codes = {code for data in app.sent for code in re.findall(r"\x1b\[([0-9;]*)m", data)}
    return {int(number) for code in codes for number in code.split(";") if number}


def styled(app: Drawing) -> list[tuple[str, str]]:
    assert app.emulator is not None
    return [cell for line in app.emulator.cells for cell in line]


def reversed_lines(app: Drawing) -> list[int]:
    """How many cells of each line are reversed."""
    assert app.emulator is not None
    return [sum("at7" in style for _, style in line) for line in app.emulator.cells]


@pytest.mark.parametrize("preset", ["1", "2", "3", "4", "5", "6"])
async def test_a_frame_of_a_quiet_host_takes_less_than_nine_kilobytes(preset: str) -> None:
    source = GivenSource(cpus=2, tasks=40, slow_waits=0, steal_ratio=0.0)
    app = Drawing(source)
    async with app.run_test(size=(200, 60)) as pilot:
        await collected(pilot, source, 20)
        await pilot.press(preset)
        await collected(pilot, source, 2)
        sizes = []
        for _ in range(5):
            app.sent.clear()
            await collected(pilot, source)
            sizes.append(sum(len(data.encode()) for data in app.sent))
        assert 100 < statistics.median(sizes) < 9 << 10

"""Which panes are seen at which size: never one with less room than it needs, never two in one place."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Size

from schedtop.history.view import ViewSettings
from schedtop.sources.synthetic.scheduler import SyntheticSource
from schedtop.ui.layout.arrangement import arrange, regions, strip_rows
from schedtop.ui.layout.presets import CPU_FRAME, INTERRUPTS, NOT_IN_STRIP, PRESETS, TRENDS, Preset, preset_named
from schedtop.ui.screens.dashboard.screen import Dashboard

SIZES = [(80, 24), (100, 30), (120, 40), (160, 50), (200, 60), (240, 70), (70, 60), (200, 24), (500, 150)]


@pytest.fixture(scope="module")
def least() -> dict[str, Size]:
    dashboard = Dashboard(SyntheticSource(), ViewSettings(), Path(), None)
    return {pane.id or "": pane.LEAST for pane in dashboard.pane_layout.panes}


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.word)
@pytest.mark.parametrize("size", SIZES)
def test_panes_are_never_cut_and_never_overlap(preset: Preset, size: tuple[int, int], least: dict[str, Size]) -> None:
    whole = Size(size[0], size[1] - 4)
    for guest in (None, *least):
        arranged = arrange(preset, whole, least, guest)
        room = Size(whole.width, whole.height - arranged.strip_lines)
        placed = regions(arranged.plan, room, least)
        assert set(placed) == set(arranged.seen)
        assert sum(region.area for region in placed.values()) == room.area, "every cell is somebody's"
        for name, region in placed.items():
            assert region.width >= least[name].width
            assert region.height >= least[name].height
            assert room.region.contains_region(region)
            assert not any(region.overlaps(other) for key, other in placed.items() if key != name)
        assert {*arranged.seen, *arranged.strip, *NOT_IN_STRIP} == set(least), "what is not seen is told"
        assert (guest or preset.main) in arranged.seen


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.word)
def test_more_room_never_shows_less(preset: Preset, least: dict[str, Size]) -> None:
    counts = [len(arrange(preset, Size(width, width * 3 // 10), least).seen) for width in range(60, 260, 10)]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] >= 4 or preset.main in NOT_IN_STRIP


def test_80x24_has_one_pane_or_the_slow_waits_beside_it_and_the_rest_in_the_strip(least: dict[str, Size]) -> None:
    for preset in PRESETS:
        arranged = arrange(preset, Size(80, 20), least)
        beside = ("slow-waits",) if preset.word in ("Overview", "Blame") else ()
        assert arranged.seen == (preset.main, *beside)
        assert (len(arranged.strip), arranged.strip_lines) == (9 - len(beside) + (preset.main in NOT_IN_STRIP), 3)


def test_the_strip_gives_the_slow_waits_two_cells_and_fills_its_lines() -> None:
    names = ["latency", "cpus", "steal", "queue", "blame", "slow-waits", "tasks", "interrupts"]
    rows = strip_rows(names, 80)
    assert rows[1] == [("queue", 1), ("blame", 1), ("tasks", 1)], "what comes later fills the line"
    assert rows[2] == [("slow-waits", 2), ("interrupts", 1)]
    assert strip_rows(["slow-waits", "tasks"], 30) == [[("slow-waits", 1)], [("tasks", 1)]]


def test_few_cpus_leave_room_for_other_panes(least: dict[str, Size]) -> None:
    whole = Size(160, 46)
    arranged = arrange(preset_named("cpus"), whole, least)
    heights = [
        regions(arranged.plan, Size(160, 46 - arranged.strip_lines), least, cpus)["cpus"].height
        for cpus in (2, 4, 64, None)
    ]
    assert heights == sorted(heights) and heights[0] < heights[2] == heights[3]


@pytest.mark.parametrize("size", [(120, 36), (160, 44)])
def test_panes_about_few_cpus_are_low_and_side_by_side(size: tuple[int, int], least: dict[str, Size]) -> None:
    few, many = (preset_named("overview").for_cpus(cpus) for cpus in (2, 64))
    arranged = arrange(few, Size(*size), least)
    placed = regions(arranged.plan, Size(size[0], size[1] - arranged.strip_lines), least, 2)
    assert {"cpus", "steal", "slow-waits", "blame", "tasks"} <= placed.keys()
    assert placed["cpus"].height <= 9, "two CPUs fill no more"
    assert placed["cpus"].y == placed["steal"].y
    assert "steal" not in arrange(many, Size(120, 36), least).seen


def test_a_row_that_needs_fewer_lines_leaves_them_to_the_others(least: dict[str, Size]) -> None:
    whole = Size(240, 66)
    arranged = arrange(preset_named("overview"), whole, least)
    room = Size(whole.width, whole.height - arranged.strip_lines)
    before = regions(arranged.plan, room, least)
    few = regions(arranged.plan, room, least, wanted={"tasks": 8, "short-lived": 4})
    assert few["tasks"].height == 8 < before["tasks"].height
    assert few["over-time"].height > before["over-time"].height
    one = regions(arranged.plan, room, least, wanted={"tasks": 8})
    assert one == before, "the other pane of the row can fill it"
    every = regions(arranged.plan, room, least, wanted=dict.fromkeys(least, 4))
    assert sum(region.area for region in every.values()) == room.area, "what none can fill is shared out"


def test_a_large_screen_has_all_panes_but_what_is_not_measured_unasked(least: dict[str, Size]) -> None:
    for size in (Size(200, 54), Size(240, 66)):
        assert set(arrange(preset_named("overview"), size, least).seen) == set(least) - {INTERRUPTS, TRENDS}


def test_a_preset_by_its_word() -> None:
    assert preset_named("cpus") is PRESETS[3]
    assert [preset.number for preset in PRESETS] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(KeyError):
        preset_named("everything")


@pytest.mark.parametrize("cpus", [2, 8, 16, 64])
@pytest.mark.parametrize("size", [(120, 40), (160, 48), (240, 70)])
def test_a_row_of_cpus_has_no_lines_that_these_cannot_fill(
    size: tuple[int, int], cpus: int, least: dict[str, Size]
) -> None:
    arranged = arrange(preset_named("CPUs"), Size(size[0], size[1] - 4), least)
    room = Size(size[0], size[1] - 4 - arranged.strip_lines)
    placed = regions(arranged.plan, room, least, cpus)
    inside = placed["cpus"].height - CPU_FRAME
    lowest = max(arranged.plan[0].least, least["cpus"].height, least["cpu-strips"].height)
    assert inside % (cpus + 1) == 0 or inside < cpus + 1 or placed["cpus"].height == lowest
    assert sum(region.area for region in placed.values()) == room.area

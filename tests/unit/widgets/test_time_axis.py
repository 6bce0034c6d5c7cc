"""Columns of time: which interval is in which, where the map ends, and what stands under it."""

from __future__ import annotations

import pytest

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.widgets.time_axis import GridKeeper, RightEdge, Span, TimeGrid, axis, back_text

SECOND = TimeGrid(anchor_ns=0, interval_ns=NS_PER_S, column_ns=NS_PER_S)


def spans(*ends_s: float, before: float = 0) -> list[Span]:
    """Intervals one after the other, in seconds."""
    ends = [round(end * NS_PER_S) for end in ends_s]
    starts = [round(before * NS_PER_S), *ends[:-1]]
    return list(zip(starts, ends, strict=True))


@pytest.mark.parametrize(("end_s", "column"), [(0, 0), (0.4, 0), (-0.4, 0), (0.6, 1), (1, 1), (1.3, 1), (10, 10)])
def test_intervals_that_end_a_little_early_or_late_keep_their_column(end_s: float, column: int) -> None:
    assert SECOND.column(round(end_s * NS_PER_S)) == column


def test_an_interval_has_as_many_columns_as_it_is_long() -> None:
    assert SECOND.columns((0, 1 * NS_PER_S)) == (1, 1)
    assert SECOND.columns((2 * NS_PER_S, 5 * NS_PER_S)) == (3, 5)
    assert SECOND.columns((750 * NS_PER_MS, 1 * NS_PER_S)) == (1, 1)
    whole = TimeGrid(0, NS_PER_S, 5 * NS_PER_S)
    assert [whole.columns((n * NS_PER_S, (n + 1) * NS_PER_S))[1] for n in range(6)] == [1, 1, 1, 1, 1, 2]


def test_columns_of_parts_of_intervals_and_of_several_keep_their_places() -> None:
    half = TimeGrid(0, NS_PER_S, NS_PER_S, cells=3, of=2)
    assert [half.columns((n * NS_PER_S, (n + 1) * NS_PER_S)) for n in range(4)] == [(1, 1), (2, 3), (4, 4), (5, 6)]
    fewer = TimeGrid(0, NS_PER_S, NS_PER_S, cells=2, of=3)
    assert [fewer.columns((n * NS_PER_S, (n + 1) * NS_PER_S))[1] for n in range(6)] == [0, 1, 2, 2, 3, 4]
    assert (half.end_ns(3), fewer.end_ns(2)) == (2 * NS_PER_S, 3 * NS_PER_S)
    assert (half.shown_ns, fewer.shown_ns) == (NS_PER_S * 2 // 3, NS_PER_S * 3 // 2)


def test_every_interval_of_a_jittering_source_has_a_column_of_its_own() -> None:
    ends = [number + (0.2 if number % 3 == 0 else -0.1) for number in range(1, 60)]
    keeper, kept = GridKeeper(), []
    made = spans(*ends)
    for count in range(12, len(made)):
        grid = keeper.grid(made[:count], 1)
        kept.append(grid)
    assert len(set(kept)) == 1
    columns = [kept[0].columns(span) for span in made[12:]]
    assert all(first == last for first, last in columns)
    assert [last for _, last in columns] == list(range(columns[0][1], columns[0][1] + len(columns)))


def test_the_grid_follows_another_interval_and_another_phase() -> None:
    keeper = GridKeeper()
    assert keeper.grid(spans(0.25), 1).interval_ns == 250 * NS_PER_MS
    assert keeper.grid(spans(0.25, 1.25), 1).interval_ns == NS_PER_S
    grid = keeper.grid(spans(*range(2, 20), before=1), 2)
    assert (grid.interval_ns, grid.column_ns) == (NS_PER_S, 2 * NS_PER_S)
    late = keeper.grid(spans(*range(20, 25), 25.5, before=19), 2)
    assert late == grid
    moved = keeper.grid(spans(*(n + 0.75 for n in range(30, 45)), before=29.75), 2)
    assert (moved.anchor_ns - grid.anchor_ns) % NS_PER_S == NS_PER_S // 2


def test_the_map_moves_on_in_jumps_and_shows_the_newest() -> None:
    edge, rights = RightEdge(), []
    for newest in range(100, 160):
        right = edge.column(SECOND, newest, newest, 60)
        assert right - 60 < newest <= right
        rights.append(right)
    assert len(set(rights)) == 13  # a jump each five columns


def test_the_map_does_not_move_under_the_cursor() -> None:
    edge = RightEdge()
    right = edge.column(SECOND, 103, 103, 60)
    assert {edge.column(SECOND, 103, wanted, 60) for wanted in range(103, right - 60, -1)} == {right}
    before = edge.column(SECOND, 103, right - 60, 60)
    assert before < right
    assert before - 60 < right - 60 <= before
    assert edge.column(SECOND, 103, 103, 60) == right


def test_the_axis_says_how_long_ago_a_column_was() -> None:
    text = axis(SECOND, -59, 64, 0, back_text, newest="now")
    assert len(text) == 64
    assert [text.index(mark) for mark in ("╵-50s", "╵-30s", "╵-10s")] == [9, 29, 49]
    assert text.index("╵now") == 59
    assert axis(SECOND, -59, 60, 0, back_text, newest="now").endswith("now╵")
    assert "-2m" in axis(SECOND, -149, 160, 0, back_text, newest="now")


def test_the_axis_leaves_room_for_the_mark_of_the_cursor() -> None:
    text = axis(SECOND, 0, 60, 0, lambda offset: f"{offset // NS_PER_S}s", reserved=(20, 29))
    assert text[20:30].strip() == ""
    assert "╵10s" in text
    assert "╵40s" in text


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9, 200])
def test_the_axis_is_as_wide_as_the_map(width: int) -> None:
    for column_ns in (NS_PER_S // 5, NS_PER_S, 30 * NS_PER_S, 3600 * NS_PER_S):
        grid = TimeGrid(0, column_ns, column_ns)
        assert len(axis(grid, 3 - width, width, 0, back_text, newest="now")) == width

"""A table that gets other rows each second, under somebody who moves through it."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest
from textual.pilot import Pilot

from schedtop.widgets import keyed_table
from schedtop.widgets.columns import Column
from schedtop.widgets.keyed_table import MOST_HELD, KeyedTable, Rows
from tests.unit.panes.screen import OnePane

HEIGHT = 6


class Table(KeyedTable[Rows]):
    KEY = ("tid", "start_ns")

    def table_columns(self) -> Sequence[Column[Rows]]:
        return [Column("tid", 6, lambda rows: [str(tid) for tid in rows["tid"].tolist()], sort="run_ns")]

    def context(self, rows: Rows) -> Rows:
        return rows

    def draw(self) -> None:
        self.put(self.table_lines())

    @property
    def tids(self) -> list[int]:
        assert self.rows is not None
        found: list[int] = self.rows["tid"].tolist()
        return found


def rows_of(tids: Iterable[int]) -> Rows:
    return np.array([(tid, 100 + tid) for tid in tids], [("tid", "i4"), ("start_ns", "u8")])


@asynccontextmanager
async def shown(tids: Iterable[int]) -> AsyncIterator[tuple[Pilot[None], Table]]:
    table = Table()
    async with OnePane(table).run_test(size=(20, HEIGHT)) as pilot:
        table.set_rows(rows_of(tids), "run_ns")
        table.focus()
        await pilot.pause()
        yield pilot, table


async def test_the_next_key_finds_the_row_that_one_aims_at() -> None:
    async with shown([1, 2, 3, 4, 5, 6, 7, 8]) as (pilot, table):
        await pilot.press("down", "down")
        table.set_rows(rows_of([8, 7, 6, 5, 4, 3, 2, 1]), "run_ns")
        assert table.tids[: HEIGHT - 1] == [1, 2, 3, 4, 5], "what is seen stays"
        assert table.tids[HEIGHT - 1 :] == [8, 7, 6], "the rest is sorted"
        assert table.held_text
        await pilot.press("down")
        assert table.selected_key == (3, 103)


async def test_no_column_is_marked_as_sorting_while_rows_are_held() -> None:
    async with shown([1, 2, 3]) as (pilot, table):
        table.draw()
        assert "".join(text for text, _ in table.line_at(0)).strip() == "▼tid"
        await pilot.press("down", "down")
        table.set_rows(rows_of([3, 2, 1]), "run_ns")
        table.draw()
        assert table.held_text and table.tids == [1, 2, 3]
        assert "".join(text for text, _ in table.line_at(0)).strip() == "tid"


async def test_rows_that_left_make_room_for_the_next_in_order() -> None:
    async with shown([1, 2, 3, 4, 5]) as (pilot, table):
        await pilot.press("down")
        table.set_rows(rows_of([9, 5, 4, 2, 1, 8]), "run_ns")
        assert table.tids == [1, 2, 9, 4, 5, 8]
        # Another task with a number that was seen before.
        table.set_rows(np.array([(4, 7), (2, 102)], table.rows.dtype if table.rows is not None else None), "run_ns")
        assert table.tids == [4, 2]


async def test_several_rows_of_one_key_are_all_there() -> None:
    async with shown([1, 2, 2, 3]) as (pilot, table):
        await pilot.press("down")
        table.set_rows(rows_of([3, 2, 2, 1]), "run_ns")
        assert sorted(table.tids) == [1, 2, 2, 3] and table.tids[0] == 1


async def test_the_key_goes_on_from_where_a_row_was_that_left() -> None:
    async with shown([1, 2, 3, 4, 5]) as (pilot, table):
        await pilot.press("down", "down", "down")
        assert table.selected_key == (3, 103)
        table.set_rows(rows_of([5, 4, 2, 1]), "run_ns")
        assert table.selected_row is None and table.selected_key == (3, 103), "it may come back"
        await pilot.press("up")
        assert table.selected_key == (2, 102)


@pytest.mark.parametrize("sort", ["run_ns", "switches"])
async def test_rows_are_sorted_again_after_a_while_or_in_another_order(
    sort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown([1, 2, 3]) as (pilot, table):
        await pilot.press("down")
        if sort == "run_ns":
            monkeypatch.setattr(keyed_table, "HELD_S", 0.0)
        table.set_rows(rows_of([3, 2, 1]), sort)
        assert table.tids == [3, 2, 1]
        assert table.selected_row is not None and table.selected_row["tid"] == 1


async def test_of_very_many_rows_none_is_held() -> None:
    async with shown(range(1, MOST_HELD + 2)) as (pilot, table):
        await pilot.press("down")
        table.set_rows(rows_of(range(MOST_HELD + 1, 0, -1)), "run_ns")
        assert table.tids[0] == MOST_HELD + 1 and not table.held_text


async def test_nothing_is_held_without_a_selection() -> None:
    async with shown([1, 2, 3]) as (pilot, table):
        await pilot.press("down")
        table.clear_selection()
        table.set_rows(rows_of([3, 2, 1]), "run_ns")
        assert table.tids == [3, 2, 1] and not table.held_text

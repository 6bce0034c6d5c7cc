"""A table of numpy rows. The selection belongs to a row's key, so that it survives sorting and refreshing."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from textual import events
from textual.message import Message

from schedtop.widgets.canvas import Canvas
from schedtop.widgets.columns import Column, header_spans, place, row_lines
from schedtop.widgets.strips import Span

Rows = npt.NDArray[np.void]
C = TypeVar("C")

NUMBERS = ("tid", "pid")
"""Columns of numbers that a search looks through, besides those of names."""

HELD_S = 4.0
"""For so long after a key or click that selects, rows stay where they are: the next one is to find what one aims at."""

MOST_HELD = 5_000
"""Of more rows none are kept in place: that would take milliseconds."""


class KeyedTable(Canvas, Generic[C]):
    """Rows in columns under a header that stays; only visible rows are formatted.

    Subclasses name the KEY fields of a row and give `table_columns` and `context`.
    """

    KEY: ClassVar[tuple[str, ...]] = ()
    head_rows = 1

    class Selected(Message):
        """Another row is selected, or none any more."""

    class Opened(Message):
        """A row was clicked twice: it is selected, and what Enter does is wanted."""

    class SortRequested(Message):
        """The header of a column that sorts was clicked."""

        def __init__(self, table: KeyedTable[Any], sort: str) -> None:
            super().__init__()
            self.table = table
            self.sort = sort

        @property
        def control(self) -> KeyedTable[Any]:
            """The table, for the framework's selectors."""
            return self.table

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.rows: Rows | None = None
        self.sort: str | None = None
        self.selected_key: tuple[int, ...] | None = None
        self._selected_index: int | None = None
        self._last_index: int | None = None
        """Where the selected row is, or was before it left; `None`: it was not here yet."""
        self._selected_s = -HELD_S
        self._passed: object = None
        self._placed: tuple[int, list[tuple[Column[C], int]]] = (-1, [])

    def table_columns(self) -> Sequence[Column[C]]:
        """All columns, from left to right."""
        raise NotImplementedError

    def context(self, rows: Rows) -> C:
        """What the columns' functions read, made of the visible rows."""
        raise NotImplementedError

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields that tell rows apart."""
        return self.KEY

    @property
    def page_rows(self) -> int:
        return max(1, self.inner.height - 1)

    @property
    def table_rows(self) -> int:
        """Lines of the header and all rows."""
        return 1 + self.total_rows

    @property
    def selected_row(self) -> np.void | None:
        """The selected row, `None` if nothing is selected or the row is not there now."""
        index = _place_of(self.rows, self.key_fields, self.selected_key)
        return None if index is None or self.rows is None else self.rows[index]

    @property
    def only_key(self) -> tuple[int, ...] | None:
        """The key of the only row; `None`: there are more, or none."""
        if self.rows is None or len(self.rows) != 1:
            return None
        return tuple(int(self.rows[0][field]) for field in self.key_fields)

    @property
    def visible_selection(self) -> int | None:
        """Where the selected row is among the visible ones, from 0; `None` if it is not."""
        if self._selected_index is None or not 0 <= self._selected_index - self.top < self.page_rows:
            return None
        return self._selected_index - self.top

    def set_rows(self, rows: Rows, sort: str | None, passed: object = None) -> None:
        """Takes new rows; a selected row that was visible stays visible wherever it is now.

        Soon after it was selected it, and what is seen around it, stays in place.
        `passed`: the filter that they have passed; a selected row that does not pass another one is selected no more.
        """
        was_visible = self._selected_index is not None and 0 <= self._selected_index - self.top < self.page_rows
        is_alike = passed == self._passed and (sort == self.sort or None in (sort, self.sort))
        is_fresh = self.selected_key is not None and monotonic() - self._selected_s < HELD_S
        self.held_text = ""
        if self.rows is not None and is_fresh and is_alike and len(rows) <= MOST_HELD:
            seen = range(self.top, self.top + self.page_rows)
            if (order := _order_before(rows, self.rows, seen, self.key_fields)) is not None:
                rows, self.held_text = rows[order], "order held"
        self.rows, self.sort, self.total_rows = rows, sort, len(rows)
        self._selected_index = _place_of(self.rows, self.key_fields, self.selected_key)
        if passed != self._passed:
            self._passed = passed
            if self.selected_key is not None and self._selected_index is None:
                self.selected_key = None
                self.post_message(self.Selected())
        if self._selected_index is not None:
            self._last_index = self._selected_index
        if self._selected_index is not None and was_visible:
            self._reveal(self._selected_index)
        self.clamp_top()

    @property
    def placed(self) -> list[tuple[Column[C], int]]:
        """The columns that fit, each with its width."""
        width = self.inner.width
        if self._placed[0] != width:
            self._placed = (width, place(self.table_columns(), width))
        return self._placed[1]

    def forget_columns(self) -> None:
        """Has the columns placed again: there are others now."""
        self._placed = (-1, [])

    def table_lines(self) -> list[Sequence[Span]]:
        """The header and the visible rows."""
        if self.rows is None:
            return []
        width = self.inner.width
        placed = self.placed
        visible = self.rows[self.top : self.top + self.page_rows]
        # Rows that are held where they were are in no order now.
        lines: list[Sequence[Span]] = [header_spans(placed, None if self.held_text else self.sort)]
        lines.extend(row_lines(placed, self.context(visible), len(visible)))
        if self._selected_index is not None and 0 <= self._selected_index - self.top < len(visible):
            row = 1 + self._selected_index - self.top
            text = "".join(text for text, _ in lines[row])
            lines[row] = [(text + " " * max(0, width - len(text)), "cursor")]
        return lines

    def clear_selection(self) -> bool:
        """Selects nothing; false if nothing was selected."""
        had = self.selected_key is not None
        self.selected_key = self._selected_index = None
        self.draw()
        if had:
            self.post_message(self.Selected())
        return had

    def action_move(self, rows: int) -> None:
        if self.rows is None or not len(self.rows):
            return
        if self.selected_key is None or self._last_index is None:
            # The first key press selects what is on top (or, going up, stays there).
            index = self.top + (max(rows - 1, 0) if rows > 0 else 0)
        else:
            index = self._last_index + rows
        self.select(index)

    def select(self, index: int) -> None:
        """Selects the row at an index, within bounds, and shows it."""
        if self.rows is None or not len(self.rows):
            return
        index = max(0, min(index, len(self.rows) - 1))
        row = self.rows[index]
        self.selected_key = tuple(int(row[field]) for field in self.key_fields)
        self._selected_index = self._last_index = index
        self._selected_s = monotonic()
        self._reveal(index)
        self.draw()
        self.post_message(self.Selected())

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        row = offset.y - self.head_rows
        if offset.y > 0:
            if self.rows is not None and 0 <= row < min(self.page_rows, len(self.rows) - self.top):
                self.select(self.top + row)
                if event.chain == 2:
                    self.row_opened()
            return
        start = 0
        for column, width in self._placed[1]:
            if start <= offset.x < start + width and column.sort:
                self.post_message(self.SortRequested(self, column.sort))
            start += width + 1

    def row_opened(self) -> None:
        """The selected row was clicked twice."""
        self.post_message(self.Opened())

    def search_texts(self) -> Sequence[str]:
        """The names in every row, and the numbers of tasks."""
        if self.rows is None or not len(self.rows):
            return []
        context = self.context(self.rows)
        columns = [column for column in self.table_columns() if not column.right or column.header in NUMBERS]
        return ["\n".join(cells) for cells in zip(*(column.cells(context) for column in columns), strict=True)]

    @property
    def search_row(self) -> int:
        return self.top if self._selected_index is None else self._selected_index

    def reveal_row(self, row: int) -> None:
        self.select(row)

    @property
    def place(self) -> object:
        return (self.top, self.selected_key)

    def go_back_to(self, place: Any) -> None:
        self.top, self.selected_key = place
        self._selected_index = self._last_index = _place_of(self.rows, self.key_fields, self.selected_key)
        self.clamp_top()
        self.draw()
        self.post_message(self.Selected())

    def _reveal(self, index: int) -> None:
        self.top = min(max(self.top, index - self.page_rows + 1), index)


def _place_of(rows: Rows | None, key_fields: Sequence[str], key: tuple[int, ...] | None) -> int | None:
    """Where the row with a key is; `None` without one."""
    if key is None or rows is None:
        return None
    matches = np.ones(len(rows), bool)
    for field, value in zip(key_fields, key, strict=True):
        matches &= rows[field] == value
    found = np.flatnonzero(matches)
    return int(found[0]) if len(found) else None


def _order_before(rows: Rows, before: Rows, seen: range, key_fields: Sequence[str]) -> npt.NDArray[np.intp] | None:
    """The order of new rows that has those that were seen where they were before, the others around them; `None`: that
    is the order that they have."""
    fields, shown = list(key_fields), before[seen.start : seen.stop]
    likely = np.flatnonzero(np.isin(rows[fields[0]], shown[fields[0]]))
    found = dict(zip(rows[fields][likely].tolist(), likely.tolist(), strict=True))
    kept = enumerate(shown[fields].tolist(), seen.start)
    # Each once: a table may have several rows of one key.
    places = {place: found.pop(key) for place, key in kept if key in found and place < len(rows)}
    if all(place == new for place, new in places.items()):
        return None
    order = np.full(len(rows), -1)
    order[list(places.keys())] = list(places.values())
    order[order < 0] = np.delete(np.arange(len(rows)), list(places.values()))
    return order

"""The keys that say which rows the table has: their groups, their order, the filter, the columns, the window."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.activity import PARTS
from schedtop.activity.view import EVERYTHING, NAME, NUMBER
from schedtop.model.activity_rows import GROUPS
from schedtop.model.filters import Filter
from schedtop.panes.activity.columns import ALL, ORDERS, orders_of
from schedtop.panes.activity.table import ActivityPane
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.activity.shown import ActivityShown
from schedtop.ui.screens.chooser import DIGITS, Choice, Chooser
from schedtop.ui.screens.dashboard.timeline import cycled, next_window
from schedtop.widgets.keyed_table import KeyedTable

FILTER_HINT = "name tid:1 tgid:1 cgroup:web  Enter keeps, Esc clears"


def parse_filter(text: str) -> Filter:
    """As everywhere, but for what is not counted. Raises ValueError with a sentence for the user."""
    value = Filter.parse(text)
    if value.cpus or value.classes or value.pid_namespaces:
        raise ValueError("cpu:, class: and pidns: filter nothing here: comm: tid: tgid: cgroup:")
    return value


class Listing:
    """Changes the settings of what is shown, and the columns of the table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("f,backslash,f4", "filter", "Filter", "By name, tid, tgid, cgroup", shown=True),
        key("s", "sort(1)", "Sort", "Next order of the table", shown=True),
        key("S", "sort(-1)", "Sort back", "The order before"),
        key("f6,F", "choose_order", "Sort by", "All orders of the table", name="sort-by"),
        key("g,f5", "group(1)", "Group", "By process, thread, command, cgroup, container", shown=True),
        key("G", "group(-1)", "Group back", "The grouping before"),
        key("m", "columns(1)", "Columns", "Of all, or of system calls, files, memory, network alone", shown=True),
        key("M", "columns(-1)", "Columns back", "The columns before"),
        key("w", "window", "Window", "The window of all numbers: 1 s, 10 s, 60 s", shown=True),
    ]

    def __init__(self, screen: Screen[Any], shown: ActivityShown, table: ActivityPane) -> None:
        self._screen = screen
        self._shown = shown
        self._table = table

    def action_sort(self, step: int) -> None:
        """The next order, from left to right."""
        settings = self._shown.settings
        self._shown.change(sort=cycled(orders_of(settings.by, self._table.part, settings.sort), settings.sort, step))

    def action_choose_order(self) -> None:
        """Opens the list of all orders."""
        orders = [*orders_of(self._shown.settings.by, ALL, "")]
        choices = [
            Choice(ORDERS[order], [], order, digit or "")
            for digit, order in zip_longest(DIGITS, orders)
            if order is not None
        ]
        now = self._shown.settings.sort
        at = orders.index(now) if now in orders else 0
        self._screen.app.push_screen(Chooser("Activity: order", choices, at), self._order_chosen)

    def _order_chosen(self, order: str | None) -> None:
        if order is not None:
            self._shown.change(sort=order)

    def on_keyed_table_sort_requested(self, event: KeyedTable.SortRequested) -> None:
        """The header of a column was clicked."""
        self._shown.change(sort=event.sort)

    def action_group(self, step: int) -> None:
        """The next grouping."""
        settings = self._shown.settings
        by = cycled([*GROUPS], settings.by, step)
        # Only processes and threads have numbers.
        sort = NAME if settings.sort == NUMBER and by not in ("process", "thread") else settings.sort
        self._shown.change(by=by, sort=sort)

    def action_columns(self, step: int) -> None:
        """The columns of another part."""
        self._table.part = cycled([ALL, *PARTS], self._table.part, step)
        if self._shown.view is not None:
            self._table.show(self._shown.view)

    def action_window(self) -> None:
        """The next window."""
        self._shown.change(window_ns=next_window(self._shown.settings.window_ns))

    def action_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self._screen.query_one(FilterBar).open(str(self._shown.settings.filter))

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        """Another filter holds."""
        if event.value != self._shown.settings.filter:
            self._shown.change(filter=event.value)

    def clear(self) -> bool:
        """Drops the filter; false if there was none."""
        had = bool(self._shown.settings.filter)
        if had:
            self._shown.change(filter=EVERYTHING)
        return had

"""The keys and clicks that say what is let through, in which order, in which groups, and over which window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.history.view import View
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.latency.pane import LatencyPane
from schedtop.panes.scheduler.tasks.pane import TasksPane
from schedtop.panes.scheduler.tasks.selected import selected_group
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.chooser import DIGITS, Choice, Chooser
from schedtop.ui.screens.dashboard.orders import grouping_of, next_blame, next_group, next_order, ordered, orders_of
from schedtop.ui.screens.dashboard.pane_layout import PaneLayout
from schedtop.ui.screens.dashboard.shown import Shown
from schedtop.ui.screens.dashboard.source_keys import SourceKeys
from schedtop.ui.screens.dashboard.timeline import next_window
from schedtop.widgets.keyed_table import KeyedTable


class ViewKeys:
    """Changes the settings of what is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("f,backslash,f4", "filter", "Filter", "By name, tid, tgid, CPU, cgroup or pid namespace", shown=True),
        key("s", "sort(1)", "Sort", "Next order of the tasks, or of the table that has the focus", shown=True),
        key("S", "sort(-1)", "Sort back", "The order before"),
        key("f6,F", "choose_order", "Sort by", "All orders of the table that has the focus", name="sort-by"),
        key("g,f5", "group(1)", "Group", "By thread, process, cgroup, container, pid namespace", shown=True),
        key("G", "group(-1)", "Group back", "The grouping before"),
        key("w", "window", "Window", "The window of all numbers: 1 s, 10 s, 60 s", shown=True),
    ]

    def __init__(
        self, screen: Screen[Any], shown: Shown, layout: PaneLayout, source: SourceKeys, show_keys: Callable[[], None]
    ) -> None:
        """`show_keys`: shows the key bar anew."""
        self._screen = screen
        self._shown = shown
        self._layout = layout
        self._source = source
        self._show_keys = show_keys

    def action_window(self) -> None:
        """The next window."""
        self._change(window_ns=next_window(self._shown.settings.window_ns))

    def action_sort(self, step: int) -> None:
        """The next order of the table that has the focus, else of the tasks."""
        self._shown.set_settings(next_order(self._shown.settings, self._layout.current, step))

    def action_choose_order(self) -> None:
        """Opens the list of the orders of the pane that has the focus, else of the tasks."""
        pane = self._layout.current
        title, orders, now = orders_of(self._shown.settings, pane)
        choices = [Choice(words, [], name, digit) for digit, (name, words) in zip(DIGITS, orders.items(), strict=False)]
        chooser = Chooser(f"{title}: order", choices, [*orders].index(now))
        self._screen.app.push_screen(chooser, partial(self._order_chosen, pane))

    def _order_chosen(self, pane: Pane[View], order: str | None) -> None:
        if order is not None:
            self._shown.set_settings(ordered(self._shown.settings, pane, order))

    def on_keyed_table_sort_requested(self, event: KeyedTable.SortRequested) -> None:
        """The header of a column was clicked."""
        self._shown.set_settings(ordered(self._shown.settings, event.table, event.sort))

    def on_cpus_pane_sort_requested(self, event: CpusPane.SortRequested) -> None:
        """The same among the CPUs."""
        self._change(cpu_sort=event.sort)

    def on_cpus_pane_chosen(self, event: CpusPane.Chosen) -> None:
        """CPUs were selected, or none any more."""
        self._change(selected_cpus=event.cpus)

    def on_blame_pane_mode_requested(self) -> None:
        """The other way to blame."""
        self._shown.set_settings(next_blame(self._shown.settings))

    def action_group(self, step: int) -> None:
        """The next grouping. The source keeps histograms by group only while one looks at them."""
        settings = next_group(self._shown.settings, step)
        self._source.set_grouping(grouping_of(settings, selected=False))
        self._shown.set_settings(settings)

    def on_keyed_table_selected(self) -> None:
        """Another row is selected: the latency is shown of it alone, if it is one of the tasks."""
        self._shown.select(self._screen.query_one(TasksPane).selected_key)
        self._show_keys()
        view = self._shown.view
        if view is not None:
            self._source.set_grouping(grouping_of(view.settings, selected=selected_group(view) is not None))
            self._screen.query_one(LatencyPane).show(view)

    def action_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self._screen.query_one(FilterBar).open(str(self._shown.settings.filter))

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        """Another filter holds."""
        if event.value != self._shown.settings.filter:
            self._change(filter=event.value)

    def on_filter_bar_closed(self) -> None:
        """The line was left: the pane has the focus again."""
        self._layout.current.focus(scroll_visible=False)

    def _change(self, **settings: Any) -> None:
        self._shown.set_settings(replace(self._shown.settings, **settings))

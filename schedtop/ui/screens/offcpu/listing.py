"""Which threads are listed on the off-CPU screen, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.model.filters import Filter
from schedtop.offcpu.threads import ThreadLine
from schedtop.panes.offcpu.lines import ORDERS, chosen
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.chooser import DIGITS, Choice, Chooser
from schedtop.widgets.keyed_table import KeyedTable

EVERYTHING = Filter()


def of_threads(wanted: Filter) -> Filter:
    """What of a filter is about names and numbers."""
    return replace(wanted, cpus=(), cgroups=(), pid_namespaces=(), classes=())


def parse_thread_filter(text: str) -> Filter:
    """As everywhere, but for what a measurement does not know. Raises ValueError with a sentence for the user."""
    value = Filter.parse(text)
    if value != of_threads(value):
        raise ValueError("cgroup:, cpu:, class: and pidns: filter nothing here: comm: tid: tgid:")
    return value


class Listing:
    """Filter and order of the threads; `changed` is called when another list is wanted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("s", "sort(1)", "Sort", "Next order of the threads", shown=True),
        key("S", "sort(-1)", "Sort back", "The order before"),
        key("f6,F", "choose_order", "Sort by", "All orders of the threads", name="sort-by"),
        key("f,backslash,f4", "filter", "Filter", "Filters threads by name, tid, tgid", shown=True),
        key("i", "idle", "Idle", "Shows or hides threads that only waited for work, and schedtop's", shown=True),
    ]

    def __init__(
        self, screen: Screen[Any], wanted: Filter, tid: int, changed: Callable[[], None], *, own_pid: int | None
    ) -> None:
        """`wanted`: the filter that holds at first; `tid`: a thread that is listed also if it is idle.

        `own_pid`: our process, which is listed with the idle ones: its threads wait for the next interval.
        """
        self.filter = of_threads(wanted)
        self.order = "held"
        self.shows_idle = False
        self.listed: list[ThreadLine] = []
        self._screen = screen
        self._always = tid
        self._own_pid = own_pid
        self._changed = changed

    def list(self, lines: Sequence[ThreadLine]) -> str:
        """Lists the threads that are to be seen; how many, in words."""
        others = lines
        if not (self.shows_idle or self.filter):
            others = [line for line in lines if line.thread.tgid != self._own_pid or line.thread.tid == self._always]
        self.listed, hidden = chosen(others, self.filter, self.order, idle=self.shows_idle, always=self._always)
        hidden += len(lines) - len(others)
        words = str(len(self.listed))
        words += f" of {len(lines)}" if self.filter else ""
        return words + (f" · {hidden} idle hidden, i shows them" if hidden else "")

    @property
    def worst(self) -> ThreadLine | None:
        """The listed thread that is held up most, other than those that slept all the time, and our own."""
        listed = [line for line in self.listed if self.filter or line.thread.tgid != self._own_pid]
        held = [line for line in listed if line.held_ns and not line.slept]
        return max(held, key=lambda line: line.held_ns, default=None)

    def action_sort(self, step: int) -> None:
        """The next order of the threads."""
        names = [*ORDERS]
        self._sort(names[(names.index(self.order) + step) % len(names)])

    def on_keyed_table_sort_requested(self, event: KeyedTable.SortRequested) -> None:
        """The header of a column was clicked."""
        self._sort(event.sort)

    def action_choose_order(self) -> None:
        """Opens the list of the orders."""
        choices = [
            Choice(words, [], name, digit) for digit, (name, (words, _)) in zip(DIGITS, ORDERS.items(), strict=False)
        ]
        self._screen.app.push_screen(Chooser("Threads: order", choices, [*ORDERS].index(self.order)), self._sort)

    def _sort(self, order: str | None) -> None:
        if order is not None:
            self.order = order
            self._changed()

    def action_idle(self) -> None:
        """Shows or hides threads that only waited for work."""
        self.shows_idle = not self.shows_idle
        self._changed()

    def action_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self._screen.query_one(FilterBar).open(str(self.filter))

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        """Another filter holds."""
        self.filter = event.value
        self._changed()

    def clear(self) -> bool:
        """Drops the filter; false if there was none."""
        had = bool(self.filter)
        if had:
            self.filter = EVERYTHING
            self._changed()
        return had

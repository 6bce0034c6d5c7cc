"""The screen of the time without a CPU. Its programs are in the kernel only while it is open."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US
from schedtop.model.filters import Filter
from schedtop.offcpu.measurement import Wakers
from schedtop.offcpu.places import forget_stacks
from schedtop.offcpu.threads import Measured, ThreadLine
from schedtop.panes.offcpu.header import OffCpuHeader
from schedtop.panes.offcpu.lines import ORDERS, chosen
from schedtop.panes.offcpu.stacks import StacksPane
from schedtop.panes.offcpu.threads import ThreadsPane
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.keys.bindings import in_bar_order, key, together
from schedtop.ui.memory import give_back
from schedtop.ui.on_demand import MakeOffCpu
from schedtop.ui.screens.attached import AttachedScreen
from schedtop.ui.screens.chooser import DIGITS, Choice, Chooser
from schedtop.ui.screens.closing import close
from schedtop.ui.screens.dashboard.export import ExportError
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.help.topics import topics_of
from schedtop.ui.screens.offcpu.export import only, write_offcpu
from schedtop.ui.screens.offcpu.feed import prepared
from schedtop.ui.terminal.terminal import LEAST_COLUMNS, LEAST_LINES
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Span, steady

MINIMA_NS = (0, 10 * NS_PER_US, 100 * NS_PER_US, NS_PER_MS, 10 * NS_PER_MS, 100 * NS_PER_MS, NS_PER_S)
"""The shortest waits that + and - choose from."""

CHOOSING_S = 0.6
"""How long after + or - the programs are attached anew: one may press it more than once."""

GIVE_BACK_S = (1.0, 5.0, 15.0)
"""When after closing memory is given back: the source's thread detaches first, which takes longer on a loaded host."""

OLD_NS = 5 * NS_PER_S // 2
"""It is read once a second: what is older than this says so."""

EVERYBODY = Filter()

ATTACHING = "attaching to the kernel: the very first time it takes a second to compile the programs"


class ThreadFilterBar(FilterBar):
    """A filter of threads by name and number."""

    HINT = "name tid:1 tgid:1  Enter keeps, Esc clears"

    def parsed(self, text: str) -> Filter:
        """As everywhere, but for what a measurement does not know."""
        value = Filter.parse(text)
        if value != of_threads(value):
            raise ValueError("cgroup:, cpu: and pidns: filter nothing here: comm: tid: tgid:")
        return value


def of_threads(wanted: Filter) -> Filter:
    """What of a filter is about names and numbers."""
    return replace(wanted, cpus=(), cgroups=(), pid_namespaces=())


class OffCpuScreen(AttachedScreen[Measured]):
    """Threads without a CPU and their stacks, since it was opened or since `x`."""

    AUTO_FOCUS = None
    ESCAPE_TO_MINIMIZE = False

    DEFAULT_CSS = """
    OffCpuScreen { layout: vertical; }
    OffCpuScreen > #offcpu {
        height: 1fr;
        & > #threads { width: 100%; height: 9fr; }
        & > #stacks { width: 100%; height: 12fr; }
        &.zoomed > #threads { display: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        key(
            "escape",
            "back",
            "Close",
            "Leaves the zoom, else drops the filter, else closes the screen and detaches from the kernel",
            name="back",
            shown=True,
        ),
        key("s", "sort(1)", "Sort", "Next order of the threads", shown=True),
        key("S", "sort(-1)", "Sort back", "The order before"),
        key("f6,F", "choose_order", "Sort by", "All orders of the threads", name="sort-by"),
        key("f,backslash,f4", "filter", "Filter", "Filters threads by name, tid, tgid", shown=True),
        key("i", "idle", "Idle", "Shows or hides threads that only waited for work", shown=True),
        key("z", "zoom", "Zoom", "The stacks alone and in their whole length, and back", shown=True),
        key("enter", "zoom", "Zoom", "The same", name="open"),
        key("plus,equals_sign", "minimum(1)", "Minimum up", "Leaves out shorter waits: attaches anew"),
        key("minus,underscore", "minimum(-1)", "Minimum down", "Down to every wait: attaches anew"),
        key("W", "waker_stacks", "Wakers", "Who woke with stacks, or names alone (cheaper): attaches anew"),
        key("x", "anew", "Anew", "Forgets what was measured: attaches anew", shown=True),
        key("e", "export", "Export", "Writes the listed threads: a flame graph, folded stacks, JSON", shown=True),
        key("question_mark,f1", "help", "Help", "This help", shown=True),
        key("space", "freeze", "Freeze", "Freezes and thaws the screen; measuring goes on", shown=True),
        key("tab", "next_pane", "Next pane", "Between threads and stacks"),
        key("shift+tab", "next_pane", "Pane before", "The same"),
        key("1", "focus_number(1)", "Threads", "To the threads", name="pane-1"),
        key("2", "focus_number(2)", "Stacks", "To the stacks", name="pane-2"),
        key("q,f10,o", "close", "Close at once", "Closes the screen", name="quit"),
    ]

    def __init__(
        self, make_source: MakeOffCpu, export_dir: Path, *, wanted: Filter = EVERYBODY, tid: int = 0, min_ns: int = 0
    ) -> None:
        """`wanted`: the filter that holds at first; `tid`: the thread that is selected at first, also if it is idle."""
        self._make_source = make_source
        self.min_ns = min_ns
        self.wakers = Wakers.NAMES
        super().__init__(prepared(make_source(min_ns, self.wakers)))
        self.export_dir = export_dir
        self.filter = of_threads(wanted)
        self._wanted = wanted
        self.order = "held"
        self.shows_idle = False
        self.shown: Measured | None = None
        self._latest: Measured | None = None
        self._frozen = False
        self._listed: list[ThreadLine] = []
        self._hidden = 0
        self._first_tid = tid
        self._choosing: Any = None
        self.threads = ThreadsPane(id="threads")
        self.stacks = StacksPane(id="stacks")
        if tid:
            self.threads.selected_key = (tid,)

    def compose(self) -> ComposeResult:
        yield OffCpuHeader(id="offcpu-header")
        with Vertical(id="offcpu"):
            yield self.threads
            yield self.stacks
        yield ThreadFilterBar(id="filter-bar")
        yield KeyBar(id="key-bar")
        yield Static(id="too-small", markup=False)

    def on_mount(self, _event: events.Mount) -> None:
        self.threads.focus()
        self._show_keys()
        self.show_state()
        if self._wanted != self.filter:
            self.notify("cgroup:, cpu: and pidns: filter nothing here", severity="warning", timeout=6)
        self.set_interval(1, self._show_header)

    def on_resize(self, event: events.Resize) -> None:
        tiny = event.size.width < LEAST_COLUMNS or event.size.height < LEAST_LINES
        self.set_class(tiny, "-tiny")
        self.query_one("#offcpu").display = not tiny
        self.query_one(OffCpuHeader).display = not tiny
        size = f"{event.size.width}x{event.size.height}"
        words = f"the terminal is too small: {size}\nschedtop needs {LEAST_COLUMNS}x{LEAST_LINES}"
        self.query_one("#too-small", Static).update(words)

    def on_unmount(self, _event: events.Unmount) -> None:
        # It can be hundreds of megabytes, and the dashboard goes on for days.
        self.shown = self._latest = None
        self._listed = []
        self.threads.take((), self.order, "")
        self.stacks.take((), "", named=False)
        forget_stacks()
        for after_s in GIVE_BACK_S:
            self.app.set_timer(after_s, give_back)

    # What arrives.

    def arrived(self, item: Measured) -> None:
        self._latest = item
        if not self._frozen:
            self.shown = item
            self.show_state()

    def failed(self) -> None:
        self.show_state()

    def _attach_anew(self) -> None:
        self.shown = self._latest = None
        self._frozen = False
        self.attach(prepared(self._make_source(self.min_ns, self.wakers)))
        self._show_keys()
        self.show_state()

    # What is shown.

    def show_state(self) -> None:
        """Shows the measurement there is, or why there is none."""
        if self.shown is None:
            self._listed = []
            self.threads.say(f"not measured: {steady(self.failure)} (x tries again)" if self.failure else ATTACHING)
            self.stacks.take((), "", named=False)
        else:
            self._list(self.shown)
        self._show_header()

    def _list(self, shown: Measured) -> None:
        self._listed, self._hidden = chosen(
            shown.lines, self.filter, self.order, idle=self.shows_idle, always=self._first_tid
        )
        words = str(len(self._listed))
        words += f" of {len(shown.lines)}" if self.filter else ""
        words += f" · {self._hidden} idle hidden, i shows them" if self._hidden else ""
        self.threads.take(self._listed, self.order, words)
        self._show_stacks()

    def _show_stacks(self) -> None:
        line = self.threads.selected_line
        if line is not None:
            name = f"{steady(line.thread.comm)} ({line.thread.tid})"
            self.stacks.take(line.stacks, f"of {name}", named=False)
            return
        # What slept all the time comes last here, too.
        every = [(line.slept, stack) for line in self._listed for stack in line.stacks]
        every.sort(key=lambda item: (item[0], -item[1].held_ns, -item[1].total_ns, item[1].tid))
        self.stacks.take([stack for _, stack in every], "of all listed threads", named=True)

    def _show_header(self) -> None:
        self.query_one(OffCpuHeader).show(
            self._state(), self.shown.offcpu if self.shown else None, self.min_ns, self._extra_words()
        )

    def _state(self) -> Span:
        if self.failure:
            return (" FAILED " if self.shown is None else " ENDED ", "alarm")
        if self._frozen:
            return (" FROZEN ", "frozen")
        if self.is_attaching:
            return ("attaching ...", "notice")
        age_ns = time.monotonic_ns() - self.shown.offcpu.end_ns if self.shown and self.shown.offcpu.end_ns else 0
        return (f"● LIVE, read {age_ns // NS_PER_S} s ago", "notice") if age_ns > OLD_NS else ("● LIVE", "live")

    def _extra_words(self) -> list[Span]:
        words: list[Span] = [(steady(self.failure), "notice")] if self.failure and self.shown else []
        if self.wakers is Wakers.STACKS:
            words.append(("with wakers' stacks (W)", "notice"))
        if self.filter:
            words.append((f"filter {steady(str(self.filter))}", "notice"))
        return words

    def _show_keys(self) -> None:
        words = {"freeze": "Thaw"} if self._frozen else {}
        rows = in_bar_order(row for node, row in self.actions() if node is self)
        keys = [(row.first_key, words.get(row.action, row.word), row.action) for row in rows]
        pair = together(self.app, {"minimum-up": "+", "minimum-down": "-"})
        self.query_one(KeyBar).show((*keys, (pair, "Minimum", "minimum(1)")))

    # Keys.

    def action_sort(self, step: int) -> None:
        """The next order of the threads."""
        names = [*ORDERS]
        self._sort(names[(names.index(self.order) + step) % len(names)])

    @on(KeyedTable.SortRequested)
    def _sort_clicked(self, event: KeyedTable.SortRequested) -> None:
        self._sort(event.sort)

    def _sort(self, order: str) -> None:
        self.order = order
        self.show_state()

    @on(KeyedTable.Selected)
    def _selected(self) -> None:
        self.stacks.top = 0
        self._show_stacks()

    def action_idle(self) -> None:
        """Shows or hides threads that only waited for work."""
        self.shows_idle = not self.shows_idle
        self.show_state()

    def action_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self.query_one(ThreadFilterBar).open(str(self.filter))

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        self.filter = event.value
        self.show_state()

    @on(FilterBar.Closed)
    def _filter_closed(self) -> None:
        self._pane.focus(scroll_visible=False)

    def action_minimum(self, direction: int) -> None:
        """Another shortest wait. It is the kernel's to leave out the others, so measuring begins anew."""
        steps = [ns for ns in MINIMA_NS if (ns > self.min_ns if direction > 0 else ns < self.min_ns)]
        if not steps:
            self.notify("every wait counts" if direction < 0 else "this is the largest", timeout=2)
            return
        self.min_ns = steps[0] if direction > 0 else steps[-1]
        if self._choosing is not None:
            self._choosing.stop()
        self._choosing = self.set_timer(CHOOSING_S, self._attach_anew)
        self._show_header()

    def action_waker_stacks(self) -> None:
        """Wakers with their stacks, or by name alone."""
        self.wakers = Wakers.NAMES if self.wakers is Wakers.STACKS else Wakers.STACKS
        self._attach_anew()

    def action_anew(self) -> None:
        """Begins anew."""
        self._attach_anew()

    def action_freeze(self) -> None:
        """Freezes what is shown, or follows again."""
        if self.shown is None:
            return
        self._frozen = not self._frozen
        if not self._frozen:
            self.shown = self._latest
        self._show_keys()
        self.show_state()

    @property
    def _pane(self) -> Canvas:
        return self.stacks if self.stacks.is_whole else self.threads

    def action_zoom(self) -> None:
        """The stacks alone, or both."""
        self.stacks.is_whole = not self.stacks.is_whole
        self.query_one("#offcpu").set_class(self.stacks.is_whole, "zoomed")
        self.stacks.top = 0
        self._pane.focus(scroll_visible=False)
        self.stacks.draw()

    def action_next_pane(self) -> None:
        """To the other pane."""
        other = self.stacks if self.focused is self.threads or self.stacks.is_whole else self.threads
        other.focus(scroll_visible=False)

    def action_focus_number(self, number: int) -> None:
        """To the pane with this number."""
        if number == self.threads.NUMBER and self.stacks.is_whole:
            self.action_zoom()
        (self.threads if number == self.threads.NUMBER else self.stacks).focus(scroll_visible=False)

    def action_back(self) -> None:
        """Drops messages, else leaves the zoom, else drops the filter, else closes."""
        if self.query("Toast"):
            self.app.clear_notifications()
        elif self.end_search():
            pass
        elif self.stacks.is_whole:
            self.action_zoom()
        elif self.filter:
            self.filter = EVERYBODY
            self.show_state()
        else:
            close(self)

    def action_close(self) -> None:
        """Closes the screen."""
        close(self)

    def action_help(self) -> None:
        """The help, beginning with the pane that has the focus."""
        keys = [row for node, row in self.actions() if node is not self.search_target]
        notes = self.shown.offcpu.host.notes if self.shown else ()
        panes = (self.threads, self.stacks)
        topics = topics_of(panes, [*keys, *self.rows_of(Canvas)], self.pane_rows, notes)
        self.app.push_screen(HelpScreen(topics, (self.threads if self.focused is self.threads else self.stacks).TITLE))

    def action_choose_order(self) -> None:
        """Opens the list of the orders."""
        choices = [
            Choice(words, [], name, digit) for digit, (name, (words, _)) in zip(DIGITS, ORDERS.items(), strict=False)
        ]
        self.app.push_screen(Chooser("Threads: order", choices, [*ORDERS].index(self.order)), self._order_chosen)

    def _order_chosen(self, order: str | None) -> None:
        if order is not None:
            self._sort(order)

    def action_export(self) -> None:
        """Writes the listed threads to files, without holding up the screen."""
        if self.shown is None:
            self.notify("there is nothing to export yet", severity="warning")
            return
        self.run_worker(self._export(self.shown, self._listed), group="export")

    async def _export(self, shown: Measured, listed: list[ThreadLine]) -> None:
        left_out = len(shown.lines) - len(listed)
        note = (
            f"{left_out} of {len(shown.lines)} threads were not listed on the screen and are left out, also of shares"
        )
        threads = {line.thread.thread for line in listed}
        try:
            chosen_ones = only(shown.offcpu, threads, note if left_out else "")
            paths = await asyncio.to_thread(write_offcpu, chosen_ones, self.export_dir)
        except ExportError as problem:
            self.notify(f"not exported: {problem}", severity="error", timeout=10, markup=False)
        else:
            self.notify("\n".join(map(str, paths)), title="Exported", timeout=8, markup=False)

"""The screen of the time without a CPU. Its programs are in the kernel only while it is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType

from schedtop.model.filters import Filter
from schedtop.offcpu.measurement import Wakers
from schedtop.offcpu.places import forget_stacks
from schedtop.offcpu.threads import Measured
from schedtop.panes.offcpu.header import OffCpuHeader
from schedtop.path.subject import PathSubject
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.bars.too_small import TooSmall, is_tiny
from schedtop.ui.keys.bindings import in_bar_order, key, together
from schedtop.ui.on_demand import MakeOffCpu
from schedtop.ui.screens.action_list import ActionList
from schedtop.ui.screens.attached import AttachedScreen
from schedtop.ui.screens.closing import close
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.help.topics import topics_of
from schedtop.ui.screens.offcpu.attaching import Attaching
from schedtop.ui.screens.offcpu.exporter import Exported, OffCpuExporter
from schedtop.ui.screens.offcpu.listing import EVERYTHING, Listing, parse_thread_filter
from schedtop.ui.screens.offcpu.two_panes import TwoPanes
from schedtop.ui.screens.search import Search
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.parts import keys_of, made_of
from schedtop.widgets.strips import Span, steady

ATTACHING = "attaching to the kernel: the very first time it takes a second to compile the programs"


FILTER_HINT = "name tid:1 tgid:1  Enter keeps, Esc clears"

PARTS = {
    "listing": Listing,
    "panes": TwoPanes,
    "attaching": Attaching,
    "exporter": OffCpuExporter,
    "search": Search,
    "action_list": ActionList,
}

ORDER = (
    *("back", "sort", "sort-back", "sort-by", "filter", "idle", "zoom", "open", "path", "minimum-up", "minimum-down"),
    *("wakers", "anew", "export", "help", "freeze", "next-pane", "pane-before", "pane-1", "pane-2", "quit"),
)
"""The first keys of the help, by their names; those of the last parts follow."""

KEYS: Sequence[BindingType] = (
    key(
        "escape",
        "back",
        "Close",
        "Leaves the zoom, else drops the filter, else closes the screen and detaches from the kernel",
        name="back",
        shown=True,
    ),
    key("question_mark,f1", "help", "Help", "This help", shown=True),
    key("space", "freeze", "Freeze", "Freezes and thaws the screen; measuring goes on", shown=True),
    key("P", "path", "Path", "The path of the selected thread: what it waits for, across tasks", shown=True),
    key("q,f10,o", "close", "Close at once", "Closes the screen", name="quit"),
)


@made_of(PARTS)
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

    BINDINGS: ClassVar[list[BindingType]] = keys_of(PARTS, KEYS, ORDER)

    def __init__(
        self,
        make_source: MakeOffCpu,
        export_dir: Path,
        open_path: Callable[[PathSubject], None],
        *,
        wanted: Filter = EVERYTHING,
        tid: int = 0,
        min_ns: int = 0,
        own_pid: int | None = None,
    ) -> None:
        """`wanted`: the filter that holds at first; `tid`: the thread that is selected at first, also if it is idle.

        `own_pid`: our process, where the source knows it by that number.
        """
        attaching = Attaching(self, make_source, min_ns, self._attach_anew, self._show_header)
        super().__init__(attaching.source())
        self.attaching = attaching
        self.listing = Listing(self, wanted, tid, self.show_state, own_pid=own_pid)
        self.panes = TwoPanes(self)
        self.search = Search(self)
        self.action_list = ActionList(self, self.search.target)
        self.exporter = OffCpuExporter(self, self._exported, export_dir)
        self.shown: Measured | None = None
        self._latest: Measured | None = None
        self._frozen = False
        self._wanted = wanted
        self._open_path = open_path
        if tid:
            self.panes.threads.selected_key = (tid,)

    def compose(self) -> ComposeResult:
        yield OffCpuHeader(id="offcpu-header")
        yield self.panes.box
        yield FilterBar(parse_thread_filter, FILTER_HINT, id="filter-bar")
        yield KeyBar(id="key-bar")
        yield TooSmall(id="too-small")

    def on_mount(self, _event: events.Mount) -> None:
        self.panes.threads.focus()
        self._show_keys()
        self.show_state()
        if self._wanted != self.listing.filter:
            self.notify("cgroup:, cpu:, class: and pidns: filter nothing here", severity="warning", timeout=6)
        self.set_interval(1, self._show_header)

    def on_resize(self, event: events.Resize) -> None:
        tiny = is_tiny(event.size)
        self.set_class(tiny, "-tiny")
        self.panes.box.display = not tiny
        self.query_one(OffCpuHeader).display = not tiny
        self.query_one(TooSmall).tell(event.size)

    def on_unmount(self, _event: events.Unmount) -> None:
        # It can be hundreds of megabytes, and the dashboard goes on for days.
        self.shown = self._latest = None
        self.listing.listed = []
        self.panes.threads.take((), self.listing.order, "")
        self.panes.stacks.take((), "", named=False)
        forget_stacks()

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
        self.attach(self.attaching.source())
        self._show_keys()
        self.show_state()

    # What is shown.

    def show_state(self) -> None:
        """Shows the measurement there is, or why there is none."""
        if self.shown is None:
            self.listing.listed = []
            words = f"not measured: {steady(self.failure)} (x tries again)" if self.failure else ATTACHING
            self.panes.threads.say(words)
            self.panes.stacks.take((), "", named=False)
        else:
            words = self.listing.list(self.shown.lines)
            self.panes.threads.take(self.listing.listed, self.listing.order, words)
            self.panes.fit()
            self._show_stacks()
        self._show_header()

    def _show_stacks(self) -> None:
        line = self.panes.threads.selected_line
        if line is not None:
            name = f"{steady(line.thread.comm)} ({line.thread.tid})"
            self.panes.stacks.take(line.stacks, f"of {name}", named=False)
            return
        # What slept all the time comes last here, too.
        every = [(line.slept, stack) for line in self.listing.listed for stack in line.stacks]
        every.sort(key=lambda item: (item[0], -item[1].held_ns, -item[1].total_ns, item[1].tid))
        self.panes.stacks.take([stack for _, stack in every], "of all listed threads", named=True)

    def _show_header(self) -> None:
        offcpu = self.shown.offcpu if self.shown else None
        state = self.state_words(None if offcpu is None else offcpu.end_ns, frozen=self._frozen)
        self.query_one(OffCpuHeader).show(state, offcpu, self.attaching.min_ns, self._extra_words(), self.listing.worst)

    def _extra_words(self) -> list[Span]:
        words: list[Span] = [(steady(self.failure), "notice")] if self.failure and self.shown else []
        if self.attaching.wakers is Wakers.STACKS:
            words.append(("with wakers' stacks (W)", "key"))
        if self.listing.filter:
            words.append((f"filter {steady(str(self.listing.filter))}", "key"))
        return words

    def _show_keys(self) -> None:
        words = {"freeze": "Thaw"} if self._frozen else {}
        rows = in_bar_order(self.action_list.of_screen())
        keys = [(row.first_key, words.get(row.action, row.word), row.action) for row in rows]
        pair = together(self.app, {"minimum-up": "+", "minimum-down": "-"})
        self.query_one(KeyBar).show((*keys, (pair, "Minimum", "minimum(1)")))

    def _exported(self) -> Exported:
        return self.shown, self.listing.listed

    # Keys.

    @on(KeyedTable.Selected)
    def _selected(self) -> None:
        self.panes.stacks.top = 0
        self._show_stacks()

    def action_freeze(self) -> None:
        """Freezes what is shown, or follows again."""
        if self.shown is None:
            return
        self._frozen = not self._frozen
        if not self._frozen:
            self.shown = self._latest
        self._show_keys()
        self.show_state()

    def action_path(self) -> None:
        """Opens the path of the selected thread, without a selection that of the first one."""
        threads = self.panes.threads
        if threads.selected_line is None:
            threads.select(threads.top)
        if (line := threads.selected_line) is None or not line.thread.tid:
            self.notify("no thread of those listed is still there: its path cannot be seen", timeout=4)
            return
        self._open_path(PathSubject(line.thread.tid, line.thread.tgid, steady(line.thread.comm)))

    def action_back(self) -> None:
        """Drops messages, else leaves the zoom, else drops the filter, else closes."""
        if self.query("Toast"):
            self.app.clear_notifications()
        elif self.search.end():
            pass
        elif self.panes.stacks.is_whole:
            self.panes.action_zoom()
        elif not self.listing.clear():
            close(self)

    def action_close(self) -> None:
        """Closes the screen."""
        close(self)

    def action_help(self) -> None:
        """The help, beginning with the pane that has the focus."""
        notes = self.shown.offcpu.host.notes if self.shown else ()
        topics = topics_of(self.panes.both, self.action_list.for_help(), self.action_list.of_pane, notes)
        self.app.push_screen(HelpScreen(topics, self.panes.focused.TITLE))

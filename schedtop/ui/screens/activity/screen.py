"""The activity screen: what all tasks do. Its programs are in the kernel only while it is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Protocol

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType

from schedtop.activity.activity import Activity
from schedtop.activity.view import ActivitySettings
from schedtop.model.filters import Filter
from schedtop.panes.activity.header import ActivityHeader
from schedtop.panes.task.past import Subject
from schedtop.path.subject import PathSubject
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.bars.too_small import TooSmall, is_tiny
from schedtop.ui.keys.bindings import in_bar_order, key
from schedtop.ui.on_demand import MakeActivity
from schedtop.ui.screens.action_list import ActionList
from schedtop.ui.screens.activity.listing import FILTER_HINT, Listing, parse_filter
from schedtop.ui.screens.activity.shown import ActivityShown
from schedtop.ui.screens.activity.three_panes import ThreePanes
from schedtop.ui.screens.attached import AttachedScreen
from schedtop.ui.screens.clock import Clock
from schedtop.ui.screens.closing import close
from schedtop.ui.screens.dashboard.time_keys import TimeKeys
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.help.topics import topics_of
from schedtop.ui.screens.search import Search
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.parts import keys_of, made_of
from schedtop.widgets.strips import Span, steady

SELECT_FIRST = "select a process first (↓)"

PARTS = {
    "listing": Listing,
    "time_keys": TimeKeys,
    "panes": ThreePanes,
    "search": Search,
    "action_list": ActionList,
}

ORDER = (
    *("help", "back", "quit", "freeze", "filter", "sort", "sort-back", "sort-by", "group", "group-back"),
    *("columns", "columns-back", "window", "open", "path", "anew", "step-back", "step-on", "step-back-10"),
    *("step-on-10", "zoom", "next-pane", "pane-before", "pane-1", "pane-2", "pane-3"),
)
"""The first keys of the help, by their names; those of the last parts follow."""

KEYS: Sequence[BindingType] = (
    key(
        "escape",
        "back",
        "Close",
        "Leaves the zoom, else drops the selection, else the filter, else closes the screen and detaches",
        name="back",
        shown=True,
    ),
    key("question_mark,f1", "help", "Help", "This help", shown=True),
    key(
        "enter",
        "look",
        "Task",
        "The task view on the selected process or thread; else the zoom",
        name="open",
        shown=True,
    ),
    key("P", "path", "Path", "The path of the selected process or thread: what it waits for, across tasks"),
    key("x", "anew", "Reset", "Starts over: forgets what was counted"),
    key("q,f10,a", "close", "Close at once", "Closes the screen", name="quit"),
)


class RecordedPast(Protocol):
    """What a recording shows here. `clock` moves through its time."""

    clock: Clock

    def begin(self, screen: ActivityScreen) -> None:
        """Shows the moment of the player from now on."""
        ...

    def state(self) -> Span:
        """What the player does, in words."""
        ...


@made_of(PARTS)
class ActivityScreen(AttachedScreen[Activity]):
    """Header, table, system calls, TCP connections, over what a source counts each second."""

    AUTO_FOCUS = None
    ESCAPE_TO_MINIMIZE = False

    DEFAULT_CSS = """
    ActivityScreen { layout: vertical; }
    ActivityScreen > #activity {
        height: 1fr;
        & > #table { width: 100%; height: 3fr; }
        & > #below { width: 100%; height: 2fr; min-height: 7; }
        & > #below > Pane { width: 1fr; height: 100%; }
        &.zoomed > #table, &.zoomed > #below, &.zoomed > #below > Pane { display: none; }
        &.zoomed > #table.current, &.zoomed > #below.current { display: block; height: 1fr; }
        &.zoomed > #below > .current { display: block; width: 100%; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = keys_of(PARTS, KEYS, ORDER)

    def __init__(
        self,
        make_source: MakeActivity,
        open_task: Callable[[Subject], None],
        open_path: Callable[[PathSubject], None],
        *,
        wanted: Filter,
        past: RecordedPast | None = None,
    ) -> None:
        """`wanted`: the filter that holds at first, as far as it filters here; `past`: what is shown of a recording."""
        self._source = make_source()
        super().__init__(self._source)
        self.panes = ThreePanes(self)
        known = replace(wanted, cpus=(), classes=(), pid_namespaces=())
        self.shown = ActivityShown(ActivitySettings(filter=known), self.show_state)
        self.listing = Listing(self, self.shown, self.panes.table)
        self.time_keys = past.clock if past else TimeKeys(self, self.shown, self._show_keys)
        self._past = past
        self.search = Search(self, lambda: self.panes.focused)
        self.action_list = ActionList(self, self.search.target)
        self._make_source = make_source
        self._open_task = open_task
        self._open_path = open_path

    def compose(self) -> ComposeResult:
        yield ActivityHeader(id="activity-header")
        yield self.panes.box
        yield FilterBar(parse_filter, FILTER_HINT, id="filter-bar")
        yield KeyBar(id="key-bar")
        yield TooSmall(id="too-small")

    def on_mount(self, _event: events.Mount) -> None:
        self.panes.focus(self.panes.table)
        self._show_keys()
        self.show_state()
        self.set_interval(1, self.show_header)
        if self._past:
            self._past.begin(self)

    def on_resize(self, event: events.Resize) -> None:
        tiny = is_tiny(event.size)
        self.set_class(tiny, "-tiny")
        self.panes.box.display = not tiny
        self.query_one(ActivityHeader).display = not tiny
        self.query_one(TooSmall).tell(event.size)

    def on_unmount(self, _event: events.Unmount) -> None:
        self.shown.forget()
        self.panes.forget()

    # What arrives.

    def arrived(self, item: Activity) -> None:
        self.shown.add(item)
        self.show_state()

    def failed(self) -> None:
        self.show_state()

    # What is shown.

    def show_state(self) -> None:
        """Shows the moment there is, or why there is none."""
        self.panes.table.failure = steady(self.failure)
        if self.shown.view is not None:
            self.panes.show(self.shown.view)
        else:
            self.panes.table.draw()
        self.show_header()

    def show_header(self) -> None:
        """Shows the header anew: time goes by."""
        view = self.shown.view
        self.query_one(ActivityHeader).show(self.state(), view, self._extra_words())

    def state(self) -> Span:
        """Whether it is live, in words."""
        if self._past:
            return self._past.state()
        latest_ns = self.shown.live.latest_ns if self.shown.view else None
        return self.state_words(latest_ns, frozen=self.time_keys.stands_still)

    def _extra_words(self) -> list[Span]:
        words: list[Span] = [(steady(self.failure), "notice")] if self.failure and self.shown.view else []
        wanted = self.shown.settings.filter
        return words + ([(f"filter {steady(str(wanted))}", "key")] if wanted else [])

    def _show_keys(self) -> None:
        frozen = self.time_keys.stands_still
        words = {"freeze": "Thaw"} if frozen else {}
        own = self.action_list.of_screen()
        keys = [(row.first_key, words.get(row.action, row.word), row.action) for row in in_bar_order(own)]
        if frozen:
            steps = [row for row in own if row.name in ("step-back", "step-on")]
            keys.insert(3, (" ".join(row.first_key for row in steps), "Step", "step(-1)"))
        self.query_one(KeyBar).show(tuple(keys))

    # Keys.

    @on(KeyedTable.Selected)
    def _selected(self) -> None:
        """The system calls of the process of the row are told from the next second on."""
        subject = self.panes.table.subject
        self._source.select(subject.tgid if isinstance(subject, Subject) else 0)

    @on(KeyedTable.Opened)
    def action_look(self) -> None:
        """The task view on what is selected, the zoom where nothing is."""
        subject = self.panes.table.subject if self.panes.focused is self.panes.table else None
        if isinstance(subject, Subject):
            self._open_task(subject)
        elif subject is None:
            self.panes.action_zoom()
        else:
            self.notify(subject, timeout=4)

    def action_path(self) -> None:
        """Opens the path of what is selected."""
        subject = self.panes.table.subject
        if isinstance(subject, Subject):
            self._open_path(PathSubject(subject.tid, subject.tgid, subject.name))
        else:
            self.notify((subject or SELECT_FIRST).replace("the task view is", "paths are"), timeout=4)

    def action_anew(self) -> None:
        """Begins anew."""
        if self._past:
            self.notify("a recording has what was counted when it was made", timeout=4)
            return
        self.shown.forget()
        self.panes.forget()
        self._source = self._make_source()
        self.attach(self._source)
        self._selected()
        self._show_keys()
        self.show_state()

    def action_back(self) -> None:
        """Drops messages, else ends the search, else leaves the zoom, drops selection and filter, else closes."""
        if self.query("Toast"):
            self.app.clear_notifications()
        elif self.search.end():
            pass
        elif self.panes.is_zoomed:
            self.panes.action_zoom()
        elif not (self.panes.table.clear_selection() or self.listing.clear()):
            close(self)

    def action_close(self) -> None:
        """Closes the screen."""
        close(self)

    def action_help(self) -> None:
        """The help, beginning with the pane that has the focus."""
        activity = self.shown.view.activity if self.shown.view else None
        notes = [*activity.host.notes] if activity else []
        notes += [f"{part}: {why}" for part, why in activity.unavailable.items()] if activity else []
        topics = topics_of(self.panes.every, self.action_list.for_help(), self.action_list.of_pane, notes)
        self.app.push_screen(HelpScreen(topics, self.panes.focused.SHORT or self.panes.focused.TITLE))

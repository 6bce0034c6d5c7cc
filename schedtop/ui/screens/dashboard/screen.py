"""The dashboard: it wires the parts that collect, show, record and open, and hands a View to every pane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Size
from textual.screen import Screen

from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.source import Source
from schedtop.panes.header import HeaderPane
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.queue.pane import QueuePane
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.bars.too_small import TooSmall, is_tiny
from schedtop.ui.keys.bindings import KeyRow, in_bar_order, key
from schedtop.ui.on_demand import NOTHING, OnDemand
from schedtop.ui.screens.action_list import ActionList
from schedtop.ui.screens.attached import AttachedScreen
from schedtop.ui.screens.clock import Clock
from schedtop.ui.screens.dashboard.chosen import first_key, task_keys
from schedtop.ui.screens.dashboard.details import Details
from schedtop.ui.screens.dashboard.exporter import Exporter
from schedtop.ui.screens.dashboard.hint import Hint
from schedtop.ui.screens.dashboard.pane_keys import PaneKeys
from schedtop.ui.screens.dashboard.pane_layout import PaneLayout
from schedtop.ui.screens.dashboard.panes import panes_of
from schedtop.ui.screens.dashboard.recorder import Recorder
from schedtop.ui.screens.dashboard.shown import Shown
from schedtop.ui.screens.dashboard.source_keys import SourceKeys
from schedtop.ui.screens.dashboard.task_opener import TaskOpener
from schedtop.ui.screens.dashboard.time_keys import TimeKeys
from schedtop.ui.screens.dashboard.timeline import Timeline
from schedtop.ui.screens.dashboard.view_keys import ViewKeys
from schedtop.ui.screens.search import Search
from schedtop.ui.screens.still import is_on_top
from schedtop.ui.slices import Step
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.parts import keys_of, made_of

COMPACT = Size(80, 20)
"""Below this, what can take fewer lines does."""

IN_FRONT = 6
"""How many keys stand before those of panes."""

NEEDED = 3
"""So many keys are always in the bar: the tabs of the presets give way to them."""

PARTS = {
    "details": Details,
    "time_keys": TimeKeys,
    "view_keys": ViewKeys,
    "source_keys": SourceKeys,
    "task_opener": TaskOpener,
    "recorder": Recorder,
    "exporter": Exporter,
    "pane_keys": PaneKeys,
    "search": Search,
    "action_list": ActionList,
}
"""The parts that keys and messages reach, by the attributes that hold them."""

ORDER = (
    *("help", "verdict", "quit", "freeze", "filter", "sort", "sort-back", "sort-by", "group", "group-back", "window"),
    *(
        "off-cpu",
        "activity",
        "step-back",
        "step-on",
        "step-back-10",
        "step-on-10",
        "threshold-up",
        "threshold-down",
        "overhead",
    ),
    *("interrupts", "back", "open", "path", "record", "export", "capture", "zoom"),
)
"""The first keys of the help, by their names; those of the last parts follow."""

KEYS: Sequence[BindingType] = (
    key("q,f10", "app.leave", "Quit", "Ends schedtop", shown=True),
    key(
        "escape",
        "back",
        "Leave",
        "Goes back, never quits: clears messages, the zoom, the selection, the filter, one after the other",
        name="back",
    ),
)


@made_of(PARTS)
class Dashboard(Screen[None]):
    """Header, panes, the strip of those that are not seen, filter line and key bar, over what a Source gives."""

    AUTO_FOCUS = None
    ESCAPE_TO_MINIMIZE = False

    BINDINGS = keys_of(PARTS, KEYS, ORDER)

    NO_USE: ClassVar[frozenset[str]] = frozenset()
    """Names of actions that have nothing to do on this screen."""

    ALSO: ClassVar[Sequence[KeyRow]] = ()
    """More rows for its help."""

    def __init__(
        self,
        source: Source,
        settings: ViewSettings,
        export_dir: Path,
        own_pid: int | None,
        *,
        on_demand: OnDemand = NOTHING,
        shown: Shown | None = None,
        time_keys: Clock | None = None,
    ) -> None:
        """`shown`, `time_keys`: parts of another kind, for what moves through time in another way."""
        super().__init__()
        self.shown = shown = shown or Shown(source.host, settings, self.show_view)
        self.time_keys = time_keys or TimeKeys(self, shown, self.show_keys)
        self.pane_layout = layout = PaneLayout(
            self, panes_of(own_pid), Hint(self.BINDINGS, id="hint"), self.other_lines
        )
        self.pane_keys = PaneKeys(self, layout)
        self.search = Search(self, lambda: layout.current)
        self.action_list = ActionList(
            self, self.search.target, no_use=self.NO_USE, more=self.pane_keys.by_name, also=self.ALSO
        )
        self.source_keys = SourceKeys(self, shown, source, self.show_header)
        self.view_keys = ViewKeys(self, shown, layout, self.source_keys, self.show_keys)
        self.recorder = Recorder(self, shown, export_dir, self.recordings_changed)
        self.exporter = Exporter(self, shown, export_dir, on_demand)
        self.details = details = Details(self, shown, layout, self.action_list, on_demand, export_dir, own_pid)
        self.task_opener = TaskOpener(
            self, shown, layout, self.time_keys, on_demand, export_dir, open_path=details.open_path
        )

    def compose(self) -> ComposeResult:
        yield HeaderPane(id="header")
        yield self.pane_layout.grid
        yield self.pane_layout.strip
        yield self.pane_layout.hint
        yield FilterBar(id="filter-bar")
        yield KeyBar(id="key-bar")
        yield TooSmall(id="too-small")

    @property
    def live(self) -> History:
        """What has been collected."""
        return self.shown.live

    @property
    def timeline(self) -> Timeline[ViewSettings, View]:
        """The moment that is shown, and its settings."""
        return self.shown.timeline

    @property
    def view(self) -> View | None:
        """What is shown, `None` while there is no Frame."""
        return self.shown.view

    def other_lines(self) -> int:
        """The lines of the screen that no pane has, besides the hint."""
        return 4

    def on_mount(self, _event: events.Mount) -> None:
        own = {row.name: row.first_key for row in self.action_list.of_screen()}
        for pane in self.pane_layout.panes:
            pane.keys = own | {row.name: row.first_key for row in self.action_list.of_pane(pane)}
        self.show_keys()
        self.pane_layout.show_preset(self.pane_layout.preset)

    def on_resize(self, event: events.Resize) -> None:
        tiny = is_tiny(event.size)
        self.set_class(tiny, "-tiny")
        self.set_class(
            not tiny and (event.size.width < COMPACT.width or event.size.height < COMPACT.height), "-compact"
        )
        self.query_one(TooSmall).tell(event.size)
        self.pane_layout.arrange()

    # What arrives.

    def add(self, frame: Frame) -> None:
        """Takes a new Frame. Frames that arrive together are drawn once."""
        if self.shown.add(frame):
            self._request_draw()
        self.recorder.record(frame)

    def end(self) -> None:
        """Notes that no Frame will come any more."""
        self.shown.ended = True
        self._request_draw()

    @property
    def is_covered(self) -> bool:
        """Whether another screen hides the panes: they are drawn when it goes."""
        return any(isinstance(screen, AttachedScreen) for screen in self.app.screen_stack)

    @property
    def is_current(self) -> bool:
        """Whether it is to be painted."""
        return is_on_top(self)

    def on_screen_suspend(self) -> None:
        """Another screen comes over the panes."""
        self._sample_queues()

    def on_screen_resume(self) -> None:
        """Shows what has arrived while something was over the panes."""
        self._sample_queues()
        self._request_draw()

    def _request_draw(self) -> None:
        if not self.shown.is_due:
            self.shown.is_due = True
            # Not by `call_later`: it makes another callable each time, and counts its parameters anew.
            self.post_message(events.Callback(self._draw_arrived))

    def _draw_arrived(self) -> None:
        self.shown.is_due = False
        if not self.shown.grow_older():
            self.show_view()
        elif not self.is_covered:
            # What is frozen does not change, only how far behind it is.
            self.show_header()

    # What is shown.

    def show_view(self) -> None:
        """Makes the View and hands it to every pane."""
        app: Any = self.app
        app.surface.slices.run(self._steps(app.surface.breathe))

    def _steps(self, breathe: Step) -> Iterator[Step]:
        yield partial(self.shown.make, breathe)
        view = self.shown.view
        if view is not None and (task := self.task_opener.task_screen) is not None:
            task.follow(view)
        if self.is_covered:
            # What changes under another screen would have all of that drawn anew.
            return
        yield from self.shown.judging(breathe)
        yield self.show_header
        if view is not None:
            yield from self.pane_layout.steps(view, self.shown.verdict, self.shown.commands)

    def show_header(self) -> None:
        """Hands the header what it says of all this."""
        self.query_one(HeaderPane).show(
            self.shown.view,
            ended=self.shown.ended,
            wanted_threshold_ns=self.source_keys.wanted_threshold_ns,
            verdict=self.shown.verdict,
            recording=self.recorder.words,
        )
        self.details.follow_verdict()

    def show_keys(self) -> None:
        """The key bar: the steps through time only while they do something."""
        frozen, recording = self.shown.timeline.is_frozen, bool(self.recorder.recordings)
        words = {"freeze": "Thaw"} if frozen else {}
        words |= {"record": "Stop rec"} if recording else {}
        own = self.action_list.of_screen()
        self.query_one(HeaderPane).why_key = first_key(own, "verdict")
        keys = [(row.first_key, words.get(row.action, row.word), row.action) for row in in_bar_order(own)]
        needed = NEEDED
        if frozen:
            steps = [row for row in own if row.name in ("step-back", "step-on")]
            keys.insert(NEEDED, (" ".join(row.first_key for row in steps), "Step", "step(-1)"))
            # With the key that ends it.
            needed += 2
        of_task = task_keys(self.pane_layout.current, self.shown.view, own)
        keys = [*keys[:needed], *of_task, *(key for key in keys[needed:] if key not in of_task)]
        needed += len(of_task)
        if recording:
            keys.sort(key=lambda shown: shown[2] != "record")
            needed += 1
        shown = (*keys[:IN_FRONT], *self.pane_keys.in_bar, *keys[IN_FRONT:])
        self.query_one(KeyBar).show(shown, self.pane_keys.tabs, needed)

    def on_pane_layout_arranged(self) -> None:
        """Other panes may be seen now than before, those of another preset."""
        self._sample_queues()
        self.show_keys()

    def _sample_queues(self) -> None:
        """The run queues are sampled only while they are on the screen, or recorded."""
        seen = not self.query_one(QueuePane).hidden and not self.is_covered
        self.source_keys.set_sampling(seen or bool(self.recorder.recordings))

    def recordings_changed(self) -> None:
        """A recording has begun or ended: header and key bar say so."""
        self._sample_queues()
        self.show_keys()
        self.show_header()

    def close_recordings(self, timeout_s: float) -> list[str]:
        """Ends all recordings when the program ends; what the user should know, a line each."""
        return self.recorder.close(timeout_s)

    def action_back(self) -> None:
        """Drops messages, else leaves the zoom, else drops the selection, else the filter."""
        current, settings = self.pane_layout.current, self.shown.settings
        if self.query("Toast"):
            self.app.clear_notifications()
        elif self.search.end():
            pass
        elif self.pane_layout.is_zoomed:
            self.pane_layout.zoom()
        elif isinstance(current, KeyedTable) and current.clear_selection():
            pass
        elif settings.selected_cpus:
            self.shown.set_settings(replace(settings, selected_cpus=()))
        elif not (isinstance(current, CpusPane) and current.clear_cursor()):
            self.shown.set_settings(replace(settings, filter=Filter()))

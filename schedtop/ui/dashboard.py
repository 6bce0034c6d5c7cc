"""The one screen: the panes, and the keys that change what they show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Static

from schedtop.history import SLOW_WAIT_SORTS, TASK_SORTS, History, View, ViewSettings
from schedtop.model import Frame, Host
from schedtop.panes.cpus import CpusPane
from schedtop.panes.header import HeaderPane
from schedtop.panes.latency import LatencyPane
from schedtop.panes.pane import Pane
from schedtop.panes.slow_waits import SlowWaitsPane
from schedtop.panes.steal import StealPane
from schedtop.panes.tasks import TasksPane
from schedtop.ui.bindings import KeyRow, key_rows
from schedtop.ui.filter_bar import FilterBar
from schedtop.ui.help_screen import HelpScreen
from schedtop.ui.key_bar import KeyBar
from schedtop.ui.layout import CLASSES, layout_classes
from schedtop.ui.terminal import LEAST_COLUMNS, LEAST_LINES
from schedtop.ui.timeline import Timeline, cycled, next_threshold, next_window
from schedtop.units import format_ns
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.keyed_table import KeyedTable


class Dashboard(Screen[None]):
    """Owns the History and the Timeline; hands a View to every pane when either changed."""

    AUTO_FOCUS = "#tasks"
    ESCAPE_TO_MINIMIZE = False

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "freeze", "Freeze", id="freeze", tooltip="Freezes and thaws the screen; collecting goes on"),
        Binding("left,comma", "step(-1)", "Back", id="step.back", tooltip="While frozen: one interval back"),
        Binding("right,full_stop", "step(1)", "On", id="step.on", tooltip="While frozen: one interval on, up to now"),
        Binding("shift+left,less_than_sign", "step(-10)", "Back 10", False, id="step.back_10", tooltip="While frozen: ten intervals back"),
        Binding("shift+right,greater_than_sign", "step(10)", "On 10", False, id="step.on_10", tooltip="While frozen: ten intervals on"),
        Binding("s", "sort(1)", "Sort", id="sort.next", tooltip="Next order of the slow waits if they have the focus, else of the tasks"),
        Binding("S", "sort(-1)", "Sort back", False, id="sort.back", tooltip="The order before"),
        Binding("slash", "filter", "Filter", id="filter", tooltip="Filters by name, tid, tgid or CPU"),
        Binding("w", "window", "Window", id="window", tooltip="The window of all numbers: 1 s, 10 s, 60 s"),
        Binding("plus,equals_sign", "threshold(1)", "Threshold", False, id="threshold.up", tooltip="Slow waits: higher threshold (up to 10 s)"),
        Binding("minus,underscore", "threshold(-1)", "Threshold", False, id="threshold.down", tooltip="Slow waits: lower threshold (down to 100 µs)"),
        Binding("z,enter", "zoom", "Zoom", id="zoom", tooltip="The focused pane alone, and back"),
        Binding("e", "export", "Export", id="export", tooltip="Writes what is shown as JSON, and the screen as SVG"),
        Binding("1,2,3,4,5", "focus_number", "Pane", False, id="pane.number", tooltip="To the pane with this number"),
        Binding("tab", "focus_pane(1)", "Next pane", False, id="pane.next", tooltip="To the next pane"),
        Binding("shift+tab", "focus_pane(-1)", "Pane before", False, id="pane.before", tooltip="To the pane before"),
        Binding("escape", "back", "Back", False, id="back", tooltip="Leaves the zoom, else drops the selection, else the filter"),
        Binding("question_mark,h,f1", "help", "Help", id="help", tooltip="This help"),
        Binding("q", "app.leave", "Quit", id="quit", tooltip="Ends schedtop"),
    ]  # fmt: skip

    def __init__(
        self,
        host: Host,
        settings: ViewSettings,
        set_threshold: Callable[[int], object],
        export_dir: Path,
        own_pid: int | None,
    ) -> None:
        super().__init__()
        self.live = History(host)
        self.timeline = Timeline(settings)
        self.view: View | None = None
        self.ended = False
        self._set_threshold = set_threshold
        self._wanted_threshold_ns: int | None = None
        self._export_dir = export_dir
        self._draw_pending = False
        self._tasks = TasksPane(id="tasks", classes="slot current")
        self._tasks.own_pid = own_pid
        self._panes: tuple[Pane, ...] = (
            CpusPane(id="cpus"),
            LatencyPane(id="latency"),
            StealPane(id="steal", classes="slot"),
            SlowWaitsPane(id="slow-waits", classes="slot"),
            self._tasks,
        )

    def compose(self) -> ComposeResult:
        yield HeaderPane(id="header")
        with Container(id="panes"):
            yield from self._panes
        yield FilterBar(id="filter-bar")
        yield KeyBar(id="key-bar")
        yield Static(id="too-small", markup=False)

    def on_mount(self, _event: events.Mount) -> None:
        self._show_keys()

    # What arrives.

    def add(self, frame: Frame) -> None:
        """Takes a new Frame. Frames that arrive together are drawn once."""
        self.live.append(frame)
        self._request_draw()

    def end(self) -> None:
        """Notes that no Frame will come any more."""
        self.ended = True
        self._request_draw()

    def _request_draw(self) -> None:
        if not self._draw_pending:
            self._draw_pending = True
            self.call_later(self._draw_arrived)

    def _draw_arrived(self) -> None:
        self._draw_pending = False
        if self.view is not None and self.timeline.is_frozen:
            # What is frozen does not change, only how far behind it is.
            self.view = replace(self.view, latest_ns=self.live.latest_ns)
            self._show_header()
        else:
            self.show_view()

    # What is shown.

    def set_timeline(self, timeline: Timeline) -> None:
        """Shows another moment or with other settings."""
        if timeline is not self.timeline:
            self.timeline = timeline
            self.show_view()

    def show_view(self) -> None:
        """Makes the View and hands it to every pane."""
        self.view = self.timeline.view(self.live)
        self._show_header()
        if self.view is not None:
            for pane in self._panes:
                pane.show(self.view)

    def _show_header(self) -> None:
        if self.view is not None:
            header = self.query_one(HeaderPane)
            header.show(self.view, ended=self.ended, wanted_threshold_ns=self._wanted_threshold_ns)

    def _set_settings(self, settings: ViewSettings) -> None:
        self.set_timeline(self.timeline.with_settings(settings))

    # Time.

    def action_freeze(self) -> None:
        """Freezes, or follows now again."""
        thawed = self.timeline.is_frozen
        self.set_timeline(self.timeline.thaw() if thawed else self.timeline.freeze(self.live))
        self._show_keys()

    def action_step(self, steps: int) -> None:
        """Moves the frozen moment."""
        if not self.timeline.is_frozen:
            self.notify("Space freezes the screen; then ← and → step through the past", timeout=4)
            return
        before = self.timeline.end_ns
        self.set_timeline(self.timeline.step(self.live, steps))
        if self.timeline.end_ns == before and steps < 0:
            self.notify("this is the oldest interval kept", timeout=3)

    def action_window(self) -> None:
        """The next window."""
        settings = self.timeline.settings
        self._set_settings(replace(settings, window_ns=next_window(settings.window_ns)))

    # What is let through, and in which order.

    def action_sort(self, step: int) -> None:
        """The next order of the focused table."""
        settings = self.timeline.settings
        if isinstance(self.focused, SlowWaitsPane):
            self._set_settings(replace(settings, slow_wait_sort=cycled([*SLOW_WAIT_SORTS], settings.slow_wait_sort, step)))
        else:
            self._set_settings(replace(settings, task_sort=cycled([*TASK_SORTS], settings.task_sort, step)))

    @on(KeyedTable.SortRequested)
    def _sort_clicked(self, event: KeyedTable.SortRequested) -> None:
        slow = isinstance(event.table, SlowWaitsPane)
        settings = self.timeline.settings
        chosen = replace(settings, slow_wait_sort=event.sort) if slow else replace(settings, task_sort=event.sort)
        self._set_settings(chosen)

    def action_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self.query_one(FilterBar).open(self.timeline.settings.filter)

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        if event.value != self.timeline.settings.filter:
            self._set_settings(replace(self.timeline.settings, filter=event.value))

    @on(FilterBar.Closed)
    def _filter_closed(self) -> None:
        self._focus(next(pane for pane in self._panes if pane.has_class("current")))

    def action_threshold(self, direction: int) -> None:
        """Asks the source for another threshold; it holds from its next interval on."""
        if not len(self.live):
            return
        current = self._wanted_threshold_ns or self.live.frames[-1].threshold_ns
        wanted = next_threshold(current, direction)
        self._wanted_threshold_ns = wanted
        self._set_threshold(wanted)
        self._show_header()

    # Panes.

    def action_focus_number(self) -> None:
        """Reached by `key_N`; kept for the help."""

    def key_1(self) -> None:
        self._focus(self._panes[0])

    def key_2(self) -> None:
        self._focus(self._panes[1])

    def key_3(self) -> None:
        self._focus(self._panes[2])

    def key_4(self) -> None:
        self._focus(self._panes[3])

    def key_5(self) -> None:
        self._focus(self._panes[4])

    def action_focus_pane(self, step: int) -> None:
        """To the pane after (or before) the focused one; one that is hidden takes its place on the screen."""
        index = next((index for index, pane in enumerate(self._panes) if pane is self.focused), -1 if step > 0 else 0)
        self._focus(self._panes[(index + step) % len(self._panes)])

    def _focus(self, pane: Pane) -> None:
        zoomed = self.query_one("#panes").has_class("zoomed")
        few = self.has_class("-few")
        for other in self._panes:
            # In the small layout CPUs and latency have their own place: the slot below keeps what it shows.
            if not (few and not pane.has_class("slot")):
                other.set_class(other is pane, "current")
            other.set_class(zoomed and other is pane, "zoomed")
        pane.focus(scroll_visible=False)

    def action_zoom(self) -> None:
        """Shows the focused pane alone, or all again."""
        panes = self.query_one("#panes")
        zoom = not panes.has_class("zoomed")
        for pane in self._panes:
            pane.set_class(zoom and pane is self.focused, "zoomed")
        panes.set_class(zoom and isinstance(self.focused, Pane), "zoomed")

    def action_back(self) -> None:
        """Leaves the zoom, else drops the selection, else the filter."""
        if self.query_one("#panes").has_class("zoomed"):
            self.action_zoom()
        elif not (isinstance(self.focused, KeyedTable) and self.focused.clear_selection()):
            self._set_settings(replace(self.timeline.settings, filter=type(self.timeline.settings.filter)()))

    # Around it.

    def action_help(self) -> None:
        """Every key, and how to read the panes."""
        self.app.push_screen(HelpScreen(self.all_keys(), self._panes, self.live.host.notes))

    def all_keys(self) -> list[KeyRow]:
        """Every key of the dashboard, its panes and the app."""
        bindings = [*self.BINDINGS, *Canvas.BINDINGS, *CpusPane.BINDINGS, *FilterBar.BINDINGS, *type(self.app).BINDINGS]
        return key_rows(bindings)

    def _show_keys(self) -> None:
        frozen = self.timeline.is_frozen
        keys = []
        for row in key_rows(self.BINDINGS):
            if not row.shown or (not frozen and row.action.startswith("step")):
                continue
            word = "Thaw" if frozen and row.action == "freeze" else row.word
            keys.append((row.keys.split()[0], word, row.action))
        keys.extend([("Tab 1-5", "Pane", "focus_pane(1)"), ("+ -", "Threshold", "threshold(1)"), ("m", "Measure", "measure")])
        self.query_one(KeyBar).show(tuple(keys))

    def on_resize(self, event: events.Resize) -> None:
        wanted = layout_classes(event.size.width, event.size.height)
        for name in CLASSES:
            self.set_class(name in wanted, name)
        size = f"{event.size.width}x{event.size.height}"
        self.query_one("#too-small", Static).update(
            f"the terminal is too small: {size}\nschedtop needs {LEAST_COLUMNS}x{LEAST_LINES}"
        )

    def action_export(self) -> None:
        """Writes what is shown to files, without holding up the screen."""
        if self.view is None:
            self.notify("there is nothing to export yet", severity="warning")
            return
        # Taken now: what is written is what was on the screen when the key was pressed.
        self.run_worker(self._export(self.view, self.app.export_screenshot(title="schedtop")), group="export")

    async def _export(self, view: View, svg: str) -> None:
        import asyncio

        from schedtop.ui.export import ExportError, write_export

        try:
            paths = await asyncio.to_thread(write_export, view, svg, self._export_dir)
        except ExportError as problem:
            self.notify(f"not exported: {problem}", severity="error", timeout=10, markup=False)
            return
        self.notify("\n".join(map(str, paths)), title="Exported", timeout=8, markup=False)


_ = format_ns

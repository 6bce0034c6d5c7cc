"""The one screen: it collects Frames, and its keys change what the panes show of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType

from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.source import Source
from schedtop.panes.header import HeaderPane
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.blame.pane import BlamePane
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.cpus.strips import CpuStripsPane
from schedtop.panes.scheduler.latency.over_time import OverTimePane
from schedtop.panes.scheduler.latency.pane import LatencyPane
from schedtop.panes.scheduler.queue.pane import QueuePane
from schedtop.panes.scheduler.short_lived.pane import ShortLivedPane
from schedtop.panes.scheduler.short_lived.text import command_lines, command_title, rows_of
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.slow_waits.text import wait_lines, wait_title
from schedtop.panes.scheduler.steal.pane import StealPane
from schedtop.panes.scheduler.tasks.pane import TasksPane
from schedtop.panes.time_pane import TimePane
from schedtop.ui.bars.filter import FilterBar
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.keys.bindings import KeyRow, in_bar_order, key
from schedtop.ui.layout import presets
from schedtop.ui.screens.attached import AttachedScreen
from schedtop.ui.screens.chooser import DIGITS, Choice, Chooser
from schedtop.ui.screens.dashboard.orders import grouping_of, next_blame, next_group, next_order, ordered, orders_of
from schedtop.ui.screens.dashboard.task_keys import TaskKeys
from schedtop.ui.screens.dashboard.timeline import Timeline, next_threshold, next_window
from schedtop.ui.screens.dashboard.verdict_text import verdict_lines, verdict_title
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.help.topics import topics_of
from schedtop.ui.screens.offcpu.screen import OffCpuScreen
from schedtop.ui.screens.text import TextScreen
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Verdict
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.keyed_table import KeyedTable

IN_FRONT = 6
"""How many keys stand before those of presets and panes."""


class Dashboard(TaskKeys):
    """Owns the History and the Timeline; hands a View to every pane when either changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("question_mark,f1", "help", "Help", "This help, beginning with the focused pane", shown=True),
        key("q,f10", "app.leave", "Quit", "Ends schedtop", shown=True),
        key("space", "freeze", "Freeze", "Freezes and thaws the screen; collecting goes on", shown=True),
        key("f,backslash,f4", "filter", "Filter", "By name, tid, tgid, CPU, cgroup or pid namespace", shown=True),
        key("s", "sort(1)", "Sort", "Next order of the tasks, or of the table that has the focus", shown=True),
        key("S", "sort(-1)", "Sort back", "The order before"),
        key("f6,F", "choose_order", "Sort by", "All orders of the table that has the focus", name="sort-by"),
        key("v", "verdict", "Verdict", "The verdict in full: what, how one knows, what to do", shown=True),
        key("g,f5", "group(1)", "Group", "By thread, process, cgroup, container, pid namespace", shown=True),
        key("G", "group(-1)", "Group back", "The grouping before"),
        key("w", "window", "Window", "The window of all numbers: 1 s, 10 s, 60 s", shown=True),
        key(
            "o",
            "offcpu",
            "Off-CPU",
            "What threads do without a CPU: who is blocked where, by stacks",
            shown=True,
        ),
        key("left,h,comma", "step(-1)", "Back", "While frozen: one interval back", name="step-back"),
        key("right,l,full_stop", "step(1)", "On", "While frozen: one interval on", name="step-on"),
        key(
            "shift+left,H,less_than_sign",
            "step(-10)",
            "Back 10",
            "While frozen: ten intervals back",
            name="step-back-10",
        ),
        key(
            "shift+right,L,greater_than_sign",
            "step(10)",
            "On 10",
            "While frozen: ten intervals on, at last to now",
            name="step-on-10",
        ),
        key("plus,equals_sign", "threshold(1)", "Threshold up", "Slow waits: a higher threshold, up to 10 s"),
        key("minus,underscore", "threshold(-1)", "Threshold down", "Slow waits: a lower threshold, down to 100 µs"),
        key("O", "measure", "Overhead", "Times the kernel programs: ns a switch in the header (costs a little itself)"),
        key(
            "escape",
            "back",
            "Leave",
            "One step back, never out: messages, the zoom, the selection, the filter go, one after the other",
            name="back",
        ),
    ]

    def __init__(
        self,
        source: Source,
        settings: ViewSettings,
        export_dir: Path,
        own_pid: int | None,
    ) -> None:
        super().__init__(
            (
                OverTimePane(id=presets.OVER_TIME),
                LatencyPane(id=presets.LATENCY),
                CpusPane(id=presets.CPUS),
                CpuStripsPane(id=presets.CPU_STRIPS),
                StealPane(id=presets.STEAL),
                QueuePane(id=presets.QUEUE),
                SlowWaitsPane(id=presets.SLOW_WAITS),
                BlamePane(id=presets.BLAME),
                TasksPane(own_pid, id=presets.TASKS),
                ShortLivedPane(id=presets.SHORT_LIVED),
            ),
            export_dir,
            source.host,
        )
        self.timeline = Timeline(settings)
        self.verdict: Verdict | None = None
        self.ended = False
        self.wanted_threshold_ns: int | None = None
        self._source = source
        self._draw_pending = False
        self._samples = False

    def on_mount(self, _event: events.Mount) -> None:
        self._show_keys()

    # What arrives.

    def add(self, frame: Frame) -> None:
        """Takes a new Frame. Frames that arrive together are drawn once."""
        self.live.append(frame)
        self.record(frame)
        self._request_draw()

    @property
    def stands_still(self) -> bool:
        """Whether what is shown does not follow what arrives."""
        return self.timeline.is_frozen

    @property
    def is_covered(self) -> bool:
        """Whether another screen hides the panes: they are drawn when it goes."""
        return any(isinstance(screen, AttachedScreen) for screen in self.app.screen_stack)

    @property
    def is_current(self) -> bool:
        """Whether it is to be painted: textual paints what is under a screen, and then all of that, too."""
        return super().is_current and not self.is_covered

    def on_screen_suspend(self) -> None:
        """Another screen comes over the panes."""
        self._sample_queues()

    def on_screen_resume(self) -> None:
        """Shows what has arrived while something was over the panes."""
        self._sample_queues()
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
            if not self.is_covered:
                self._show_header()
        else:
            self.show_view()

    # What is shown.

    def set_timeline(self, timeline: Timeline) -> None:
        """Shows another moment, or the same with other settings."""
        if timeline is not self.timeline:
            self.timeline = timeline
            self.show_view()

    def set_settings(self, settings: ViewSettings) -> None:
        """Shows the same moment with other settings."""
        self.set_timeline(self.timeline.with_settings(settings))

    def make_view(self) -> View | None:
        """The View of the moment, `None` while there is no Frame."""
        return self.timeline.view(self.live)

    def show_view(self) -> None:
        """Makes the View and hands it to every pane."""
        self.view = self.make_view()
        if self.view is not None and (task := self.task_screen) is not None:
            task.follow(self.view)
        if self.is_covered:
            # What changes under another screen would have all of that drawn anew.
            return
        self.verdict = judge(self.view) if self.view is not None else None
        self._show_header()
        if self.view is not None:
            self.set_cpus(len(self.view.frame.cpus.ids))
            lacks = self.view.frame.unavailable
            self.set_absent(frozenset(pane.id or "" for pane in self.panes if not lacks.keys().isdisjoint(pane.PARTS)))
            # Last pane first: the latency shows the group that is selected among the tasks.
            for pane in reversed(self.panes):
                if isinstance(pane, LatencyPane):
                    pane.group = self.query_one(TasksPane).selected_group
                pane.show(self.view)
            self.show_strip()

    def _show_header(self) -> None:
        self.query_one(HeaderPane).show(
            self.view,
            ended=self.ended,
            wanted_threshold_ns=self.wanted_threshold_ns,
            verdict=self.verdict,
            recording=self.recording_words,
        )

    def panes_arranged(self) -> None:
        self._sample_queues()

    def _sample_queues(self) -> None:
        """The run queues are sampled only while somebody looks at them, or they are recorded."""
        seen = not self.query_one(QueuePane).hidden and not self.is_covered
        wanted = seen or bool(self.recordings)
        if wanted != self._samples:
            self._samples = wanted
            self._source.set_sampling(wanted)

    def recordings_changed(self) -> None:
        self._sample_queues()
        self._show_keys()
        self._show_header()

    def _show_keys(self) -> None:
        """The key bar: the steps through time only while they do something."""
        frozen = self.timeline.is_frozen
        words = {"freeze": "Thaw"} if frozen else {}
        words |= {"record": "Stop rec"} if self.recordings else {}
        rows = in_bar_order(self.own_keys())
        keys = [(row.first_key, words.get(row.action, row.word), row.action) for row in rows]
        if frozen:
            steps = [row for row in self.own_keys() if row.name in ("step-back", "step-on")]
            keys.insert(3, (" ".join(row.first_key for row in steps), "Step", "step(-1)"))
        if self.recordings:
            keys.sort(key=lambda shown: shown[2] != "record")
        self.query_one(KeyBar).show((*keys[:IN_FRONT], *self.pane_keys, *keys[IN_FRONT:]))

    # Time.

    def action_freeze(self) -> None:
        """Freezes, or follows now again."""
        timeline = self.timeline
        self.set_timeline(timeline.thaw() if timeline.is_frozen else timeline.freeze(self.live))
        self._show_keys()

    def action_step(self, steps: int) -> None:
        """Moves the frozen moment."""
        if not self.timeline.is_frozen:
            self.notify("Space freezes the screen; then ← and → step through the past", timeout=4)
            return
        before = self.timeline.end_ns
        self.set_timeline(self.timeline.step(self.live, steps))
        if self.timeline.end_ns == before:
            history = self.timeline.frozen or self.live
            self.notify(f"the history begins here: {history.beginning}" if steps < 0 else "this is now", timeout=4)

    @on(TimePane.MomentChosen)
    def _moment_chosen(self, event: TimePane.MomentChosen) -> None:
        self.go_to(event.end_ns)

    def go_to(self, end_ns: int) -> None:
        """Stands still at the interval that ends then."""
        self.set_timeline(self.timeline.at(self.live, end_ns))
        self._show_keys()

    def action_window(self) -> None:
        """The next window."""
        settings = self.timeline.settings
        self.set_settings(replace(settings, window_ns=next_window(settings.window_ns)))

    # What is let through, and in which order.

    def action_sort(self, step: int) -> None:
        """The next order of the table that has the focus, else of the tasks."""
        self.set_settings(next_order(self.timeline.settings, self.current, step))

    @on(KeyedTable.SortRequested)
    def _sort_clicked(self, event: KeyedTable.SortRequested) -> None:
        self.set_settings(ordered(self.timeline.settings, event.table, event.sort))

    @on(CpusPane.SortRequested)
    def _cpu_sort_clicked(self, event: CpusPane.SortRequested) -> None:
        self.set_settings(replace(self.timeline.settings, cpu_sort=event.sort))

    @on(CpusPane.Chosen)
    def _cpus_chosen(self, event: CpusPane.Chosen) -> None:
        self.set_settings(replace(self.timeline.settings, selected_cpus=event.cpus))

    def action_group(self, step: int) -> None:
        """The next grouping. The source keeps histograms by group only while somebody looks at them."""
        settings = next_group(self.timeline.settings, step)
        self._source.set_grouping(grouping_of(settings, selected=False))
        self.set_settings(settings)

    @on(BlamePane.ModeRequested)
    def _blame_otherwise(self) -> None:
        self.set_settings(next_blame(self.timeline.settings))

    @on(KeyedTable.Opened)
    def _opened(self) -> None:
        self.action_look()

    @on(HeaderPane.VerdictClicked)
    def _verdict_clicked(self) -> None:
        self.action_verdict()

    @on(KeyedTable.Selected)
    def _selected(self) -> None:
        latency = self.query_one(LatencyPane)
        latency.group = self.query_one(TasksPane).selected_group
        self._source.set_grouping(grouping_of(self.timeline.settings, selected=latency.group is not None))
        latency.draw()

    @on(SlowWaitsPane.DetailsRequested)
    def _show_details(self, event: SlowWaitsPane.DetailsRequested) -> None:
        if self.view is not None:
            frame = self.view.frame
            lines = partial(wait_lines, event.row, frame.cgroups, len(frame.cpus.ids))
            self.app.push_screen(TextScreen(wait_title(event.row), lines))

    @on(ShortLivedPane.DetailsRequested)
    def _show_command(self, event: ShortLivedPane.DetailsRequested) -> None:
        if self.view is not None:
            frame, own = self.view.frame, rows_of(event.row, self.view.short_lived)
            lines = partial(command_lines, event.row, own, frame.interval_ns, frame.cgroups)
            self.app.push_screen(TextScreen(command_title(event.row, frame.interval_ns), lines))

    def action_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self.query_one(FilterBar).open(str(self.timeline.settings.filter))

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        if event.value != self.timeline.settings.filter:
            self.set_settings(replace(self.timeline.settings, filter=event.value))

    @on(FilterBar.Closed)
    def _filter_closed(self) -> None:
        self.current.focus(scroll_visible=False)

    def action_threshold(self, direction: int) -> None:
        """Asks the source for another threshold; it holds from its next interval on."""
        if len(self.live):
            current = self.wanted_threshold_ns or self.live.frames[-1].threshold_ns
            self.wanted_threshold_ns = next_threshold(current, direction)
            self._source.set_threshold(self.wanted_threshold_ns)
            self._show_header()

    def action_measure(self) -> None:
        """Has the kernel time our programs, or no longer."""
        measures = bool(len(self.live)) and self.live.frames[-1].overhead.bpf_ns is not None
        why = self.live.frames[-1].unavailable.get("overhead", "") if len(self.live) else ""
        if why and not measures:
            self.notify(why[:1].upper() + why[1:], severity="warning")
            return
        self._source.set_measuring(not measures)
        self.notify("The kernel times its BPF programs" if not measures else "The kernel programs are no longer timed")

    def action_offcpu(self) -> None:
        """Opens the screen of the time without a CPU, with the filter that holds and the task that is selected."""
        if self.on_demand.make_offcpu is None:
            why = f": {self.on_demand.why}" if self.on_demand.why else " needs the live kernel: here there is none"
            self.notify(f"off-CPU time{why}", severity="warning", markup=False)
            return
        tid = self.query_one(TasksPane).selected_tid
        make, wanted = self.on_demand.make_offcpu, self.timeline.settings.filter
        self.app.push_screen(OffCpuScreen(make, self.export_dir, wanted=wanted, tid=tid))

    def action_back(self) -> None:
        """Drops messages, else leaves the zoom, else drops the selection, else the filter."""
        if self.query("Toast"):
            self.app.clear_notifications()
        elif self.end_search():
            pass
        elif self.is_zoomed:
            self.action_zoom()
        elif isinstance(self.current, KeyedTable) and self.current.clear_selection():
            pass
        elif self.timeline.settings.selected_cpus:
            self.set_settings(replace(self.timeline.settings, selected_cpus=()))
        elif not (isinstance(self.current, CpusPane) and self.current.clear_cursor()):
            self.set_settings(replace(self.timeline.settings, filter=Filter()))

    # Around it.

    def action_verdict(self) -> None:
        """The verdict in full."""
        if (verdict := self.verdict) is not None:
            lines = partial(verdict_lines, verdict)
            self.app.push_screen(TextScreen(verdict_title(verdict), lines))

    def action_help(self) -> None:
        """The help, beginning with the pane that has the focus."""
        keys = [row for node, row in self.actions() if node is not self.search_target]
        topics = topics_of(self.panes, [*keys, *self.rows_of(Canvas)], self.pane_rows, self.live.host.notes)
        self.app.push_screen(HelpScreen(topics, self.current.SHORT or self.current.TITLE))

    def action_choose_order(self) -> None:
        """Opens the list of the orders of the pane that has the focus, else of the tasks."""
        whose, orders, now = orders_of(self.timeline.settings, self.current)
        choices = [Choice(words, [], name, digit) for digit, (name, words) in zip(DIGITS, orders.items(), strict=False)]
        chooser = Chooser(f"{whose}: order", choices, [*orders].index(now))
        self.app.push_screen(chooser, partial(self._order_chosen, self.current))

    def _order_chosen(self, pane: Pane, order: str | None) -> None:
        if order is not None:
            self.set_settings(ordered(self.timeline.settings, pane, order))

    def own_keys(self) -> list[KeyRow]:
        """The keys of the dashboard itself."""
        return [row for node, row in self.actions() if node is self]

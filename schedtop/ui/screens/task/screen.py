"""The task view: one task or process over the whole screen, with counts of its own while it is open."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Protocol, Self

from textual import events, on
from textual.binding import BindingType

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View
from schedtop.model.host import Host
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.slow_waits.text import wait_lines, wait_title
from schedtop.panes.task.past import Past, PastReader, Subject
from schedtop.panes.task.scene import Scene, Status
from schedtop.panes.task.threads import ThreadsPane
from schedtop.task import TaskFrame, TaskSource
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.keys.bindings import in_bar_order, key, together
from schedtop.ui.screens.closing import close
from schedtop.ui.screens.dashboard.export import ExportError
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.help.topics import topics_of
from schedtop.ui.screens.task.export import write_task
from schedtop.ui.screens.task.log import STRIP_NS, TaskLog
from schedtop.ui.screens.task.sections import SectionScreen
from schedtop.ui.screens.text import TextScreen
from schedtop.widgets.canvas import Canvas

WINDOWS_NS = (None, NS_PER_S, 10 * NS_PER_S, 60 * NS_PER_S)
"""What the key for the window chooses from; None: since the task view was opened, and all of the history."""


class Owner(Protocol):
    """The dashboard under the task view: time is its own."""

    export_dir: Path

    @property
    def stands_still(self) -> bool: ...
    def action_freeze(self) -> None: ...
    def action_step(self, steps: int) -> None: ...
    def open_task(self, subject: Subject) -> None: ...


class TaskScreen(SectionScreen):
    """Header, strip of states, sections, key bar. `follow` hands it what the dashboard shows, the feed its counts."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key(
            "escape",
            "back",
            "Close",
            "Leaves the zoom, else closes the task view: its kernel programs go",
            name="back",
            shown=True,
        ),
        key("q,f10", "back", "Close", "The same", name="quit"),
        key(
            "space",
            "freeze",
            "Freeze",
            "Freezes and thaws the task view and the dashboard; counting goes on",
            shown=True,
        ),
        key("w", "window", "Window", "Numbers since the task view was opened, or of 1 s, 10 s, 60 s", shown=True),
        key("x", "anew", "Anew", "Begins its counts anew", shown=True),
        key("e", "export", "Export", "Writes the task view as JSON, and the screen as SVG", shown=True),
        key("p", "process", "Process", "From a thread to its whole process", shown=True),
        key("question_mark,f1", "help", "Help", "This help", shown=True),
        key("left,h,comma", "step(-1)", "Back", "While frozen: the history one interval back", name="step-back"),
        key("right,l,full_stop", "step(1)", "On", "While frozen: the history one interval on", name="step-on"),
    ]

    def __init__(self, subject: Subject, source: TaskSource | None, owner: Owner, view: View) -> None:
        """`source`: not open yet; `None` if there is no live kernel. `view`: what the dashboard shows."""
        super().__init__(subject, _Attachment(source))
        self.counted = TaskLog()
        self.arrivals = 0
        self._source = source
        self._owner = owner
        self._view = view
        self._reader = PastReader(subject)
        self._past: Past | None = None
        self._window_ns: int | None = None
        self._held: TaskLog | None = None
        self._draw_pending = False

    def on_mount(self, _event: events.Mount) -> None:
        self._take_view(self._view)
        self.focus_section(self.sections[0])
        self._show_keys()

    # What arrives.

    def follow(self, view: View) -> None:
        """Takes what the dashboard shows now. It is drawn with the next counts, which come as often, if any come."""
        self._take_view(view)
        if self.status is not Status.COUNTING or self._owner.stands_still:
            self._request_draw()

    def arrived(self, item: TaskFrame) -> None:
        self.arrivals += 1
        self.counted.add(item)
        self._request_draw()

    def failed(self) -> None:
        self._show_keys()
        self._request_draw()

    def _take_view(self, view: View) -> None:
        self._view = view
        self._past = self._reader.read(view.series, self._window_ns)

    # What is shown.

    def _request_draw(self) -> None:
        if not self._draw_pending:
            self._draw_pending = True
            self.call_later(self._draw_now)

    def _draw_now(self) -> None:
        self._draw_pending = False
        if self.is_attached:
            self.show_scene()

    def show_scene(self) -> None:
        """Makes the Scene and hands it to the header and every section."""
        scene = self.scene()
        self.header.take(scene)
        for pane in (self.states, *self.sections):
            pane.take(scene)

    def scene(self) -> Scene:
        """What is to be shown now: while the screen is frozen, its counts are those of that moment."""
        log = self.counted if self._held is None else self._held
        counts = log.counts(self._window_ns)
        return Scene(
            subject=self.subject,
            status=self.status,
            past=self._past,
            counts=counts,
            strip=log.strip(self._window_ns),
            strip_ns=STRIP_NS,
            window_ns=self._window_ns,
            threshold_ns=self._view.frame.threshold_ns,
            reason=self.failure,
            frozen=self._owner.stands_still,
            anew=log.is_anew,
        )

    @property
    def status(self) -> Status:
        """How it is with the counts."""
        counts = self.counted.counts(None)
        if self._source is None:
            return Status.RECORDED
        if counts is not None and counts.ended:
            return Status.ENDED
        if self.failure:
            return Status.FAILED
        return Status.COUNTING if counts is not None else Status.ATTACHING

    def _show_keys(self) -> None:
        words = {"freeze": "Thaw" if self._owner.stands_still else "Freeze" if self._source is not None else "Play"}
        useless = set() if self._has_process else {"process"}
        # Without counts there are none to begin anew.
        useless |= {"anew"} if self.status in (Status.RECORDED, Status.FAILED) else set()
        shown = [row for node, row in self.actions() if node is self and row.action not in useless]
        rows = in_bar_order(shown)
        keys = [(row.first_key, words.get(row.action, row.word), row.action) for row in rows]
        numbers = (f"1-{self.sections[-1].NUMBER}", "Section", "next_section(1)")
        self.query_one(KeyBar).show(
            (*keys[:1], numbers, *keys[1:], (together(self.app, {"zoom": "z"}), "Zoom", "zoom"))
        )

    @property
    def _has_process(self) -> bool:
        return not self.subject.is_process and bool(self.subject.tgid)

    # Time.

    def action_freeze(self) -> None:
        """Freezes or thaws the dashboard, and with it the counts."""
        self._owner.action_freeze()
        self._held = self.counted.copy() if self._owner.stands_still else None
        self._show_keys()
        self.show_scene()

    def action_step(self, steps: int) -> None:
        """Steps through the dashboard's history; the counts stay as they are."""
        self._owner.action_step(steps)

    def action_window(self) -> None:
        """The next of WINDOWS_NS."""
        self._window_ns = WINDOWS_NS[(WINDOWS_NS.index(self._window_ns) + 1) % len(WINDOWS_NS)]
        self._take_view(self._view)
        self.show_scene()

    def action_anew(self) -> None:
        """Begins the counts anew."""
        if self._source is None:
            self.notify("a recording has no counts of its own to begin anew", timeout=4)
            return
        self.counted.begin_anew()
        self._held = None if self._held is None else self.counted.copy()
        self.notify("its counts begin anew", timeout=2)
        self.show_scene()

    # Around it.

    def action_back(self) -> None:
        """Drops messages, else leaves the zoom, else closes."""
        if self.query("Toast"):
            self.app.clear_notifications()
        elif self.end_search():
            pass
        elif self.is_zoomed:
            self.action_zoom()
        else:
            close(self)

    def action_process(self) -> None:
        """To the whole process of the thread."""
        if self._has_process:
            name = self._process_name() or self.subject.name
            self._open(Subject(0, self.subject.tgid, name))

    def _process_name(self) -> str:
        """What its process calls itself, if the task view knows."""
        counts = self.counted.counts(None)
        return counts.process if counts is not None else ""

    @on(ThreadsPane.Chosen)
    def _thread_chosen(self, event: ThreadsPane.Chosen) -> None:
        self._open(event.subject)

    def _open(self, subject: Subject) -> None:
        """Another task view in place of this one: one at a time is attached."""
        close(self)
        self._owner.open_task(subject)

    @on(SlowWaitsPane.DetailsRequested)
    def _show_details(self, event: SlowWaitsPane.DetailsRequested) -> None:
        event.stop()
        if self._past is not None:
            lines = partial(wait_lines, event.row, self._past.cgroups, self._past.cpus)
            self.app.push_screen(TextScreen(wait_title(event.row), lines))

    def action_help(self) -> None:
        """The help, beginning with the section that has the focus."""
        keys = [row for node, row in self.actions() if node is not self.search_target]
        topics = topics_of((self.states, *self.sections), [*keys, *self.rows_of(Canvas)], self.pane_rows, ())
        self.app.push_screen(HelpScreen(topics, self.current.SHORT or self.current.TITLE))

    async def action_export(self) -> None:
        """Writes what is shown to files, without holding up the screen."""
        self.app.clear_notifications()
        await self.query("Toast").remove()
        self.call_after_refresh(self._export_now)

    def _export_now(self) -> None:
        svg = self.app.export_screenshot(title="schedtop")
        self.run_worker(self._export(self.scene(), svg), group="export")

    def _host(self) -> Host | None:
        """Where the counts are from, once there are any."""
        return self._source.host if self._source is not None and self.arrivals else None

    async def _export(self, scene: Scene, svg: str) -> None:
        try:
            paths = await asyncio.to_thread(write_task, scene, self._host(), self._view, svg, self._owner.export_dir)
        except ExportError as problem:
            self.notify(f"not exported: {problem}", severity="error", timeout=10, markup=False)
        else:
            self.notify("\n".join(map(str, paths)), title="Exported", timeout=8, markup=False)


class _Attachment:
    """A source as the feed takes it; without one nothing comes, until the screen goes."""

    def __init__(self, source: TaskSource | None) -> None:
        self._source = source

    def __enter__(self) -> Self:
        if self._source is not None:
            self._source.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        source, self._source = self._source, None
        if source is not None:
            source.__exit__(kind, error, trace)

    def frames(self, stop: threading.Event) -> Iterator[TaskFrame]:
        """What the task view counts; after the end of the task, or without a source, nothing more."""
        if self._source is not None:
            yield from self._source.frames(stop)
            self.__exit__(None, None, None)  # nothing runs in the kernel for a task that has gone
        stop.wait()

"""The task view: one task or process over the whole screen, with counts of its own while it is open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Protocol, Self

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType

from schedtop.history.view import View
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.slow_waits.text import wait_lines, wait_title
from schedtop.panes.task.head import TaskHeader
from schedtop.panes.task.past import Subject
from schedtop.panes.task.scene import Scene, Status
from schedtop.panes.task.states import StatePane
from schedtop.panes.task.threads import ThreadsPane
from schedtop.path.subject import PathSubject
from schedtop.task import TaskFrame, TaskSource
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.bars.too_small import TooSmall
from schedtop.ui.keys.bindings import in_bar_order, key, together
from schedtop.ui.screens.action_list import ActionList
from schedtop.ui.screens.attached import AttachedScreen
from schedtop.ui.screens.closing import close
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.help.topics import topics_of
from schedtop.ui.screens.search import Search
from schedtop.ui.screens.task.exporter import Exported, TaskExporter
from schedtop.ui.screens.task.scenes import Scenes
from schedtop.ui.screens.task.sections import Sections
from schedtop.ui.screens.text import TextScreen
from schedtop.widgets.parts import keys_of, made_of


class Owner(Protocol):
    """The dashboard under the task view: time is its own."""

    export_dir: Path

    @property
    def stands_still(self) -> bool: ...
    def freeze(self) -> None: ...
    def step(self, steps: int) -> None: ...
    def open_task(self, subject: Subject) -> None: ...
    @property
    def open_path(self) -> Callable[[PathSubject], None]: ...


PARTS = {"sections": Sections, "exporter": TaskExporter, "search": Search, "action_list": ActionList}

ORDER = ("back", "quit", "freeze", "window", "anew", "export", "process", "path", "help", "step-back", "step-on")
"""The first keys of the help, by their names; those of the parts follow."""

KEYS: Sequence[BindingType] = (
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
    key("x", "anew", "Reset", "Starts its counts over", shown=True),
    key("p", "process", "Process", "From a thread to its whole process", shown=True),
    key("P", "path", "Path", "Its path: what it waits for, across tasks; in Threads of the selected one", shown=True),
    key("question_mark,f1", "help", "Help", "This help", shown=True),
    key("left,h,comma", "step(-1)", "Back", "While frozen: the history one interval back", name="step-back"),
    key("right,l,full_stop", "step(1)", "On", "While frozen: the history one interval on", name="step-on"),
)


@made_of(PARTS)
class TaskScreen(AttachedScreen[TaskFrame]):
    """Header, strip of states, sections, key bar. `follow` hands it what the dashboard shows, the feed its counts."""

    DEFAULT_CSS = """
    TaskScreen { layout: vertical; }
    TaskScreen #task-states { height: 9; }
    TaskScreen.-low #task-states { height: 5; }
    TaskScreen.-medium #task-states, TaskScreen.-wide #task-states { height: 10; }
    TaskScreen #task-sections { height: 1fr; layout: grid; grid-size: 1 1; grid-gutter: 0; }
    TaskScreen #task-sections > Pane { display: none; width: 100%; height: 100%; }
    TaskScreen #task-sections > Pane.current { display: block; }
    TaskScreen.-medium #task-sections { grid-size: 2 3; }
    TaskScreen.-wide #task-sections { grid-size: 3 2; }
    TaskScreen.-wide.-process #task-sections { grid-size: 3 3; grid-rows: 4fr 4fr 3fr; }
    TaskScreen.-medium #task-sections > Pane { display: block; }
    TaskScreen.-wide #task-sections > Pane { display: block; }
    TaskScreen.-medium #task-sections > .aside { display: none; }
    TaskScreen.-wide #task-threads { column-span: 3; }
    TaskScreen.-recorded.-medium #task-states, TaskScreen.-recorded.-wide #task-states { height: 7; }
    TaskScreen.-recorded.-medium #task-sections { grid-size: 2 2; grid-rows: 4fr 5fr; }
    TaskScreen.-recorded.-wide #task-sections { grid-size: 2 2; grid-rows: 4fr 5fr; }
    TaskScreen.-recorded.-wide.-process #task-sections { grid-size: 2 3; grid-rows: 4fr 4fr 3fr; }
    TaskScreen.-recorded #task-slow { column-span: 2; }
    TaskScreen.-recorded.-process #task-slow { column-span: 1; }
    TaskScreen.-recorded.-wide #task-threads { column-span: 2; }
    TaskScreen.-recorded #task-sections.zoomed > Pane { column-span: 1; }
    TaskScreen.-recorded.-medium #task-sections.zoomed { grid-size: 1 1; grid-rows: 1fr; }
    TaskScreen.-recorded.-wide #task-sections.zoomed { grid-size: 1 1; grid-rows: 1fr; }
    TaskScreen #task-sections.zoomed { grid-size: 1 1; }
    TaskScreen #task-sections.zoomed > Pane { display: none; column-span: 1; }
    TaskScreen #task-sections.zoomed > Pane.current { display: block; }
    TaskScreen #task-too-small { display: none; width: 1fr; height: 1fr; content-align: center middle; }
    TaskScreen.-tiny #task-too-small { display: block; text-align: center; }
    TaskScreen.-tiny Canvas, TaskScreen.-tiny #task-sections { display: none; }
    """

    AUTO_FOCUS = None
    ESCAPE_TO_MINIMIZE = False

    BINDINGS: ClassVar[list[BindingType]] = keys_of(PARTS, KEYS, ORDER)

    def __init__(self, subject: Subject, source: TaskSource | None, owner: Owner, view: View) -> None:
        """`source`: not open yet; `None` if there is no live kernel. `view`: what the dashboard shows."""
        super().__init__(_Attachment(source))
        self.subject = subject
        self.scenes = Scenes(subject, view, counts=source is not None)
        self.header = TaskHeader(id="task-header")
        self.states = StatePane(id="task-states")
        self.sections = Sections(self, subject, self.show_scene, counts=source is not None)
        self.search = Search(self)
        self.action_list = ActionList(self, self.search.target)
        self.exporter = TaskExporter(self, self._exported, owner.export_dir)
        self._source = source
        if source is not None:
            source.take_host(view.series)
        self._owner = owner
        self._draw_pending = False

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.states
        yield self.sections.grid
        yield KeyBar(id="task-keys")
        yield TooSmall(id="task-too-small")

    def on_mount(self, _event: events.Mount) -> None:
        self.sections.focus(self.sections.every[0])
        self._show_keys()

    def on_resize(self, event: events.Resize) -> None:
        self.query_one(TooSmall).tell(event.size)
        self.sections.fit(event.size)

    # What arrives.

    def follow(self, view: View) -> None:
        """Takes what the dashboard shows now. It is drawn with the next counts, which come as often, if any come."""
        self.scenes.take_view(view)
        if self._source is not None:
            self._source.take_host(view.series)
        if self.scenes.status(self.failure) is not Status.COUNTING or self._owner.stands_still:
            self._request_draw()

    def arrived(self, item: TaskFrame) -> None:
        self.scenes.add(item)
        self._request_draw()

    def failed(self) -> None:
        self._show_keys()
        self._request_draw()

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
        for pane in (self.states, *self.sections.every):
            pane.show(scene)

    def scene(self) -> Scene:
        """What is to be shown now."""
        return self.scenes.scene(self.failure, frozen=self._owner.stands_still)

    def _show_keys(self) -> None:
        words = {"freeze": "Thaw" if self._owner.stands_still else "Freeze" if self._source is not None else "Play"}
        useless = set() if self.scenes.has_process else {"process"}
        # Without counts there are none to begin anew.
        useless |= {"anew"} if self.scenes.status(self.failure) in (Status.RECORDED, Status.FAILED) else set()
        shown = [row for row in self.action_list.of_screen() if row.action not in useless]
        rows = in_bar_order(shown)
        keys = [(row.first_key, words.get(row.action, row.word), row.action) for row in rows]
        numbers = (f"1-{self.sections.every[-1].NUMBER}", "Section", "next_section(1)")
        self.query_one(KeyBar).show(
            (*keys[:1], numbers, *keys[1:], (together(self.app, {"zoom": "z"}), "Zoom", "zoom"))
        )

    # Time.

    def action_freeze(self) -> None:
        """Freezes or thaws the dashboard, and with it the counts."""
        self._owner.freeze()
        self.scenes.hold(self._owner.stands_still)
        self._show_keys()
        self.show_scene()

    def action_step(self, steps: int) -> None:
        """Steps through the dashboard's history; the counts stay as they are."""
        self._owner.step(steps)

    def action_window(self) -> None:
        """The next window."""
        self.scenes.next_window()
        self.show_scene()

    def action_anew(self) -> None:
        """Begins the counts anew."""
        if self._source is None:
            self.notify("a recording has no counts of its own to start over", timeout=4)
            return
        self.scenes.begin_anew()
        self.notify("its counts start over", timeout=2)
        self.show_scene()

    # Around it.

    def action_back(self) -> None:
        """Drops messages, else leaves the zoom, else closes."""
        if self.query("Toast"):
            self.app.clear_notifications()
        elif self.search.end():
            pass
        elif self.sections.is_zoomed:
            self.sections.action_zoom()
        else:
            close(self)

    def action_process(self) -> None:
        """To the whole process of the thread."""
        if self.scenes.has_process:
            self._open(Subject(0, self.subject.tgid, self.scenes.process_name))

    def action_path(self) -> None:
        """Opens its path; with the focus on the threads, that of the selected one."""
        subject, current = self.subject, self.sections.current
        if isinstance(current, ThreadsPane) and (chosen := current.selected_subject) is not None:
            subject = chosen
        self._owner.open_path(PathSubject(subject.tid, subject.tgid, subject.name or self.scenes.process_name))

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
        if (past := self.scenes.past) is not None:
            lines = partial(wait_lines, event.row, past.cgroups, past.cpus)
            self.app.push_screen(TextScreen(wait_title(event.row), lines))

    def action_help(self) -> None:
        """The help, beginning with the section that has the focus."""
        panes, current = (self.states, *self.sections.every), self.sections.current
        topics = topics_of(panes, self.action_list.for_help(), self.action_list.of_pane, ())
        self.app.push_screen(HelpScreen(topics, current.SHORT or current.TITLE))

    def _exported(self) -> Exported:
        host = self._source.host if self._source is not None and self.scenes.arrivals else None
        return self.scene(), host, self.scenes.view


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

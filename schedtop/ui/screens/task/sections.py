"""The arrangement of the task view: its sections, which of them are seen at which size, which has the focus."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.widgets import Static

from schedtop.panes.task.head import TaskHeader
from schedtop.panes.task.overview import OverviewPane
from schedtop.panes.task.past import Subject
from schedtop.panes.task.peers import WhoPane
from schedtop.panes.task.scene import TaskPane
from schedtop.panes.task.slow_waits import TaskSlowWaitsPane
from schedtop.panes.task.states import StatePane
from schedtop.panes.task.syscalls import SyscallsPane
from schedtop.panes.task.threads import ThreadsPane
from schedtop.panes.task.traffic import TrafficPane
from schedtop.panes.task.waits import TaskWaitsPane
from schedtop.task import TaskFrame
from schedtop.ui.bars.keys import KeyBar
from schedtop.ui.feed import ItemSource
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.attached import AttachedScreen
from schedtop.ui.terminal.terminal import LEAST_COLUMNS, LEAST_LINES

CLASSES = ("-tiny", "-low", "-medium", "-wide")

SECTIONS = (OverviewPane, SyscallsPane, TaskWaitsPane, WhoPane, TrafficPane, TaskSlowWaitsPane, ThreadsPane)
"""The last one only of a process."""


class SectionScreen(AttachedScreen[TaskFrame]):
    """Header, strip of states, sections, key bar. What is not seen is not drawn, but named in a border."""

    DEFAULT_CSS = """
    SectionScreen { layout: vertical; }
    SectionScreen #task-states { height: 9; }
    SectionScreen.-low #task-states { height: 5; }
    SectionScreen.-medium #task-states, SectionScreen.-wide #task-states { height: 10; }
    SectionScreen #task-sections { height: 1fr; layout: grid; grid-size: 1 1; grid-gutter: 0; }
    SectionScreen #task-sections > TaskPane { display: none; width: 100%; height: 100%; }
    SectionScreen #task-sections > TaskPane.current { display: block; }
    SectionScreen.-medium #task-sections { grid-size: 2 3; }
    SectionScreen.-wide #task-sections { grid-size: 3 2; }
    SectionScreen.-wide.-process #task-sections { grid-size: 3 3; grid-rows: 4fr 4fr 3fr; }
    SectionScreen.-medium #task-sections > TaskPane { display: block; }
    SectionScreen.-wide #task-sections > TaskPane { display: block; }
    SectionScreen.-medium #task-sections > .aside { display: none; }
    SectionScreen.-wide #task-threads { column-span: 3; }
    SectionScreen #task-sections.zoomed { grid-size: 1 1; }
    SectionScreen #task-sections.zoomed > TaskPane { display: none; column-span: 1; }
    SectionScreen #task-sections.zoomed > TaskPane.current { display: block; }
    SectionScreen #task-too-small { display: none; width: 1fr; height: 1fr; content-align: center middle; }
    SectionScreen.-tiny #task-too-small { display: block; text-align: center; }
    SectionScreen.-tiny Canvas, SectionScreen.-tiny #task-sections { display: none; }
    """

    AUTO_FOCUS = None
    ESCAPE_TO_MINIMIZE = False

    BINDINGS: ClassVar[list[BindingType]] = [
        key("z", "zoom", "Zoom", "The focused section alone, and back"),
        key("enter", "zoom", "Zoom", "The same", name="open"),
        *(
            key(
                str(pane.NUMBER),
                f"section({pane.NUMBER})",
                pane.TITLE,
                f"To {pane.TITLE}",
                name=f"section-{pane.NUMBER}",
            )
            for pane in SECTIONS
        ),
        key("tab", "next_section(1)", "Next section", "To the next section", name="next-pane"),
        key("shift+tab", "next_section(-1)", "Section before", "To the section before", name="pane-before"),
    ]

    def __init__(self, subject: Subject, source: AbstractContextManager[ItemSource[TaskFrame]]) -> None:
        super().__init__(source)
        self.subject = subject
        self.header = TaskHeader(id="task-header")
        self.states = StatePane(id="task-states")
        self.sections: tuple[TaskPane, ...] = (
            OverviewPane(id="task-overview"),
            SyscallsPane(id="task-syscalls"),
            TaskWaitsPane(id="task-waits"),
            WhoPane(id="task-who"),
            TrafficPane(id="task-io"),
            TaskSlowWaitsPane(id="task-slow"),
            *((ThreadsPane(id="task-threads"),) if subject.is_process else ()),
        )
        self.set_class(subject.is_process, "-process")
        self._grid = Container(*self.sections, id="task-sections")
        self._too_small = Static(id="task-too-small", markup=False)

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.states
        yield self._grid
        yield KeyBar(id="task-keys")
        yield self._too_small

    def show_scene(self) -> None:
        """Hands the sections what they show."""
        raise NotImplementedError

    @property
    def is_zoomed(self) -> bool:
        """Whether one section is alone on the screen."""
        return self._grid.has_class("zoomed")

    def on_resize(self, event: events.Resize) -> None:
        columns, lines = event.size
        wanted = task_classes(columns, lines)
        for name in CLASSES:
            self.set_class(name in wanted, name)
        self._too_small.update(
            f"the terminal is too small: {columns}x{lines}\nschedtop needs {LEAST_COLUMNS}x{LEAST_LINES}"
        )
        self.call_after_refresh(self._arranged)

    @property
    def current(self) -> TaskPane:
        """The section that had the focus last."""
        return next((pane for pane in self.sections if pane.has_class("current")), self.sections[0])

    def focus_section(self, pane: TaskPane) -> None:
        """Gives a section the focus, and the place of the others where there is one only."""
        for other in self.sections:
            other.set_class(other is pane, "current")
        # Of a process there is one more section than places: the first and the last share one.
        first, last = self.sections[0], self.sections[-1]
        if self.subject.is_process and pane in (first, last):
            first.set_class(pane is not first, "aside")
            last.set_class(pane is first, "aside")
        pane.focus(scroll_visible=False)
        self.call_after_refresh(self._arranged)

    def _arranged(self) -> None:
        """Names the sections that are not seen, and draws those that are."""
        hidden = [pane for pane in self.sections if not pane.display]
        words = " ".join(f"{pane.NUMBER} {pane.SHORT or pane.TITLE}" for pane in hidden)
        for pane in self.sections:
            pane.hint = words if pane is self.current else ""
        self.show_scene()
        if self.focused is None:
            self.current.focus(scroll_visible=False)

    def action_section(self, number: int) -> None:
        """To the section with this number."""
        for pane in self.sections:
            if number == pane.NUMBER:
                self.focus_section(pane)

    def action_next_section(self, step: int) -> None:
        """To the section after (or before) the current one."""
        self.focus_section(self.sections[(self.sections.index(self.current) + step) % len(self.sections)])

    def action_zoom(self) -> None:
        """Shows the current section alone, or all again."""
        self._grid.toggle_class("zoomed")
        self.focus_section(self.current)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, TaskPane) and event.widget in self.sections and event.widget is not self.current:
            self.focus_section(event.widget)


def task_classes(columns: int, lines: int) -> set[str]:
    """Which of CLASSES hold at a size of the terminal."""
    if columns < LEAST_COLUMNS or lines < LEAST_LINES:
        return {"-tiny"}
    if columns >= 150 and lines >= 44:
        return {"-wide"}
    if columns >= 100 and lines >= 36:
        return {"-medium"}
    return {"-low"} if lines < 22 else set()

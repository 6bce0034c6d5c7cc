"""The arrangement of the task view: its sections, which of them are seen at which size, which has the focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.containers import Container
from textual.geometry import Size
from textual.screen import Screen

from schedtop.panes.pane import Pane
from schedtop.panes.task.overview import OverviewPane
from schedtop.panes.task.past import Subject
from schedtop.panes.task.peers import PeersPane
from schedtop.panes.task.scene import Scene
from schedtop.panes.task.slow_waits import TaskSlowWaitsPane
from schedtop.panes.task.syscalls import SyscallsPane
from schedtop.panes.task.threads import ThreadsPane
from schedtop.panes.task.traffic import TrafficPane
from schedtop.panes.task.waits import TaskWaitsPane
from schedtop.ui.keys.bindings import key
from schedtop.ui.terminal.terminal import LEAST_COLUMNS, LEAST_LINES

CLASSES = ("-tiny", "-low", "-medium", "-wide")

SECTIONS = (OverviewPane, SyscallsPane, TaskWaitsPane, PeersPane, TrafficPane, TaskSlowWaitsPane, ThreadsPane)
"""The last one only of a process."""

RECORDED = (OverviewPane, PeersPane, TaskSlowWaitsPane)
"""What a recording tells of a thread; of a process also its waits, and its threads."""


class Sections:
    """The sections of a task view: what is not seen is not drawn, but named in a border."""

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

    def __init__(self, screen: Screen[Any], subject: Subject, changed: Callable[[], None], *, counts: bool) -> None:
        """`changed` is called when other sections may be seen than before; `counts`: there is a live kernel to ask."""
        every: tuple[Pane[Scene], ...] = (
            OverviewPane(id="task-overview"),
            SyscallsPane(id="task-syscalls"),
            TaskWaitsPane(id="task-waits"),
            PeersPane(id="task-peers"),
            TrafficPane(id="task-io"),
            TaskSlowWaitsPane(id="task-slow"),
            *((ThreadsPane(id="task-threads"),) if subject.is_process else ()),
        )
        told = (*RECORDED, TaskWaitsPane, ThreadsPane) if subject.is_process else RECORDED
        self.every = every if counts else tuple(pane for pane in every if isinstance(pane, told))
        self.grid = Container(*self.every, id="task-sections")
        self._screen = screen
        self._is_process = subject.is_process
        self._changed = changed
        screen.set_class(subject.is_process, "-process")
        screen.set_class(not counts, "-recorded")

    @property
    def is_zoomed(self) -> bool:
        """Whether one section is alone on the screen."""
        return self.grid.has_class("zoomed")

    def fit(self, size: Size) -> None:
        """Shows the sections that there is room for in a terminal."""
        wanted = task_classes(size.width, size.height)
        for name in CLASSES:
            self._screen.set_class(name in wanted, name)
        self._screen.call_after_refresh(self._arranged)

    @property
    def current(self) -> Pane[Scene]:
        """The section that had the focus last."""
        return next((pane for pane in self.every if pane.has_class("current")), self.every[0])

    def focus(self, pane: Pane[Scene]) -> None:
        """Gives a section the focus, and the place of the others where there is one only."""
        for other in self.every:
            other.set_class(other is pane, "current")
        # Of a process there is one more section than places: the first and the last share one.
        first, last = self.every[0], self.every[-1]
        if self._is_process and pane in (first, last):
            first.set_class(pane is not first, "aside")
            last.set_class(pane is first, "aside")
        pane.focus(scroll_visible=False)
        self._screen.call_after_refresh(self._arranged)

    def _arranged(self) -> None:
        """Names the sections that are not seen, and draws those that are."""
        hidden = [pane for pane in self.every if not pane.display]
        words = " ".join(f"{pane.NUMBER} {pane.SHORT or pane.TITLE}" for pane in hidden)
        for pane in self.every:
            pane.hint = words if pane is self.current else ""
        self._changed()
        if self._screen.focused is None:
            self.current.focus(scroll_visible=False)

    def action_section(self, number: int) -> None:
        """To the section with this number."""
        for pane in self.every:
            if number == pane.NUMBER:
                self.focus(pane)

    def action_next_section(self, step: int) -> None:
        """To the section after (or before) the current one."""
        self.focus(self.every[(self.every.index(self.current) + step) % len(self.every)])

    def action_zoom(self) -> None:
        """Shows the current section alone, or all again."""
        self.grid.toggle_class("zoomed")
        self.focus(self.current)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """A click focuses, too."""
        if isinstance(event.widget, Pane) and event.widget in self.every and event.widget is not self.current:
            self.focus(event.widget)


def task_classes(columns: int, lines: int) -> set[str]:
    """Which of CLASSES hold at a size of the terminal."""
    if columns < LEAST_COLUMNS or lines < LEAST_LINES:
        return {"-tiny"}
    if columns >= 150 and lines >= 44:
        return {"-wide"}
    if columns >= 100 and lines >= 36:
        return {"-medium"}
    return {"-low"} if lines < 22 else set()

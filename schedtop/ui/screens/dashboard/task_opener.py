"""Enter: from the selected row to the task view on its task or process; `a`: what all tasks do, and from there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.panes.task.past import Subject
from schedtop.path.subject import PathSubject
from schedtop.ui.keys.bindings import key
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.clock import Clock
from schedtop.ui.screens.dashboard.chosen import chosen_subject
from schedtop.ui.screens.dashboard.pane_layout import PaneLayout
from schedtop.ui.screens.dashboard.shown import Shown

if TYPE_CHECKING:
    from schedtop.ui.screens.task.screen import TaskScreen


class TaskOpener:
    """Opens the task view on what is selected, with counts of its own if `on_demand` has them.

    It is the task view's owner: time is the dashboard's.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        key(
            "enter",
            "look",
            "Task",
            "The task view on the selected task, process, or victim; else the zoom",
            name="open",
            shown=True,
        ),
        key("a", "activity", "Activity", "What all tasks do: system calls, files, memory, network", shown=True),
    ]

    def __init__(
        self,
        screen: Screen[Any],
        shown: Shown,
        layout: PaneLayout,
        clock: Clock,
        on_demand: OnDemand,
        export_dir: Path,
        *,
        open_path: Callable[[PathSubject], None],
    ) -> None:
        self.export_dir = export_dir
        self.open_path = open_path
        self._screen = screen
        self._shown = shown
        self._layout = layout
        self._clock = clock
        self._on_demand = on_demand
        self._opened: list[TaskScreen] = []

    def action_look(self) -> None:
        """The task view on what is selected, the zoom where nothing is."""
        subject = chosen_subject(self._layout.current, self._shown.view)
        if subject is None:
            self._layout.zoom()
        elif isinstance(subject, str):
            self._screen.notify(subject, timeout=4, markup=False)
        else:
            self.open_task(subject)

    def on_keyed_table_opened(self) -> None:
        """A row was clicked twice."""
        self.action_look()

    def open_task(self, subject: Subject) -> None:
        """Shows the task view; its kernel programs come and go with it."""
        if self._shown.view is None:
            return
        if self._on_demand.why:
            self._screen.notify(f"the task view: {self._on_demand.why}", severity="warning", markup=False)
            return
        make = self._on_demand.make_task
        number = subject.tgid if subject.is_process else subject.tid
        source = make(number, subject.is_process) if make is not None else None
        # Late: a start need not wait for the modules of the task view, nor hold them.
        from schedtop.ui.screens.task.screen import TaskScreen

        screen = TaskScreen(subject, source, self, self._shown.view)
        self._screen.app.push_screen(screen)
        self._opened.append(screen)

    def action_activity(self) -> None:
        """Opens the activity screen, with the filter that holds."""
        make, why = self._on_demand.make_activity, self._on_demand.why
        if make is None:
            words = f": {why}" if why else " needs the live kernel: here there is none"
            self._screen.notify(f"activity{words}", severity="warning", markup=False)
            return
        # Late: as above.
        from schedtop.ui.screens.activity.screen import ActivityScreen

        wanted = self._shown.settings.filter
        self._screen.app.push_screen(ActivityScreen(make, self.open_task, self.open_path, wanted=wanted))

    @property
    def task_screen(self) -> TaskScreen | None:
        """The task view that is over the panes, `None` if there is none."""
        over = self._screen.app.screen_stack
        self._opened = [screen for screen in self._opened if screen in over]
        return self._opened[-1] if self._opened else None

    @property
    def stands_still(self) -> bool:
        """Whether what is shown does not follow what arrives."""
        return self._clock.stands_still

    def freeze(self) -> None:
        """Freezes or thaws what is shown."""
        self._clock.action_freeze()

    def step(self, steps: int) -> None:
        """Moves the frozen moment."""
        self._clock.action_step(steps)

"""Enter: from the selected row to the lens on its task or process."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from schedtop.panes.blame import BlamePane
from schedtop.panes.lens.past import Subject
from schedtop.panes.pane import Pane
from schedtop.panes.slow_waits import SlowWaitsPane
from schedtop.panes.tasks import TasksPane
from schedtop.rows import Rows, text
from schedtop.ui.bindings import key
from schedtop.ui.lens_screen import LensScreen
from schedtop.ui.recording_keys import RecordingKeys
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import steady

NEITHER = "the lens is for tasks and processes: g groups by thread or process"


class LensKeys(RecordingKeys):
    """Panes whose selected row can be looked at alone, with counts of its own if `on_demand` has a lens."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key(
            "enter", "look", "Lens", "The task lens on the selected task, process, or victim; else the zoom", shown=True
        ),
    ]

    def action_look(self) -> None:
        """The lens on what is selected, the zoom where nothing is."""
        subject = chosen_subject(self.current, self.view.settings.group if self.view else "thread")
        if subject is None:
            self.action_zoom()
        elif isinstance(subject, str):
            self.notify(subject, timeout=4, markup=False)
        else:
            self.open_lens(subject)

    def open_lens(self, subject: Subject) -> None:
        """Shows the lens; its kernel programs come and go with it."""
        if self.view is None:
            return
        make = self.on_demand.make_lens
        number = subject.tgid if subject.is_process else subject.tid
        source = make(number, subject.is_process) if make is not None else None
        self.app.push_screen(LensScreen(subject, source, self, self.view))

    @property
    def lens(self) -> LensScreen | None:
        """The lens that is over the panes, `None` if there is none."""
        over = (screen for screen in reversed(self.app.screen_stack) if isinstance(screen, LensScreen))
        return next(over, None)

    @property
    def stands_still(self) -> bool:
        """Whether what is shown does not follow what arrives."""
        raise NotImplementedError

    def action_freeze(self) -> None:
        """Freezes or thaws what is shown."""
        raise NotImplementedError

    def action_step(self, steps: int) -> None:
        """Moves the frozen moment."""
        raise NotImplementedError


def chosen_subject(pane: Pane, kind: str) -> Subject | str | None:
    """Whom the selected row of a pane is about; a sentence if it is no task or process; `None` without a selection.

    `kind` is how tasks and pairs are grouped, one of GROUPS.
    """
    row = pane.selected_row if isinstance(pane, KeyedTable) else None
    if row is None:
        return None
    if isinstance(pane, SlowWaitsPane):
        return Subject(int(row["tid"]), int(row["tgid"]), _name(row["comm"]))
    if not isinstance(pane, TasksPane | BlamePane):
        return None
    if kind not in ("thread", "process"):
        return NEITHER
    if isinstance(pane, BlamePane):
        return _victim(pane, int(row["victim_id"]), _name(row["victim_name"]), kind)
    if kind == "process":
        return Subject(0, int(row["id"]), _name(row["name"]))
    return Subject(int(row["tid"]), int(row["tgid"]), _name(row["comm"]), int(row["start_ns"]))


def _victim(pane: BlamePane, number: int, name: str, kind: str) -> Subject:
    """A victim of a pair, which is by thread or process."""
    if kind == "process":
        return Subject(0, number, name)
    pairs: Rows | None = pane.view.pairs if pane.view else None
    tgids = pairs["victim_tgid"][pairs["victim_tid"] == number].tolist() if pairs is not None else []
    return Subject(number, tgids[0] if tgids else 0, name)


def _name(name: bytes) -> str:
    return steady(text(name))

"""The last slow waits of the task, with their blockers; from the History."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType

from schedtop.base.units import format_round_ns
from schedtop.model.rows import SLOW_WAIT_DTYPE, Rows
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.slow_waits.rows import WaitRows, columns_for
from schedtop.panes.task.past import Past
from schedtop.panes.task.scene import NOTHING_YET, Scene
from schedtop.widgets.columns import Column
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans

WANTED = {"wait": 0, " blocked by": 0, "time": 1, "task": 2, "cause": 3, "CPU": 4, "woken by": 5, "preempted by": 6}
"""The columns of the dashboard's pane, and how early each goes where there is no room."""


MOST_CELLS = 22
"""So much of a column where there is little room; those that grow get more where there is."""


class TaskSlowWaitsPane(Pane[Scene], KeyedTable[WaitRows]):
    """Single waits over the threshold, newest first."""

    WAITING = NOTHING_YET
    NUMBER = 6
    TITLE = "Slow waits"
    KEY = ("time_ns", "tid")
    READING = (
        "Each wait of the task over the threshold that the history has, newest first, as in the dashboard's pane Slow "
        "waits; Enter, i, or a double click tells all about the selected one: its cause, its blockers, and what to "
        "do. + and - in the dashboard move the threshold."
    )

    COLUMN_HELP = (("Columns", [column for column in columns_for("thread", "wait_ns") if column.header in WANTED]),)

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "details", "Details", show=False, id="details", tooltip="In Slow waits: all about it"),
        Binding("enter", "details", "Details", show=False, id="open", tooltip="In Slow waits: the same"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._of_process = False
        self._past: Past | None = None

    def table_columns(self) -> Sequence[Column[WaitRows]]:
        return [
            replace(column, rank=WANTED[column.header], width=min(column.width, MOST_CELLS))
            for column in columns_for("thread", "wait_ns")
            if column.header in WANTED and (self._of_process or column.header != "task")
        ]

    def context(self, rows: Rows) -> WaitRows:
        return WaitRows(rows, "thread", self._past.cgroups if self._past else {})

    def show(self, scene: Scene) -> None:
        if scene.subject.is_process != self._of_process:
            self._of_process = scene.subject.is_process
            self.forget_columns()
        self._past = scene.past
        self.set_rows(scene.past.slow_waits if scene.past else np.empty(0, SLOW_WAIT_DTYPE), "time_ns")
        super().show(scene)

    def view_lines(self, scene: Scene) -> Sequence[Spans]:
        over = format_round_ns(scene.threshold_ns) if scene.threshold_ns else ""
        count = len(self.rows) if self.rows is not None else 0
        keys = "i details · P path" if self.has_focus and self.selected_key else ""
        self.set_title(f"{count} over {over}" if over else "", " · ".join(filter(None, (self.position_text(), keys))))
        past = scene.past
        if past is None:
            return self.sentence("waiting for the first interval")
        if "slow_waits" in past.unavailable:
            return self.sentence(f"not available: {past.unavailable['slow_waits']}")
        if not count:
            return self.sentence(f"it did not wait longer than {over} for a CPU, as far as the history goes")
        return list(self.table_lines())

    def action_details(self) -> None:
        """Asks for all about the selected wait; without a selection, about the first one."""
        if self.selected_row is None and self.rows is not None and len(self.rows):
            self.select(self.top)
        if self.selected_row is not None:
            self.post_message(SlowWaitsPane.DetailsRequested(self.selected_row))

    def row_opened(self) -> None:
        self.action_details()

"""Short-lived tasks: what came and went too fast for any list of tasks, by command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from schedtop.base.units import format_span
from schedtop.history.view import View
from schedtop.model.rows import Rows
from schedtop.model.short_lived import SORTS, by_command, often, sort_commands, spoken_rate
from schedtop.panes.pane import EDGES, TITLE_FRAME, Pane
from schedtop.panes.scheduler.short_lived.rows import COLUMNS, CommandRows
from schedtop.widgets.columns import Column
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans


class ShortLivedPane(Pane[View], KeyedTable[CommandRows]):
    """Commands by how many of their processes, and of their threads, came and went."""

    TITLE = "Short-lived"
    LEAST = Size(50, 6)
    PARTS = ("short_lived",)
    KEY = ("name_low", "name_high", "is_thread", "is_folded")
    READING = (
        "Processes (and threads, in lines of their own) that ended and had lived no longer than one interval: "
        "they come and go between two looks at a list of tasks. Every one is counted: `sh ×1,200/s` are 1,200 "
        "a second. A command is the name at the end, so after an exec; started by is the process that forked "
        "most of them, `+2`: two other names did, too; i, Enter or a double click names all of them and every "
        "exit code. run % is what they took of one CPU together, run delay how long they waited for one, each "
        "is the mean of one, lived its life from fork to end. ended: how many had another exit status than 0, "
        "or were killed by a signal."
    )
    SIGNS = (
        (
            "thousands a second, each 1 ms",
            "the work is mostly to start and end processes",
            "have the task in started by do more in one process, keep workers, or start fewer",
        ),
        ("many failed", "a loop that tries again and again", "i: exit codes and signals"),
        ("large run %", "they take whole CPUs together", "run them on other CPUs, or with a lower priority"),
        ("long run delay", "they wait longer than they run", "fewer at once: make -j, xargs -P"),
    )
    COLUMN_HELP = (("Columns", COLUMNS),)

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "i",
            "details",
            "Command",
            show=False,
            id="details",
            tooltip="In Short-lived: what started the selected command, how they ended, what they took",
        ),
        Binding("enter", "details_of_selected", "Command", show=False, id="open", tooltip="In Short-lived: the same"),
    ]

    class DetailsRequested(Message):
        """All about the selected command is wanted: a row of COMMAND_DTYPE."""

        def __init__(self, row: np.void) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._grouped: tuple[View | None, Rows | None] = (None, None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # Without a selection Enter is for the screen.
        return action != "details_of_selected" or self.selected_row is not None

    def action_details(self) -> None:
        """Asks for all about the selected command; without a selection, about the first one."""
        if self.selected_row is None and self.rows is not None and len(self.rows):
            self.select(self.top)
        self.action_details_of_selected()

    def action_details_of_selected(self) -> None:
        """Asks for all about the selected command."""
        if self.selected_row is not None:
            self.post_message(self.DetailsRequested(self.selected_row))

    def row_opened(self) -> None:
        self.action_details()

    def table_columns(self) -> Sequence[Column[CommandRows]]:
        return COLUMNS

    def context(self, rows: Rows) -> CommandRows:
        assert self.view is not None
        return CommandRows(rows, self.view.frame.interval_ns, self.view.frame.unavailable)

    @property
    def wanted_lines(self) -> int | None:
        return self.table_rows + EDGES

    def show(self, view: View) -> None:
        self.view = view
        self.draw()

    def draw(self) -> None:
        # Grouping costs: it is not done for a pane that is not seen.
        if not self.hidden and self.view is not None and self._grouped[0] is not self.view:
            commands = sort_commands(by_command(self.view.short_lived), self.view.settings.short_lived_sort)
            self._grouped = self.view, commands
            self.set_rows(commands, self.view.settings.short_lived_sort)
        super().draw()

    def is_idle(self, view: View) -> bool:
        return not len(view.frame.short_lived)

    def view_glance(self, view: View) -> Spans:
        count = int(view.short_lived["count"].sum())
        return [(often(count, view.frame.interval_ns), "strong")] if count else [("none", "dim")]

    def view_lines(self, view: View) -> Sequence[Spans]:
        assert self.rows is not None
        order = SORTS[view.settings.short_lived_sort]
        # Where they ran is not kept.
        everywhere = "all CPUs" if view.settings.shown_filter.cpus else ""
        order = " · ".join(part for part in (everywhere, order) if part)
        order = self.keyed(order, "sort")
        both = " · ".join(part for part in (_sums(view), order) if part)
        keys = "i details" if self.has_focus and self.selected_key else ""
        place = " · ".join(filter(None, (self.position_text(), keys)))
        self.set_title(both if len(self.TITLE) + len(both) + TITLE_FRAME <= self.size.width else order, place)
        if not len(self.rows):
            return self.sentence(_empty_text(view))
        return list(self.table_lines())


def _sums(view: View) -> str:
    """How many there are a second, and how many CPUs they take; empty without any."""
    rows, frame = view.short_lived, view.frame
    if not len(rows):
        return ""
    counts = [
        f"{spoken_rate(int(rows['count'][chosen].sum()), frame.interval_ns)}/s {word}"
        for word, chosen in (("processes", rows["is_thread"] == 0), ("threads", rows["is_thread"] != 0))
        if chosen.any()
    ]
    taken = int(rows["run_ns"].sum()) / max(1, frame.interval_ns)
    return f"{', '.join(counts)}, {taken:.2f} CPUs"


def _empty_text(view: View) -> str:
    if view.settings.filter and len(view.frame.short_lived):
        return f"no short-lived task passes the filter {view.settings.filter}"
    return f"no short-lived tasks in the last {format_span(view.frame.interval_ns)}"

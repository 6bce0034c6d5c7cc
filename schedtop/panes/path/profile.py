"""Where the time of all episodes went: by task, what it did, and what it was queued behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from textual.geometry import Size

from schedtop.base.units import format_count, format_ns, format_ratio
from schedtop.model.rows import Rows
from schedtop.panes.pane import Pane
from schedtop.path.live import PathFrame
from schedtop.path.profile import ProfileRow
from schedtop.path.words import episodes_words, row_words
from schedtop.widgets.bars import thin_bar
from schedtop.widgets.columns import Column, explained
from schedtop.widgets.keyed_table import KeyedTable
from schedtop.widgets.strips import Spans, steady

BAR_CELLS = 12

_ROW = np.dtype([("key", np.int64), ("index", np.int64)])


@dataclass(frozen=True, slots=True)
class ProfileRows:
    """The visible rows, and the time that all of them share."""

    rows: Sequence[ProfileRow]
    whole_ns: int

    def cells(self, text: Callable[[ProfileRow], str]) -> list[str]:
        """One text a row."""
        return [text(row) for row in self.rows]

    @property
    def ratios(self) -> list[float]:
        """The share of each row."""
        return [row.time_ns / max(1, self.whole_ns) for row in self.rows]


MEANINGS = {
    "task": "the task that did it, with its tid if it is one",
    "is": "itself: the late task; woke: a task in the chain that led to its wakeup",
    "what it did meanwhile": "it ran, was queued behind another task, held back by a quota, or blocked; unknown: why",
    "time": "how long, over all episodes",
    "share": "its part of the time that the late task was late",
    "bar": "the same share",
    "episodes": "in how many episodes",
}

COLUMNS: tuple[Column[ProfileRows], ...] = explained((
    Column("time", 7, lambda rows: rows.cells(lambda row: format_ns(row.time_ns)), style="strong"),
    Column("share", 6, lambda rows: [format_ratio(ratio) for ratio in rows.ratios]),
    Column("bar", BAR_CELLS, lambda rows: [thin_bar(ratio, BAR_CELLS) for ratio in rows.ratios], right=False, rank=1,
           style="busy"),
    Column("episodes", 8, lambda rows: rows.cells(lambda row: format_count(row.episodes)), rank=2),
    Column("task", 14, lambda rows: rows.cells(lambda row: steady(_task(row))), right=False, grow=10, style="strong"),
    Column("is", 6, lambda rows: rows.cells(lambda row: "itself" if row.late else "woke"), right=False, style="dim"),
    Column("what it did meanwhile", 24, lambda rows: rows.cells(lambda row: steady(row_words(row))), right=False,
           grow=60),
), MEANINGS)  # fmt: skip


class ProfilePane(Pane[PathFrame], KeyedTable[ProfileRows]):
    """The rows of the profile, most time first."""

    NUMBER = 1
    TITLE = "Profile"
    LEAST = Size(60, 6)
    KEY = ("key",)
    WAITING = "attaching to the kernel: the very first time it takes a second to compile the programs"
    READING = (
        "All episodes since the screen was opened (or since x), added up. An episode is a span in which the task did "
        "not run; what it waited for is found by walking back from its wakeup. A row is a task, what it did meanwhile, "
        "and behind which task it was queued. Waits for work (a server in epoll_wait) are no delay: they are left out "
        "unless there is nothing else, and i shows them."
    )
    SIGNS = (
        ("queued behind", "that task has the CPU", "lower its priority, or move it"),
        ("running", "what holds the late task up computes", "make that work shorter, or do it elsewhere"),
        ("blocked", "what ends it: a disk, a timer, another host", "look at what it waits for: o"),
        ("woken by", "that task signalled; it need not be the cause", "read the rows below it"),
    )
    COLUMN_HELP = (("Columns", COLUMNS),)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.shows_work = False
        self.failure = ""
        """Why nothing will come, in words."""
        self._shown: tuple[ProfileRow, ...] = ()
        self._whole_ns = 0

    def table_columns(self) -> Sequence[Column[ProfileRows]]:
        return COLUMNS

    def context(self, rows: Rows) -> ProfileRows:
        return ProfileRows([self._shown[index] for index in rows["index"].tolist()], self._whole_ns)

    def show(self, view: PathFrame) -> None:
        rows = view.summary.rows
        late = tuple(row for row in rows if not row.for_work)
        self._shown = rows if self.shows_work or not late else late
        self._whole_ns = sum(row.time_ns for row in self._shown)
        table = np.zeros(len(self._shown), _ROW)
        table["key"] = [crc32(repr(_identity(row)).encode()) for row in self._shown]
        table["index"] = np.arange(len(self._shown))
        self.set_rows(table, None)
        super().show(view)

    def forget(self) -> None:
        """Drops what is shown: something else is being measured."""
        self.view, self._shown, self.rows = None, (), None
        self.draw()

    def message_lines(self) -> list[Spans]:
        if self.failure:
            return self.sentence(f"not recorded: {self.failure} (x tries again)")
        return super().message_lines()

    def view_lines(self, view: PathFrame) -> Sequence[Spans]:
        hidden = len(view.summary.rows) - len(self._shown)
        details = [format_ns(self._whole_ns), episodes_words(view.summary.episodes)] if self._shown else []
        details += [f"waits for work hidden ({hidden}): i shows them"] if hidden else []
        self.set_title(" · ".join(details), self.position_text())
        if not self._shown:
            return self.sentence("no episode so far: a row appears when the task runs again after it was held up")
        return list(self.table_lines())


def _task(row: ProfileRow) -> str:
    return row.task.comm + (f" ({row.task.tid})" if row.task.tid is not None else "")


def _identity(row: ProfileRow) -> tuple[Any, ...]:
    """What stays when its time grows, and tids are several."""
    behind = row.behind.comm if row.behind else ""
    return (row.task.comm, row.late, row.state, behind, row.where, row.woken_by, row.reason, row.for_work)

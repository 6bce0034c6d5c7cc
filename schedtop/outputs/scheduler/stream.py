"""What a stream writes of each interval: a document a line, a report, or rows of one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from schedtop.base.units import iso_time
from schedtop.history.view import View
from schedtop.outputs.plain import json_line
from schedtop.outputs.scheduler.snapshot import TASK_FIELDS, snapshot
from schedtop.outputs.scheduler.text import to_text
from schedtop.outputs.tables import csv_preamble, csv_rows
from schedtop.outputs.words import loss_words

ROW_FIELDS = ("start_time", "interval_ns", *TASK_FIELDS)
"""The fields of a row of CSV: of which interval it is, and the task."""


class Stream(Protocol):
    """Turns the View of each interval into text, which may be empty."""

    def text(self, view: View) -> str: ...


class Snapshots:
    """A snapshot each interval; `tasks` as in `snapshot`."""

    def __init__(self, format_name: str, tasks: int | None) -> None:
        self._make: Callable[[View], str] = {"json": self._json, "text": self._text, "csv": self._csv}[format_name]
        self._tasks = tasks
        self._told = 0

    def text(self, view: View) -> str:
        """Of the View of one interval."""
        text = self._make(view)
        self._told += 1
        return text

    def _json(self, view: View) -> str:
        return json_line(snapshot(view, self._tasks))

    def _text(self, view: View) -> str:
        return ("\n" if self._told else "") + to_text(view, self._tasks)

    def _csv(self, view: View) -> str:
        data = snapshot(view, self._tasks)
        when = {"start_time": iso_time(view.frame.start_time_ns), "interval_ns": view.frame.interval_ns}
        rows = csv_rows(ROW_FIELDS, [when | task for task in data["tasks"] or ()])
        if not self._told:
            return csv_preamble(data, view.frame.unavailable) + rows
        lost = loss_words(data["loss"])
        return (f"# loss from {when['start_time']} on: {lost}\n" if lost else "") + rows.partition("\n")[2]

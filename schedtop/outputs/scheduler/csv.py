"""The task table of a snapshot as CSV, for spreadsheets."""

from __future__ import annotations

from schedtop.history.view import View
from schedtop.outputs.scheduler.snapshot import TASK_FIELDS, snapshot
from schedtop.outputs.tables import csv_preamble, csv_rows


def to_csv(view: View, tasks: int | None = 50) -> str:
    """The task table with a row of field names, after `csv_preamble`; what is not available is an empty field."""
    data = snapshot(view, tasks)
    return csv_preamble(data, view.frame.unavailable) + csv_rows(TASK_FIELDS, data["tasks"] or ())

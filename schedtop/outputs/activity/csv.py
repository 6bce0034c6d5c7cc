"""The rows of an activity as CSV, for spreadsheets."""

from __future__ import annotations

from schedtop.activity.activity import Activity
from schedtop.activity.fields import NUMBERS
from schedtop.outputs.activity.asked import ASKED, Asked
from schedtop.outputs.activity.document import NAMES, about, row_data
from schedtop.outputs.tables import csv_facts, csv_rows


def to_csv(activity: Activity, asked: Asked = ASKED) -> str:
    """A row of field names and a row each, after lines `# key: value`; what is not available is an empty field."""
    facts = about(activity, asked)
    names = ("host", "kernel", "source", "start_time", "duration_ns", "scope", "by", "sort")
    shown = {"schedtop": facts["tool_version"], **{name: facts[name] or "none" for name in names}}
    shown["only"] = ", ".join(activity.only)
    loss = {name: getattr(activity.loss, name) for name in type(activity.loss).__dataclass_fields__}
    preamble = csv_facts(shown, loss, activity.unavailable)
    return preamble + csv_rows((*NAMES, *NUMBERS), row_data(activity, asked)[: asked.most(0)])

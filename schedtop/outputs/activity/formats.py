"""What an activity is written in, by the names on the command line."""

from __future__ import annotations

from collections.abc import Callable

from schedtop.activity.activity import Activity
from schedtop.outputs.activity.asked import Asked
from schedtop.outputs.activity.csv import to_csv
from schedtop.outputs.activity.document import to_json
from schedtop.outputs.activity.text import to_text

FORMATS: dict[str, Callable[[Activity, Asked], str]] = {"text": to_text, "json": to_json, "csv": to_csv}

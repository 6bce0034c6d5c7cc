"""Snapshots and reports read back from JSON. They may come from anywhere, so nothing in them is taken for granted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from schedtop.base.limits import SAVED_BYTES, SAVED_PARSED_BYTES, SAVED_PARSED_FACTOR, is_parsable
from schedtop.base.units import format_bytes, printable
from schedtop.model.source import SourceError
from schedtop.outputs.schemas import READABLE, REPORT

_MOST_WORDS = 60
_OBJECTS = ("filters", "loss", "verdict", "totals", "runqueue_latency", "overhead")
_LISTS = ("tasks", "slow_waits", "preemptions", "blockings", "groups", "throttling")
_ROWS_OVER_TIME = ("stretches", "series", "events", "task_series")
_ONLY_REPORTS: dict[str, Any] = {
    "end_time": None,
    "intervals": 1,
    "recording": None,
    "unavailable": {},
    "counts": {},
    "worst": None,
    "heat": None,
    "interrupts": None,
    "activity": None,
    **{name: [] for name in _ROWS_OVER_TIME},
}

_ACTIVITY_TEXTS = ("comm", "process", "cgroup", "container", "io", "devices")

Wrong = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
"""What comes of plain objects that are not what their schema says."""


def read_saved(data: bytes, name: str) -> dict[str, Any]:
    """The report that a snapshot or a report is: one without anything over time. Raises SourceError, with `name`."""
    if len(data) > SAVED_BYTES:
        raise SourceError(
            f"cannot read {name}: it is larger than {format_bytes(SAVED_BYTES)}: write it with fewer tasks (--tasks)"
        )
    if not is_parsable(data, SAVED_PARSED_BYTES + SAVED_PARSED_FACTOR * len(data)):
        raise SourceError(f"cannot read {name}: it holds more things than a snapshot or report of its size can")
    try:
        found = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"cannot read {name}: it is cut off or damaged, no whole JSON object") from error
    if not isinstance(found, dict) or found.get("schema") not in READABLE:
        schema = found.get("schema") if isinstance(found, dict) else None
        raise SourceError(f"cannot read {name}: {_named(schema)}: this version reads {', '.join(READABLE)}")
    try:
        # What lacks all that a report has over time is one all the same: its fields are those of a report.
        return _checked(_ONLY_REPORTS | _cleaned(found) | {"schema": REPORT})
    except Wrong as error:
        raise damaged(name, error) from error


def damaged(name: str, error: Exception) -> SourceError:
    """What to say of plain objects that lack something."""
    return SourceError(f"cannot read {name}: it lacks something or has it wrong ({type(error).__name__}: {error})")


def _checked(data: dict[str, Any]) -> dict[str, Any]:
    for key in ("tool_version", "host", "kernel", "source", "start_time"):
        _expect(key, data[key], str)
    for key in ("interval_ns", "threshold_ns", "intervals"):
        _expect(key, data[key], int)
    if data["interval_ns"] <= 0:
        raise ValueError("interval_ns is not positive")
    datetime.fromisoformat(data["start_time"])
    for key in (*_OBJECTS, "unavailable", "counts"):
        _expect(key, data[key], dict)
    for key in ("totals", "counts"):
        _expect_numbers(key, data[key].values())
    for key in ("cpus", *_ROWS_OVER_TIME):
        _expect_rows(key, data[key])
    for key in _LISTS:
        if data[key] is not None:
            _expect_rows(key, data[key])
    for row in data["series"]:
        _expect_numbers("series", (value for name, value in row.items() if name != "start_time"))
    for key, value in data["loss"].items():
        _expect(key, value, int)
    if data["interrupts"] is not None:
        _expect_interrupts(data["interrupts"])
    if data["activity"] is not None:
        _expect_activity(data["activity"])
    if data["recording"] is not None:
        _expect("recording", data["recording"], dict)
    for wait in data["slow_waits"] or ():
        wait.setdefault("words", None)  # a snapshot has none
    return data


def _cleaned(value: Any) -> Any:
    """`plain`, but lists stay those that they are: a copy of a large report would take as much again."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        if not all(map(str.isprintable, value)):
            value = {printable(key): inner for key, inner in value.items()}
        for key, inner in value.items():
            value[key] = _cleaned(inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            value[place] = _cleaned(inner)
    return value


def _expect_interrupts(found: Any) -> None:
    _expect("interrupts", found, dict)
    for key, texts in (("by_cpu", ()), ("by_source", ("name", "kind", "raised_by"))):
        _expect_rows(key, found[key])
        for row in found[key]:
            _expect_numbers(key, (value for name, value in row.items() if name not in texts))
    for row in found["by_source"]:
        _expect("name", row["name"], str)
        _expect("kind", row["kind"], str)
        _expect_rows("raised_by", row.get("raised_by", []))
    _expect_numbers("interrupts", [found.get("timed_ns")])


def _expect_activity(found: Any) -> None:
    _expect("activity", found, dict)
    for key in ("measured_ns", "row_count"):
        _expect(key, found[key], int)
    if found["measured_ns"] <= 0:
        raise ValueError("measured_ns is not positive")
    _expect("totals", found["totals"], dict)
    _expect_numbers("totals", found["totals"].values())
    for key in ("standing_out", "rows", "syscalls"):
        _expect_rows(key, found[key] if found[key] is not None else [])
    for fact in found["standing_out"]:
        _expect("words", fact["words"], str)
    for row in found["rows"]:
        _expect_numbers("rows", (value for name, value in row.items() if name not in _ACTIVITY_TEXTS))
        if not all(row[name] is None or isinstance(row[name], str) for name in _ACTIVITY_TEXTS[:4]):
            raise TypeError("a name of a process is no text")
    for call in found["syscalls"] or ():
        _expect("name", call["name"], str)
        _expect("errnos", call["errnos"], dict)
        _expect_numbers("errnos", call["errnos"].values())
        _expect_numbers("syscalls", (call[name] for name in ("count", "errors", "total_ns", "max_ns")))


def _expect(key: str, value: Any, wanted: type) -> None:
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise TypeError(f"{key} is no {wanted.__name__}")


def _expect_numbers(key: str, values: Iterable[Any]) -> None:
    # Of a list or text multiplying makes one that is a thousand million times as long.
    if not all(value is None or isinstance(value, int | float) for value in values):
        raise TypeError(f"a value of {key} is no number")


def _expect_rows(key: str, value: Any) -> None:
    _expect(key, value, list)
    for row in value:
        _expect(f"an item of {key}", row, dict)


def _named(schema: Any) -> str:
    return repr(printable(schema[:_MOST_WORDS])) if isinstance(schema, str) else "it names no schema"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")

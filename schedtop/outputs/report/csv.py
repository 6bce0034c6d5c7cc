"""Tables of the report as CSV, for spreadsheets: over time, tasks, slow waits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schedtop.activity.fields import NUMBERS
from schedtop.outputs.activity.document import NAMES
from schedtop.outputs.report.points import SERIES_FIELDS
from schedtop.outputs.report.words import (
    Data,
    task_name,
)
from schedtop.outputs.scheduler.snapshot import TASK_FIELDS
from schedtop.outputs.tables import csv_preamble, csv_rows

WAIT_FIELDS = (
    *("time", "tid", "tgid", "comm", "cgroup", "pid_namespace", "cpu", "enqueue_cpu", "crossed", "allowed_cpus"),
    *(
        "wait_ns",
        "began",
        "cause",
        "evidence",
        "idle_cpu",
        "idle_cpu_ns",
        "idle_distance",
        "stolen_ns",
        "throttled_ns",
        "preemptor",
        "previous",
        "waker",
        "woken_by",
        "waker_interrupt",
        "waker_raised_by",
    ),
    *("blockers", "other_blockers_ns", "own_cpu_idle_ns", "interrupted_ns", "switches"),
    *("queue_length", "fair_queue_length", "blockers_cover_ratio", "words"),
)
"""The fields of a slow wait as columns, in this order; tasks are `name (tid)`."""


INTERRUPT_FIELDS = ("kind", "name", "count", "total_ns", "max_ns", "raised_by")
"""The fields of a source of interrupts, in this order."""


def to_csv(data: Data, name: str) -> str:
    """One table of the report: `series`, `tasks`, `waits`, `interrupts` or `activity`."""
    recording = data["recording"] or {}
    more = {"end_time": data["end_time"]} if data["end_time"] else {}
    more |= {"file": recording["file"], "recorded_by": recording["tool_version"]} if recording else {}
    more |= {"damage": recording["damage"]} if recording.get("damage") else {}
    preamble = csv_preamble(data, data["unavailable"], **more)
    if name == "tasks":
        return preamble + csv_rows(TASK_FIELDS, data["tasks"] or ())
    if name == "waits":
        return preamble + csv_rows(WAIT_FIELDS, map(wait_cells, data["slow_waits"] or ()))
    if name == "interrupts":
        sources = data["interrupts"]["by_source"] if data["interrupts"] else ()
        return preamble + csv_rows(INTERRUPT_FIELDS, map(_source_cells, sources))
    if name == "activity":
        processes = data["activity"]["rows"] if data["activity"] else ()
        return preamble + csv_rows((*NAMES, *NUMBERS), processes)
    fields = (*SERIES_FIELDS, "events")
    return preamble + csv_rows(fields, _with_events(data))


def _with_events(data: Data) -> Iterable[dict[str, Any]]:
    """The rows over time, each with the texts of its events."""
    starts = [row["offset_ns"] for row in data["series"]]
    for row, end_ns in zip(data["series"], [*starts[1:], None], strict=False):
        own = [
            event["text"]
            for event in data["events"]
            # An event is at the end of its interval.
            if row["offset_ns"] < event["offset_ns"] and (end_ns is None or event["offset_ns"] <= end_ns)
        ]
        yield {**row, "events": "; ".join(own) or None}


def _source_cells(source: Data) -> dict[str, Any]:
    raisers = source.get("raised_by") or ()
    words = "; ".join(f"{task_name({'comm': one['name'], 'tid': one['tid']})} {one['total_ns']}" for one in raisers)
    return {**source, "raised_by": words or None}


def wait_cells(wait: Data) -> dict[str, Any]:
    """A slow wait by WAIT_FIELDS."""
    others = {role: task_name(wait[role]) if wait[role] else None for role in ("preemptor", "previous", "waker")}
    blockers = "; ".join(f"{task_name(blocker)} {blocker['run_ns']}" for blocker in wait["blockers"])
    return {**wait, **others, "blockers": blockers or None}

"""Activity as data and as JSON: `schedtop.activity/1`, see docs/activity.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from schedtop import __version__
from schedtop.activity import PARTS
from schedtop.activity.activity import Activity
from schedtop.activity.devices import are_known, by_device, by_process
from schedtop.activity.fields import NUMBERS, SORTS, absent_fields, with_sums
from schedtop.activity.standing_out import standing_out
from schedtop.base.units import iso_time
from schedtop.model.activity import Call
from schedtop.model.activity_rows import IO_KINDS, grouped, merge_threads
from schedtop.model.containers import container_label
from schedtop.model.rows import Rows, text
from schedtop.model.tcp_changes import TcpChange
from schedtop.outputs.activity.asked import ASKED, Asked
from schedtop.outputs.plain import json_text

SCHEMA = "schedtop.activity/1"

NAMES = ("tid", "tgid", "comm", "process", "cgroup", "container")


def document(activity: Activity, asked: Asked = ASKED) -> dict[str, Any]:
    """The activity as data."""
    rows = row_data(activity, asked)
    shown = rows[: asked.most(0)]
    return {
        **about(activity, asked),
        "standing_out": [asdict(fact) for fact in standing_out(activity)],
        "row_count": len(rows),
        "totals": totals(activity),
        "rows": shown,
        "syscalls": [_call(call) for call in activity.syscalls] if "syscalls" in activity.only else None,
        "devices": devices(activity),
        "tcp_transitions": transitions(activity) if "network" in activity.only else None,
        "tcp_latest": [_change(change) for change in activity.latest] if "network" in activity.only else None,
        "loss": asdict(activity.loss),
    }


def about(activity: Activity, asked: Asked) -> dict[str, Any]:
    """What was measured, as data."""
    host = activity.host
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "host": host.name,
        "kernel": host.kernel,
        "source": host.source,
        "start_time": iso_time(activity.start_time_ns),
        "duration_ns": activity.interval_ns,
        "scope": host.scope,
        "only": list(activity.only),
        "by": asked.by,
        "sort": sorted_by(activity, asked),
        "unavailable": dict(activity.unavailable),
        "notes": list(host.notes),
    }


def sorted_by(activity: Activity, asked: Asked) -> str:
    """The field that rows are sorted by, largest first."""
    return asked.sort or next(SORTS[part] for part in PARTS if part in activity.only)


def row_data(activity: Activity, asked: Asked) -> list[dict[str, Any]]:
    """The rows as data, sorted."""
    rows = grouped(merge_threads([activity.rows, activity.connections]), asked.by, activity.cgroups)
    absent = absent_fields(activity)
    data = [_row(row, asked.by, activity, absent) for row in _data(rows)]
    if asked.by == "process" and are_known(activity):
        known = by_process(activity)
        data = [row | {"devices": known.get(row["tgid"], {})} for row in data]
    field = sorted_by(activity, asked)
    name = (lambda row: row[field] or "") if field in NAMES else (lambda row: -(row[field] or 0))
    return sorted(data, key=lambda row: (name(row), str(row["comm"]), row["tgid"] or 0, row["tid"] or 0))


def totals(activity: Activity) -> dict[str, Any]:
    """The numbers of all rows together."""
    rows = merge_threads([activity.rows, activity.connections]).copy()
    absent = absent_fields(activity)
    if not len(rows):
        return {name: None if name in absent else 0 for name in NUMBERS if name != "tcp_rtt_ns"} | {"tcp_rtt_ns": None}
    rows["tgid"], rows["start_ns"] = 0, 0
    return _numbers(_data(grouped(rows, "process", {}))[0], absent)


def devices(activity: Activity) -> list[dict[str, Any]] | None:
    """Reads and writes of all processes by device, most time first; `None`: that was not measured."""
    if not are_known(activity):
        return None
    return [{"device": name, **counts} for name, counts in by_device(activity).items()]


def transitions(activity: Activity) -> list[dict[str, Any]]:
    """How often connections went from one state to another, most often first."""
    found = sorted(activity.transitions.items(), key=lambda item: (-item[1], item[0]))
    return [{"from": old, "to": new, "count": count} for (old, new), count in found]


def to_json(activity: Activity, asked: Asked = ASKED) -> str:
    """The document as text."""
    return json_text(document(activity, asked))


def _data(rows: Rows) -> list[dict[str, Any]]:
    """The rows by the names of their numbers, with what is made of these."""
    summed = with_sums(rows)
    data = {name: summed[name].tolist() for name in summed.dtype.names or ()}
    data["tcp_rtt_ns"] = [None if mean < 0 else mean for mean in data["tcp_rtt_ns"]]
    return [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]


def _numbers(row: Mapping[str, Any], absent: set[str]) -> dict[str, Any]:
    return {name: None if name in absent else row[name] for name in NUMBERS}


def _row(row: Mapping[str, Any], by: str, activity: Activity, absent: set[str]) -> dict[str, Any]:
    path = activity.cgroups.get(row["cgroup_id"])
    one = by in ("process", "thread")
    names = {
        "tid": row["tid"] if by == "thread" else None,
        "tgid": row["tgid"] if one else None,
        "comm": text(row["comm"]) if one or by == "comm" else None,
        "process": text(row["process"]) if one else None,
        "cgroup": text(path.encode(errors="surrogateescape")) if path and (one or by == "cgroup") else None,
        "container": container_label(path) if path and by != "comm" else None,
    }
    kinds = None if {"reads", "writes"} & absent else _kinds(row)
    return {**names, **_numbers(row, absent), "io": kinds, "devices": None}


def _kinds(row: Mapping[str, Any]) -> dict[str, Any]:
    """Reads and writes by what the descriptor stands for, those that there were."""
    count, size, time_ns = row["io_count"], row["io_bytes"], row["io_kind_ns"]
    found = {}
    for place, kind in enumerate(IO_KINDS):
        also = place + len(IO_KINDS)
        if count[place] or count[also]:
            found[kind] = {
                "reads": count[place],
                "writes": count[also],
                "read_bytes": size[place],
                "write_bytes": size[also],
                "read_ns": time_ns[place],
                "write_ns": time_ns[also],
            }
    return found


def _change(change: TcpChange) -> dict[str, Any]:
    return {
        "time": iso_time(change.time_ns),
        "from": change.old,
        "to": change.new,
        "local": change.local,
        "local_port": change.local_port,
        "remote": change.remote,
        "remote_port": change.remote_port,
    }


def _call(call: Call) -> dict[str, Any]:
    return {
        "name": call.name,
        "count": call.count,
        "errors": call.failed,
        "total_ns": call.total_ns,
        "max_ns": call.max_ns,
        "errnos": dict(call.errors),
    }

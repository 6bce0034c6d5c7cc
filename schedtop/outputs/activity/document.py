"""Activity as data and as JSON: `schedtop.activity/1`, see docs/activity.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from schedtop import __version__
from schedtop.activity import PARTS
from schedtop.activity.activity import Activity, Call
from schedtop.activity.rows import IO_KINDS, grouped, merge_threads, reads, writes
from schedtop.base.units import iso_time
from schedtop.model.containers import container_label
from schedtop.model.rows import Rows, text
from schedtop.outputs.activity.asked import ASKED, Asked
from schedtop.outputs.plain import json_text

SCHEMA = "schedtop.activity/1"

NAMES = ("tid", "tgid", "comm", "process", "cgroup", "container")

FIELDS = {
    "syscalls": ("syscalls", "syscall_errors", "syscall_ns", "syscall_max_ns"),
    "files": ("reads", "writes", "read_bytes", "write_bytes", "io_ns", "opens", "fsyncs", "fsync_ns"),
    "memory": (
        *("minor_faults", "major_faults", "kernel_faults", "fault_ns"),
        *("page_cache_adds", "reclaims", "reclaim_ns"),
    ),
    "network": (
        *("tcp_rx_bytes", "tcp_tx_bytes", "tcp_rx_messages", "tcp_tx_messages", "tcp_connects", "tcp_accepts"),
        *("tcp_failures", "tcp_retransmits", "tcp_rtt_ns", "tcp_connections"),
        *("udp_rx_packets", "udp_tx_packets", "udp_rx_bytes", "udp_tx_bytes"),
    ),
}
"""The numbers of a row, by part. `None`: its part was not asked for, or this kernel cannot tell."""

NUMBERS = tuple(name for part in PARTS for name in FIELDS[part])

_MISSING = {
    "syscalls": FIELDS["syscalls"],
    "files": FIELDS["files"],
    "io": ("reads", "writes", "read_bytes", "write_bytes", "io_ns"),
    "faults": ("minor_faults", "major_faults"),
    "kernel faults": ("kernel_faults",),
    "fault time": ("fault_ns",),
    "page cache": ("page_cache_adds",),
    "reclaim": ("reclaims", "reclaim_ns"),
    "traffic": (
        *("tcp_rx_bytes", "tcp_tx_bytes", "tcp_rx_messages", "tcp_tx_messages", "tcp_rtt_ns"),
        *("udp_rx_packets", "udp_tx_packets", "udp_rx_bytes", "udp_tx_bytes"),
    ),
    "connections": ("tcp_connects", "tcp_failures"),
    "accepts": ("tcp_accepts",),
    "retransmits": ("tcp_retransmits",),
    "round-trip time": ("tcp_rtt_ns",),
}
"""The numbers that `unavailable` takes away."""

_SORTS = {"syscalls": "syscalls", "files": "io_ns", "memory": "minor_faults", "network": "tcp_tx_bytes"}
"""What rows are sorted by if nothing is asked for: that of the first part that is measured."""


def document(activity: Activity, asked: Asked = ASKED) -> dict[str, Any]:
    """The activity as data."""
    rows = row_data(activity, asked)
    shown = rows[: asked.most(0)]
    return {
        **about(activity, asked),
        "row_count": len(rows),
        "totals": totals(activity),
        "rows": shown,
        "syscalls": [_call(call) for call in activity.syscalls] if "syscalls" in activity.only else None,
        "tcp_transitions": transitions(activity) if "network" in activity.only else None,
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
    return asked.sort or next(_SORTS[part] for part in PARTS if part in activity.only)


def row_data(activity: Activity, asked: Asked) -> list[dict[str, Any]]:
    """The rows as data, sorted."""
    rows = grouped(merge_threads([activity.rows, activity.connections]), asked.by, activity.cgroups)
    absent = absent_numbers(activity)
    data = [_row(row, asked.by, activity, absent) for row in _with_sums(rows)]
    field = sorted_by(activity, asked)
    name = (lambda row: row[field] or "") if field in NAMES else (lambda row: -(row[field] or 0))
    return sorted(data, key=lambda row: (name(row), str(row["comm"]), row["tgid"] or 0, row["tid"] or 0))


def totals(activity: Activity) -> dict[str, Any]:
    """The numbers of all rows together."""
    rows = merge_threads([activity.rows, activity.connections]).copy()
    absent = absent_numbers(activity)
    if not len(rows):
        return {name: None if name in absent else 0 for name in NUMBERS if name != "tcp_rtt_ns"} | {"tcp_rtt_ns": None}
    rows["tgid"] = 0
    return _numbers(_with_sums(grouped(rows, "process", {}))[0], absent)


def transitions(activity: Activity) -> list[dict[str, Any]]:
    """How often connections went from one state to another, most often first."""
    found = sorted(activity.transitions.items(), key=lambda item: (-item[1], item[0]))
    return [{"from": old, "to": new, "count": count} for (old, new), count in found]


def to_json(activity: Activity, asked: Asked = ASKED) -> str:
    """The document as text."""
    return json_text(document(activity, asked))


def _with_sums(rows: Rows) -> list[dict[str, Any]]:
    """The rows with what is read out of the kinds of descriptors."""
    data = {name: rows[name].tolist() for name in rows.dtype.names or ()}
    for name, field in (("s", "io_count"), ("_bytes", "io_bytes")):
        data[f"read{name}"], data[f"write{name}"] = reads(rows, field).tolist(), writes(rows, field).tolist()
    data["io_ns"] = (rows["io_kind_ns"].sum(axis=1) + rows["fsync_ns"]).tolist()
    samples = rows["tcp_rtt_samples"]
    means = rows["tcp_rtt_ns"] // samples.clip(1)
    data["tcp_rtt_ns"] = [mean if count else None for mean, count in zip(means.tolist(), samples.tolist(), strict=True)]
    return [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]


def absent_numbers(activity: Activity) -> set[str]:
    """Those of NUMBERS that were not asked for, or that this kernel cannot tell."""
    absent = {name for part in PARTS if part not in activity.only for name in FIELDS[part]}
    return absent.union(*(_MISSING.get(part, ()) for part in activity.unavailable))


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
    return {**names, **_numbers(row, absent), "io": kinds}


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


def _call(call: Call) -> dict[str, Any]:
    return {
        "name": call.name,
        "count": call.count,
        "errors": call.failed,
        "total_ns": call.total_ns,
        "max_ns": call.max_ns,
        "errnos": dict(call.errors),
    }

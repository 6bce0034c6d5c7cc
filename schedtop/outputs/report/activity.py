"""The activity in a report: its fields, and the same as short cells for text and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from schedtop.activity.recorded import activity_of
from schedtop.base.units import format_bytes, format_count, format_ns, format_ratio, rate
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.outputs.activity.asked import Asked
from schedtop.outputs.activity.document import document
from schedtop.outputs.report.words import Data, span_words

PROCESS_HEAD = ("process", "pid", "calls/s", "errors", "in I/O", "read/s", "written/s", "major", "retrans")
CALL_HEAD = ("system call", "/s", "errors", "mean", "longest", "errnos")

_KEPT = (
    *("standing_out", "row_count", "totals", "rows", "syscalls", "devices", "tcp_transitions", "tcp_latest"),
    *("only", "unavailable", "loss"),
)


class ActivityCells(NamedTuple):
    """Rows of PROCESS_HEAD and CALL_HEAD, what they are, and what stands out, in words."""

    title: str
    standing_out: Sequence[str]
    processes: Sequence[tuple[str, ...]]
    calls: Sequence[tuple[str, ...]]


def activity_fields(frame: Frame, host: Host, top: int) -> dict[str, Any] | None:
    """The activity as in `schedtop.activity/1`, of the time in which it was measured; `None` if it was not."""
    activity = activity_of(frame, host)
    if activity is None:
        return None
    data = document(activity, Asked(top=top))
    return {"measured_ns": activity.interval_ns, **{name: data[name] for name in _KEPT}}


def activity_cells(data: Data, top: int) -> ActivityCells | None:
    """At most `top` rows each; `None` without activity."""
    found = data.get("activity")
    if not found:
        return None
    span_ns = found["measured_ns"]
    processes = [_process(row, span_ns) for row in found["rows"][:top]]
    part = f", measured for {span_words(span_ns)}" if span_ns < data["interval_ns"] * 99 // 100 else ""
    return ActivityCells(
        f"Activity by process, by system calls: {len(processes)} of {found['row_count']}{part}",
        [str(fact["words"]) for fact in found["standing_out"]],
        processes,
        [_call(call, span_ns) for call in (found["syscalls"] or ())[:top]],
    )


def _process(row: Data, span_ns: int) -> tuple[str, ...]:
    io_ns = row["io_ns"]
    return (
        str(row["comm"] or "(unknown)"),
        str(row["tgid"] or "-"),
        _rate(row["syscalls"], span_ns),
        format_count(row["syscall_errors"]),
        "-" if io_ns is None else format_ratio(io_ns / span_ns),
        _bytes(row["read_bytes"], span_ns),
        _bytes(row["write_bytes"], span_ns),
        format_count(row["major_faults"]),
        format_count(row["tcp_retransmits"]),
    )


def _call(call: Data, span_ns: int) -> tuple[str, ...]:
    errors = sorted(call["errnos"].items(), key=lambda item: -item[1])
    return (
        str(call["name"]),
        _rate(call["count"], span_ns),
        format_count(call["errors"]),
        format_ns(call["total_ns"] // call["count"] if call["count"] else None),
        format_ns(call["max_ns"]),
        ", ".join(f"{name} {format_count(count)}" for name, count in errors[:3]),
    )


def _rate(count: int | None, span_ns: int) -> str:
    return format_count(None if count is None else rate(count, span_ns))


def _bytes(size: int | None, span_ns: int) -> str:
    return format_bytes(None if size is None else rate(size, span_ns))

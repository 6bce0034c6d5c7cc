"""What a task asked of the kernel, in the report to read: system calls and page faults."""

from __future__ import annotations

from itertools import groupby

from schedtop.base.units import format_clock_ms, format_count, format_ns
from schedtop.outputs.tables import titled
from schedtop.task import TaskFrame

SYSCALLS = 25
"""How many rows are shown at most."""


def syscalls_text(task: TaskFrame) -> str:
    """A table of its system calls."""
    if "syscalls" in task.unavailable:
        return ""
    if not task.syscalls:
        return "System calls: none"
    header = ("call", "count", "time", "average", "longest", "blocked", "errors")
    rows = [
        (
            call.name,
            format_count(call.count),
            format_ns(call.total_ns),
            format_ns(call.total_ns / call.count if call.count else None),
            format_ns(call.max_ns if call.count else None),
            format_ns(call.blocked_ns),
            ", ".join(f"{name} ×{format_count(count)}" for name, count in call.errors.items()),
        )
        for call in task.syscalls[:SYSCALLS]
    ]
    return titled("System calls by time", len(task.syscalls), header, rows, left=("call", "errors"))


def slow_calls_text(task: TaskFrame) -> str:
    """A table of the slowest single calls."""
    if not task.slow_calls:
        return ""
    header = ("time", "tid", "call", "took", "blocked", "result")
    rows = [
        (
            format_clock_ms(call.time_ns),
            str(call.tid),
            call.name,
            format_ns(call.duration_ns),
            format_ns(call.blocked_ns),
            call.error or ("an address" if call.result is None else str(call.result)),
        )
        for call in task.slow_calls
    ]
    return titled("Slowest single calls", len(rows), header, rows, left=("call", "result"))


def ongoing_text(task: TaskFrame) -> str:
    """The system calls that it is in."""
    if task.ended or "syscalls" in task.unavailable:
        return ""
    calls = sorted(task.ongoing, key=lambda call: call.name)
    parts = []
    for name, group in groupby(calls, key=lambda call: call.name):
        same = list(group)
        longest = max(same, key=lambda call: call.duration_ns)
        at_least = "at least " if longest.at_least else ""
        # 0: it has only just begun, within the reading.
        lasted = [f"{at_least}{format_ns(longest.duration_ns)} so far"] if longest.duration_ns else []
        facts = ", ".join([*([f"{len(same)} threads"] if len(same) > 1 else []), *lasted])
        parts.append(f"{name} ({facts})" if facts else name)
    return "Now in: " + (", ".join(parts) or "no system call")


def faults_text(task: TaskFrame) -> str:
    """Its page faults."""
    if not task.faults:
        return ""
    time = "" if task.faults.time_ns is None else f", {format_ns(task.faults.time_ns)} to handle them"
    return f"Page faults: {format_count(task.faults.minor)} minor, {format_count(task.faults.major)} major{time}"

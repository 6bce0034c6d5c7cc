"""What a task read, wrote, sent and received, in the report to read, and its connections."""

from __future__ import annotations

from schedtop.base.units import format_bytes, format_clock_ms, format_count, format_ns
from schedtop.outputs.tables import table, titled
from schedtop.task import TaskFrame, counts_words, entered

CHANGES = 10
"""How many rows are shown at most."""


def io_text(task: TaskFrame) -> str:
    """A table of reads and writes."""
    if "io" in task.unavailable or "syscalls" in task.unavailable:
        return ""
    if not task.io:
        return "Reads and writes: none"
    rows = [
        (one.direction, one.kind, format_count(one.count), format_bytes(one.bytes), format_ns(one.time_ns),
         format_count(one.errors))
        for one in task.io
    ]  # fmt: skip
    return "Reads and writes\n" + table(("", "of", "count", "bytes", "time", "errors"), rows, left=("", "of"))


def network_text(task: TaskFrame) -> str:
    """What was sent and received."""
    if "network" in task.unavailable:
        return ""
    if not task.traffic:
        return "Network: nothing sent or received over TCP or UDP"
    words = [
        f"{one.protocol} over {one.family}: sent {format_bytes(one.sent_bytes)} in {format_count(one.sent_messages)}, "
        f"received {format_bytes(one.received_bytes)} in {format_count(one.received_messages)}"
        for one in task.traffic
    ]
    return "Network\n  " + "\n  ".join(words)


def connections_text(task: TaskFrame) -> str:
    """Changes of its connections: counted, and the last ones."""
    if not task.transitions:
        return ""
    by_state = ", ".join(f"{state} {format_count(count)}" for state, count in entered(task.transitions).items())
    whole = sum(one.count for one in task.transitions)
    sums = f"Connections: {counts_words(task.transitions) or 'none opened or closed'}\n  changes to {by_state}"
    header = ("time", "", "from", "to", "local", "remote")
    rows = [
        (format_clock_ms(c.time_ns), c.protocol, c.old, c.new, bound(c.local), bound(c.remote))
        for c in task.connections[-CHANGES:]
    ]
    left = ("", "from", "to", "local", "remote")
    return f"{sums}\n" + titled("the last changes", whole, header, rows, left=left)


def bound(address: str) -> str:
    """An address with its port, nothing for one that has none yet."""
    return "-" if address.endswith(":0") else address

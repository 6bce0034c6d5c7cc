"""Activity as text: the rows, the system calls, the changes of TCP connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schedtop import __version__
from schedtop.activity.activity import Activity
from schedtop.activity.standing_out import standing_out
from schedtop.base.units import format_bytes, format_count, format_ns, format_ratio, iso_time, printable
from schedtop.model.tcp_changes import end_text
from schedtop.outputs.activity.asked import ASKED, TOP, Asked
from schedtop.outputs.activity.document import devices, row_data, sorted_by, transitions
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.tables import table, titled

Cell = Callable[[Any, float], str]

MOST_CALLS = 12
MOST_TRANSITIONS = 12
MOST_DEVICES = 12
MOST_LATEST = 12


def _rate(count: int | None, seconds: float) -> str:
    return format_count(None if count is None else count / seconds)


def _bytes_rate(count: int | None, seconds: float) -> str:
    return "-" if count is None else format_bytes(round(count / seconds))


def _count(count: int | None, _seconds: float) -> str:
    return format_count(count)


def _ns(ns: int | None, _seconds: float) -> str:
    return format_ns(ns)


def _share(ns: int | None, seconds: float) -> str:
    return "-" if ns is None else format_ratio(ns / seconds / 1e9)


_COLUMNS: tuple[tuple[str, str, str, Cell], ...] = (
    ("syscalls", "calls/s", "syscalls", _rate),
    ("syscalls", "errors", "syscall_errors", _count),
    ("syscalls", "in calls", "syscall_ns", _share),
    ("syscalls", "longest", "syscall_max_ns", _ns),
    ("files", "read/s", "read_bytes", _bytes_rate),
    ("files", "written/s", "write_bytes", _bytes_rate),
    ("files", "in I/O", "io_ns", _share),
    ("files", "opens", "opens", _count),
    ("files", "fsyncs", "fsyncs", _count),
    ("memory", "minor", "minor_faults", _count),
    ("memory", "major", "major_faults", _count),
    ("memory", "in faults", "fault_ns", _share),
    ("memory", "reclaim", "reclaim_ns", _ns),
    ("network", "tcp in/s", "tcp_rx_bytes", _bytes_rate),
    ("network", "tcp out/s", "tcp_tx_bytes", _bytes_rate),
    ("network", "retrans", "tcp_retransmits", _count),
    ("network", "rtt", "tcp_rtt_ns", _ns),
    ("network", "open", "tcp_connections", _count),
    ("network", "udp in/s", "udp_rx_packets", _rate),
    ("network", "udp out/s", "udp_tx_packets", _rate),
)
"""Part, header, field, and how it is shown."""

_NAMES = {
    "process": ("tgid", "comm"),
    "thread": ("tid", "comm", "process"),
    "comm": ("comm",),
    "cgroup": ("cgroup",),
    "container": ("container",),
}
_HEADERS = {"tgid": "pid"}


def to_text(activity: Activity, asked: Asked = ASKED) -> str:
    """A report to read."""
    blocks = [_origin(activity), _standing_out(activity), _rows(activity, asked)]
    if "syscalls" in activity.only:
        blocks.append(_calls(activity))
    if found := devices(activity):
        blocks.append(_devices(found, activity.interval_ns / 1e9))
    if "network" in activity.only:
        blocks.append(_transitions(activity))
        blocks += [_latest(activity)] if activity.latest else []
    return blocks_text([*blocks, "\n".join(_trouble(activity))])


def _origin(activity: Activity) -> str:
    host = activity.host
    parts = [f"schedtop {__version__}", f"host {host.name}", f"kernel {host.kernel}", f"source {host.source}"]
    parts += [iso_time(activity.start_time_ns), f"over {format_ns(activity.interval_ns)}"]
    return "  ".join([*parts, printable(f"only {host.scope}") if host.scope else "all tasks"])


def _standing_out(activity: Activity) -> str:
    facts = standing_out(activity)
    if not facts:
        return "Nothing stands out."
    return "\n".join(["What stands out", *(f"  {printable(fact.words)}" for fact in facts)])


def _rows(activity: Activity, asked: Asked) -> str:
    rows = row_data(activity, asked)
    seconds = activity.interval_ns / 1e9
    columns = [column for column in _COLUMNS if column[0] in activity.only]
    names = _NAMES[asked.by]
    header = [*(_HEADERS.get(name, name) for name in names), *(title for _, title, _, _ in columns)]
    shown = rows[: asked.most(TOP)]
    cells = [
        [
            *(printable(str(row[name] if row[name] is not None else "-")) for name in names),
            *(show(row[field], seconds) for _, _, field, show in columns),
        ]
        for row in shown
    ]
    title = f"Activity by {asked.by}, by {sorted_by(activity, asked)}"
    return titled(title, len(rows), header, cells, left=[name for name in names if name not in ("tgid", "tid")])


def _calls(activity: Activity) -> str:
    rows = [
        (
            call.name,
            format_count(call.count),
            format_count(call.failed),
            format_ns(call.total_ns),
            format_ns(call.total_ns / call.count),
            format_ns(call.max_ns),
            ", ".join(f"{name} {count}" for name, count in sorted(call.errors.items(), key=lambda item: -item[1])),
        )
        for call in activity.syscalls[:MOST_CALLS]
    ]
    header = ("call", "count", "errors", "time", "average", "longest", "errnos")
    return titled("System calls, by time", len(activity.syscalls), header, rows, left=("call", "errnos"))


def _transitions(activity: Activity) -> str:
    found = transitions(activity)
    rows = [(change["from"], change["to"], str(change["count"])) for change in found[:MOST_TRANSITIONS]]
    if not rows:
        return "TCP connections of the host: none changed its state"
    return "TCP connections of the host, changes of state\n" + table(("from", "to", "count"), rows, left=("from", "to"))


def _devices(found: list[dict[str, Any]], seconds: float) -> str:
    rows = [
        (
            printable(one["device"]),
            _rate(one["reads"], seconds),
            _bytes_rate(one["read_bytes"], seconds),
            _rate(one["writes"], seconds),
            _bytes_rate(one["write_bytes"], seconds),
            _share(one["read_ns"] + one["write_ns"], seconds),
        )
        for one in found[:MOST_DEVICES]
    ]
    header = ("device", "reads/s", "read/s", "writes/s", "written/s", "in I/O")
    return titled("Files by device, by time", len(found), header, rows, left=("device",))


def _latest(activity: Activity) -> str:
    shown = activity.latest[-MOST_LATEST:]
    rows = [
        (
            iso_time(change.time_ns),
            change.old,
            change.new,
            end_text(change.local, change.local_port),
            end_text(change.remote, change.remote_port),
        )
        for change in reversed(shown)
    ]
    header = ("time", "from", "to", "local", "remote")
    return "The latest changes of TCP connections\n" + table(header, rows, left=header)


def _trouble(activity: Activity) -> list[str]:
    loss = activity.loss
    lost = [
        f"{name.replace('_', ' ')}: {getattr(loss, name)}"
        for name in type(loss).__dataclass_fields__
        if getattr(loss, name)
    ]
    return [
        *(f"note: {note}" for note in activity.host.notes),
        *(f"not available: {part}: {why}" for part, why in activity.unavailable.items()),
        *(["lost: " + ", ".join(lost)] if lost else []),
    ]

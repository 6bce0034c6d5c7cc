"""The columns of the table of activity, and the orders that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from schedtop.activity import PARTS
from schedtop.activity.devices import are_known, mostly
from schedtop.activity.fields import FIELDS
from schedtop.activity.view import NAME, NUMBER, ActivityView
from schedtop.base.units import format_bytes, format_count, format_ns, format_rate, rate
from schedtop.model.activity_rows import IO_KINDS
from schedtop.model.rows import Rows, text
from schedtop.panes.percent import percent
from schedtop.widgets.bars import thin_bar
from schedtop.widgets.columns import Column, explained
from schedtop.widgets.strips import steady

ALL = "all"
"""Columns of all parts."""

BAR_CELLS = 6


@dataclass(frozen=True, slots=True, eq=False)
class ActivityRows:
    """The visible rows, what turns their counts into rates, and the largest of what they are sorted by."""

    rows: Rows
    view: ActivityView
    largest: int

    def numbers(self, field: str, words: Callable[[int], str]) -> list[str]:
        """A number each in words: a dot for none at all, so that the eye finds the others."""
        if field in self.view.absent:
            return ["-"] * len(self.rows)
        return [words(value) if value > 0 else "·" for value in self.rows[field].tolist()]


Cells = Callable[[ActivityRows], list[str]]


def _rate(field: str) -> Cells:
    return lambda rows: rows.numbers(field, lambda count: format_rate(rate(count, rows.view.activity.interval_ns)))


def _bytes_rate(field: str) -> Cells:
    return lambda rows: rows.numbers(field, lambda size: format_bytes(rate(size, rows.view.activity.interval_ns)))


def _share(field: str) -> Cells:
    """A time as percent of the window: of one CPU's, if it was spent on one."""
    return lambda rows: rows.numbers(field, lambda ns: percent(ns / rows.view.activity.interval_ns))


def _time(field: str) -> Cells:
    return lambda rows: rows.numbers(field, format_ns)


def _count(field: str) -> Cells:
    return lambda rows: rows.numbers(field, format_count)


def _names(rows: ActivityRows) -> list[str]:
    return [steady(name) for name in rows.view.names(rows.rows)]


def _processes(rows: ActivityRows) -> list[str]:
    pairs = zip(rows.rows["tgid"].tolist(), rows.rows["process"].tolist(), strict=True)
    return [f"{tgid} {steady(text(name))}" if tgid else "" for tgid, name in pairs]


def _ids(rows: ActivityRows) -> list[str]:
    return [str(number) if number else "·" for number in rows.rows["id"].tolist()]


def _bars(rows: ActivityRows) -> list[str]:
    """Of what rows are sorted by, beside the largest of all."""
    field = rows.view.settings.sort
    if field in (NAME, NUMBER) or field in rows.view.absent or rows.largest <= 0:
        return [""] * len(rows.rows)
    return [thin_bar(value / rows.largest, BAR_CELLS) if value > 0 else "" for value in rows.rows[field].tolist()]


def _kinds(rows: ActivityRows) -> list[str]:
    """What most reads and writes were of."""
    if "reads" in rows.view.absent:
        return ["-"] * len(rows.rows)
    counts = rows.rows["io_count"].reshape(-1, 2, len(IO_KINDS)).sum(axis=1)
    most, sums = counts.argmax(axis=1).tolist(), counts.sum(axis=1).tolist()
    largest = np.max(counts, axis=1, initial=0).tolist()
    return [
        f"{IO_KINDS[kind]} {100 * count // total} %" if total else "·"
        for kind, count, total in zip(most, largest, sums, strict=True)
    ]


def _devices(rows: ActivityRows) -> list[str]:
    """Where most bytes of its files were read from and written to."""
    if rows.view.settings.by != "process" or not are_known(rows.view.activity):
        return ["-"] * len(rows.rows)
    most = mostly(rows.view.activity)
    found = (most.get(tgid) for tgid in rows.rows["tgid"].tolist())
    return [f"{steady(one[0])} {100 * one[1]:.0f} %" if one else "·" for one in found]


MEANINGS = {
    "process": "its name, with g the thread, command, cgroup or container; f filters by it",
    "thread": "its name",
    "command": "all processes of this name",
    "cgroup": "all tasks of this cgroup",
    "container": "all tasks of this container; host: those in none",
    "pid": "the number of the process",
    "tid": "the number of the thread",
    "of": "the number and name of its process",
    "": "what the table is sorted by, beside the largest",
    "calls/s": "system calls a second that returned",
    "errors/s": "how many of them failed",
    "in calls %": "the time in system calls, sleep included, in percent of the window; of several threads over 100",
    "longest": "the longest single call",
    "read/s": "bytes a second read from files, pipes, sockets, devices",
    "write/s": "bytes a second written to them",
    "reads/s": "system calls a second that read",
    "writes/s": "system calls a second that write",
    "in I/O %": "the time in these calls and in fsync and the like, in percent of the window",
    "mostly": "what most of its reads and writes were of: file, pipe, socket, tty, device, other",
    "device": "of a process: the disk or file system with most bytes of its files, and its share of them",
    "opens/s": "descriptors opened a second",
    "fsyncs": "fsync, fdatasync, msync, sync and the like",
    "in fsync %": "the time in them",
    "minor/s": "page faults a second that needed no disk",
    "major": "page faults that waited for a disk",
    "kernel": "page faults that came while the kernel ran",
    "faults %": "the time in page faults, in percent of the window",
    "cache/s": "how often a second it brought memory into the page cache: reads that missed, and new pages",
    "reclaims": "how often it had to free memory itself before it got any",
    "reclaim": "the time in that: a stall",
    "tcp in/s": "bytes a second received by TCP, without headers",
    "tcp out/s": "bytes a second sent by TCP",
    "retrans": "TCP segments sent again: packets were lost",
    "rtt": "the smoothed round-trip time of its connections, averaged over what it sent",
    "open": "TCP connections open now",
    "connects": "TCP connections opened",
    "accepts": "TCP connections accepted",
    "failed": "TCP connects that came to nothing",
    "resets": "TCP connections that a reset, or silence of the peer, ended",
    "segs in": "TCP segments a second received, those without data among them",
    "segs out": "TCP segments a second sent",
    "udp in/s": "UDP datagrams a second received",
    "udp out/s": "UDP datagrams a second sent",
    "udp in": "bytes a second received by UDP",
    "udp out": "bytes a second sent by UDP",
}

_NAMES: Mapping[str, tuple[Column[ActivityRows], ...]] = {
    "process": (Column("process", 12, _names, right=False, grow=12, rank=-2, sort=NAME, style="strong"),
                Column("pid", 7, _ids, rank=-1, sort=NUMBER, style="dim")),
    "thread": (Column("thread", 12, _names, right=False, grow=8, rank=-2, sort=NAME, style="strong"),
               Column("tid", 7, _ids, rank=-1, sort=NUMBER, style="dim"),
               Column("of", 14, _processes, right=False, rank=9, grow=8, style="dim")),
    "comm": (Column("command", 16, _names, right=False, grow=8, rank=-2, sort=NAME, style="strong"),),
    "cgroup": (Column("cgroup", 20, _names, right=False, grow=30, rank=-2, sort=NAME, style="strong"),),
    "container": (Column("container", 20, _names, right=False, grow=30, rank=-2, sort=NAME, style="strong"),),
}  # fmt: skip

_BAR: Column[ActivityRows] = Column("", BAR_CELLS, _bars, right=False, rank=2, style="busy")

_OF_PART: Mapping[str, tuple[Column[ActivityRows], ...]] = {
    "syscalls": (
        Column("calls/s", 7, _rate("syscalls"), sort="syscalls"),
        Column("errors/s", 8, _rate("syscall_errors"), rank=3, sort="syscall_errors", style="preemption"),
        Column("in calls %", 10, _share("syscall_ns"), rank=1, sort="syscall_ns"),
        Column("longest", 7, _time("syscall_max_ns"), rank=5, sort="syscall_max_ns"),
    ),
    "files": (
        Column("read/s", 8, _bytes_rate("read_bytes"), sort="read_bytes"),
        Column("write/s", 8, _bytes_rate("write_bytes"), sort="write_bytes"),
        Column("in I/O %", 8, _share("io_ns"), rank=3, sort="io_ns"),
        Column("mostly", 12, _kinds, right=False, rank=6, style="dim"),
        Column("device", 14, _devices, right=False, rank=8, style="dim"),
        Column("reads/s", 7, _rate("reads"), rank=9, sort="reads"),
        Column("writes/s", 8, _rate("writes"), rank=9, sort="writes"),
        Column("opens/s", 7, _rate("opens"), rank=7, sort="opens"),
        Column("fsyncs", 6, _count("fsyncs"), rank=7, sort="fsyncs"),
        Column("in fsync %", 10, _share("fsync_ns"), rank=9, sort="fsync_ns"),
    ),
    "memory": (
        Column("minor/s", 7, _rate("minor_faults"), sort="minor_faults"),
        Column("major", 5, _count("major_faults"), rank=4, sort="major_faults", style="preemption"),
        Column("faults %", 8, _share("fault_ns"), rank=6, sort="fault_ns"),
        Column("kernel", 6, _count("kernel_faults"), rank=10, sort="kernel_faults"),
        Column("cache/s", 7, _rate("page_cache_adds"), rank=8, sort="page_cache_adds"),
        Column("reclaims", 8, _count("reclaims"), rank=10, sort="reclaims"),
        Column("reclaim", 7, _time("reclaim_ns"), rank=6, sort="reclaim_ns", style="preemption"),
    ),
    "network": (
        Column("tcp in/s", 8, _bytes_rate("tcp_rx_bytes"), sort="tcp_rx_bytes"),
        Column("tcp out/s", 9, _bytes_rate("tcp_tx_bytes"), sort="tcp_tx_bytes"),
        Column("retrans", 7, _count("tcp_retransmits"), rank=4, sort="tcp_retransmits", style="preemption"),
        Column("rtt", 7, _time("tcp_rtt_ns"), rank=5, sort="tcp_rtt_ns"),
        Column("open", 5, _count("tcp_connections"), rank=5, sort="tcp_connections"),
        Column("connects", 8, _count("tcp_connects"), rank=8, sort="tcp_connects"),
        Column("accepts", 7, _count("tcp_accepts"), rank=8, sort="tcp_accepts"),
        Column("failed", 6, _count("tcp_failures"), rank=7, sort="tcp_failures", style="preemption"),
        Column("resets", 6, _count("tcp_resets"), rank=9, sort="tcp_resets", style="preemption"),
        Column("segs in", 7, _rate("tcp_rx_packets"), rank=11, sort="tcp_rx_packets"),
        Column("segs out", 8, _rate("tcp_tx_packets"), rank=11, sort="tcp_tx_packets"),
        Column("udp in/s", 8, _rate("udp_rx_packets"), rank=7, sort="udp_rx_packets"),
        Column("udp out/s", 9, _rate("udp_tx_packets"), rank=7, sort="udp_tx_packets"),
        Column("udp in", 8, _bytes_rate("udp_rx_bytes"), rank=10, sort="udp_rx_bytes"),
        Column("udp out", 8, _bytes_rate("udp_tx_bytes"), rank=10, sort="udp_tx_bytes"),
    ),
}
"""The lower the rank, the longer a column stays on a narrow screen; the one that sorts stays in any case."""

NAME_COLUMNS = {by: explained(columns, MEANINGS) for by, columns in _NAMES.items()}

PART_COLUMNS = {part: explained(columns, MEANINGS) for part, columns in _OF_PART.items()}

ORDERS: Mapping[str, str] = MappingProxyType(
    {column.sort: column.header for part in PARTS for column in PART_COLUMNS[part] if column.sort}
    | {NAME: "name", NUMBER: "number"}
)
"""What rows can be sorted by, with words for it."""


def columns_of(by: str, part: str, sort: str) -> Sequence[Column[ActivityRows]]:
    """All columns of a grouping and of a part, or of ALL; that which sorts is never left out.

    Where that is another part's, it comes first.
    """
    bar = explained((_BAR,), MEANINGS)
    parts = PARTS if part == ALL else (part,)
    chosen = [column for each in parts for column in PART_COLUMNS[each]]
    if part != ALL and sort not in FIELDS[part]:
        chosen = [column for each in PARTS for column in PART_COLUMNS[each] if column.sort == sort] + chosen
    if part != ALL:
        bar = tuple(replace(column, rank=0) for column in bar)
    return [*NAME_COLUMNS[by], *bar, *(_sorting(column) if column.sort == sort else column for column in chosen)]


def _sorting(column: Column[ActivityRows]) -> Column[ActivityRows]:
    """The column that sorts: it stays, and has room for its mark."""
    return replace(column, rank=-2, width=max(column.width, len(column.header) + 1))


def orders_of(by: str, part: str, sort: str) -> list[str]:
    """What the columns of a grouping and part sort by, from left to right: numbers first."""
    found = [column.sort for column in columns_of(by, part, sort) if column.sort]
    return sorted(dict.fromkeys(found), key=lambda order: order in (NAME, NUMBER))

"""What single threads did, as numpy rows, and the same added up by process, command, cgroup or container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from schedtop.model.containers import container_label
from schedtop.model.rows import Integers, Rows, neighbours

IO_KINDS = ("file", "pipe", "socket", "tty", "device", "other", "unknown")
"""What a descriptor stands for; `unknown`: it cannot be told. As in bpf/syscalls.h."""

GROUPS = ("process", "thread", "comm", "cgroup", "container")
"""What threads are added up by. `process`: all threads of one; `comm`: all processes of one name."""

ID_FIELDS = ("tid", "tgid", "start_ns", "cgroup_id", "comm", "process")

ROW_DTYPE = np.dtype(
    [
        ("tid", "<u4"),
        ("tgid", "<u4"),
        ("start_ns", "<u8"),
        ("cgroup_id", "<u8"),
        ("comm", "S16"),
        ("process", "S16"),
        ("syscalls", "<i8"),
        ("syscall_errors", "<i8"),
        ("syscall_ns", "<i8"),
        ("syscall_max_ns", "<i8"),
        ("opens", "<i8"),
        ("fsyncs", "<i8"),
        ("fsync_ns", "<i8"),
        ("io_count", "<i8", (2 * len(IO_KINDS),)),
        ("io_bytes", "<i8", (2 * len(IO_KINDS),)),
        ("io_kind_ns", "<i8", (2 * len(IO_KINDS),)),
        ("minor_faults", "<i8"),
        ("major_faults", "<i8"),
        ("kernel_faults", "<i8"),
        ("fault_ns", "<i8"),
        ("page_cache_adds", "<i8"),
        ("reclaims", "<i8"),
        ("reclaim_ns", "<i8"),
        ("tcp_rx_bytes", "<i8"),
        ("tcp_tx_bytes", "<i8"),
        ("tcp_rx_messages", "<i8"),
        ("tcp_tx_messages", "<i8"),
        ("tcp_rx_packets", "<i8"),
        ("tcp_tx_packets", "<i8"),
        ("tcp_connects", "<i8"),
        ("tcp_accepts", "<i8"),
        ("tcp_failures", "<i8"),
        ("tcp_resets", "<i8"),
        ("tcp_retransmits", "<i8"),
        ("tcp_rtt_ns", "<i8"),
        ("tcp_rtt_samples", "<i8"),
        ("tcp_connections", "<i8"),
        ("udp_rx_packets", "<i8"),
        ("udp_tx_packets", "<i8"),
        ("udp_rx_bytes", "<i8"),
        ("udp_tx_bytes", "<i8"),
    ]
)
"""One thread in one interval. `start_ns` tells two users of one tid apart; tid 0: connections of no known task.

The three of `io_` have a place for each of IO_KINDS, first reads, then writes. `tcp_rtt_ns`: the sum of so many
`tcp_rtt_samples`. `tcp_connections`: a gauge, in rows of its own (`Activity.connections`)."""

MAXIMA = ("syscall_max_ns",)

SUMS = tuple(name for name in ROW_DTYPE.names or () if name not in (*ID_FIELDS, *MAXIMA))
"""The counters: they add."""


DEVICE_DTYPE = np.dtype(
    [
        ("tgid", "<u4"),
        ("device", "<u4"),
        ("reads", "<i8"),
        ("writes", "<i8"),
        ("read_bytes", "<i8"),
        ("write_bytes", "<i8"),
        ("read_ns", "<i8"),
        ("write_ns", "<i8"),
    ]
)
"""Reads and writes of a process by system calls, by where the file lies: `device` is the kernel's number (dev_t)."""

DEVICE_COUNTS = (DEVICE_DTYPE.names or ())[2:]


def merge_devices(tables: Sequence[Rows]) -> Rows:
    """Rows of DEVICE_DTYPE merged by process and device."""
    rows = np.concatenate(tables) if tables else np.zeros(0, DEVICE_DTYPE)
    if not len(rows):
        return rows
    order, starts = neighbours([rows["tgid"], rows["device"]])
    merged: Rows = rows[order[starts]]
    for name in DEVICE_COUNTS:
        merged[name] = np.add.reduceat(rows[name][order], starts)
    return merged


def merge_threads(tables: Sequence[Rows]) -> Rows:
    """Rows merged by thread; names are the last ones."""
    tables = [table for table in tables if len(table)]
    if not tables:
        return np.zeros(0, ROW_DTYPE)
    rows = np.concatenate(tables) if len(tables) > 1 else tables[0]
    return _merged(rows, [rows["tid"], rows["start_ns"]])


def grouped(rows: Rows, by: str, cgroups: Mapping[int, str]) -> Rows:
    """Rows merged by one of GROUPS. `comm` of a process, and of processes of one name, is the process's."""
    if by == "thread":
        return _merged(rows, [rows["tid"], rows["start_ns"]])
    rows = rows.copy()
    if by == "process":
        rows["comm"] = rows["process"]
        # Those without a process: connections of no known task, and all others of a recording.
        return _merged(rows, [rows["tgid"], np.where(rows["tid"] == 0, rows["start_ns"], 0)])
    if by == "comm":
        rows["comm"] = rows["process"]
        return _merged(rows, [_numbers(rows["comm"])])
    if by == "cgroup":
        return _merged(rows, [rows["cgroup_id"]])
    known, places = np.unique(rows["cgroup_id"], return_inverse=True)
    labels = np.array([container_label(cgroups.get(int(number), "")) for number in known.tolist()], object)
    return _merged(rows, [_numbers(labels.astype(str))[places]])


def _numbers(names: Rows) -> Integers:
    """A number for each different name."""
    numbers: Integers = np.unique(names, return_inverse=True)[1]
    return numbers


def _merged(rows: Rows, keys: Sequence[Integers]) -> Rows:
    if not len(rows):
        return rows
    order, starts = neighbours(keys)
    if len(starts) == len(rows):
        return rows[order]  # nothing to add
    ends = np.append(starts[1:], len(rows)) - 1
    merged: Rows = rows[order[ends]]
    for name in SUMS:
        merged[name] = np.add.reduceat(rows[name][order], starts, axis=0)
    for name in MAXIMA:
        merged[name] = np.maximum.reduceat(rows[name][order], starts)
    return merged


def reads(rows: Rows, name: str) -> Integers:
    """Of one of the `io_` fields: what was read, shape (rows,)."""
    found: Integers = rows[name][:, : len(IO_KINDS)].sum(axis=1)
    return found


def writes(rows: Rows, name: str) -> Integers:
    """The same of what was written."""
    found: Integers = rows[name][:, len(IO_KINDS) :].sum(axis=1)
    return found

"""The numbers of a row: by part, which of them this kernel cannot tell, and those that are made of others."""

from __future__ import annotations

import numpy as np

from schedtop.activity import PARTS
from schedtop.activity.activity import Activity
from schedtop.model.activity_rows import ROW_DTYPE, reads, writes
from schedtop.model.rows import Rows

FIELDS = {
    "syscalls": ("syscalls", "syscall_errors", "syscall_ns", "syscall_max_ns"),
    "files": ("reads", "writes", "read_bytes", "write_bytes", "io_ns", "opens", "fsyncs", "fsync_ns"),
    "memory": (
        *("minor_faults", "major_faults", "kernel_faults", "fault_ns"),
        *("page_cache_adds", "reclaims", "reclaim_ns"),
    ),
    "network": (
        *("tcp_rx_bytes", "tcp_tx_bytes", "tcp_rx_messages", "tcp_tx_messages", "tcp_rx_packets", "tcp_tx_packets"),
        *("tcp_connects", "tcp_accepts", "tcp_failures", "tcp_resets", "tcp_retransmits", "tcp_rtt_ns"),
        *("tcp_connections",),
        *("udp_rx_packets", "udp_tx_packets", "udp_rx_bytes", "udp_tx_bytes"),
    ),
}
"""The numbers of a row, by part."""

NUMBERS = tuple(name for part in PARTS for name in FIELDS[part])

MISSING = {
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
    "connections": ("tcp_connects", "tcp_failures", "tcp_resets"),
    "accepts": ("tcp_accepts",),
    "packets": ("tcp_rx_packets", "tcp_tx_packets"),
    "retransmits": ("tcp_retransmits",),
    "round-trip time": ("tcp_rtt_ns",),
}
"""The numbers that `unavailable` takes away."""

SORTS = {"syscalls": "syscalls", "files": "io_ns", "memory": "minor_faults", "network": "tcp_tx_bytes"}
"""What rows are sorted by if nothing is asked for: that of the first part that is measured."""

_SUMS = ("reads", "writes", "read_bytes", "write_bytes", "io_ns")

SUMMED_DTYPE = np.dtype([*((name, ROW_DTYPE[name]) for name in ROW_DTYPE.names or ()), *((n, "<i8") for n in _SUMS)])
"""A row with what is read out of the kinds of descriptors. `tcp_rtt_ns`: the average; -1 where nothing was sent."""


def absent_fields(activity: Activity) -> set[str]:
    """The numbers that are not there: their part was not asked for, or this kernel cannot tell."""
    absent = {name for part in PARTS if part not in activity.only for name in FIELDS[part]}
    return absent.union(*(MISSING.get(part, ()) for part in activity.unavailable))


def with_sums(rows: Rows) -> Rows:
    """Rows of ROW_DTYPE as rows of SUMMED_DTYPE."""
    summed = np.zeros(len(rows), SUMMED_DTYPE)
    for name in ROW_DTYPE.names or ():
        summed[name] = rows[name]
    for ending, field in (("s", "io_count"), ("_bytes", "io_bytes")):
        summed[f"read{ending}"], summed[f"write{ending}"] = reads(rows, field), writes(rows, field)
    summed["io_ns"] = rows["io_kind_ns"].sum(axis=1) + rows["fsync_ns"]
    samples = rows["tcp_rtt_samples"]
    summed["tcp_rtt_ns"] = np.where(samples > 0, rows["tcp_rtt_ns"] // samples.clip(1), -1)
    return summed

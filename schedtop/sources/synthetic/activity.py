"""Made-up activity, for tests and for a look at the screen without root: the same numbers each time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from schedtop.activity.activity import Activity
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.activity import ActivityLoss, Call
from schedtop.model.activity_rows import DEVICE_COUNTS, DEVICE_DTYPE, IO_KINDS, ROW_DTYPE
from schedtop.model.host import Host
from schedtop.model.rows import Rows
from schedtop.model.tcp_changes import TcpChange

_START_TIME_NS = 1_790_000_000 * NS_PER_S

_KIB, _MIB = 1 << 10, 1 << 20

_CGROUPS = {
    11: "/system.slice/nginx.service",
    12: "/system.slice/postgresql.service",
    13: "/system.slice/backup.service",
    14: "/docker/" + "4f" * 32,
    15: "/user.slice/user-1000.slice",
}

_TASKS: tuple[tuple[int, int, str, str, int, dict[str, int]], ...] = (
    (1100, 1100, "nginx", "nginx", 11, {
        "syscalls": 48_200, "syscall_errors": 5_100, "syscall_ns": 620 * NS_PER_MS, "syscall_max_ns": 41 * NS_PER_MS,
        "opens": 210, "socket_reads": 9_400, "socket_read_bytes": 3 * _MIB, "socket_writes": 9_350,
        "socket_write_bytes": 41 * _MIB, "io_ms": 96, "minor_faults": 310, "tcp_rx_bytes": 3 * _MIB,
        "tcp_tx_bytes": 41 * _MIB, "tcp_rx_messages": 9_400, "tcp_tx_messages": 9_350, "tcp_accepts": 840,
        "tcp_rx_packets": 18_300, "tcp_tx_packets": 31_200, "tcp_resets": 3,
        "tcp_retransmits": 17, "tcp_rtt_ns": 9_350 * 23 * NS_PER_MS, "tcp_rtt_samples": 9_350,
    }),
    (1101, 1100, "nginx", "nginx", 11, {
        "syscalls": 31_700, "syscall_errors": 2_900, "syscall_ns": 410 * NS_PER_MS, "syscall_max_ns": 18 * NS_PER_MS,
        "socket_reads": 6_100, "socket_read_bytes": 2 * _MIB, "socket_writes": 6_000, "socket_write_bytes": 27 * _MIB,
        "io_ms": 61, "minor_faults": 120, "tcp_rx_bytes": 2 * _MIB, "tcp_tx_bytes": 27 * _MIB,
        "tcp_rx_messages": 6_100, "tcp_tx_messages": 6_000, "tcp_accepts": 510, "tcp_retransmits": 6,
        "tcp_rtt_ns": 6_000 * 21 * NS_PER_MS, "tcp_rtt_samples": 6_000,
    }),
    (1204, 1204, "postgres", "postgres", 12, {
        "syscalls": 12_400, "syscall_errors": 40, "syscall_ns": 930 * NS_PER_MS, "syscall_max_ns": 112 * NS_PER_MS,
        "opens": 60, "fsyncs": 32, "fsync_ms": 410, "file_reads": 2_100, "file_read_bytes": 17 * _MIB,
        "file_writes": 1_900, "file_write_bytes": 15 * _MIB, "io_ms": 380, "minor_faults": 2_400, "major_faults": 12,
        "fault_ns": 44 * NS_PER_MS, "page_cache_adds": 1_300, "tcp_rx_bytes": 640 * _KIB, "tcp_tx_bytes": 5 * _MIB,
        "tcp_rx_messages": 2_300, "tcp_tx_messages": 2_280, "tcp_rtt_ns": 2_280 * 310_000, "tcp_rtt_samples": 2_280,
    }),
    (1207, 1204, "flusher", "postgres", 12, {
        "syscalls": 700, "syscall_ns": 560 * NS_PER_MS, "syscall_max_ns": 97 * NS_PER_MS, "fsyncs": 11,
        "fsync_ms": 480, "file_writes": 410, "file_write_bytes": 26 * _MIB, "io_ms": 70, "minor_faults": 80,
    }),
    (3410, 3410, "backup", "backup", 13, {
        "syscalls": 5_600, "syscall_ns": 870 * NS_PER_MS, "syscall_max_ns": 64 * NS_PER_MS, "opens": 1_400,
        "file_reads": 2_600, "file_read_bytes": 164 * _MIB, "pipe_writes": 1_500, "pipe_write_bytes": 150 * _MIB,
        "io_ms": 820, "minor_faults": 150, "major_faults": 3, "fault_ns": 9 * NS_PER_MS, "page_cache_adds": 41_000,
        "reclaims": 90, "reclaim_ns": 140 * NS_PER_MS,
    }),
    (5120, 5120, "java", "java", 14, {
        "syscalls": 8_800, "syscall_errors": 1_200, "syscall_ns": 2_300 * NS_PER_MS, "syscall_max_ns": 940 * NS_PER_MS,
        "opens": 14, "socket_reads": 1_900, "socket_read_bytes": 900 * _KIB, "socket_writes": 1_850,
        "socket_write_bytes": 700 * _KIB, "io_ms": 40, "minor_faults": 18_400, "fault_ns": 61 * NS_PER_MS,
        "tcp_rx_bytes": 900 * _KIB, "tcp_tx_bytes": 700 * _KIB, "tcp_rx_messages": 1_900, "tcp_tx_messages": 1_850,
        "tcp_connects": 24, "tcp_failures": 3, "tcp_rtt_ns": 1_850 * 2 * NS_PER_MS, "tcp_rtt_samples": 1_850,
    }),
    (640, 640, "systemd-resolve", "systemd-resolve", 15, {
        "syscalls": 240, "syscall_ns": 990 * NS_PER_MS, "syscall_max_ns": 510 * NS_PER_MS, "socket_reads": 60,
        "socket_read_bytes": 9 * _KIB, "socket_writes": 58, "socket_write_bytes": 3 * _KIB, "udp_rx_packets": 60,
        "udp_tx_packets": 58, "udp_rx_bytes": 9 * _KIB, "udp_tx_bytes": 3 * _KIB, "minor_faults": 4,
    }),
    (7001, 7001, "bash", "bash", 15, {
        "syscalls": 95, "syscall_errors": 31, "syscall_ns": 700 * NS_PER_MS, "syscall_max_ns": 400 * NS_PER_MS,
        "opens": 12, "tty_reads": 3, "tty_read_bytes": 3, "tty_writes": 20, "tty_write_bytes": 900,
        "minor_faults": 220,
    }),
    (0, 0, "", "", 0, {"tcp_retransmits": 2}),
)  # fmt: skip
"""tid, tgid, names, cgroup, and what they do in a second."""

_CONNECTIONS = {1100: 412, 1204: 36, 5120: 24}

_CALLS: tuple[tuple[str, int, int, int, dict[str, int]], ...] = (
    ("futex", 9_100, 3_400, 940, {"ETIMEDOUT": 1_100, "EAGAIN": 60}),
    ("epoll_wait", 14_200, 1_900, 510, {"EINTR": 4}),
    ("read", 14_800, 1_140, 64, {"EAGAIN": 7_600}),
    ("fdatasync", 43, 890, 112, {}),
    ("write", 6_100, 310, 41, {"EPIPE": 2}),
    ("writev", 15_350, 157, 9, {"EAGAIN": 200}),
    ("recvfrom", 9_400, 98, 6, {"EAGAIN": 380, "ECONNRESET": 5}),
    ("openat", 1_690, 61, 22, {"ENOENT": 31}),
    ("accept4", 1_350, 24, 3, {"EAGAIN": 90}),
    ("close", 3_020, 11, 1, {}),
    ("getpid", 21_000, 3, 1, {}),
)
"""Name, how often, so many ms in all, the longest, errors."""

_TRANSITIONS = {
    ("CLOSED", "SYN_SENT"): 24,
    ("SYN_SENT", "ESTABLISHED"): 21,
    ("SYN_SENT", "CLOSED"): 3,
    ("SYN_RECV", "ESTABLISHED"): 1_350,
    ("ESTABLISHED", "CLOSE_WAIT"): 870,
    ("ESTABLISHED", "FIN_WAIT_1"): 490,
    ("CLOSE_WAIT", "LAST_ACK"): 868,
    ("LAST_ACK", "CLOSED"): 868,
    ("FIN_WAIT_1", "FIN_WAIT_2"): 486,
    ("FIN_WAIT_2", "CLOSED"): 486,
}


_DISK, _BACKUP = 254 << 20 | 1, 254 << 20 | 16

_DEVICE_NAMES = {_DISK: "vda1", _BACKUP: "vdb"}

_DEVICES = (
    (1204, _DISK, 2_100, 2_310, 17 * _MIB, 41 * _MIB, 210 * NS_PER_MS, 240 * NS_PER_MS),
    (3410, _DISK, 1_900, 0, 120 * _MIB, 0, 580 * NS_PER_MS, 0),
    (3410, _BACKUP, 700, 0, 44 * _MIB, 0, 190 * NS_PER_MS, 0),
)
"""Process, device, and what they read and write there in a second, as in DEVICE_DTYPE."""

_LATEST = (
    TcpChange(120 * NS_PER_MS, "SYN_SENT", "CLOSED", "10.0.0.7", 41_812, "10.0.0.31", 9_092),
    TcpChange(310 * NS_PER_MS, "CLOSED", "SYN_SENT", "10.0.0.7", 41_830, "10.0.0.31", 9_092),
    TcpChange(311 * NS_PER_MS, "SYN_SENT", "ESTABLISHED", "10.0.0.7", 41_830, "10.0.0.31", 9_092),
    TcpChange(640 * NS_PER_MS, "SYN_RECV", "ESTABLISHED", "2001:db8::7", 443, "2001:db8::a1", 55_120),
    TcpChange(905 * NS_PER_MS, "ESTABLISHED", "CLOSE_WAIT", "10.0.0.7", 443, "192.0.2.44", 60_311),
)
"""As of the beginning of a second."""


class SyntheticActivity:
    """An ActivitySource that shows one scene, a little other each second, every `pace_s` seconds."""

    def __init__(self, pace_s: float = 1.0) -> None:
        self.host = Host("synthetic", "6.18.0", "synthetic", virtualised=True)
        self._pace_s = pace_s
        self._selected = 0
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

    def select(self, tgid: int) -> None:
        """Of any process there are a third of the calls."""
        self._selected = tgid

    def latest(self) -> Activity:
        """The next second, at once."""
        self._read += 1
        return self._second(self._read)

    def frames(self, stop: threading.Event) -> Iterator[Activity]:
        """A second each time."""
        seconds = 0
        while not stop.wait(self._pace_s):
            seconds += 1
            yield self._second(seconds)

    def _second(self, seconds: int) -> Activity:
        percent = 80 + 7 * (seconds * 3 % 7)
        return Activity(
            host=self.host,
            start_time_ns=_START_TIME_NS + (seconds - 1) * NS_PER_S,
            end_ns=time.monotonic_ns(),
            interval_ns=NS_PER_S,
            rows=np.concatenate([_row(*task, percent) for task in _TASKS]),
            connections=np.concatenate(
                [_row(*task[:5], {"tcp_connections": _CONNECTIONS[task[0]]}, 100) for task in _TASKS
                 if task[0] in _CONNECTIONS]
            ),
            syscalls=_calls(percent),
            selected_tgid=self._selected,
            selected_syscalls=_calls(percent // 3)[1:] if self._selected else (),
            transitions=MappingProxyType({change: count * percent // 100 for change, count in _TRANSITIONS.items()}),
            latest=tuple(
                replace(change, time_ns=_START_TIME_NS + (seconds - 1) * NS_PER_S + change.time_ns)
                for change in _LATEST
            ),
            devices=_devices(percent),
            device_names=MappingProxyType(_DEVICE_NAMES),
            cgroups=MappingProxyType(_CGROUPS),
            unavailable=MappingProxyType({"kernel faults": "this kernel has no tracepoint page_fault_kernel"}),
            loss=ActivityLoss(errors_untracked=3),
        )  # fmt: skip


def _row(tid: int, tgid: int, comm: str, process: str, cgroup: int, numbers: Mapping[str, int], percent: int) -> Rows:
    row = np.zeros(1, ROW_DTYPE)
    row["tid"], row["tgid"], row["start_ns"], row["cgroup_id"] = tid, tgid, 5, cgroup
    row["comm"], row["process"] = comm.encode(), process.encode()
    for name, count in numbers.items():
        value = count if name == "syscall_max_ns" else count * percent // 100
        kind, _, what = name.partition("_")
        if kind in IO_KINDS:
            place = IO_KINDS.index(kind) + (len(IO_KINDS) if what.startswith("write") else 0)
            row["io_bytes" if what.endswith("bytes") else "io_count"][0, place] = value
        elif name == "io_ms":
            row["io_kind_ns"][0, 0] = value * NS_PER_MS
        elif name == "fsync_ms":
            row["fsync_ns"] = value * NS_PER_MS
        else:
            row[name] = value
    return row


def _devices(percent: int) -> Rows:
    rows = np.array(list(_DEVICES), DEVICE_DTYPE)
    for name in DEVICE_COUNTS:
        rows[name] = rows[name] * percent // 100
    return rows


def _calls(percent: int) -> tuple[Call, ...]:
    found = []
    for name, count, total_ms, max_ms, errors in _CALLS:
        failed = {error: times * percent // 100 for error, times in errors.items()}
        found.append(
            Call(
                name,
                count * percent // 100,
                sum(failed.values()),
                total_ms * NS_PER_MS * percent // 100,
                max_ms * NS_PER_MS,
                MappingProxyType({error: times for error, times in failed.items() if times}),
            )
        )
    return tuple(found)

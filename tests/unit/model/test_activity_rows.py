"""Rows are merged by thread, process, name, cgroup and container; intervals add."""

from __future__ import annotations

import numpy as np
import pytest

from schedtop.model.activity_rows import (
    DEVICE_DTYPE,
    IO_KINDS,
    ROW_DTYPE,
    SUMS,
    grouped,
    merge_devices,
    merge_threads,
    reads,
    writes,
)
from schedtop.model.rows import Rows
from schedtop.model.tcp_changes import MOST_LATEST, TcpChange
from schedtop.sources.kernel.constants import TASK
from tests.unit.activity.made import activity, io, row

CGROUPS = {7: "/system.slice/web.service", 8: "/docker/" + "ab" * 32, 9: "/docker/" + "ab" * 32 + "/inner"}


def test_kinds_are_those_of_the_kernel_side() -> None:
    assert TASK.names("IO")[: len(IO_KINDS)] == IO_KINDS


def test_threads_of_one_tid_that_began_at_different_times_stay_apart() -> None:
    merged = merge_threads([row(5, 5, syscalls=1), row(5, 5, start_ns=9, syscalls=2), row(5, 5, syscalls=4)])
    assert sorted(merged["syscalls"].tolist()) == [2, 5]


def test_sums_add_and_the_longest_stays() -> None:
    rows = np.concatenate([
        row(5, 5, syscalls=1, syscall_max_ns=40, io_count=io(file_read=3)),
        row(6, 5, syscalls=2, syscall_max_ns=30, io_count=io(file_read=1, socket_write=9)),
    ])  # fmt: skip
    merged = grouped(rows, "process", {})
    assert merged["syscalls"].tolist() == [3]
    assert merged["syscall_max_ns"].tolist() == [40]
    assert (reads(merged, "io_count").tolist(), writes(merged, "io_count").tolist()) == ([4], [9])


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("thread", [1, 2, 4, 8, 16]),
        ("process", [3, 4, 8, 16]),
        ("comm", [7, 8, 16]),
        ("cgroup", [3, 4, 8, 16]),
        ("container", [3, 28]),
    ],
)
def test_groups(by: str, expected: list[int]) -> None:
    rows = np.concatenate([
        row(1, 1, syscalls=1, cgroup_id=7),
        row(2, 1, syscalls=2, cgroup_id=7, comm=b"helper"),
        row(3, 3, syscalls=4, cgroup_id=8),
        row(4, 4, syscalls=8, cgroup_id=9, process=b"other"),
        row(5, 5, syscalls=16, cgroup_id=10, process=b"third"),
    ])  # fmt: skip
    cgroups = CGROUPS | {10: CGROUPS[8] + "/deeper"}
    assert sorted(grouped(rows, by, cgroups)["syscalls"].tolist()) == expected


def test_reads_and_writes_of_a_device_add_by_process() -> None:
    def device(tgid: int, number: int, reads: int) -> Rows:
        return np.array([(tgid, number, reads, 1, 10 * reads, 0, 5, 6)], DEVICE_DTYPE)

    merged = merge_devices([device(4, 9, 1), device(4, 8, 2), device(4, 9, 4), device(5, 9, 8)])
    found = [tuple(row) for row in merged[["tgid", "device", "reads", "read_bytes", "write_ns"]].tolist()]
    assert sorted(found) == [(4, 8, 2, 20, 6), (4, 9, 5, 50, 12), (5, 9, 8, 80, 6)]
    assert len(merge_devices([])) == 0


def test_the_last_changes_of_two_intervals_are_kept() -> None:
    changes = [TcpChange(at, "CLOSED", "SYN_SENT", "::", at, "::1", 80) for at in range(MOST_LATEST + 3)]
    merged = activity(latest=tuple(changes[:5])) + activity(latest=tuple(changes[5:]))
    assert [change.time_ns for change in merged.latest] == list(range(3, MOST_LATEST + 3))


def test_a_process_bears_its_own_name_and_not_that_of_a_thread() -> None:
    merged = grouped(row(9, 4, comm=b"helper", process=b"server"), "process", {})
    assert merged["comm"].tolist() == [b"server"]


def test_nothing_stays_nothing() -> None:
    empty = np.zeros(0, ROW_DTYPE)
    for by in ("thread", "process", "comm", "cgroup", "container"):
        assert len(grouped(empty, by, {})) == 0
    assert len(merge_threads([])) == 0


def test_intervals_add() -> None:
    earlier = activity(row(5, 5, syscalls=1), connections=row(5, 5, tcp_connections=3))
    later = activity(row(5, 5, syscalls=2), row(6, 6, syscalls=7), connections=row(5, 5, tcp_connections=1))
    total = earlier + later
    assert sorted(total.rows["syscalls"].tolist()) == [3, 7]
    assert total.connections["tcp_connections"].tolist() == [1]
    assert (total.interval_ns, total.start_time_ns, total.end_ns) == (2_000_000_000, 1_000_000_000, later.end_ns)
    assert [(call.count, call.failed, call.max_ns, dict(call.errors)) for call in total.syscalls] == [
        (6, 2, 500, {"EAGAIN": 2})
    ]
    assert total.transitions["SYN_SENT", "ESTABLISHED"] == 8
    assert total.loss.events_untracked == 4


def test_every_counter_is_a_sum() -> None:
    rows = np.concatenate([row(5, 5), row(5, 5)])
    for name in SUMS:
        rows[name] = 3
    merged = merge_threads([rows])
    assert all((merged[name] == 6).all() for name in SUMS)

"""What stands out: which facts, in which words, and what is no fact."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from schedtop.activity.standing_out import LIMITS, MOST, standing_out
from schedtop.model.activity import Call
from schedtop.model.rows import Rows
from tests.unit.activity.made import activity, io, row

MS = 1_000_000


def one(**numbers: Any) -> Rows:
    return row(10, 10, comm=b"pg_dump", process=b"pg_dump", **numbers)


def words(*rows: Rows, **more: Any) -> list[str]:
    return [fact.words for fact in standing_out(activity(*rows, **({"syscalls": ()} | more)))]


def failing(name: str, **errors: int) -> Call:
    count = sum(errors.values())
    return Call(name, count, count, 1000, 10, MappingProxyType(errors))


@pytest.mark.parametrize(
    ("kind", "numbers", "expected"),
    [
        ("file_io", {"io_kind_ns": io(file_read=620 * MS)}, "pg_dump (10): 62.0 % of its time in reads of files"),
        ("file_io", {"io_kind_ns": io(file_write=300 * MS)}, "pg_dump (10): 30.0 % of its time in writes of files"),
        (
            "file_io",
            {"io_kind_ns": io(file_read=200 * MS, file_write=200 * MS)},
            "pg_dump (10): 40.0 % of its time in I/O of files",
        ),
        ("fsync", {"fsync_ns": 410 * MS}, "pg_dump (10): 41.0 % of its time waiting for the disk (fsync)"),
        ("reclaim", {"reclaim_ns": 120 * MS}, "pg_dump (10): 12.0 % of its time freeing memory (reclaim)"),
        ("fault_time", {"fault_ns": 500 * MS}, "pg_dump (10): 50.0 % of its time in page faults"),
        (
            "major_faults",
            {"major_faults": 120},
            "pg_dump (10): 120 major faults a second: memory is read from the disk",
        ),
        ("tcp_failures", {"tcp_failures": 12}, "pg_dump (10): 12 failed connects a second"),
        ("retransmits", {"tcp_retransmits": 14}, "retransmits 14/s by pg_dump (10)"),
        ("system_calls", {"syscalls": 800_000}, "pg_dump (10): 800k system calls a second"),
    ],
)
def test_fact_beyond_its_limit_is_told(kind: str, numbers: dict[str, Any], expected: str) -> None:
    (fact,) = standing_out(activity(one(**numbers), syscalls=()))
    assert (fact.kind, fact.words, fact.tgid, fact.comm) == (kind, expected, 10, "pg_dump")
    assert fact.weight >= 1


def test_nothing_below_a_limit_is_told() -> None:
    below = one(
        io_kind_ns=io(file_read=199 * MS, socket_read=1000 * MS, pipe_read=1000 * MS, device_read=1000 * MS),
        fsync_ns=99 * MS, reclaim_ns=49 * MS, fault_ns=199 * MS, major_faults=19, tcp_failures=4, tcp_retransmits=4,
        syscalls=299_999, syscall_errors=99,
    )  # fmt: skip
    assert not words(below, syscalls=(failing("connect", ECONNREFUSED=99),))
    assert not words()


def test_limits_are_of_a_second() -> None:
    assert words(one(tcp_retransmits=14), interval_ns=2_000_000_000) == ["retransmits 7/s by pg_dump (10)"]
    assert not words(one(tcp_retransmits=14), interval_ns=3_000_000_000)


def test_threads_of_a_process_are_one_fact_and_more_than_all_its_time_is_a_sum() -> None:
    threads = [row(tid, 10, process=b"pg_dump", fsync_ns=700 * MS) for tid in (10, 11)]
    assert words(*threads) == ["pg_dump (10): 1.40 s a second waiting for the disk (fsync)"]


def test_failing_calls_name_the_error_and_the_process_that_must_have_them() -> None:
    refused = failing("connect", ECONNREFUSED=340)
    nginx = row(5, 5, process=b"nginx", syscall_errors=341)
    assert words(nginx, syscalls=(refused,)) == ["nginx (5): 340 failing connect a second (ECONNREFUSED)"]
    # As many errors of another process: they may be of either.
    assert words(nginx, one(syscall_errors=300), syscalls=(refused,)) == ["340 failing connect a second (ECONNREFUSED)"]


def test_errors_that_programs_ask_for_are_no_fact() -> None:
    expected = failing("read", EAGAIN=9000, EINTR=500), failing("openat", ENOENT=9000)
    asking = failing("readlink", EINVAL=9000)
    assert not words(one(syscall_errors=30_000), syscalls=(*expected, asking))
    assert words(one(syscall_errors=9000), syscalls=(failing("ioctl", EINVAL=9000),))


def test_retransmits_of_no_known_task_have_no_name() -> None:
    assert words(row(0, 0, comm=b"", process=b"", tcp_retransmits=50)) == ["retransmits 50/s"]
    mixed = one(tcp_retransmits=30), row(5, 5, process=b"rsync", tcp_retransmits=20)
    assert words(*mixed) == ["retransmits 50/s, most by pg_dump (10)"]


def test_most_telling_fact_is_first_and_few_are_told() -> None:
    every = [row(tid, tid, process=b"p", tcp_failures=tid) for tid in range(10, 30)]
    facts = standing_out(activity(*every, one(major_faults=2000), syscalls=()))
    assert len(facts) == MOST
    assert facts[0].kind == "major_faults"
    assert [fact.value for fact in facts[1:]] == [29, 28, 27, 26]
    assert {fact.kind for fact in facts} <= set(LIMITS)

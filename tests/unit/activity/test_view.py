"""What the table of activity shows: groups, order, filter, names."""

from __future__ import annotations

import pytest

from schedtop.activity.view import NAME, NO_TASK, NUMBER, ActivitySettings, ActivityView, view_of
from schedtop.model.activity_rows import GROUPS
from schedtop.model.filters import Filter
from tests.unit.activity.made import activity, io, row

THREADS = (
    row(11, 10, comm=b"io-thread", process=b"server", cgroup_id=7, syscalls=5, io_bytes=io(file_read=10)),
    row(10, 10, comm=b"server", process=b"server", cgroup_id=7, syscalls=6, io_bytes=io(pipe_write=4)),
    row(20, 20, comm=b"Agent", process=b"Agent", cgroup_id=8, syscalls=9, tcp_rtt_ns=30, tcp_rtt_samples=3),
)


def shown(**settings: object) -> ActivityView:
    return view_of([activity(*THREADS)], ActivitySettings(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("by", "names", "syscalls"),
    [
        ("process", ["server", "Agent"], [11, 9]),
        ("thread", ["Agent", "server", "io-thread"], [9, 6, 5]),
        ("comm", ["server", "Agent"], [11, 9]),
        ("cgroup", ["web.service", "docker abababababab"], [11, 9]),
        ("container", ["host", "docker abababababab"], [11, 9]),
    ],
)
def test_groups_have_names_and_sums(by: str, names: list[str], syscalls: list[int]) -> None:
    view = shown(by=by)
    assert view.names(view.rows) == names and view.rows["syscalls"].tolist() == syscalls
    assert view.row_count == len(names)


@pytest.mark.parametrize("by", GROUPS)
def test_every_row_has_a_key_of_its_own(by: str) -> None:
    view = shown(by=by)
    keys = {*zip(view.rows["id"].tolist(), view.rows["born"].tolist(), strict=True)}
    assert len(keys) == len(view.rows)


def test_sums_of_descriptors_and_averages() -> None:
    view = shown()
    server, agent = view.rows
    assert (server["read_bytes"], server["write_bytes"]) == (10, 4)
    assert (agent["tcp_rtt_ns"], server["tcp_rtt_ns"]) == (10, -1)


def test_orders() -> None:
    assert shown(sort=NAME).rows["tgid"].tolist() == [20, 10]
    assert shown(sort=NUMBER).rows["tgid"].tolist() == [10, 20]
    assert shown(sort="read_bytes").rows["tgid"].tolist() == [10, 20]
    # Both have none: by name then.
    assert shown(sort="fsyncs").rows["tgid"].tolist() == [20, 10]


@pytest.mark.parametrize(
    ("text", "by", "names"),
    [
        ("serv", "process", ["server"]),
        ("io-", "process", []),
        ("io-", "thread", ["io-thread"]),
        ("tgid:10", "thread", ["server", "io-thread"]),
        ("cgroup:docker", "process", ["Agent"]),
        ("20", "process", ["Agent"]),
    ],
)
def test_filter_is_by_the_name_that_is_shown(text: str, by: str, names: list[str]) -> None:
    view = shown(by=by, filter=Filter.parse(text))
    assert view.names(view.rows) == names
    assert view.row_count == (3 if by == "thread" else 2)


def test_connections_without_a_known_task_are_a_row() -> None:
    view = view_of([activity(row(0, 0, comm=b"", process=b"", tcp_retransmits=2))], ActivitySettings())
    assert view.names(view.rows) == [NO_TASK]


def test_task_that_only_has_connections_is_a_row() -> None:
    view = view_of([activity(connections=row(5, 5, tcp_connections=3))], ActivitySettings())
    assert view.rows["tcp_connections"].tolist() == [3]


def test_what_is_missing_says_why() -> None:
    view = view_of([activity(*THREADS, only=("files",), unavailable={"io": "no BTF"})], ActivitySettings())
    assert view.missing("io") == "no BTF" and view.missing("syscalls") == "syscalls is not measured"
    assert view.missing("files") == ""
    assert {"syscalls", "read_bytes", "tcp_rtt_ns"} <= view.absent and "opens" not in view.absent

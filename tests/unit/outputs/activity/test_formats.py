"""Activity as JSON, CSV and text."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from schedtop.activity.fields import FIELDS, NUMBERS
from schedtop.model.activity_rows import DEVICE_DTYPE
from schedtop.model.tcp_changes import TcpChange
from schedtop.outputs.activity.asked import Asked
from schedtop.outputs.activity.csv import to_csv
from schedtop.outputs.activity.document import NAMES, document, to_json
from schedtop.outputs.activity.formats import FORMATS
from schedtop.outputs.activity.text import to_text
from tests.unit.activity.made import activity, io, row

AGREED = {
    *("tgid", "comm", "syscalls", "syscall_errors", "syscall_ns", "reads", "writes", "read_bytes", "write_bytes"),
    *(
        "io_ns",
        "opens",
        "fsyncs",
        "minor_faults",
        "major_faults",
        "fault_ns",
        "tcp_rx_bytes",
        "tcp_tx_bytes",
        "tcp_connects",
    ),
    *("tcp_accepts", "tcp_failures", "tcp_retransmits", "tcp_rtt_ns"),
    *("udp_rx_packets", "udp_tx_packets", "udp_rx_bytes", "udp_tx_bytes"),
}

BUSY = row(
    5,
    5,
    syscalls=9,
    syscall_ns=400,
    cgroup_id=7,
    io_count=io(file_read=3, pipe_write=2),
    io_bytes=io(file_read=300, pipe_write=20),
    io_kind_ns=io(file_read=100, pipe_write=50),
    fsync_ns=7,
    tcp_rtt_ns=90,
    tcp_rtt_samples=3,
)
IDLE = row(6, 6, syscalls=1, comm=b"=cmd", process=b"=cmd")


def test_document_has_the_fields_that_were_agreed_on() -> None:
    data = json.loads(to_json(activity(BUSY)))
    assert data["schema"] == "schedtop.activity/1"
    assert set(data["rows"][0]) >= AGREED
    assert set(data["syscalls"][0]) == {"name", "count", "errors", "total_ns", "max_ns", "errnos"}
    assert data["tcp_transitions"][0] == {"from": "SYN_SENT", "to": "ESTABLISHED", "count": 4}
    assert data["loss"]["events_untracked"] == 2
    assert [*data["rows"][0]] == [*NAMES, *NUMBERS, "io", "devices"]


ON_DISKS = {
    "devices": np.array([(5, 254 << 20, 3, 1, 300, 20, 40, 50), (5, 21, 1, 0, 9, 0, 1, 0)], DEVICE_DTYPE),
    "device_names": {254 << 20: "vda"},
}
CHANGE = TcpChange(1_000_000_000, "SYN_SENT", "CLOSED", "::1", 1234, "::1", 80)


def test_devices_are_told_of_the_host_and_of_each_process() -> None:
    data = document(activity(BUSY, IDLE, **ON_DISKS))
    vda = {"reads": 3, "writes": 1, "read_bytes": 300, "write_bytes": 20, "read_ns": 40, "write_ns": 50}
    assert [one["device"] for one in data["devices"]] == ["vda", "0:21"]
    assert data["devices"][0] == {"device": "vda", **vda}
    assert data["rows"][0]["devices"]["vda"] == vda
    assert data["rows"][1]["devices"] == {}
    by_thread = document(activity(BUSY, **ON_DISKS), Asked(by="thread"))
    assert by_thread["rows"][0]["devices"] is None
    for without in ({"only": ("memory",)}, {"unavailable": {"devices": "no BTF"}}):
        assert document(activity(BUSY, **(ON_DISKS | without)))["devices"] is None
    assert "vda" in to_text(activity(BUSY, **ON_DISKS))


def test_the_latest_changes_have_both_ends() -> None:
    made = activity(BUSY, latest=(CHANGE,))
    assert document(made)["tcp_latest"] == [
        {
            "time": "1970-01-01T00:00:01.000000Z",
            "from": "SYN_SENT",
            "to": "CLOSED",
            "local": "::1",
            "local_port": 1234,
            "remote": "::1",
            "remote_port": 80,
        }
    ]
    assert "[::1]:1234  [::1]:80" in to_text(made)
    assert document(activity(BUSY, only=("files",)))["tcp_latest"] is None


def test_numbers_of_a_row() -> None:
    one = document(activity(BUSY))["rows"][0]
    assert (one["reads"], one["writes"], one["read_bytes"], one["write_bytes"], one["io_ns"]) == (3, 2, 300, 20, 157)
    assert one["tcp_rtt_ns"] == 30
    assert one["io"]["file"] == {
        "reads": 3, "writes": 0, "read_bytes": 300, "write_bytes": 0, "read_ns": 100, "write_ns": 0,
    }  # fmt: skip
    assert set(one["io"]) == {"file", "pipe"}
    assert (one["cgroup"], one["container"], one["tid"]) == ("/system.slice/web.service", "host", None)


def test_round_trip_time_without_a_sample_is_not_known() -> None:
    assert document(activity(IDLE))["rows"][0]["tcp_rtt_ns"] is None
    assert document(activity(IDLE))["totals"]["tcp_rtt_ns"] is None
    assert document(activity())["totals"]["tcp_rtt_ns"] is None


@pytest.mark.parametrize("part", FIELDS)
def test_what_was_not_asked_for_is_null(part: str) -> None:
    data = document(activity(BUSY, only=(part,)))
    for name in NUMBERS:
        if name not in FIELDS[part]:
            assert data["rows"][0][name] is None, name
            assert data["totals"][name] is None, name
    assert (data["syscalls"] is None) == (part != "syscalls")
    assert (data["tcp_transitions"] is None) == (part != "network")


def test_what_the_kernel_cannot_tell_is_null() -> None:
    data = document(activity(BUSY, unavailable={"fault time": "no function", "accepts": "no fields"}))
    assert data["rows"][0]["fault_ns"] is None
    assert data["rows"][0]["tcp_accepts"] is None
    assert data["rows"][0]["minor_faults"] == 0
    assert data["unavailable"]["accepts"] == "no fields"


def test_rows_are_sorted_and_cut() -> None:
    data = document(activity(IDLE, BUSY), Asked(sort="syscalls", top=1))
    assert [one["tgid"] for one in data["rows"]] == [5]
    assert data["row_count"] == 2
    assert data["totals"]["syscalls"] == 10
    by_name = document(activity(BUSY, IDLE), Asked(sort="comm"))
    assert [one["comm"] for one in by_name["rows"]] == ["=cmd", "server"]


def test_totals_do_not_depend_on_the_grouping() -> None:
    made = activity(BUSY, IDLE, row(7, 5, syscalls=4))
    found = {by: document(made, Asked(by=by))["totals"] for by in ("thread", "process", "comm", "cgroup", "container")}
    assert found["thread"]["syscalls"] == 14
    assert all(totals == found["thread"] for totals in found.values())


def test_csv_has_a_column_for_each_number() -> None:
    text = to_csv(activity(BUSY, IDLE), Asked())
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    assert [*rows[0]] == [*NAMES, *NUMBERS]
    assert [one["comm"] for one in rows] == ["server", "'=cmd"]
    assert rows[0]["syscalls"] == "9"
    assert "# loss: events_untracked: 2" in text
    assert "# only: syscalls, files, memory, network" in text


@pytest.mark.parametrize("by", ["process", "thread", "comm", "cgroup", "container"])
def test_text_shows_rows_calls_changes_and_loss(by: str) -> None:
    text = FORMATS["text"](activity(BUSY, IDLE, unavailable={"fault time": "no function"}), Asked(by=by))
    assert f"Activity by {by}, by syscalls" in text
    assert "read" in text and "EAGAIN 1" in text
    assert "SYN_SENT  ESTABLISHED      4" in text
    assert "lost: events untracked: 2" in text
    assert "not available: fault time: no function" in text


def test_text_of_one_part_has_only_its_columns() -> None:
    text = FORMATS["text"](activity(BUSY, only=("network",)), Asked())
    assert "retrans" in text
    assert "calls/s" not in text
    assert "System calls" not in text


def test_what_stands_out_is_in_json_and_text() -> None:
    slow = activity(row(9, 9, process=b"pg_dump", fsync_ns=620_000_000), syscalls=())
    (fact,) = document(slow)["standing_out"]
    assert fact == {
        "kind": "fsync", "value": 0.62, "tgid": 9, "comm": "pg_dump",
        "words": "pg_dump (9): 62.0 % of its time waiting for the disk (fsync)",
    }  # fmt: skip
    assert f"What stands out\n  {fact['words']}\n" in FORMATS["text"](slow, Asked())
    assert document(activity(IDLE, syscalls=()))["standing_out"] == []
    assert "Nothing stands out." in FORMATS["text"](activity(IDLE, syscalls=()), Asked())

"""Activity on the screen: which columns there are, what cells say, and the matrix of TCP states."""

from __future__ import annotations

import numpy as np
import pytest

from schedtop.activity import PARTS
from schedtop.activity.fields import NUMBERS
from schedtop.activity.view import ActivitySettings, view_of
from schedtop.base.units import NS_PER_MS
from schedtop.model.activity import ActivityLoss
from schedtop.model.activity_rows import DEVICE_DTYPE, GROUPS
from schedtop.model.tcp_changes import TcpChange
from schedtop.panes.activity.columns import ALL, ORDERS, ActivityRows, columns_of, orders_of
from schedtop.panes.activity.header import loss_words, standing_out_words
from schedtop.panes.activity.tcp import latest, matrix, pairs
from schedtop.widgets.columns import Column, place
from tests.unit.activity.made import activity, io, row

CHANGES = {("CLOSED", "SYN_SENT"): 5, ("SYN_SENT", "ESTABLISHED"): 4, ("SYN_SENT", "CLOSED"): 1, ("state 20", "X"): 2}

BUSY = row(
    10,
    10,
    syscalls=1500,
    syscall_ns=250 * NS_PER_MS,
    io_count=io(file_read=30, pipe_write=10),
    io_bytes=io(file_read=4096, pipe_write=10),
    tcp_rtt_ns=6 * NS_PER_MS,
    tcp_rtt_samples=3,
)


def cells(header: str, **settings: object) -> list[str]:
    """What a column says of a second."""
    view = view_of([activity(BUSY, row(20, 20, syscalls=500))], ActivitySettings(**settings))  # type: ignore[arg-type]
    column = next(column for column in columns_of("process", ALL, "syscalls") if column.header == header)
    return list(column.cells(ActivityRows(view.rows, view, 1500)))


def test_every_number_can_be_sorted_by_or_is_a_detail() -> None:
    assert set(NUMBERS) - ORDERS.keys() == {"tcp_rx_messages", "tcp_tx_messages"}
    assert len({*ORDERS.values()}) == len(ORDERS)


@pytest.mark.parametrize("by", GROUPS)
@pytest.mark.parametrize("part", [ALL, *PARTS])
@pytest.mark.parametrize("width", [56, 76, 116, 156, 196])
def test_the_name_and_the_column_that_sorts_always_fit(by: str, part: str, width: int) -> None:
    for order in ORDERS:
        placed: list[tuple[Column[ActivityRows], int]] = place(columns_of(by, part, order), width)
        sorts = [column.sort for column, _ in placed]
        assert sorts[0] == "name"
        assert order in sorts or order not in orders_of(by, part, order)


def test_eighty_columns_have_something_of_every_part() -> None:
    headers = {column.header for column, _ in place(columns_of("process", ALL, "syscalls"), 76)}
    assert {"calls/s", "read/s", "write/s", "minor/s", "tcp in/s", "tcp out/s"} <= headers


def test_column_of_another_part_that_sorts_comes_first() -> None:
    headers = [column.header for column in columns_of("process", "memory", "tcp_rtt_ns")]
    assert headers[:4] == ["process", "pid", "", "rtt"] and "minor/s" in headers and "calls/s" not in headers


def test_cells_are_rates_times_and_dots() -> None:
    assert cells("calls/s") == ["1500", "500"]
    assert cells("in calls %") == ["25.0", "·"]
    assert cells("read/s") == ["4 KiB", "·"]
    assert cells("mostly") == ["file 75 %", "·"]
    assert cells("rtt") == ["2.00 ms", "·"]
    assert cells("") == ["━━━━━━", "━━"]


def test_device_is_the_one_with_most_bytes_of_a_process() -> None:
    devices = np.array([(10, 9, 1, 0, 30, 0, 0, 0), (10, 8, 1, 1, 40, 50, 0, 0)], DEVICE_DTYPE)
    made = activity(BUSY, row(20, 20, syscalls=500), devices=devices, device_names={8: "vda1"})
    for by, expected in (("process", ["vda1 75 %", "·"]), ("comm", ["-"])):
        view = view_of([made], ActivitySettings(by=by))
        column = next(column for column in columns_of(by, ALL, "syscalls") if column.header == "device")
        assert column.cells(ActivityRows(view.rows, view, 0)) == expected


def test_latest_changes_come_newest_first_and_fit() -> None:
    changes = [
        TcpChange(10**9 * at, "SYN_SENT", "ESTABLISHED", "10.0.0.1", 4000 + at, "2001:db8::1", 80) for at in range(3)
    ]
    lines = ["".join(text for text, _ in line) for line in latest(changes, 70)]
    assert len(lines) == 4 and lines[0] == "latest"
    assert "SYN_S → ESTAB" in lines[1] and lines[1].endswith("10.0.0.1:4002 [2001:db8::1]:80")
    assert all(len(line) <= 24 for text in latest(changes, 24) for line in ["".join(part for part, _ in text)])
    assert not latest([], 70)


def test_what_cannot_be_told_is_a_dash() -> None:
    view = view_of([activity(BUSY, unavailable={"io": "no BTF"})], ActivitySettings())
    columns = {column.header: column for column in columns_of("process", ALL, "syscalls")}
    for header, text in {"read/s": "-", "mostly": "-", "calls/s": "1500"}.items():
        assert list(columns[header].cells(ActivityRows(view.rows, view, 0))) == [text]


def test_matrix_has_the_states_that_occurred() -> None:
    lines = ["".join(text for text, _ in line) for line in matrix(CHANGES, 60)]
    assert lines[0].split() == ["from", "CLOSED", "SYN_S", "ESTAB", "X"]
    assert [line.split() for line in lines[1:]] == [
        ["CLOSED", "·", "5", "·", "·"],
        ["SYN_SENT", "1", "·", "4", "·"],
        ["state", "20", "·", "·", "·", "2"],
    ]
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize("width", [22, 30, 36])
def test_without_room_there_is_a_line_for_each_change(width: int) -> None:
    assert not matrix(CHANGES, width)
    lines = ["".join(text for text, _ in line) for line in pairs(CHANGES, width)]
    assert max(map(len, lines)) <= width
    assert lines[0].split()[0] == "5" and "SYN_S" in lines[0]


def test_loss_names_the_largest() -> None:
    loss = ActivityLoss(events_untracked=2, errors_untracked=7, negative_times=1)
    assert loss_words(activity(loss=loss)) == "errors untracked 7, events untracked 2"
    assert loss_words(activity(loss=ActivityLoss())) == ""


def test_header_says_what_stands_out_and_cuts_it_where_it_does_not_fit() -> None:
    slow = activity(row(9, 9, process=b"pg_dump", fsync_ns=620_000_000, major_faults=100), syscalls=())
    first, second = standing_out_words(slow, 80)
    assert first == [
        ("stands out ", "dim"), ("pg_dump (9): 62.0 % of its time waiting for the disk (fsync)", "notice"),
    ]  # fmt: skip
    assert second[0][0].startswith("pg_dump (9): 100 major faults")
    assert sum(len(words) for words, _ in standing_out_words(slow, 40)[0]) == 40
    assert standing_out_words(activity(syscalls=()), 80) == [[("nothing stands out", "dim")]]

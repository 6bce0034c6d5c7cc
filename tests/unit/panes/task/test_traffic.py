"""Connections in the task view at any width: which end it is, and where. What a list leaves out is counted."""

from __future__ import annotations

import pytest

from schedtop.panes.task.blocks import Block, arranged
from schedtop.panes.task.syscalls import ongoing_text
from schedtop.panes.task.traffic import connection_text
from schedtop.task import ConnectionChange, OngoingCall

CLOSED = ConnectionChange(0, "tcp", "LAST_ACK", "CLOSED", "127.0.0.1:18931", "127.0.0.1:56188")


@pytest.mark.parametrize("cells", range(18, 80))
def test_the_remote_port_and_the_new_state_are_never_cut(cells: int) -> None:
    said = connection_text(CLOSED, cells)
    assert len(said) <= cells
    assert "closed" in said
    assert ":56188" in said
    assert " to " in said or " ↔ " in said


def test_a_port_that_is_not_there_yet_is_not_told() -> None:
    syn = ConnectionChange(0, "tcp", "CLOSED", "SYN_SENT", "127.0.0.1:0", "127.0.0.1:80")
    assert "127.0.0.1:0" not in connection_text(syn, 80)
    listen = ConnectionChange(0, "tcp", "CLOSED", "LISTEN", "127.0.0.1:80", "0.0.0.0:0")
    assert connection_text(listen, 24) == "listen at 127.0.0.1:80"


def test_a_call_that_has_just_begun_has_no_time() -> None:
    assert ongoing_text(OngoingCall(1, 202, "futex", 0)) == "in futex"
    assert ongoing_text(OngoingCall(1, 202, "futex", 5_000_000)) == "in futex for 5.00 ms"


def test_long_list_counts_entries_that_were_never_made() -> None:
    block = Block("wakes", [[(str(number), "text")] for number in range(5)], whole=200)
    lines = arranged([block], 30, 4, 1)
    assert lines[0][0][0] == "wakes · 197 more"
    assert len(lines) == 4

"""What is made of the kernel side's counts of connections: differences, and the latest changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from schedtop.model.rows import Rows
from schedtop.model.tcp_changes import MOST_LATEST
from schedtop.sources.activity.connections import ConnectionCounts
from schedtop.sources.kernel.constants import ACTIVITY

TASK = (("tid", "<u4"), ("tgid", "<u4"), ("start_ns", "<u8"), ("cgroup_id", "<u8"), ("comm", "S16"), ("process", "S16"))
SEGMENTS = (("tcp_rx_packets", "<u8"), ("tcp_tx_packets", "<u8"))
FLOW = np.dtype([*TASK, ("tcp_retransmits", "<u8"), ("tcp_failures", "<u8"), ("tcp_resets", "<u8"), *SEGMENTS])
OWNER = np.dtype([*TASK, ("listens", "<u4"), *SEGMENTS])
CHANGE = np.dtype(
    [
        *(("position", "<u8"), ("time_ns", "<u8"), ("local", "<u8", (2,)), ("remote", "<u8", (2,)), ("family", "<u4")),
        *(("old_state", "<u4"), ("new_state", "<u4"), ("local_port", "<u2"), ("remote_port", "<u2")),
    ]
)


def rows_of(dtype: np.dtype[Any], *tasks: dict[str, int]) -> Rows:
    rows = np.zeros(len(tasks), dtype)
    for place, task in enumerate(tasks):
        for name, value in ({"tid": 5, "tgid": 5, "start_ns": 9} | task).items():
            rows[name][place] = value
    return rows


class Kernel:
    """The kernel side as ConnectionCounts reads it."""

    def __init__(self, room: int = 100) -> None:
        self.flows, self.owners = rows_of(FLOW), rows_of(OWNER)
        self.transitions = np.zeros(4, np.dtype([("value", "<u8")]))
        self.changes = np.zeros((2, ACTIVITY.CHANGES), CHANGE)
        self.change_counts = np.zeros(2, np.dtype([("value", "<u8")]))
        self.taken = 0
        self._room = room

    def values(self, name: str) -> Rows:
        return (self.flows if name == "flows" else self.owners).copy()

    def room(self, _name: str) -> int:
        return self._room

    def take(self, _name: str, rows: Rows) -> Rows:
        self.taken += len(rows)
        gone = np.isin(self.flows["tid"], rows["tid"])
        taken, self.flows = self.flows[gone], self.flows[~gone]
        return taken

    def change(self, cpu: int, time_ns: int) -> None:
        self.change_counts["value"][cpu] += 1
        position = int(self.change_counts["value"][cpu])
        place = self.changes[cpu, (position - 1) % ACTIVITY.CHANGES]
        place["position"], place["time_ns"], place["family"] = position, time_ns, 2
        place["old_state"], place["new_state"] = 7, 2
        place["local"][0], place["local_port"] = 0x0100007F, 1234


def counts_of(kernel: Kernel) -> ConnectionCounts:
    programs: Any = kernel
    return ConnectionCounts(programs)


def test_failures_and_retransmits_are_those_since_the_last_look() -> None:
    kernel = Kernel()
    counts = counts_of(kernel)
    found = []
    for failures, retransmits in ((3, 1), (5, 1), (5, 4), (5, 4)):
        kernel.flows = rows_of(FLOW, {"tcp_failures": failures, "tcp_retransmits": retransmits})
        rows, _ = counts.take_rows()
        found.append((rows["tcp_failures"].sum(), rows["tcp_retransmits"].sum()))
    assert found == [(3, 1), (2, 0), (0, 3), (0, 0)]


def test_segments_of_a_connection_that_ends_are_told_once() -> None:
    kernel = Kernel()
    counts = counts_of(kernel)
    found = []
    looks: tuple[tuple[dict[str, int] | None, dict[str, int] | None], ...] = (
        (None, {"tcp_rx_packets": 10}),
        (None, {"tcp_rx_packets": 14}),
        # It has ended between the look at the flows and that at the owners.
        (None, None),
        ({"tcp_rx_packets": 17}, None),
        ({"tcp_rx_packets": 17}, {"tcp_rx_packets": 2}),
    )
    for flow, owner in looks:
        kernel.flows = rows_of(FLOW, flow) if flow else rows_of(FLOW)
        kernel.owners = rows_of(OWNER, owner) if owner else rows_of(OWNER)
        found.append(int(counts.take_rows()[0]["tcp_rx_packets"].sum()))
    assert found == [10, 4, 0, 3, 2]


def test_a_flow_that_was_forgotten_comes_back_with_what_is_new_alone() -> None:
    kernel = Kernel(room=1)
    counts = counts_of(kernel)
    kernel.flows = rows_of(FLOW, {"tcp_failures": 7})
    kernel.owners = rows_of(OWNER, {"tcp_rx_packets": 5})
    assert counts.take_rows()[0]["tcp_failures"].tolist() == [7]
    assert len(counts.take_rows()[0]) == 0
    assert kernel.taken == 1 and not len(kernel.flows)
    kernel.flows = rows_of(FLOW, {"tcp_failures": 2})
    rows, connections = counts.take_rows()
    assert rows["tcp_failures"].tolist() == [2]
    assert rows["tcp_rx_packets"].tolist() == [0]
    assert connections["tcp_connections"].tolist() == [1]


def test_only_new_changes_are_told_the_last_of_all_cpus_in_order() -> None:
    kernel = Kernel()
    kernel.change(0, 1)
    counts = counts_of(kernel)
    kernel.change(1, 30)
    kernel.change(0, 20)
    found = counts.take_latest()
    assert [(change.local, change.local_port, change.old, change.new) for change in found] == (
        [("127.0.0.1", 1234, "CLOSED", "SYN_SENT")] * 2
    )
    assert found[1].time_ns - found[0].time_ns == 10
    assert not counts.take_latest()
    for time_ns in range(3 * ACTIVITY.CHANGES):
        kernel.change(0, time_ns)
    many = counts.take_latest()
    assert len(many) == MOST_LATEST
    assert many[-1].time_ns - many[0].time_ns == MOST_LATEST - 1


def test_a_change_that_is_being_written_is_left_out() -> None:
    kernel = Kernel()
    counts = counts_of(kernel)
    kernel.change(0, 1)
    kernel.change(0, 2)
    kernel.changes["position"][0, 1] = 0
    assert len(counts.take_latest()) == 1

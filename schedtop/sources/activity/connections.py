"""What the kernel side has counted of TCP connections since the last look, as rows of the model."""

from __future__ import annotations

import time

import numpy as np

from schedtop.model.activity_rows import ID_FIELDS, ROW_DTYPE, merge_threads
from schedtop.model.rows import Rows
from schedtop.model.tcp_changes import MOST_LATEST, TcpChange
from schedtop.sources.activity.growing import Growing
from schedtop.sources.activity.programs import ActivityPrograms
from schedtop.sources.kernel.constants import ACTIVITY
from schedtop.sources.kernel.sockets import ip_address, tcp_state

_SEGMENTS = ("tcp_rx_packets", "tcp_tx_packets")
_OF_FLOWS = ("tcp_retransmits", "tcp_failures", "tcp_resets", *_SEGMENTS)

FULL = 0.5
"""From when on room is made in a hash."""


class ConnectionCounts:
    """What happened to connections since the last look, and which are open."""

    def __init__(self, programs: ActivityPrograms) -> None:
        self._programs = programs
        self._growing = Growing(merge_threads, ("tid", "start_ns"), _OF_FLOWS)
        self._transitions = programs.transitions.copy()
        self._seen = programs.change_counts["value"].copy()

    def take_rows(self) -> tuple[Rows, Rows]:
        """By the thread that has the connection, rows of ROW_DTYPE: what happened, and which connections are open."""
        # A connection that ends in between is in the flows by then: what it has sent is told with the next look.
        flows = self._programs.values("flows")
        owners = self._programs.values("owners")
        owners = owners[owners["listens"] == 0]
        ended, going_on = _rows_of(flows, _OF_FLOWS), _rows_of(owners, _SEGMENTS)
        change = self._growing.take(np.concatenate([ended, going_on]))
        if len(flows) > FULL * self._programs.room("flows"):
            quiet = self._growing.quiet(ended, change)
            self._growing.forget(_rows_of(self._programs.take("flows", flows[quiet]), _OF_FLOWS))
        connections = _rows_of(owners, ())
        connections["tcp_connections"] = 1
        return change, connections

    def take_transitions(self) -> dict[tuple[str, str], int]:
        """How often connections went from one state to another."""
        now = self._programs.transitions.copy()
        change = (now["value"] - self._transitions["value"]).astype(np.int64)
        self._transitions = now
        states = ACTIVITY.CONNECTION_STATES
        return {
            (tcp_state(place // states), tcp_state(place % states)): int(change[place])
            for place in np.flatnonzero(change).tolist()
        }

    def take_latest(self) -> tuple[TcpChange, ...]:
        """The last changes since the last look, as many as are kept, oldest first."""
        counts = self._programs.change_counts["value"].copy()
        changes = self._programs.changes.copy()
        new = changes[(changes["position"] > self._seen[:, None]) & (changes["position"] <= counts[:, None])]
        self._seen = counts
        since_boot_ns = time.time_ns() - time.monotonic_ns()
        new = new[np.argsort(new["time_ns"], kind="stable")][-MOST_LATEST:]
        return tuple(_change_of(row, since_boot_ns) for row in new)


def _rows_of(counted: Rows, names: tuple[str, ...]) -> Rows:
    """Rows of ROW_DTYPE with the task and these numbers."""
    rows = np.zeros(len(counted), ROW_DTYPE)
    for name in (*ID_FIELDS, *names):
        rows[name] = counted[name]
    return rows


def _change_of(row: Rows, since_boot_ns: int) -> TcpChange:
    family = int(row["family"])
    return TcpChange(
        time_ns=int(row["time_ns"]) + since_boot_ns,
        old=tcp_state(int(row["old_state"])),
        new=tcp_state(int(row["new_state"])),
        local=ip_address(family, row["local"].tobytes()),
        local_port=int(row["local_port"]),
        remote=ip_address(family, row["remote"].tobytes()),
        remote_port=int(row["remote_port"]),
    )

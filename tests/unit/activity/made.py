"""Activity with known numbers."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from schedtop.activity.activity import Activity
from schedtop.model.activity import ActivityLoss, Call
from schedtop.model.activity_rows import IO_KINDS, ROW_DTYPE
from schedtop.model.host import Host
from schedtop.model.rows import Rows

HOST = Host("host", "6.18", "btf")


def row(tid: int, tgid: int, **numbers: Any) -> Rows:
    """One thread."""
    one = np.zeros(1, ROW_DTYPE)
    one["tid"], one["tgid"], one["start_ns"] = tid, tgid, numbers.pop("start_ns", 5)
    one["comm"], one["process"] = numbers.pop("comm", b"worker"), numbers.pop("process", b"server")
    for name, value in numbers.items():
        one[name] = value
    return one


def io(**numbers: int) -> list[int]:
    """A value of an `io_` field: `file_read=3`."""
    return [numbers.get(f"{kind}_{direction}", 0) for direction in ("read", "write") for kind in IO_KINDS]


def activity(*rows: Rows, **more: Any) -> Activity:
    """A second of these threads."""
    usual: dict[str, Any] = {
        "host": HOST,
        "start_time_ns": 1_000_000_000,
        "end_ns": 2_000_000_000,
        "interval_ns": 1_000_000_000,
        "rows": np.concatenate(rows) if rows else np.zeros(0, ROW_DTYPE),
        "syscalls": (Call("read", 3, 1, 900, 500, MappingProxyType({"EAGAIN": 1})),),
        "transitions": MappingProxyType({("CLOSED", "LISTEN"): 1, ("SYN_SENT", "ESTABLISHED"): 4}),
        "cgroups": MappingProxyType({7: "/system.slice/web.service", 8: "/docker/" + "ab" * 32}),
        "loss": ActivityLoss(events_untracked=2),
    }
    return Activity(**(usual | more))

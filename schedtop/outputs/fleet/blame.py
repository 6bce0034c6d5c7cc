"""Which service waited for which, of all pairs of a View."""

from __future__ import annotations

import numpy as np

from schedtop.base.units import printable
from schedtop.history.view import View
from schedtop.outputs.convert.service import service_name
from schedtop.outputs.fleet.together import Blame

Pair = tuple[str, str]


def service_pairs(view: View) -> list[Blame]:
    """Victims and blockers by service, and how long and in how many waits; those of one service are left out."""
    rows = view.pairs[view.pairs["blocked_ns"] > 0]
    sums: dict[Pair, list[int]] = {}
    for row in rows:
        victim, blocker = _service(view, row, "victim"), _other(view, row)
        if victim != blocker:
            total = sums.setdefault((victim, blocker), [0, 0])
            total[0] += int(row["blocked_ns"])
            total[1] += int(row["waits"])
    return [(victim, blocker, *total) for (victim, blocker), total in sums.items()]  # type: ignore[misc]


def _other(view: View, row: np.void) -> str:
    """The service that had the CPU, or the source of interrupts."""
    if row["other_interrupt"]:
        return _text(row["other_interrupt"])
    return _service(view, row, "other")


def _service(view: View, row: np.void, role: str) -> str:
    path = view.frame.cgroups.get(int(row[f"{role}_cgroup_id"]), "")
    return service_name(path, _text(row[f"{role}_process"]) or _text(row[f"{role}_comm"]))


def _text(name: bytes) -> str:
    return printable(name.decode("utf-8", "replace"))

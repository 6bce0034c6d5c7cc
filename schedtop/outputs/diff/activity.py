"""How the activity of two reports differs: rates of all processes, and the time in I/O by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.outputs.diff.change import Change, change_of

IO_FLOOR_NS = 20 * NS_PER_MS
"""A second: of the processes of one name."""

_RATES = {
    "syscalls": ("system calls", 0.5, 1000.0),
    "syscall_errors": ("failed system calls", 0.6, 100.0),
    "major_faults": ("major faults", 0.8, 10.0),
    "tcp_failures": ("failed connects", 0.9, 1.0),
    "tcp_retransmits": ("retransmits", 0.9, 2.0),
}
"""What each is called, its weight, and what does not matter of it a second."""


def activity_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change] | None:
    """The changes; `None` if activity was not measured on both sides."""
    old, new = before["activity"], after["activity"]
    if not old or not new:
        return None
    return [*_rates(old, new), *_io(old, new)]


def _rates(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    changes = []
    for name, (label, weight, floor) in _RATES.items():
        counts = [side["totals"][name] for side in (old, new)]
        values = [
            None if count is None else round(count * NS_PER_S / side["measured_ns"], 3)
            for count, side in zip(counts, (old, new), strict=True)
        ]
        events = max((count for count in counts if count is not None), default=0)
        key, words = f"activity.{name}_per_second", f"{label} a second"
        pair = values[0], values[1]
        changes.append(change_of(key, words, "per_second", "activity", pair, floor, weight, events))
    return changes


def _io(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """The time in I/O a second of the processes of each name."""
    sides = [_by_name(side) for side in (old, new)]
    changes = []
    for name in {**sides[0], **sides[1]}:
        found = [side.get(name) for side in sides]
        values = [
            None if one is None else float(round(one[0] * NS_PER_S / side["measured_ns"]))
            for one, side in zip(found, (old, new), strict=True)
        ]
        events = max(one[1] for one in found if one)
        pair = values[0], values[1]
        change = change_of(
            f"io:{name}", f"time in I/O of {name}", "ns_per_second", "activity", pair, IO_FLOOR_NS, 0.7, events
        )
        changes.append(change if all(found) else replace(change, status="not listed"))
    return changes


def _by_name(side: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Time in I/O, and how many reads and writes, of the processes that are listed, by name."""
    found: dict[str, tuple[int, int]] = {}
    for row in side["rows"]:
        if row["io_ns"] is None or not row["comm"]:
            continue
        ns, events = found.get(row["comm"], (0, 0))
        count = (row["reads"] or 0) + (row["writes"] or 0) + (row["fsyncs"] or 0)
        found[row["comm"]] = ns + row["io_ns"], events + count
    return found

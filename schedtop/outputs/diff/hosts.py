"""How the hosts of two sets of recordings differ: the p99 of all waits of each, matched by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedtop.base.units import NS_PER_US
from schedtop.outputs.diff.change import Change, change_of

FLOOR_NS = 100 * NS_PER_US


def host_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change] | None:
    """A change for each host; `None` of two recordings, which are compared as a whole."""
    if not (many(before) or many(after)):
        return None
    sides = [_p99_by_host(data) for data in (before, after)]
    changes = []
    for name in {**sides[0], **sides[1]}:
        found = [side.get(name) for side in sides]
        values = tuple(one[0] if one else None for one in found)
        # A p99 rests on the waits beyond it.
        events = min((one[1] / 100 for one in found if one), default=0.0)
        pair = values[0], values[1]
        change = change_of(f"host:{name}", f"p99 of all waits of {name}", "ns", "hosts", pair, FLOOR_NS, 1.0, events)
        status = "both" if all(found) else "vanished" if found[0] else "appeared"
        changes.append(replace(change, status=status))
    return changes


def many(data: Mapping[str, Any]) -> bool:
    """Whether a side is a set of recordings."""
    return "p99_by_host" in data


def hosts_of(data: Mapping[str, Any]) -> list[str]:
    """The names of its hosts."""
    return list(data["host_names"]) if many(data) else [data["host"]]


def _p99_by_host(data: Mapping[str, Any]) -> Mapping[str, tuple[int | None, int]]:
    if many(data):
        found: Mapping[str, tuple[int | None, int]] = data["p99_by_host"]
        return found
    latency = data["runqueue_latency"]["all"] or {}
    return {data["host"]: (latency.get("p99_ns"), latency.get("count") or 0)}

"""How a task is scheduled, from the text of /proc/TID/stat."""

from __future__ import annotations

from dataclasses import dataclass

_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}

# Fields from the state on (man 5 proc, there numbered from 3).
_NICE, _RT_PRIORITY, _POLICY = 16, 37, 38


@dataclass(frozen=True, slots=True)
class Scheduling:
    """`policy`: `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext`; `nice` -20..19; `rt_priority` 0 unless fifo
    or rr."""

    policy: str
    nice: int
    rt_priority: int


def stat_fields(line: bytes) -> list[str]:
    """The fields of a line of /proc/TID/stat, from the state on: a name may hold blanks and brackets."""
    return line.rpartition(b")")[2].decode("ascii", "replace").split()


def scheduling_of(fields: list[str]) -> Scheduling:
    """By the fields of `stat_fields`. Raises ValueError, IndexError where the line is cut off."""
    nice, priority, policy = (int(fields[place]) for place in (_NICE, _RT_PRIORITY, _POLICY))
    return Scheduling(_POLICIES.get(policy, f"policy {policy}"), nice, priority)

"""ActivityTable: what all tasks did, as a part of a Frame: processes by name as far as there is room, bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from schedtop.base.limits import REASONS, TEXT_CHARS
from schedtop.base.units import printable
from schedtop.model.activity import ActivityLoss, Call, merged_calls
from schedtop.model.activity_devices import bounded_devices, names_of
from schedtop.model.activity_rows import (
    DEVICE_DTYPE,
    MAXIMA,
    ROW_DTYPE,
    SUMS,
    grouped,
    merge_devices,
    merge_threads,
)
from schedtop.model.detail import Detail, Thinned
from schedtop.model.encoded_rows import claimed_rows, decode_rows, encode_rows
from schedtop.model.encoding import decode_integers
from schedtop.model.rows import Integers, Rows
from schedtop.model.tcp_changes import MOST_LATEST, MOST_RECORDED, TcpChange, decode_changes, encode_changes

MOST_PROCESSES, MOST_CALLS, MOST_ERRORS = 96, 24, 8
"""So many processes and system calls of an interval have a name, and so many errors of a call."""

OTHERS = "(others)"
"""The process, call or error that all others are added up in."""

OTHERS_BORN = 1
"""The `start_ns` of the row of all other processes; 0: of any else. Both rows without a task have tid 0."""

_MOST_NAMES = 1024
"""Of calls, errors or changes of state that a line of a recording may have: more than any kernel."""


@dataclass(frozen=True, slots=True, eq=False)
class ActivityTable:
    """What tasks did in `interval_ns` of a Frame, by process: `rows` of ROW_DTYPE, each with its open connections.

    `only`: the parts that were measured; the rest as in `activity.Activity`; names of cgroups are the
    Frame's. `loss.processes_folded`: how many
    processes of an interval are added up in one row, OTHERS, so that all sums are exact.
    """

    interval_ns: int
    only: tuple[str, ...]
    rows: Rows
    syscalls: tuple[Call, ...] = ()
    transitions: Mapping[tuple[str, str], int] = field(default_factory=lambda: MappingProxyType({}))
    latest: tuple[TcpChange, ...] = ()
    devices: Rows = field(default_factory=lambda: np.zeros(0, DEVICE_DTYPE))
    device_names: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    unavailable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    loss: ActivityLoss = field(default_factory=ActivityLoss)


def by_process(threads: Rows) -> Rows:
    """Rows of threads added up by process; the number of a process stands for its thread."""
    rows = grouped(threads, "process", {})
    rows["tid"], rows["start_ns"] = rows["tgid"], 0
    return rows


def bounded(table: ActivityTable, processes: int = MOST_PROCESSES) -> ActivityTable:
    """The table with so many processes by name: those that are first in any number; of calls the longest."""
    rows, folded = _folded(table.rows, processes)
    loss = table.loss + ActivityLoss(processes_folded=folded)
    devices = bounded_devices(table.devices)
    return replace(
        table,
        rows=rows,
        syscalls=_bounded_calls(table.syscalls),
        latest=table.latest[-MOST_RECORDED:],
        devices=devices,
        device_names=names_of(devices, table.device_names, OTHERS),
        loss=loss,
    )


def _folded(rows: Rows, most: int) -> tuple[Rows, int]:
    """At most `most` processes and the row of all others; how many were added to that."""
    is_named = rows["tid"] != 0
    if np.count_nonzero(is_named) <= most:
        return rows, 0
    named = rows[is_named]
    kept = np.argsort(_best_rank(named, most), kind="stable")[:most]
    rest = np.ones(len(named), bool)
    rest[kept] = False
    others = np.zeros(1, ROW_DTYPE)
    others["start_ns"], others["comm"], others["process"] = OTHERS_BORN, OTHERS.encode(), OTHERS.encode()
    for name in SUMS:
        others[name] = named[name][rest].sum(axis=0)
    for name in MAXIMA:
        others[name] = named[name][rest].max()
    return merge_threads([rows[~is_named], others, named[np.sort(kept)]]), int(np.count_nonzero(rest))


def _best_rank(rows: Rows, most: int) -> Integers:
    """The best place of each row among the first `most` in the orders of all numbers that are not zero."""
    best = np.full(len(rows), most, np.int64)
    for name in (*SUMS, *MAXIMA):
        values = rows[name] if rows[name].ndim == 1 else rows[name].sum(axis=1)
        # Not all of them are sorted: there may be tens of thousands.
        first = np.sort(np.argpartition(-values, most)[:most])
        first = first[np.argsort(-values[first], kind="stable")]
        first = first[values[first] > 0]
        best[first] = np.minimum(best[first], np.arange(len(first)))
    return best


def _bounded_calls(calls: Sequence[Call]) -> tuple[Call, ...]:
    if len(calls) > MOST_CALLS:
        # Those that fail often say most.
        failing = sorted(calls, key=lambda call: -call.failed)[: MOST_CALLS // 4]
        names = {call.name for call in failing if call.failed} - {OTHERS}
        rest = [call for call in calls if call.name not in names and call.name != OTHERS]
        names |= {call.name for call in rest[: MOST_CALLS - len(names)]}
        calls = merged_calls([[call if call.name in names else replace(call, name=OTHERS)] for call in calls])
    return tuple(replace(call, errors=_bounded_errors(call.errors)) for call in calls)


def _bounded_errors(errors: Mapping[str, int]) -> Mapping[str, int]:
    if len(errors) <= MOST_ERRORS:
        return errors
    kept = dict(sorted(errors.items(), key=lambda item: (item[0] == OTHERS, -item[1]))[:MOST_ERRORS])
    rest = sum(errors.values()) - sum(kept.values())
    return MappingProxyType({**kept, OTHERS: kept.get(OTHERS, 0) + rest})


def merge_activity(tables: Sequence[ActivityTable | None]) -> ActivityTable | None:
    """Numbers added, of the tables there are; gauges are the last one's. `None` if there is none."""
    known = [table for table in tables if table is not None]
    if len(known) < 2:
        return known[0] if known else None
    last = known[-1]
    rows = [table.rows.copy() for table in known]
    for earlier in rows[:-1]:
        earlier["tcp_connections"] = 0
    transitions: dict[tuple[str, str], int] = {}
    for table in known:
        for change, count in table.transitions.items():
            transitions[change] = transitions.get(change, 0) + count
    return ActivityTable(
        interval_ns=sum(table.interval_ns for table in known),
        only=last.only,
        rows=merge_threads(rows),
        syscalls=merged_calls(table.syscalls for table in known),
        transitions=MappingProxyType(transitions),
        latest=tuple(change for table in known for change in table.latest)[-MOST_LATEST:],
        devices=merge_devices([table.devices for table in known]),
        device_names=MappingProxyType({number: name for table in known for number, name in table.device_names.items()}),
        unavailable=last.unavailable,
        loss=sum((table.loss for table in known), ActivityLoss()),
    )


def thin_activity(table: ActivityTable | None, keep: Detail) -> Thinned[ActivityTable | None]:
    """With as many processes by name as pairs are kept, at most as in one interval; the others are added up."""
    return Thinned(table and bounded(table, min(MOST_PROCESSES, keep.pairs)))


def activity_bytes(table: ActivityTable | None) -> int:
    """What a table takes: nearly all of it are its rows."""
    if table is None:
        return 0
    named = 400 * len(table.syscalls) + 200 * (len(table.transitions) + len(table.latest) + len(table.device_names))
    return table.rows.nbytes + table.devices.nbytes + named


def encode_activity(table: ActivityTable | None) -> dict[str, Any] | None:
    """Plain values of JSON."""
    if table is None:
        return None
    calls = [[c.name, c.count, c.failed, c.total_ns, c.max_ns, dict(c.errors)] for c in table.syscalls]
    losses = {each.name: getattr(table.loss, each.name) for each in fields(ActivityLoss)}
    return {
        "interval_ns": table.interval_ns,
        "only": list(table.only),
        "processes": encode_rows(table.rows),
        "syscalls": calls,
        "transitions": [[old, new, count] for (old, new), count in table.transitions.items()],
        "latest": encode_changes(table.latest),
        "devices": {
            "rows": encode_rows(table.devices),
            "names": [[number, name] for number, name in table.device_names.items()],
        },
        "unavailable": dict(table.unavailable),
        "loss": {name: count for name, count in losses.items() if count},
    }


def decode_activity(data: dict[str, Any] | None, cpus: int) -> ActivityTable | None:
    """The table of what `encode_activity` gave; recordings without `--activity` have none."""
    if data is None:
        return None
    named = (data["syscalls"], data["transitions"], data["only"])
    if max(map(len, named)) > _MOST_NAMES or len(data["unavailable"]) > REASONS:
        raise ValueError("more names than there can be")
    rows = decode_rows(data["processes"], ROW_DTYPE)
    known = {each.name for each in fields(ActivityLoss)}
    unavailable = {_name(part): _name(why) for part, why in data["unavailable"].items()}
    if "devices" not in data:
        unavailable["devices"] = "recorded by a schedtop that did not keep them"
    devices = data.get("devices", {"rows": {}, "names": []})
    if len(devices["names"]) > _MOST_NAMES:
        raise ValueError("more devices than there can be")
    return ActivityTable(
        interval_ns=max(1, _count(data["interval_ns"])),
        only=tuple(map(_name, data["only"])),
        rows=rows,
        syscalls=tuple(_call(*call) for call in data["syscalls"]),
        transitions=MappingProxyType(
            {(_name(old), _name(new)): _count(count) for old, new, count in data["transitions"]}
        ),
        latest=decode_changes(data.get("latest", []), _name, _count),
        devices=decode_rows(devices["rows"], DEVICE_DTYPE),
        device_names=MappingProxyType({_count(number): _name(name) for number, name in devices["names"]}),
        unavailable=MappingProxyType(unavailable),
        loss=ActivityLoss(**{name: _count(count) for name, count in data["loss"].items() if name in known}),
    )


def claimed_activity(data: dict[str, Any] | None, cpus: int) -> int:
    """How many bytes the arrays of `decode_activity` would take."""
    if not data:
        return 0
    devices = claimed_rows(data["devices"]["rows"], DEVICE_DTYPE) if "devices" in data else 0
    return claimed_rows(data["processes"], ROW_DTYPE) + devices


def _call(name: Any, count: Any, failed: Any, total_ns: Any, max_ns: Any, errors: Any) -> Call:
    if len(errors) > _MOST_NAMES:
        raise ValueError("more errors than there can be")
    known = MappingProxyType({_name(error): _count(times) for error, times in errors.items()})
    call = Call(_name(name), _count(count), _count(failed), _count(total_ns), _count(max_ns), known)
    if not call.count:
        raise ValueError("a system call that never came")
    return call


def _count(value: Any) -> int:
    return int(decode_integers(value, ()))


def _name(value: Any) -> str:
    if not isinstance(value, str) or len(value) > TEXT_CHARS:
        raise ValueError("a name that is no text, or too long")
    return printable(value)

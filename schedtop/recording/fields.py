"""A Frame as plain values of JSON, and back: what a line of a recording holds, described in docs/recording.md.

Rows are columns of values; counters that are mostly zero are lists of places and values. Nothing is rounded: a Frame
that was written and read is the same Frame. What is read may come from anywhere: what cannot be is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.histogram import BUCKETS
from schedtop.base.units import printable
from schedtop.model.counts import Attribution, Loss, Overhead, Pressure
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.frame import Frame
from schedtop.model.group_latency import GroupLatency
from schedtop.model.latency import LatencyTable
from schedtop.model.queue_lengths import MOST_QUEUED, QUEUE_KINDS, QueueTable
from schedtop.model.rows import PAIR_DTYPE, SLOW_WAIT_DTYPE, TASK_DTYPE, THROTTLING_DTYPE, UNKNOWN, WAIT_KINDS, Rows
from schedtop.model.short_lived import FOLDED, SHORT_LIVED_DTYPE
from schedtop.model.waits import BEGINNINGS, CAUSES, DOMAINS, EVIDENCE

NAME_CODE = "latin-1"
"""Names are bytes of any value: each becomes the character of that number."""

_SKIPPED = ("padding",)
_ROWS = {
    "tasks": TASK_DTYPE,
    "slow_waits": SLOW_WAIT_DTYPE,
    "pairs": PAIR_DTYPE,
    "throttling": THROTTLING_DTYPE,
    "short_lived": SHORT_LIVED_DTYPE,
}
_LATER = {"short_lived": "the recording was made by a schedtop that did not count them"}
"""Rows that older recordings do not have, and what is said of them then."""
_MOST_WAIT_NS = 1 << 50  # thirteen days
_MOST_CPUS = 1 << 14
"""Twice of what the kernel can be built for (CONFIG_NR_CPUS)."""
_MOST_GROUPS = 1 << 16
"""Of a table: each takes a histogram, which a few characters in the file could ask for. The kernel side keeps fewer."""
_UNTOLD_ROWS = 1024
"""So many rows may have nothing but zeros; of more, at least one column must be told."""
_MOST_COUNT = 1 << 50
"""Thirteen days in ns: what is below can be added up without running over."""
_MOST_IN_BUCKET = 1 << 36
_MOST_TIME_NS = 1 << 62  # the year 2116
_WORDS = {"kind": BEGINNINGS, "cause": CAUSES, "evidence": EVIDENCE, "domain": DOMAINS}


def fields_of(frame: Frame) -> dict[str, Any]:
    """The Frame without its times and the names of its cgroups."""
    return {
        "kernel_switches": frame.kernel_switches,
        **{name: _columns(getattr(frame, name)) for name in _ROWS},
        "cpus": {
            "counters": dict(zip(CPU_COUNTERS, frame.cpus.counters.T.tolist(), strict=True)),
            "online": np.flatnonzero(frame.cpus.online).tolist(),
            "queue_length": frame.cpus.queue_length.tolist(),
        },
        "latency": {
            "counts": _sparse(frame.latency.counts),
            "sum_ns": frame.latency.sum_ns.tolist(),
            "max_ns": frame.latency.max_ns.tolist(),
        },
        "groups": _groups(frame.groups),
        "queue": _queue(frame.queue),
        "pressure": asdict(frame.pressure) if frame.pressure else None,
        "loss": _without_zeros(asdict(frame.loss)),
        "attribution": _without_zeros(asdict(frame.attribution)),
        "overhead": asdict(frame.overhead),
        "unavailable": dict(frame.unavailable),
    }


def frame_of(data: dict[str, Any], times: dict[str, Any], cgroups: Mapping[int, str]) -> Frame:
    """The Frame of its fields. Whatever is wrong with them raises one of the errors of Python's own operations."""
    cpus = _cpu_table(data["cpus"])
    width = len(cpus.online)
    pressure = data["pressure"]
    missing = {part: why for part, why in _LATER.items() if part not in data}
    rows: dict[str, Any] = {name: _rows({} if name in missing else data[name], kind) for name, kind in _ROWS.items()}
    return Frame(
        **times,
        **rows,
        kernel_switches=None if data["kernel_switches"] is None else int(data["kernel_switches"]),
        cpus=cpus,
        latency=LatencyTable(
            _dense(data["latency"]["counts"], (len(WAIT_KINDS), width, BUCKETS)),
            _integers(data["latency"]["sum_ns"], (len(WAIT_KINDS), width)),
            _integers(data["latency"]["max_ns"], (len(WAIT_KINDS), width)),
        ),
        pressure=Pressure(**_whole(pressure)) if pressure else None,
        loss=Loss(**_whole(data["loss"])),
        attribution=Attribution(**_whole(data["attribution"])),
        overhead=Overhead(**_whole({key: value for key, value in data["overhead"].items() if value is not None})),
        groups=_read_groups(data["groups"]),
        queue=_read_queue(data.get("queue"), width),
        cgroups=cgroups,
        unavailable=MappingProxyType(
            missing | {str(key): printable(str(why)) for key, why in data["unavailable"].items()}
        ),
    )


def _cpu_table(data: dict[str, Any]) -> CpuTable:
    columns = [data["counters"][name] for name in CPU_COUNTERS]
    cpus = len(columns[0])
    if cpus > _MOST_CPUS:
        raise ValueError("more CPUs than there can be")
    online = np.zeros(cpus, bool)
    online[np.array(data["online"], np.int64)] = True
    counters = _integers(columns, (len(CPU_COUNTERS), cpus)).T
    return CpuTable(np.ascontiguousarray(counters), online, _integers(data["queue_length"], (cpus,)))


def _groups(groups: GroupLatency | None) -> dict[str, Any] | None:
    if groups is None:
        return None
    return {
        "kind": groups.kind,
        "ids": groups.ids.tolist(),
        "sum_ns": groups.sum_ns.tolist(),
        "counts": _sparse(groups.counts),
    }


def _read_groups(data: dict[str, Any] | None) -> GroupLatency | None:
    if data is None:
        return None
    ids = np.array(data["ids"], np.int64)
    if ids.ndim != 1 or len(ids) > _MOST_GROUPS:
        raise ValueError("more groups than are kept")
    counts = _dense(data["counts"], (len(ids), BUCKETS))
    return GroupLatency(str(data["kind"]), ids, counts, _integers(data["sum_ns"], (len(ids),)))


def _queue(queue: QueueTable | None) -> dict[str, Any] | None:
    if queue is None:
        return None
    return {
        "hz": queue.hz,
        "lengths": queue.counts.shape[2],
        "counts": _sparse(queue.counts),
        **{name: getattr(queue, name).tolist() for name in ("sums", "longest", "samples", "expected", "slept")},
    }


def _read_queue(data: dict[str, Any] | None, cpus: int) -> QueueTable | None:
    """Recordings made before the run queues were sampled have none."""
    if data is None:
        return None
    kinds, lengths = len(QUEUE_KINDS), int(data["lengths"])
    if not 1 <= lengths <= MOST_QUEUED + 1:
        raise ValueError("run queues that cannot be so long")
    counts = _dense(data["counts"], (kinds, cpus, lengths))
    return QueueTable(
        int(_integers(data["hz"], ())),
        counts,
        _integers(data["sums"], (kinds, cpus)),
        _integers(data["longest"], (kinds, cpus)),
        _integers(data["samples"], (cpus,)),
        _integers(data["expected"], (cpus,)),
        _integers(data["slept"], (cpus,)),
    )


def _columns(rows: Rows) -> dict[str, Any]:
    """Rows as a list for each field that is not zero (or unknown) everywhere; none at all has no fields."""
    columns = {}
    for name in rows.dtype.names or ():
        values = rows[name]
        told = (values != UNKNOWN[name]).any() if name in UNKNOWN else values.any()
        if name not in _SKIPPED and len(rows) and told:
            columns[name] = np.char.decode(values, NAME_CODE).tolist() if values.dtype.kind == "S" else values.tolist()
    return {"rows": len(rows), **columns} if len(rows) else {}


def _rows(data: dict[str, Any], dtype: np.dtype[np.void]) -> Rows:
    if not data:
        return np.zeros(0, dtype)
    count = int(data["rows"])
    columns = [data[name] for name in dtype.names or () if name in data]
    # One number would be spread over all rows: a line of a few bytes could fill the memory.
    if not all(isinstance(column, list) and len(column) == count for column in columns):
        raise ValueError("a column that is not as long as it should be")
    if count < 0 or (not columns and count > _UNTOLD_ROWS):
        raise ValueError("rows that hold nothing")
    rows = np.zeros(count, dtype)
    for name in dtype.names or ():
        if name in UNKNOWN:
            rows[name] = data.get(name, UNKNOWN[name])
            if (rows[name] < UNKNOWN[name]).any():
                raise ValueError("a queue that cannot be so short")
        elif name in data:
            text = rows[name].dtype.kind == "S"
            rows[name] = np.char.encode(np.array(data[name], str), NAME_CODE) if text else data[name]
            if rows[name].dtype == np.int64:
                most = _MOST_TIME_NS if name == "time_ns" else _MOST_COUNT
                if not _within(rows[name], most):
                    raise ValueError(f"{name} cannot be that")
    for name, words in _WORDS.items():
        if name in (dtype.names or ()) and not ((rows[name] >= 0) & (rows[name] < len(words))).all():
            raise ValueError(f"a {name} that is not known")
    if "exit_code" in (dtype.names or ()) and not (rows["exit_code"] >= FOLDED).all():
        raise ValueError("an exit code that cannot be")
    if "wait_ns" in (dtype.names or ()) and not ((rows["wait_ns"] >= 0) & (rows["wait_ns"] < _MOST_WAIT_NS)).all():
        raise ValueError("a wait that cannot be so long")
    return rows


def _sparse(counts: npt.NDArray[Any]) -> list[list[int]]:
    """Places in the flattened array, each as the distance from the one before, and the values there."""
    places = np.flatnonzero(counts)
    return [np.diff(places, prepend=0).tolist(), counts.ravel()[places].tolist()]


def _dense(data: list[list[int]], shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    counts = np.zeros(int(np.prod(shape)), np.int64)
    places = np.cumsum(np.array(data[0], np.int64))
    if len(places) and (places[0] < 0 or places[-1] >= len(counts) or (np.diff(places) <= 0).any()):
        raise IndexError("a bucket that does not exist")
    counts[places] = data[1]
    if not _within(counts, _MOST_IN_BUCKET):
        raise ValueError("a count that cannot be")
    return counts.reshape(shape)


def _integers(data: Any, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    values = np.array(data, np.int64).reshape(shape)
    if not _within(values, _MOST_COUNT):
        raise ValueError("a count below zero, or one that cannot be so large")
    return values


def _within(values: npt.NDArray[np.int64], most: int) -> bool:
    """Whether all of them are from 0 to `most`: without a sign what is below zero is larger than anything."""
    return bool(values.view(np.uint64).max(initial=0) <= most)


def _whole(data: dict[str, Any]) -> dict[str, int]:
    if not all(type(value) is int for value in data.values()):
        raise TypeError("a number is no whole number")
    return data


def _without_zeros(data: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in data.items() if value}

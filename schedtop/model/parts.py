"""PARTS: all parts of a Frame in one table, each with what is done with it.

Merging, differencing, recording, thinning and counting memory are loops over this table, so a new part is spelled out
in five files: a module of its own (what it holds, and the functions below), its line here, its field in frame.py, and
its field in a source's Reading (reading.py) with the line that fills it (source.py). What shows it comes beside these.
tests/unit/model/test_parts.py adds one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np

from schedtop.base.limits import REASONS, TEXT_CHARS
from schedtop.base.units import printable
from schedtop.model.activity_table import (
    activity_bytes,
    claimed_activity,
    decode_activity,
    encode_activity,
    merge_activity,
    thin_activity,
)
from schedtop.model.counts import (
    Attribution,
    Loss,
    Overhead,
    Pressure,
    decode_counts,
    encode_counts,
    subtract,
    subtract_overhead,
    subtract_pressure,
    sum_if_known,
)
from schedtop.model.cpus import decode_cpus, encode_cpus, merge_cpus
from schedtop.model.detail import Detail, Thinned, thin_pairs, thin_short_lived, thin_slow_waits, thin_tasks
from schedtop.model.encoded_rows import claimed_rows, decode_rows, encode_rows
from schedtop.model.encoding import decode_integers
from schedtop.model.ext_scheduler import decode_ext, encode_ext, merge_ext
from schedtop.model.group_latency import claimed_groups, decode_groups, encode_groups, merge_groups, subtract_groups
from schedtop.model.interrupts import (
    claimed_interrupts,
    decode_interrupts,
    encode_interrupts,
    merge_interrupts,
    thin_interrupts,
)
from schedtop.model.latency import LatencySum, claimed_latency, decode_latency, encode_latency, merge_latency
from schedtop.model.queue_lengths import claimed_queues, decode_queues, encode_queues, merge_queues
from schedtop.model.rows import (
    PAIR_DTYPE,
    SLOW_WAIT_DTYPE,
    TASK_DTYPE,
    THROTTLING_DTYPE,
    Rows,
    join_rows,
    merge_pairs,
    merge_tasks,
    merge_throttling,
    subtract_throttling,
)
from schedtop.model.short_lived import SHORT_LIVED_DTYPE, folded, merge_short_lived

Value = TypeVar("Value")

_TEXT_BYTES = 60
"""What a short text takes beside its characters."""


def the_later(_: Value, later: Value) -> Value:
    """The difference of what is no counter: a gauge, a setting, names."""
    return later


def no_bytes(_: Any) -> int:
    """What is too small to be counted, or shared by all Frames."""
    return 0


def no_claims(_: Any, cpus: int) -> int:
    """What takes no arrays when it is read, or small ones."""
    return 0


@dataclass(frozen=True, slots=True)
class Part(Generic[Value]):
    """One part of a Frame, and all that is done with it between the source and what shows it.

    `merge`: the part of several consecutive Frames (at least one, in order of time); `merge_lightly`: another way that
    is quick, but may keep what it was made of, and calls something in between. `difference`: the part between two
    Readings that hold it as a counter does; parts of `since_last` are not differenced. `encode`: as plain values of
    JSON, without rounding; `decode`: back, told how many CPUs the Frame has (raises what Python's own operations do);
    both `None` where a line's beginning has it.
    `missing`: what is said of a Frame of a recording that lacks the part (empty: nothing; then `decode` gets `None`);
    `None`: every recording has it. `thin`: with less detail; `None`: it is kept. `size`: what it takes, in bytes.
    """

    name: str
    merge: Callable[[Sequence[Value]], Value]
    merge_lightly: Callable[[Sequence[Value], Callable[[], object]], Value] | None = None
    difference: Callable[[Value, Value], Value] = the_later
    encode: Callable[[Value], Any] | None = None
    decode: Callable[[Any, int], Value] | None = None
    missing: str | None = None
    thin: Callable[[Value, Detail], Thinned[Value]] | None = None
    size: Callable[[Value], int] = no_bytes
    claims: Callable[[Any, int], int] = no_claims


def _first(values: Sequence[Value]) -> Value:
    return values[0]


def _last(values: Sequence[Value]) -> Value:
    return values[-1]


def _union(mappings: Sequence[Mapping[Any, str]]) -> Mapping[Any, str]:
    # Frames of one source share one mapping: adding a minute of them must not copy it sixty times.
    distinct = {id(mapping): mapping for mapping in mappings}
    if len(distinct) == 1:
        return mappings[0]
    return MappingProxyType({key: value for mapping in distinct.values() for key, value in mapping.items()})


def _reasons(data: Mapping[str, Any]) -> dict[str, str]:
    """Why parts are not available, from a recording. Raises ValueError, TypeError."""
    if len(data) > REASONS or any(max(len(part), len(why)) > TEXT_CHARS for part, why in data.items()):
        raise ValueError("more reasons than there can be, or longer ones")
    return {part: printable(why) for part, why in data.items()}


def _rows(
    name: str,
    dtype: np.dtype[np.void],
    merge: Callable[[Sequence[Rows]], Rows],
    *,
    merge_lightly: Callable[[Sequence[Rows], Callable[[], object]], Rows] | None = None,
    difference: Callable[[Rows, Rows], Rows] = the_later,
    missing: str | None = None,
    thin: Callable[[Rows, Detail], Thinned[Rows]] | None = None,
) -> Part[Rows]:
    """A part that is rows: columns in a recording."""
    return Part(
        name,
        merge,
        merge_lightly,
        difference=difference,
        encode=encode_rows,
        decode=lambda data, cpus: decode_rows(data, dtype),
        missing=missing,
        thin=thin,
        size=lambda rows: rows.nbytes,
        claims=lambda data, cpus: claimed_rows(data, dtype),
    )


_BEGINNING: tuple[Part[Any], ...] = (
    Part("start_time_ns", _first),
    Part("end_ns", _last),
    Part("interval_ns", sum),
    Part("threshold_ns", _last),
    Part("cgroups", _union),
)
"""What the beginning of a line in a recording tells, see recording/lines.py."""

PARTS: tuple[Part[Any], ...] = (
    *_BEGINNING,
    Part(
        "kernel_switches",
        sum_if_known,
        difference=lambda earlier, later: None if earlier is None or later is None else later - earlier,
        encode=lambda count: count,
        decode=lambda data, cpus: None if data is None else int(decode_integers(data, ())),
    ),
    _rows("tasks", TASK_DTYPE, merge_tasks, merge_lightly=merge_tasks, thin=thin_tasks),
    _rows("slow_waits", SLOW_WAIT_DTYPE, join_rows, thin=thin_slow_waits),
    _rows("pairs", PAIR_DTYPE, merge_pairs, merge_lightly=merge_pairs, thin=thin_pairs),
    _rows("throttling", THROTTLING_DTYPE, merge_throttling, difference=subtract_throttling),
    _rows(
        "short_lived",
        SHORT_LIVED_DTYPE,
        lambda tables: folded(merge_short_lived(tables)),
        missing="the recording was made by a schedtop that did not count them",
        thin=thin_short_lived,
    ),
    Part("cpus", merge_cpus, encode=encode_cpus, decode=decode_cpus, size=lambda table: table.counters.nbytes),
    Part(
        "latency",
        merge_latency,
        merge_lightly=lambda tables, breathe: LatencySum(tables),
        encode=encode_latency,
        decode=decode_latency,
        size=lambda table: table.counts.nbytes,
        claims=claimed_latency,
    ),
    Part(
        "groups",
        merge_groups,
        difference=subtract_groups,
        encode=encode_groups,
        decode=decode_groups,
        thin=lambda table, keep: Thinned(None),
        size=lambda table: 0 if table is None else table.counts.nbytes,
        claims=claimed_groups,
    ),
    Part(
        "queue",
        merge_queues,
        encode=encode_queues,
        decode=decode_queues,
        missing="",
        size=lambda table: 0 if table is None else table.counts.nbytes,
        claims=claimed_queues,
    ),
    Part(
        "interrupts",
        merge_interrupts,
        encode=encode_interrupts,
        decode=decode_interrupts,
        missing="",
        thin=lambda table, keep: Thinned(thin_interrupts(table)),
        size=lambda table: 0 if table is None else table.cells.nbytes + table.raised.nbytes,
        claims=claimed_interrupts,
    ),
    Part(
        "activity",
        merge_activity,
        encode=encode_activity,
        decode=decode_activity,
        missing="",
        thin=thin_activity,
        size=activity_bytes,
        claims=claimed_activity,
    ),
    Part("sched_ext", merge_ext, encode=encode_ext, decode=decode_ext, missing=""),
    Part(
        "pressure",
        sum_if_known,
        difference=subtract_pressure,
        encode=lambda pressure: encode_counts(pressure, zeros=True) if pressure else None,
        decode=lambda data, cpus: decode_counts(data, Pressure) if data else None,
    ),
    Part(
        "loss",
        lambda values: sum(values, Loss()),
        difference=subtract,
        encode=encode_counts,
        decode=lambda data, cpus: decode_counts(data, Loss),
    ),
    Part(
        "attribution",
        lambda values: sum(values, Attribution()),
        difference=subtract,
        encode=encode_counts,
        decode=lambda data, cpus: decode_counts(data, Attribution),
    ),
    Part(
        "overhead",
        lambda values: sum(values[1:], values[0]),
        difference=subtract_overhead,
        encode=lambda overhead: encode_counts(overhead, zeros=True),
        decode=lambda data, cpus: decode_counts({name: ns for name, ns in data.items() if ns is not None}, Overhead),
    ),
    Part(
        "unavailable",
        _union,
        encode=dict,
        decode=lambda data, cpus: _reasons(data),
        size=lambda reasons: sum(2 * _TEXT_BYTES + len(part) + len(why) for part, why in reasons.items()),
    ),
)
"""Every part of a Frame, in the order of a recording's line."""

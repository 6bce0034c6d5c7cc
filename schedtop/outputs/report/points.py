"""What a report keeps of each Frame to draw it over time: a few sums, so that a day of Frames fits into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from schedtop.base.histogram import Histogram
from schedtop.base.units import NS_PER_S, iso_time
from schedtop.model.activity_table import ActivityTable
from schedtop.model.cpus import CPU_COUNTERS
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.interrupts import INTERRUPT_KINDS, InterruptTable
from schedtop.model.rows import Integers
from schedtop.outputs.scheduler.snapshot import is_available

WIDTHS_NS = tuple(
    round(seconds * NS_PER_S)
    for seconds in (0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400)
)
"""How long a piece of time may be: people can read these off an axis."""

KEEP_TASKS = 64
"""Of so many tasks a point knows the run delay, those with most of it."""

HEAT = ("involuntary_switches", "busy_ns", "accounted_ns")
"""What a point keeps for each CPU."""

INTERRUPT_SUMS = ("interrupts", *(f"{kind}_ns" for kind in INTERRUPT_KINDS))
"""How many there were, and the time of each kind."""

ACTIVITY_SUMS = ("syscalls", "syscall_errors", "major_faults", "tcp_failures", "tcp_retransmits")
"""What processes did, added up."""

SERIES_FIELDS = (
    "start_time",
    "offset_ns",
    "interval_ns",
    "switches",
    "voluntary_switches",
    "involuntary_switches",
    "wakeups",
    "migrations_in",
    "busy_ratio",
    "steal_ratio",
    "waits",
    "p50_ns",
    "p99_ns",
    "max_ns",
    "slow_waits",
    "slow_wait_ns",
    "throttled_periods",
    "throttled_ns",
    "pressure_ns",
    *INTERRUPT_SUMS,
    *ACTIVITY_SUMS,
    "queue_length",
    "lost",
)
"""The fields of a row over time, in this order."""

_SUMS = ("switches", "voluntary_switches", "involuntary_switches", "wakeups", "migrations_in")


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A piece of time: `frames` Frames that begin `offset_ns` after the report, `counters` of the CPUs chosen.

    `counters`: shape (len(CPU_COUNTERS),); `heat`: shape (cpus, len(HEAT)); `delays`: run delay in nanoseconds by tid
    and start time; `pressure_ns` and `queue_length` (the longest one) are `None` where they are not known;
    `interrupts`: INTERRUPT_SUMS, over `timed_ns` of the interval; `activity`: ACTIVITY_SUMS,
    if all of it `has_activity`; `missing`: fields that are not available.
    """

    start_time_ns: int
    offset_ns: int
    interval_ns: int
    counters: Integers
    latency: Histogram
    slow_waits: int
    slow_wait_ns: int
    throttled_periods: int
    throttled_ns: int
    pressure_ns: int | None
    queue_length: int | None
    lost: int
    heat: Integers
    delays: dict[tuple[int, int], int]
    interrupts: Integers = field(default_factory=lambda: np.zeros(len(INTERRUPT_SUMS), np.int64))
    timed_ns: int = 0
    activity: Integers = field(default_factory=lambda: np.zeros(len(ACTIVITY_SUMS), np.int64))
    has_activity: bool = False
    missing: frozenset[str] = frozenset()


def width_for(span_ns: int, most: int, least_ns: int = 0) -> int:
    """The shortest of WIDTHS_NS, at least `least_ns`, that divides a span into at most so many pieces."""
    fits = (width for width in WIDTHS_NS if width >= least_ns and span_ns <= width * most)
    return next(fits, -(-span_ns // most))


def point_of(frame: Frame, chosen: Filter, offset_ns: int) -> Point:
    """The Point of one Frame."""
    cpus = chosen.cpu_ids(range(len(frame.cpus.online)))
    width = frame.latency.counts.shape[1]
    waits = chosen.rows(frame.slow_waits, "cpu", frame.cgroups)
    tasks = chosen.rows(frame.tasks, "last_cpu", frame.cgroups)
    worst = tasks[np.argsort(-tasks["run_delay_ns"], kind="stable")[:KEEP_TASKS]]
    keys = zip(worst["tid"].tolist(), worst["start_ns"].tolist(), strict=True)
    counters = frame.cpus.counters[cpus].sum(axis=0, dtype=np.int64)
    missing = {
        name
        for name in (*_SUMS, "busy_ratio", "steal_ratio", "latency", "slow_waits", "throttling")
        if not is_available(frame, name.removesuffix("_ratio"))
    }
    if "switches" in missing and not chosen.cpus:
        # Of the whole host the kernel counts them itself.
        counters[CPU_COUNTERS.index("switches")] = frame.kernel_switches
        missing.remove("switches")
    interrupts = None if "interrupts" in frame.unavailable else frame.interrupts
    histograms = [frame.latency.histogram(None, cpu) for cpu in cpus if cpu < width] if chosen.cpus else []
    return Point(
        start_time_ns=frame.start_time_ns,
        offset_ns=offset_ns,
        interval_ns=frame.interval_ns,
        counters=counters,
        latency=sum(histograms, Histogram.empty()) if chosen.cpus else frame.latency.histogram(),
        slow_waits=len(waits),
        slow_wait_ns=int(waits["wait_ns"].sum()),
        throttled_periods=int(frame.throttling["throttled_periods"].sum()),
        throttled_ns=int(frame.throttling["throttled_ns"].sum()),
        pressure_ns=None if frame.pressure is None or "pressure" in frame.unavailable else frame.pressure.some_ns,
        queue_length=int(frame.cpus.queue_length[cpus].sum()) if is_available(frame, "queue_length") else None,
        lost=sum(asdict(frame.loss).values()),
        heat=frame.cpus.counters[:, [CPU_COUNTERS.index(name) for name in HEAT]].astype(np.int64),
        delays=dict(zip(keys, worst["run_delay_ns"].tolist(), strict=True)),
        interrupts=_interrupts(interrupts.chosen(cpus) if interrupts and chosen.cpus else interrupts),
        timed_ns=frame.interval_ns if interrupts else 0,
        activity=_activity(frame.activity),
        has_activity=frame.activity is not None,
        missing=frozenset(missing),
    )


def _activity(table: ActivityTable | None) -> Integers:
    """ACTIVITY_SUMS."""
    if table is None:
        return np.zeros(len(ACTIVITY_SUMS), np.int64)
    return np.array([table.rows[name].sum() for name in ACTIVITY_SUMS], np.int64)


def _interrupts(table: InterruptTable | None) -> Integers:
    """INTERRUPT_SUMS."""
    sums = np.zeros(len(INTERRUPT_SUMS), np.int64)
    if table is not None:
        sums[0] = table.cells["count"].sum()
        for place, kind in enumerate(INTERRUPT_KINDS, 1):
            sums[place] = table.cells["total_ns"][np.isin(table.cells["source"], table.of_kind(kind))].sum()
    return sums


def merge_points(points: Sequence[Point], tasks: int = KEEP_TASKS) -> Point:
    """Consecutive Points (at least one) as one, with the run delay of so many tasks."""
    first = points[0]
    if len(points) == 1:
        return first
    heat = np.zeros((max(len(point.heat) for point in points), len(HEAT)), np.int64)
    delays: dict[tuple[int, int], int] = {}
    for point in points:
        heat[: len(point.heat)] += point.heat
        for key, ns in point.delays.items():
            delays[key] = delays.get(key, 0) + ns
    kept = sorted(delays.items(), key=lambda item: -item[1])[:tasks]
    known = [point.pressure_ns for point in points if point.pressure_ns is not None]
    sums = ("interval_ns", "slow_waits", "slow_wait_ns", "throttled_periods", "throttled_ns", "timed_ns", "lost")
    totals: dict[str, Any] = {name: sum(getattr(point, name) for point in points) for name in sums}
    return Point(
        start_time_ns=first.start_time_ns,
        offset_ns=first.offset_ns,
        counters=np.sum([point.counters for point in points], axis=0, dtype=np.int64),
        latency=sum((point.latency for point in points), Histogram.empty()),
        interrupts=np.sum([point.interrupts for point in points], axis=0, dtype=np.int64),
        activity=np.sum([point.activity for point in points], axis=0, dtype=np.int64),
        has_activity=all(point.has_activity for point in points),
        pressure_ns=sum(known) if len(known) == len(points) else None,
        queue_length=max((point.queue_length for point in points if point.queue_length is not None), default=None),
        heat=heat,
        delays=dict(kept),
        missing=frozenset().union(*(point.missing for point in points)),
        **totals,
    )


def series_row(point: Point) -> dict[str, Any]:
    """The fields of a Point, SERIES_FIELDS; what is not available is `None`."""
    counters = dict(zip(CPU_COUNTERS, point.counters.tolist(), strict=True))
    accounted = counters["accounted_ns"]
    some = point.latency.count > 0
    row: dict[str, Any] = {
        "start_time": iso_time(point.start_time_ns),
        "offset_ns": point.offset_ns,
        "interval_ns": point.interval_ns,
        **{name: counters[name] for name in _SUMS},
        "busy_ratio": round(counters["busy_ns"] / accounted, 6) if accounted > 0 else None,
        "steal_ratio": round(counters["steal_ns"] / accounted, 6) if accounted > 0 else None,
        "waits": point.latency.count,
        "p50_ns": point.latency.percentile_ns(0.5),
        "p99_ns": point.latency.percentile_ns(0.99),
        "max_ns": point.latency.max_ns if some else None,
        "slow_waits": point.slow_waits,
        "slow_wait_ns": point.slow_wait_ns,
        "throttled_periods": point.throttled_periods,
        "throttled_ns": point.throttled_ns,
        "pressure_ns": point.pressure_ns,
        **dict(zip(INTERRUPT_SUMS, point.interrupts.tolist(), strict=True)),
        **dict(zip(ACTIVITY_SUMS, point.activity.tolist(), strict=True)),
        "queue_length": point.queue_length,
        "lost": point.lost,
    }
    unknown = {name for name in row if name in point.missing}
    if "latency" in point.missing:
        unknown |= {"waits", "p50_ns", "p99_ns", "max_ns"}
    if "slow_waits" in point.missing:
        unknown |= {"slow_wait_ns"}
    if "throttling" in point.missing:
        unknown |= {"throttled_periods", "throttled_ns"}
    if point.timed_ns < point.interval_ns:
        unknown |= {*INTERRUPT_SUMS}
    if not point.has_activity:
        unknown |= {*ACTIVITY_SUMS}
    return row | dict.fromkeys(unknown)

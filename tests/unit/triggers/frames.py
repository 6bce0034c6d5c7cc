"""Hand-made Frames: a quiet host of two CPUs, and what a test changes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from schedtop.base.histogram import bucket_index
from schedtop.base.units import NS_PER_S
from schedtop.model.counts import Pressure
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.frame import Frame
from schedtop.model.latency import LatencyTable
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE, THROTTLING_DTYPE, WAIT_KINDS, Rows

START_NS = 1_790_000_000 * NS_PER_S
CGROUPS = {7: "/system.slice/web.service", 8: "/system.slice/web.service/worker", 9: "/user.slice"}


def frame(number: int = 0, *, interval_ns: int = NS_PER_S, **parts: Any) -> Frame:
    """The Frame `number` of the host; its end is at (number + 1) intervals. `parts` replace those of a quiet one."""
    quiet = Frame(
        start_time_ns=START_NS + number * interval_ns,
        end_ns=(number + 1) * interval_ns,
        interval_ns=interval_ns,
        cpus=cpus(),
        latency=LatencyTable.empty(2),
        tasks=np.zeros(0, TASK_DTYPE),
        slow_waits=np.zeros(0, SLOW_WAIT_DTYPE),
        threshold_ns=5_000_000,
        pressure=Pressure(0, 0),
        cgroups=CGROUPS,
    )
    return replace(quiet, **parts)


def cpus(queue: Sequence[int] = (0, 0), **counters: Sequence[int]) -> CpuTable:
    """Two CPUs with these counters; a second of time was accounted on each."""
    table = CpuTable.empty(2)
    for name, values in {"accounted_ns": (NS_PER_S, NS_PER_S), **counters}.items():
        table.counters[:, CPU_COUNTERS.index(name)] = values
    table.queue_length[:] = queue
    return table


def latency(waits: Sequence[tuple[str, int, int]]) -> LatencyTable:
    """Waits as (kind, CPU, ns)."""
    table = LatencyTable.empty(2)
    for kind, cpu, ns in waits:
        place = WAIT_KINDS.index(kind), cpu
        table.counts[(*place, int(bucket_index(ns)))] += 1
        table.sum_ns[place] += ns
        table.max_ns[place] = max(ns, table.max_ns[place])
    return table


def rows(dtype: np.dtype[np.void], *items: dict[str, Any]) -> Rows:
    """Rows with these fields, the others zero."""
    made = np.zeros(len(items), dtype)
    for row, item in zip(made, items, strict=True):
        for name, value in item.items():
            row[name] = value
    return made


def tasks(*items: dict[str, Any]) -> Rows:
    return rows(TASK_DTYPE, *items)


def slow_waits(*items: dict[str, Any]) -> Rows:
    return rows(SLOW_WAIT_DTYPE, *items)


def throttling(*items: dict[str, Any]) -> Rows:
    return rows(THROTTLING_DTYPE, *items)


def p99_frames(waits_ms: Sequence[float], *, first: int = 0, **options: Any) -> list[Frame]:
    """A Frame for each wait: the only one in it."""
    return [
        frame(first + place, latency=latency([("wakeup", 0, int(ms * 1e6))]), **options)
        for place, ms in enumerate(waits_ms)
    ]

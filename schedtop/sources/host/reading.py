"""What /proc tells of the whole host at one moment, and what two such moments give a Frame without kernel programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from schedtop.model.counts import Loss, Overhead, Pressure, subtract_overhead, subtract_pressure
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.frame import Frame
from schedtop.model.latency import LatencyTable
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE
from schedtop.sources.host.proc import StatReading, cpu_times


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HostReading:
    """Cumulative values at `time_ns` (CLOCK_MONOTONIC), which is `wall_ns` by the wall clock."""

    time_ns: int
    wall_ns: int
    stat: StatReading
    pressure: Pressure | None
    own: Overhead
    late_ticks: int = 0


def host_frame(earlier: HostReading, later: HostReading, **parts: Any) -> Frame:
    """The Frame between two readings of one source, with `parts` of a Frame that only that source knows of.

    Without `tasks` it has none.
    """
    interval_ns = later.time_ns - earlier.time_ns
    known = {
        "start_time_ns": later.wall_ns - interval_ns,
        "end_ns": later.time_ns,
        "interval_ns": interval_ns,
        "cpus": cpu_table(earlier.stat, later.stat),
        "kernel_switches": max(0, later.stat.switches - earlier.stat.switches),
        "pressure": subtract_pressure(earlier.pressure, later.pressure),
        "loss": Loss(late_ticks=later.late_ticks - earlier.late_ticks),
        "overhead": subtract_overhead(earlier.own, later.own),
    }
    return Frame(**{**nothing_seen(len(later.stat.online)), **known, **parts})


def nothing_seen(cpus: int) -> dict[str, Any]:
    """The parts of a Frame that each must have, where no waits and no tasks are seen."""
    return {
        "latency": LatencyTable.empty(cpus, np.uint32),
        "tasks": np.zeros(0, TASK_DTYPE),
        "slow_waits": np.zeros(0, SLOW_WAIT_DTYPE),
    }


def cpu_table(earlier: StatReading, later: StatReading) -> CpuTable:
    """The times of the CPUs between, by /proc/stat alone."""
    table = CpuTable.empty(len(later.online))
    columns = {name: table.counters[:, index] for index, name in enumerate(CPU_COUNTERS)}
    for name, times_ns in cpu_times(earlier, later).items():
        columns[name][:] = times_ns
    columns["idle_ns"][:] = np.maximum(columns["accounted_ns"] - columns["busy_ns"] - columns["steal_ns"], 0)
    return CpuTable(table.counters, later.online, table.queue_length)

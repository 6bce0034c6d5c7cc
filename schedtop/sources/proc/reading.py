"""What /proc tells at one moment. `difference` of two of them is a Frame; nothing in it is ever negative."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from schedtop.model.counts import Loss, Overhead, Pressure, subtract_overhead, subtract_pressure
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.frame import Frame
from schedtop.model.latency import LatencyTable
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE, Rows, subtract_throttling
from schedtop.sources.host.proc import StatReading, cpu_times
from schedtop.sources.proc.polling import Look


@dataclass(frozen=True, slots=True, eq=False)
class ProcReading:
    """Cumulative values at `time_ns` (CLOCK_MONOTONIC), which is `wall_ns` by the wall clock.

    `begun`: how many tasks have begun. Not cumulative, but of the interval that ends here: `look`, `tasks` (rows of
    TASK_DTYPE) and `lives_unseen` (tasks that came and went without being seen).
    """

    time_ns: int
    wall_ns: int
    stat: StatReading
    begun: int
    pressure: Pressure | None
    throttling: Rows
    cgroups: Mapping[int, str]
    own: Overhead
    late_ticks: int = 0
    sched_ext: ExtScheduler | None = None
    look: Look | None = None
    tasks: Rows | None = None
    lives_unseen: int = 0


def difference(earlier: ProcReading, later: ProcReading, threshold_ns: int, unavailable: Mapping[str, str]) -> Frame:
    """The Frame between two readings of one source; its own threshold is only carried along."""
    interval_ns = later.time_ns - earlier.time_ns
    cpus = cpu_table(earlier.stat, later.stat)
    return Frame(
        start_time_ns=later.wall_ns - interval_ns,
        end_ns=later.time_ns,
        interval_ns=interval_ns,
        cpus=cpus,
        latency=LatencyTable.empty(len(cpus.online), np.uint32),
        tasks=np.zeros(0, TASK_DTYPE) if later.tasks is None else later.tasks,
        slow_waits=np.zeros(0, SLOW_WAIT_DTYPE),
        threshold_ns=threshold_ns,
        kernel_switches=max(0, later.stat.switches - earlier.stat.switches),
        pressure=subtract_pressure(earlier.pressure, later.pressure),
        loss=_loss(earlier, later),
        overhead=subtract_overhead(earlier.own, later.own),
        throttling=subtract_throttling(earlier.throttling, later.throttling),
        sched_ext=later.sched_ext,
        cgroups=later.cgroups,
        unavailable=unavailable,
    )


def cpu_table(earlier: StatReading, later: StatReading) -> CpuTable:
    """The times of the CPUs between, by /proc/stat alone."""
    table = CpuTable.empty(len(later.online))
    columns = {name: table.counters[:, index] for index, name in enumerate(CPU_COUNTERS)}
    for name, times_ns in cpu_times(earlier, later).items():
        columns[name][:] = times_ns
    columns["idle_ns"][:] = np.maximum(columns["accounted_ns"] - columns["busy_ns"] - columns["steal_ns"], 0)
    return CpuTable(table.counters, later.online, table.queue_length)


def _loss(earlier: ProcReading, later: ProcReading) -> Loss:
    late_ticks = later.late_ticks - earlier.late_ticks
    if later.look is None:
        return Loss(late_ticks=late_ticks)
    look = later.look
    return Loss(
        tasks_untracked=look.untracked,
        late_ticks=late_ticks,
        tasks_late=look.late,
        ends_unseen=look.ended,
        lives_unseen=later.lives_unseen,
    )

"""The run queues alone, and what /proc tells of CPUs: cheap enough to watch for weeks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.model.counts import Loss, Overhead, Pressure, subtract_overhead, subtract_pressure
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.latency import LatencyTable
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE, Rows, copy_rows
from schedtop.model.source import ALONE, SourceError
from schedtop.sources.host import proc
from schedtop.sources.host.sched_ext import SchedExt, ext_queues
from schedtop.sources.host.topology import read_topology
from schedtop.sources.kernel.front_end import choose_front_end
from schedtop.sources.kernel.kept_btf import reading_once
from schedtop.sources.proc.reading import cpu_table
from schedtop.sources.queue.program import QueueProgram
from schedtop.sources.scheduler.programs import build
from schedtop.sources.scheduler.samples import Between, queue_table

LEFT_OUT = (
    "latency", "slow_waits", "switches", "migrations", "queue_length", "interrupts", "activity", "short_lived", "exits",
    "exit_codes", "parents", "tasks", "run_delay", "task_switches", "throttling",
)  # fmt: skip
"""Parts of a Frame that only programs on switches and wakeups tell, or that cost more than all the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class QueueReading:
    """Cumulative values at `time_ns` (CLOCK_MONOTONIC), which is `wall_ns` by the wall clock."""

    time_ns: int
    wall_ns: int
    epoch: int
    stat: proc.StatReading
    queues: Rows
    pressure: Pressure | None
    own: Overhead
    late_ticks: int


class QueueSource:
    """Samples the run queues 99 times a second on each CPU. `source`: `auto`, `btf` or `tracepoint`."""

    def __init__(self, interval_ns: int, threshold_ns: int, source: str = "auto") -> None:
        self.interval_ns = interval_ns
        self.threshold_ns = threshold_ns
        self._wanted = source
        self._late_ticks = 0
        self._epoch = 1
        self.host: Host

    def __enter__(self) -> Self:
        cpus = proc.possible_cpus()
        with reading_once():
            front_end = choose_front_end(self._wanted)
            if front_end.no_queue:
                raise SourceError(f"the run queues cannot be sampled: {front_end.no_queue}")
            compiled = build(front_end, cpus)
        host = proc.identify_host(front_end.name)
        notes = (*host.notes, *front_end.notes, "run queues alone (--only queue)")
        self.host = replace(host, topology=read_topology(cpus), notes=notes)
        self._sched_ext = SchedExt()
        self._files = proc.HostFiles(cpus)
        try:
            self._program = QueueProgram(front_end, compiled)
        except BaseException:
            self._files.close()
            raise
        return self

    def __exit__(self, *exc: Any) -> None:
        self._program.close()
        self._files.close()

    def set_threshold(self, threshold_ns: int) -> None:
        """Sets the threshold that the Frames carry; no waits are seen."""
        self.threshold_ns = threshold_ns

    def set_grouping(self, kind: str) -> None:
        """There are no histograms."""

    def set_sampling(self, on: bool) -> None:
        """It does nothing else."""

    def set_interrupts(self, on: bool) -> None:
        """Interrupts are not timed."""

    def set_measuring(self, on: bool) -> None:
        """Nothing runs on a switch, so there is nothing to measure for one."""

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """Frames of the live kernel, one each interval; a late tick skips to the next deadline and is counted."""
        earlier, sampled = self._read(), self._program.sampled_cpus
        deadline = earlier.time_ns + self.interval_ns
        while not stop.wait(max(0, deadline - time.monotonic_ns()) / NS_PER_S):
            later = self._read()
            yield self._difference(earlier, later, sampled)
            earlier, sampled = later, self._program.sampled_cpus
            deadline += self.interval_ns
            missed = max(0, (time.monotonic_ns() - deadline) // self.interval_ns + 1)
            self._late_ticks += missed
            deadline += missed * self.interval_ns

    def _read(self) -> QueueReading:
        stat = self._files.stat()
        epoch = self._epoch
        self._epoch += 1
        self._program.config["epoch"] = self._epoch
        try:
            self._program.sample(stat.cpus)
        except OSError as error:
            raise SourceError(f"the kernel does not let us sample the run queues: {error.strerror}") from error
        return QueueReading(
            time.monotonic_ns(),
            time.time_ns(),
            epoch,
            stat,
            copy_rows(self._program.queues),
            self._files.pressure(),
            self._files.own_cost(),
            self._late_ticks,
        )

    def _difference(self, earlier: QueueReading, later: QueueReading, sampled: tuple[int, ...]) -> Frame:
        interval_ns = later.time_ns - earlier.time_ns
        cpus = cpu_table(earlier.stat, later.stat)
        sched_ext = self._sched_ext.since_last()
        unavailable = dict.fromkeys(LEFT_OUT, ALONE) | ({"queue": ext_queues(sched_ext)} if sched_ext else {})
        idle_ns = cpus.column("idle_ns").astype(np.int64)
        between = Between(interval_ns, later.epoch, sampled, idle_ns, later.stat.online)
        return Frame(
            start_time_ns=later.wall_ns - interval_ns,
            end_ns=later.time_ns,
            interval_ns=interval_ns,
            cpus=cpus,
            latency=LatencyTable.empty(len(cpus.online), np.uint32),
            tasks=np.zeros(0, TASK_DTYPE),
            slow_waits=np.zeros(0, SLOW_WAIT_DTYPE),
            threshold_ns=self.threshold_ns,
            kernel_switches=max(0, later.stat.switches - earlier.stat.switches),
            pressure=subtract_pressure(earlier.pressure, later.pressure),
            loss=Loss(late_ticks=later.late_ticks - earlier.late_ticks),
            overhead=subtract_overhead(earlier.own, later.own),
            queue=queue_table(earlier.queues, later.queues, between),
            sched_ext=sched_ext,
            unavailable=MappingProxyType(unavailable),
        )

"""The run queues alone, and what /proc tells of CPUs: cheap enough to watch for weeks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.rows import Rows, copy_rows
from schedtop.model.source import ALONE, SourceError
from schedtop.sources.host import proc
from schedtop.sources.host.reading import HostReading, host_frame
from schedtop.sources.host.sched_ext import SchedExt, ext_queues
from schedtop.sources.host.topology import read_topology
from schedtop.sources.kernel.front_end import choose_front_end
from schedtop.sources.kernel.kept_btf import reading_once
from schedtop.sources.queue.program import QueueProgram
from schedtop.sources.scheduler.programs import build
from schedtop.sources.scheduler.samples import Between, queue_table
from schedtop.sources.ticks import Ticks

LEFT_OUT = (
    "latency", "slow_waits", "switches", "migrations", "queue_length", "interrupts", "activity", "short_lived", "exits",
    "exit_codes", "parents", "tasks", "run_delay", "task_switches", "throttling",
)  # fmt: skip
"""Parts of a Frame that only programs on switches and wakeups tell, or that cost more than all the rest."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QueueReading(HostReading):
    """A HostReading with the samples of the run queues (cumulative); `epoch`: the interval that ends here."""

    epoch: int
    queues: Rows


class QueueSource:
    """Samples the run queues 99 times a second on each CPU. `source`: `auto`, `btf` or `tracepoint`."""

    def __init__(self, interval_ns: int, threshold_ns: int, source: str = "auto") -> None:
        self.interval_ns = interval_ns
        self.threshold_ns = threshold_ns
        self._wanted = source
        self._ticks = Ticks(interval_ns)
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
        for _ in self._ticks.until(stop, earlier.time_ns + self.interval_ns):
            later = self._read()
            yield self._difference(earlier, later, sampled)
            earlier, sampled = later, self._program.sampled_cpus

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
            time_ns=time.monotonic_ns(),
            wall_ns=time.time_ns(),
            epoch=epoch,
            stat=stat,
            queues=copy_rows(self._program.queues),
            pressure=self._files.pressure(),
            own=self._files.own_cost(),
            late_ticks=self._ticks.late,
        )

    def _difference(self, earlier: QueueReading, later: QueueReading, sampled: tuple[int, ...]) -> Frame:
        sched_ext = self._sched_ext.since_last()
        unavailable = dict.fromkeys(LEFT_OUT, ALONE) | ({"queue": ext_queues(sched_ext)} if sched_ext else {})
        frame = host_frame(
            earlier,
            later,
            threshold_ns=self.threshold_ns,
            sched_ext=sched_ext,
            unavailable=MappingProxyType(unavailable),
        )
        idle_ns = frame.cpus.column("idle_ns").astype(np.int64)
        between = Between(frame.interval_ns, later.epoch, sampled, idle_ns, later.stat.online)
        return replace(frame, queue=queue_table(earlier.queues, later.queues, between))

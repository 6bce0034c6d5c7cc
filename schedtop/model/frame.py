"""Frame: what the scheduler did in one interval, as additive integers, and its parts.

A part that a source cannot give is named in `Frame.unavailable` with the reason; its properties are then
`None`, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from schedtop.model.counts import Attribution, Loss, Overhead, Pressure
from schedtop.model.cpus import CpuTable, merge_cpus
from schedtop.model.group_latency import GroupLatency, merge_groups
from schedtop.model.latency import LatencySum, LatencyTable, merge_latency
from schedtop.model.queue_lengths import QueueTable, merge_queues
from schedtop.model.rows import PAIR_DTYPE, THROTTLING_DTYPE, Rows, merge_pairs, merge_tasks, merge_throttling
from schedtop.model.short_lived import folded, merge_short_lived, no_short_lived


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What happened in one interval. `earlier + later` is the Frame of both.

    `start_time_ns` is wall-clock time, `end_ns` is CLOCK_MONOTONIC (it orders Frames), `interval_ns` the true length.
    `tasks` has TASK_DTYPE rows, `slow_waits` SLOW_WAIT_DTYPE rows in order of time, `pairs` PAIR_DTYPE,
    `throttling` THROTTLING_DTYPE, `short_lived` SHORT_LIVED_DTYPE rows; `groups` and `queue` are `None` unless the
    source was asked for them. `kernel_switches` is the change of `ctxt` in /proc/stat. `unavailable` maps a part
    (`latency`, `tasks`, `steal`, `pressure`, `migrations`, ...) to why.
    """

    start_time_ns: int
    end_ns: int
    interval_ns: int
    cpus: CpuTable
    latency: LatencyTable
    tasks: Rows
    slow_waits: Rows
    threshold_ns: int
    kernel_switches: int | None = None
    pressure: Pressure | None = None
    loss: Loss = field(default_factory=Loss)
    overhead: Overhead = field(default_factory=Overhead)
    short_lived: Rows = field(default_factory=no_short_lived)
    pairs: Rows = field(default_factory=lambda: np.empty(0, PAIR_DTYPE))
    attribution: Attribution = field(default_factory=Attribution)
    throttling: Rows = field(default_factory=lambda: np.empty(0, THROTTLING_DTYPE))
    groups: GroupLatency | None = None
    queue: QueueTable | None = None
    cgroups: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    unavailable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __add__(self, later: Frame) -> Frame:
        return merge((self, later))

    @property
    def duration_s(self) -> float:
        """The interval in seconds."""
        return self.interval_ns / 1e9

    def total(self, counter: str) -> int:
        """One of CPU_COUNTERS summed over all CPUs."""
        return int(self.cpus.column(counter).sum(dtype=np.int64))

    @property
    def ended_wait_ns(self) -> int:
        """The waits that ended in the interval, summed. `run_delay_ns` of the tasks differs by what is under way."""
        return int(self.latency.sum_ns.sum(dtype=np.int64))

    def ratio(self, counter: str, cpu: int | Sequence[int] | None = None) -> float | None:
        """`busy_ns` or `steal_ns` as a share (0..1) of the time the kernel accounted, of one CPU, of some, or all.

        `None` where it is not available or the kernel accounted nothing (an offline CPU).
        """
        if counter.removesuffix("_ns") in self.unavailable:
            return None
        rows = slice(cpu, cpu + 1) if isinstance(cpu, int) else slice(None) if cpu is None else list(cpu)
        whole = int(self.cpus.column("accounted_ns")[rows].sum())
        return int(self.cpus.column(counter)[rows].sum()) / whole if whole else None

    def involuntary_ratio(self, cpu: int | None = None) -> float | None:
        """The share of involuntary switches among those of tasks, `None` without switches."""
        rows = slice(None) if cpu is None else slice(cpu, cpu + 1)
        involuntary = int(self.cpus.column("involuntary_switches")[rows].sum())
        whole = involuntary + int(self.cpus.column("voluntary_switches")[rows].sum())
        return involuntary / whole if whole else None


def merge(frames: Sequence[Frame], *, lightly: bool = False) -> Frame:
    """The Frame of several consecutive Frames (at least one), in order of time.

    Counters add; gauges (queue length, memory, threshold) are the last ones; CPUs that came later widen the tables.
    `lightly`: it keeps the Frames' own latency tables, which is quick, but takes all of their room.
    """
    if not frames:
        raise ValueError("there is nothing to merge")
    if len(frames) == 1:
        return frames[0]
    first, last = frames[0], frames[-1]
    return Frame(
        start_time_ns=first.start_time_ns,
        end_ns=last.end_ns,
        interval_ns=sum(frame.interval_ns for frame in frames),
        cpus=merge_cpus([frame.cpus for frame in frames]),
        latency=(LatencySum if lightly else merge_latency)([frame.latency for frame in frames]),
        tasks=merge_tasks([frame.tasks for frame in frames]),
        short_lived=folded(merge_short_lived([frame.short_lived for frame in frames])),
        slow_waits=np.concatenate([frame.slow_waits for frame in frames]),
        threshold_ns=last.threshold_ns,
        kernel_switches=_sum_optional([frame.kernel_switches for frame in frames]),
        pressure=_sum_pressure([frame.pressure for frame in frames]),
        loss=sum((frame.loss for frame in frames), Loss()),
        overhead=sum((frame.overhead for frame in frames[1:]), first.overhead),
        pairs=merge_pairs([frame.pairs for frame in frames]),
        attribution=sum((frame.attribution for frame in frames), Attribution()),
        throttling=merge_throttling([frame.throttling for frame in frames]),
        groups=merge_groups([frame.groups for frame in frames]),
        queue=merge_queues([frame.queue for frame in frames]),
        cgroups=_union([frame.cgroups for frame in frames]),
        unavailable=_union([frame.unavailable for frame in frames]),
    )


def _sum_optional(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _sum_pressure(values: Sequence[Pressure | None]) -> Pressure | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if len(known) == len(values) else None


def _union(mappings: Sequence[Mapping[Any, str]]) -> Mapping[Any, str]:
    # Frames of one source share one mapping: adding a minute of them must not copy it sixty times.
    distinct = {id(mapping): mapping for mapping in mappings}
    if len(distinct) == 1:
        return mappings[0]
    return MappingProxyType({key: value for mapping in distinct.values() for key, value in mapping.items()})

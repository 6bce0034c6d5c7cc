"""Frame: what the scheduler did in one interval, as additive integers, and its parts.

A part that a source cannot give is named in `Frame.unavailable` with the reason; its properties are then
`None`, never zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.model.activity_table import ActivityTable
from schedtop.model.counts import Attribution, Loss, Overhead, Pressure
from schedtop.model.cpus import CpuTable
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.group_latency import GroupLatency
from schedtop.model.interrupts import InterruptTable
from schedtop.model.latency import LatencyTable
from schedtop.model.parts import PARTS, Part
from schedtop.model.queue_lengths import QueueTable
from schedtop.model.rows import PAIR_DTYPE, THROTTLING_DTYPE, Rows
from schedtop.model.short_lived import no_short_lived

FRAME_BYTES = 4 << 10
"""What a Frame costs besides its arrays, about."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What happened in one interval. `earlier + later` is the Frame of both.

    `start_time_ns` is wall-clock time, `end_ns` is CLOCK_MONOTONIC (it orders Frames), `interval_ns` the true length.
    `tasks` has TASK_DTYPE rows, `slow_waits` SLOW_WAIT_DTYPE rows in order of time, `pairs` PAIR_DTYPE,
    `throttling` THROTTLING_DTYPE, `short_lived` SHORT_LIVED_DTYPE rows; `groups`, `queue`, `interrupts` and `activity`
    are `None` unless the source was asked for them. `sched_ext` is the scheduler of that class, `None`: there is none,
    or it is not known. `kernel_switches` is the change of `ctxt` in /proc/stat. `unavailable` maps a part
    (`latency`, `tasks`, `steal`, `pressure`, `migrations`, ...) to why.
    """

    parts: ClassVar[tuple[Part[Any], ...]] = PARTS
    """What is done with each field."""

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
    interrupts: InterruptTable | None = None
    activity: ActivityTable | None = None
    sched_ext: ExtScheduler | None = None
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


def merge(frames: Sequence[Frame], *, lightly: bool = False, breathe: Callable[[], object] = keep_on) -> Frame:
    """The Frame of several consecutive Frames (at least one), in order of time.

    Counters add; gauges (queue length, memory, threshold) are the last ones; CPUs that came later widen the tables.
    `lightly`: it keeps the Frames' own latency tables, which is quick, but takes all of their room. `breathe` is called
    in between.
    """
    if not frames:
        raise ValueError("there is nothing to merge")
    if len(frames) == 1:
        return frames[0]
    kind = type(frames[0])
    merged = {}
    for part in kind.parts:
        values = [getattr(frame, part.name) for frame in frames]
        quick = part.merge_lightly if lightly else None
        merged[part.name] = quick(values, breathe) if quick else part.merge(values)
        breathe()
    return kind(**merged)


def frame_bytes(frame: Frame) -> int:
    """What a Frame takes, in bytes."""
    return FRAME_BYTES + sum(part.size(getattr(frame, part.name)) for part in frame.parts)

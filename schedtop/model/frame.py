"""Frame: what the scheduler did in one interval, as additive integers, and its parts.

A part that a source cannot give is named in `Frame.unavailable` with the reason; its properties are then
`None`, never zero.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from schedtop.base.units import printable
from schedtop.model.rows import PAIR_DTYPE, THROTTLING_DTYPE, Rows, merge_pairs, merge_tasks, merge_throttling
from schedtop.model.short_lived import folded, merge_short_lived, no_short_lived
from schedtop.model.tables import (
    CpuTable,
    GroupLatency,
    LatencySum,
    LatencyTable,
    QueueTable,
    merge_cpus,
    merge_groups,
    merge_latency,
    merge_queues,
)

Counts = TypeVar("Counts", "Loss", "Attribution", "Pressure")


HARMLESS_LOSS = ("switches_unseen", "tasks_late", "ends_unseen", "lives_unseen")
"""Counts of Loss that cost nothing (the switches are counted, late tasks come later) or that nobody can help."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Which CPUs share a last-level cache, a NUMA node and a core: a number for each CPU id, equal where they do.

    `cores` is empty where it is not known (older recordings do not tell).
    """

    caches: tuple[int, ...]
    nodes: tuple[int, ...]
    cores: tuple[int, ...] = ()

    def crossing(self, one: int, other: int) -> str:
        """What lies between two CPUs: one of DOMAINS (`numa`, `cache`, or nothing)."""
        known = range(len(self.caches))
        if one not in known or other not in known:
            return ""
        if self.nodes[one] != self.nodes[other]:
            return "numa"
        return "cache" if self.caches[one] != self.caches[other] else ""


@dataclass(frozen=True, slots=True)
class Host:
    """What does not change while a source is open."""

    name: str
    kernel: str
    source: str
    virtualised: bool | None = None
    notes: tuple[str, ...] = ()
    topology: Topology | None = None
    scope: str = ""
    """Which tasks alone are looked at (a filter in the kernel), in words; empty: all."""

    recorded_source: str = ""
    """Of a recording that is played: the source that it was made through."""

    def __post_init__(self) -> None:
        """All of it is shown and written everywhere, and a scope may be the path of a group that anybody has named."""
        for name in ("name", "kernel", "source", "scope", "recorded_source"):
            object.__setattr__(self, name, printable(getattr(self, name)))
        object.__setattr__(self, "notes", tuple(map(printable, self.notes)))


HIDDEN = "only your own processes are visible: /proc is mounted with hidepid"
INSIDE = "only the tasks of this pid namespace are visible; CPUs and pressure are the host's"
"""Notes of a Host whose tasks are not all seen: nothing may be said of all tasks then."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What was not seen or not kept, counted. All zero means: nothing was lost.

    Of the source `proc` alone: `tasks_late` (tasks whose counters, or some, come with a later interval), `ends_unseen`
    (tasks that ended: what they did after they were last read is not known), `lives_unseen` (came and went between).
    """

    ring_dropped: int = 0
    slow_waits_suppressed: int = 0
    tasks_untracked: int = 0
    tasks_evicted: int = 0
    negative_waits: int = 0
    switches_unseen: int = 0
    late_ticks: int = 0
    events_missed: int = 0
    tasks_forgotten: int = 0
    slow_waits_forgotten: int = 0
    short_lived_dropped: int = 0
    tasks_late: int = 0
    ends_unseen: int = 0
    lives_unseen: int = 0

    def __add__(self, other: Loss) -> Loss:
        return _added(self, other)

    @property
    def serious(self) -> Loss:
        """Without what is always so and costs no counts: switches that some guests do not report, tasks that are read
        later, and what /proc does not tell of tasks that end.
        """
        return replace(self, **dict.fromkeys(HARMLESS_LOSS, 0))

    @property
    def any(self) -> bool:
        """Whether anything at all was lost."""
        return any(getattr(self, f.name) for f in fields(Loss))


@dataclass(frozen=True, slots=True)
class Pressure:
    """Time in which some task (or all of them) waited for a CPU, from /proc/pressure/cpu."""

    some_ns: int
    full_ns: int

    def __add__(self, other: Pressure) -> Pressure:
        return _added(self, other)


@dataclass(frozen=True, slots=True)
class Attribution:
    """What became of the waits that ended in an interval when their blockers were looked for, in nanoseconds.

    `looked_at_ns`: waits long enough and within the budget; `over_budget_ns`: long enough, but there were too many.
    Of `looked_at_ns`, `uncovered_ns` lay further back than the ring of slices, in `idle_ns` the CPU itself was idle,
    `others_ns` went to blockers too small to be kept, `unpaired_ns` found no room. The rest is in the pairs.
    """

    looked_at_ns: int = 0
    over_budget_ns: int = 0
    uncovered_ns: int = 0
    idle_ns: int = 0
    others_ns: int = 0
    unpaired_ns: int = 0

    def __add__(self, other: Attribution) -> Attribution:
        return _added(self, other)


@dataclass(frozen=True, slots=True)
class Overhead:
    """What schedtop itself cost: CPU time of its process, resident memory (a gauge), and BPF time if measured."""

    cpu_ns: int = 0
    rss_bytes: int = 0
    bpf_ns: int | None = None
    bpf_switches: int | None = None

    def __add__(self, later: Overhead) -> Overhead:
        return Overhead(
            self.cpu_ns + later.cpu_ns,
            later.rss_bytes,
            _add_optional(self.bpf_ns, later.bpf_ns),
            _add_optional(self.bpf_switches, later.bpf_switches),
        )

    @property
    def bpf_ns_per_switch(self) -> float | None:
        """Time in our kernel programs per context switch, `None` unless it was measured."""
        return self.bpf_ns / self.bpf_switches if self.bpf_ns is not None and self.bpf_switches else None


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
    loss: Loss = Loss()
    overhead: Overhead = Overhead()
    short_lived: Rows = field(default_factory=no_short_lived)
    pairs: Rows = field(default_factory=lambda: np.empty(0, PAIR_DTYPE))
    attribution: Attribution = Attribution()
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


class Source(Protocol):
    """Where Frames come from. A context manager, opened before the screen is taken.

    Opening raises `SourceError` with one sentence for the user.
    """

    host: Host

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: Any) -> None: ...

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """Frames as they come, each after its interval; ends within one interval when `stop` is set."""
        ...

    def set_threshold(self, threshold_ns: int) -> None:
        """Asks for another slow-wait threshold; it holds from the next interval on. Any thread may call it."""
        ...

    def set_grouping(self, kind: str) -> None:
        """Asks for `Frame.groups` by an id field of GROUPS, empty: no longer. Any thread may call it."""
        ...

    def set_sampling(self, on: bool) -> None:
        """Asks for `Frame.queue`: samples of the run queues, or no longer. Any thread may call it."""
        ...

    def set_measuring(self, on: bool) -> None:
        """Asks for the time that the source's kernel programs take, or no longer. Any thread may call it."""
        ...


class SourceError(Exception):
    """A source cannot be opened or has failed; the text says why and what to do, in one line."""


class NotPermitted(SourceError):
    """The kernel does not let this process do what a source needs."""


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


def _added(one: Counts, other: Counts) -> Counts:
    """Field by field."""
    return type(one)(*(getattr(one, f.name) + getattr(other, f.name) for f in fields(one)))


def _add_optional(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


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

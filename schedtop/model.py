"""Frame: what the scheduler did in one interval, as additive integers, and its parts.

A part that a source cannot give is named in `Frame.unavailable` with the reason; its properties are then
`None`, never zero.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from schedtop.histogram import BUCKETS, Histogram

Integers = npt.NDArray[np.integer]
Rows = npt.NDArray[np.void]

CPU_COUNTERS = (
    "switches",
    "voluntary_switches",
    "involuntary_switches",
    "wakeups",
    "migrations_in",
    "migrations_out",
    "idle_ns",
    "busy_ns",
    "steal_ns",
    "accounted_ns",
)
"""Columns of `CpuTable.counters`. `busy_ns`, `steal_ns` and `accounted_ns` (their whole) are the kernel's own,
from /proc/stat; `idle_ns` is seen at the switches. `wakeups` counts on the CPU of the waker."""

WAIT_KINDS = ("wakeup", "preemption")
"""First axis of `LatencyTable.counts`: why the task was queued."""

CAUSES = (*WAIT_KINDS, "throttled")
"""Why a slow wait was one: what queued the task, or the quota of its group."""

TASK_DTYPE = np.dtype(
    [
        ("tid", "<u4"),
        ("tgid", "<u4"),
        ("start_ns", "<u8"),
        ("comm", "S16"),
        ("process", "S16"),
        ("cgroup_id", "<u8"),
        ("run_ns", "<i8"),
        ("run_delay_ns", "<i8"),
        ("max_wait_ns", "<i8"),
        ("waiting_ns", "<i8"),
        ("timeslices", "<i8"),
        ("voluntary_switches", "<i8"),
        ("involuntary_switches", "<i8"),
        ("migrations", "<i8"),
        ("last_cpu", "<i4"),
        ("padding", "<i4"),
    ]
)
"""One task in one interval. `start_ns` tells two users of one tid apart; `waiting_ns` is a gauge: how long the
task has been waiting at the end of the interval (0: it is not)."""

_TASK_SUMS = ("run_ns", "run_delay_ns", "timeslices", "voluntary_switches", "involuntary_switches", "migrations")

TASK_REF_FIELDS = ("preemptor", "previous", "waker")

SLOW_WAIT_DTYPE = np.dtype(
    [
        ("time_ns", "<i8"),
        ("wait_ns", "<i8"),
        ("tid", "<u4"),
        ("tgid", "<u4"),
        ("comm", "S16"),
        ("cpu", "<i4"),
        ("enqueue_cpu", "<i4"),
        ("kind", "<i4"),
        ("preemptor_tid", "<u4"),
        ("preemptor_comm", "S16"),
        ("previous_tid", "<u4"),
        ("previous_comm", "S16"),
        ("waker_tid", "<u4"),
        ("waker_comm", "S16"),
    ]
)
"""One wait over the threshold. `time_ns` is wall-clock time at its end; `kind` indexes CAUSES; a tid of 0 with
an empty comm means that there is no such task."""


def text(name: bytes) -> str:
    """A kernel's name for people: UTF-8 where it is, with anything that could steer a terminal replaced."""
    decoded = bytes(name).split(b"\0", 1)[0].decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "?" for char in decoded)


@dataclass(frozen=True, slots=True)
class Host:
    """What does not change while a source is open."""

    name: str
    kernel: str
    source: str
    virtualised: bool | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class CpuTable:
    """Per-CPU counters, one row per CPU id.

    `counters`: shape (cpus, len(CPU_COUNTERS)); `online`: bool, shape (cpus,); `queue_length`: tasks that wait at
    the end of the interval (a gauge), shape (cpus,).
    """

    counters: Integers
    online: npt.NDArray[np.bool_]
    queue_length: Integers

    @classmethod
    def empty(cls, cpus: int) -> CpuTable:
        """A table of zeros with every CPU online."""
        return cls(np.zeros((cpus, len(CPU_COUNTERS)), np.int64), np.ones(cpus, bool), np.zeros(cpus, np.int64))

    @property
    def ids(self) -> list[int]:
        """The online CPUs."""
        return [int(cpu) for cpu in np.flatnonzero(self.online)]

    def column(self, name: str) -> Integers:
        """One counter of all CPUs, shape (cpus,)."""
        return self.counters[:, CPU_COUNTERS.index(name)]


@dataclass(frozen=True, slots=True, eq=False)
class LatencyTable:
    """Runqueue latency by kind and CPU.

    `counts`: shape (len(WAIT_KINDS), cpus, BUCKETS); `sum_ns` and `max_ns`: shape (len(WAIT_KINDS), cpus).
    """

    counts: Integers
    sum_ns: Integers
    max_ns: Integers

    @classmethod
    def empty(cls, cpus: int) -> LatencyTable:
        """A table of zeros."""
        kinds = len(WAIT_KINDS)
        return cls(np.zeros((kinds, cpus, BUCKETS), np.int64), *(np.zeros((kinds, cpus), np.int64) for _ in "ab"))

    def histogram(self, kind: str | None = None, cpu: int | None = None) -> Histogram:
        """The waits of one kind (or all) on one CPU (or all)."""
        kinds = slice(None) if kind is None else slice(WAIT_KINDS.index(kind), WAIT_KINDS.index(kind) + 1)
        cpus = slice(None) if cpu is None else slice(cpu, cpu + 1)
        counts = self.counts[kinds, cpus].sum(axis=(0, 1), dtype=np.int64)
        longest = self.max_ns[kinds, cpus]
        return Histogram(counts, int(self.sum_ns[kinds, cpus].sum()), int(longest.max()) if longest.size else 0)


@dataclass(frozen=True, slots=True)
class Loss:
    """What was not seen or not kept, counted. All zero means: nothing was lost."""

    ring_dropped: int = 0
    slow_waits_suppressed: int = 0
    tasks_untracked: int = 0
    tasks_evicted: int = 0
    negative_waits: int = 0
    switches_unseen: int = 0
    late_ticks: int = 0
    tasks_forgotten: int = 0
    slow_waits_forgotten: int = 0

    def __add__(self, other: Loss) -> Loss:
        return Loss(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Loss)))

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
        return Pressure(self.some_ns + other.some_ns, self.full_ns + other.full_ns)


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
    `tasks` has TASK_DTYPE rows, `slow_waits` SLOW_WAIT_DTYPE rows in order of time. `kernel_switches` is the change of
    `ctxt` in /proc/stat. `unavailable` maps a part (`latency`, `tasks`, `steal`, `pressure`, `migrations`, ...) to why.
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

    def ratio(self, counter: str, cpu: int | None = None) -> float | None:
        """`busy_ns` or `steal_ns` as a share (0..1) of the time the kernel accounted, of one CPU or all.

        `None` where it is not available or the kernel accounted nothing (an offline CPU).
        """
        if counter.removesuffix("_ns") in self.unavailable:
            return None
        rows = slice(None) if cpu is None else slice(cpu, cpu + 1)
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

    def set_measuring(self, on: bool) -> None:
        """Asks for the time that the source's kernel programs take, or no longer. Any thread may call it."""
        ...


class SourceError(Exception):
    """A source cannot be opened or has failed; the text says why and what to do, in one line."""


def merge(frames: Sequence[Frame]) -> Frame:
    """The Frame of several consecutive Frames (at least one), in order of time.

    Counters add; gauges (queue length, memory, threshold) are the last ones; CPUs that came later widen the tables.
    """
    if not frames:
        raise ValueError("there is nothing to merge")
    if len(frames) == 1:
        return frames[0]
    first, last = frames[0], frames[-1]
    cpus = max(len(frame.cpus.online) for frame in frames)
    return Frame(
        start_time_ns=first.start_time_ns,
        end_ns=last.end_ns,
        interval_ns=sum(frame.interval_ns for frame in frames),
        cpus=_merge_cpus(frames, cpus),
        latency=_merge_latency(frames, cpus),
        tasks=merge_tasks([frame.tasks for frame in frames]),
        slow_waits=np.concatenate([frame.slow_waits for frame in frames]),
        threshold_ns=last.threshold_ns,
        kernel_switches=_sum_optional([frame.kernel_switches for frame in frames]),
        pressure=_sum_pressure([frame.pressure for frame in frames]),
        loss=sum((frame.loss for frame in frames), Loss()),
        overhead=sum((frame.overhead for frame in frames[1:]), first.overhead),
        cgroups=_union([frame.cgroups for frame in frames]),
        unavailable=_union([frame.unavailable for frame in frames]),
    )


def take_rows(rows: Rows, indices: Integers) -> Rows:
    """`rows[indices]`, but as plain words: numpy copies structured rows field by field, forty times slower."""
    if rows.dtype.itemsize % 8:
        return rows[indices]
    return as_words(rows).take(indices, axis=0).view(rows.dtype).reshape(len(indices))


def as_words(rows: Rows) -> Integers:
    """The same memory as 64-bit words, shape (rows, words of a row); a row must be a whole number of them."""
    return np.ascontiguousarray(rows).view(np.uint64).reshape(len(rows), rows.dtype.itemsize // 8)


def merge_tasks(tables: Sequence[Rows]) -> Rows:
    """Rows of TASK_DTYPE merged by task (tid and start time), counters added, in order of tid."""
    rows = np.concatenate(tables) if tables else np.empty(0, TASK_DTYPE)
    if not len(rows):
        return rows
    order = np.lexsort((rows["start_ns"], rows["tid"]))
    rows = take_rows(rows, order)
    fresh = (rows["tid"][1:] != rows["tid"][:-1]) | (rows["start_ns"][1:] != rows["start_ns"][:-1])
    starts = np.concatenate(([0], np.flatnonzero(fresh) + 1))
    # lexsort is stable, so the last row of a group is the latest: names and gauges are its own.
    latest = np.append(starts[1:], len(rows)) - 1
    merged: Rows = rows[latest]
    for name in _TASK_SUMS:
        merged[name] = np.add.reduceat(rows[name], starts)
    merged["max_wait_ns"] = np.maximum.reduceat(rows["max_wait_ns"], starts)
    # A task that is absent from the last table did nothing there, and so does not wait any more.
    merged["waiting_ns"][order[latest] < len(rows) - len(tables[-1])] = 0
    return merged


def _merge_cpus(frames: Sequence[Frame], cpus: int) -> CpuTable:
    counters = np.zeros((cpus, len(CPU_COUNTERS)), np.int64)
    for frame in frames:
        counters[: len(frame.cpus.counters)] += frame.cpus.counters
    last = frames[-1].cpus
    return CpuTable(counters, _widen(last.online, cpus), _widen(last.queue_length, cpus))


def _merge_latency(frames: Sequence[Frame], cpus: int) -> LatencyTable:
    merged = LatencyTable.empty(cpus)
    for frame in frames:
        width = frame.latency.counts.shape[1]
        np.add(merged.counts[:, :width], frame.latency.counts, out=merged.counts[:, :width])
        merged.sum_ns[:, :width] += frame.latency.sum_ns
        np.maximum(merged.max_ns[:, :width], frame.latency.max_ns, out=merged.max_ns[:, :width])
    return merged


def _widen(row: npt.NDArray[Any], cpus: int) -> npt.NDArray[Any]:
    return row if len(row) == cpus else np.concatenate((row, np.zeros(cpus - len(row), row.dtype)))


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

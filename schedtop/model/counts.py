"""Counts of a Frame that have names of their own and add field by field: losses, pressure, attribution, cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, TypeVar

_MOST = 1 << 62

Counts = TypeVar("Counts", "Loss", "Attribution", "Pressure")
Addable = TypeVar("Addable", int, "Pressure")

HARMLESS_LOSS = ("switches_unseen", "waits_unseen", "tasks_late", "ends_unseen", "lives_unseen")
"""Counts of Loss that cost nothing (the switches are counted, late tasks come later) or that cannot be helped."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What was not seen or not kept, counted. All zero means: nothing was lost.

    Of the source `proc` alone: `tasks_late` (tasks: their counters, or some, come with a later interval), `ends_unseen`
    (tasks that ended: what they did after they were last read is not known), `lives_unseen`
    (started and ended in between).
    """

    ring_dropped: int = 0
    slow_waits_suppressed: int = 0
    tasks_untracked: int = 0
    tasks_evicted: int = 0
    negative_waits: int = 0
    switches_unseen: int = 0
    waits_unseen: int = 0
    late_ticks: int = 0
    events_missed: int = 0
    tasks_forgotten: int = 0
    slow_waits_forgotten: int = 0
    short_lived_dropped: int = 0
    tasks_late: int = 0
    ends_unseen: int = 0
    lives_unseen: int = 0
    waits_ungrouped: int = 0

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
        return any(_all_losses(self))


_all_losses = attrgetter(*(field.name for field in fields(Loss)))


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
    """What schedtop itself cost: CPU time of its process, resident memory (a gauge), and BPF time if measured.

    `nice`: its priority; `session_nice`: that of its session among the others, if it has raised that; `slice_ns`: the
    time slice of its thread that reads (gauges). `longest_caused_wait_ns`: at most so long it had the CPU while another
    task waited; `certain_caused_wait_ns`: of that, what blame has seen. `None` is what is not known.
    """

    cpu_ns: int = 0
    rss_bytes: int = 0
    bpf_ns: int | None = None
    bpf_switches: int | None = None
    nice: int | None = None
    longest_caused_wait_ns: int | None = None
    session_nice: int | None = None
    slice_ns: int | None = None
    certain_caused_wait_ns: int | None = None

    def __add__(self, later: Overhead) -> Overhead:
        return Overhead(
            self.cpu_ns + later.cpu_ns,
            later.rss_bytes,
            _add_optional(self.bpf_ns, later.bpf_ns),
            _add_optional(self.bpf_switches, later.bpf_switches),
            later.nice,
            _most_known(self.longest_caused_wait_ns, later.longest_caused_wait_ns),
            later.session_nice,
            later.slice_ns,
            _most_known(self.certain_caused_wait_ns, later.certain_caused_wait_ns),
        )

    def with_caused_wait(self, longest_ns: int, certain_ns: int) -> Overhead:
        """The same with these bounds. Field by field, once an interval: `replace` is the more code to pass through."""
        known = self.cpu_ns, self.rss_bytes, self.bpf_ns, self.bpf_switches, self.nice
        return Overhead(*known, longest_ns, self.session_nice, self.slice_ns, certain_ns)

    @property
    def bpf_ns_per_switch(self) -> float | None:
        """Time in our kernel programs per context switch, `None` unless it was measured."""
        return self.bpf_ns / self.bpf_switches if self.bpf_ns is not None and self.bpf_switches else None


def sum_if_known(values: Sequence[Addable | None]) -> Addable | None:
    """The sum of at least one value, `None` if one of them is not known."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if len(known) == len(values) else None


def subtract(earlier: Counts, later: Counts) -> Counts:
    """Field by field."""
    return type(later)(*[getattr(later, name) - getattr(earlier, name) for name in later.__slots__])


def subtract_pressure(earlier: Pressure | None, later: Pressure | None) -> Pressure | None:
    """What came between, never negative; `None` if one is not known."""
    if earlier is None or later is None:
        return None
    return Pressure(max(0, later.some_ns - earlier.some_ns), max(0, later.full_ns - earlier.full_ns))


def subtract_overhead(earlier: Overhead, later: Overhead) -> Overhead:
    """What came between, with the later memory; of the kernel programs only if both have measured them."""
    cost = Overhead(
        later.cpu_ns - earlier.cpu_ns,
        later.rss_bytes,
        nice=later.nice,
        session_nice=later.session_nice,
        slice_ns=later.slice_ns,
    )
    if None in (earlier.bpf_ns, later.bpf_ns, earlier.bpf_switches, later.bpf_switches):
        return cost
    return replace(
        cost,
        bpf_ns=(later.bpf_ns or 0) - (earlier.bpf_ns or 0),
        bpf_switches=(later.bpf_switches or 0) - (earlier.bpf_switches or 0),
    )


def encode_counts(counts: Loss | Attribution | Pressure | Overhead, *, zeros: bool = False) -> dict[str, int | None]:
    """Plain values of JSON by name, those that are zero (or unknown) only if `zeros`."""
    return {name: count for name in counts.__slots__ if (count := getattr(counts, name)) or zeros}


def decode_counts(data: dict[str, Any], kind: type[Any]) -> Any:
    """The counts of what `encode_counts` gave. Raises TypeError, ValueError."""
    if not all(type(count) is int for count in data.values()):
        raise TypeError("a number is no whole number")
    if not all(abs(count) < _MOST for count in data.values()):
        raise ValueError("a count that cannot be")
    return kind(**data)


def _added(one: Counts, other: Counts) -> Counts:
    """Field by field."""
    return type(one)(*[getattr(one, name) + getattr(other, name) for name in one.__slots__])


def _most_known(one: int | None, other: int | None) -> int | None:
    """The larger one. A bound of which one part is not known is none."""
    return None if one is None or other is None else max(one, other)


def _add_optional(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other

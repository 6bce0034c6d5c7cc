"""An off-CPU measurement as the screen shows it: a line a thread, and what is behind each line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from schedtop.filters import Filter
from schedtop.offcpu import RUNNABLE, OffCpu, OffCpuRow, ThreadSummary, Times, slept_throughout
from schedtop.panes.offcpu.places import place_of
from schedtop.stacks import Stack, Waker
from schedtop.units import NS_PER_MS

IDLE_PART = 1000
IDLE_NS = NS_PER_MS
"""A thread is idle if it was held up for less than a thousandth of the time, and never for as long as this."""


@dataclass(frozen=True, slots=True)
class StackLine:
    """The waits of one thread with the same stacks, in all states."""

    tid: int
    comm: str
    user: Stack
    kernel: Stack
    place: str
    states: Mapping[str, Times]
    wakers: tuple[tuple[str, int], ...]
    """Who ended the waits, and the time of those, most first."""
    held_ns: int
    """As in ThreadLine."""

    @property
    def total_ns(self) -> int:
        """All time without a CPU."""
        return sum(times.total_ns for times in self.states.values())


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """One thread. `held_ns`: its time without a CPU, other than what it spent waiting for work to do.

    `place`: where most of `held_ns` was spent, of an idle thread most of all; `states`: nanoseconds in each; `slept`:
    all the time, and so nobody knows whether it is held up; `stacks`: most time first.
    """

    thread: ThreadSummary
    held_ns: int
    is_idle: bool
    slept: bool
    states: Mapping[str, int]
    place: str
    waker: str
    stacks: tuple[StackLine, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement and its threads, in no order."""

    offcpu: OffCpu
    lines: tuple[ThreadLine, ...]


Order = Callable[[ThreadLine], tuple[int, ...]]

ORDERS: Mapping[str, tuple[str, Order]] = MappingProxyType(
    {
        # What slept all the time comes last: it may be held up for good, but mostly nobody waits for it.
        "held": ("held up", lambda line: (not line.slept, line.held_ns)),
        "blocked": ("blocked", lambda line: (line.thread.blocked.total_ns,)),
        "runnable": ("run delay", lambda line: (line.thread.runnable.total_ns,)),
        "uninterruptible": ("uninterruptible", lambda line: (line.thread.uninterruptible.total_ns,)),
        "count": ("waits", lambda line: (waits_of(line).count,)),
        "longest": ("longest", lambda line: (waits_of(line).max_ns,)),
    }
)
"""The orders of the threads: words, and what is largest first."""


def waits_of(line: ThreadLine) -> Times:
    """What count, average and longest are of: the blocked waits, else the waits for a CPU."""
    return line.thread.blocked if line.thread.blocked.count else line.thread.runnable


def measured(offcpu: OffCpu) -> Measured:
    """The threads of a measurement. It is made in the thread of the source: it takes long when there is much."""
    rows: dict[tuple[int, str], list[OffCpuRow]] = {}
    for row in offcpu.rows:
        rows.setdefault(row.thread, []).append(row)
    least_ns = offcpu.duration_ns // IDLE_PART
    lines = (
        _line(thread, rows[thread.thread], least_ns, slept_throughout(offcpu, thread)) for thread in offcpu.threads
    )
    return Measured(offcpu, tuple(lines))


def chosen(
    lines: Iterable[ThreadLine], wanted: Filter, order: str, *, idle: bool, always: int = 0
) -> tuple[list[ThreadLine], int]:
    """The lines that pass, in an order, and how many of those that passed are left out because they are idle.

    `idle`: idle ones are in; `always`: this tid is in.
    """
    passing = [line for line in lines if _passes(line.thread, wanted)]
    shown = [line for line in passing if idle or not line.is_idle or line.thread.tid == always]
    key = ORDERS[order][1]
    shown.sort(key=lambda line: (*(-value for value in key(line)), -line.thread.total_ns, line.thread.tid))
    return shown, len(passing) - len(shown)


def _passes(row: ThreadSummary, wanted: Filter) -> bool:
    """Whether a thread passes a filter, as far as it is about names and numbers."""
    names = f"{row.comm}\n{row.process}".lower()
    return (
        (not wanted.tids or row.tid in wanted.tids)
        and (not wanted.tgids or row.tgid in wanted.tgids)
        and (not wanted.numbers or row.tid in wanted.numbers or row.tgid in wanted.numbers)
        and (not wanted.comms or any(part.lower() in names for part in wanted.comms))
    )


def _line(thread: ThreadSummary, rows: list[OffCpuRow], least_ns: int, slept: bool) -> ThreadLine:
    held: dict[str, int] = {}
    every: dict[str, int] = {}
    wakers: dict[str, int] = {}
    states: dict[str, int] = {}
    longest_ns = 0
    for row in rows:
        place, idle = place_of(row)
        every[place] = every.get(place, 0) + row.total_ns
        states[row.state] = states.get(row.state, 0) + row.total_ns
        if not idle:
            held[place] = held.get(place, 0) + row.total_ns
            longest_ns = max(longest_ns, row.times.max_ns)
        if row.waker and row.state != RUNNABLE:
            name = waker_name(row.waker)
            wakers[name] = wakers.get(name, 0) + row.total_ns
    held_ns = sum(held.values())
    is_idle = held_ns < least_ns and longest_ns < IDLE_NS
    places = every if is_idle else held
    return ThreadLine(
        thread, held_ns, is_idle, slept, MappingProxyType(states), _largest(places), _largest(wakers), _stacks(rows)
    )


def _stacks(rows: Iterable[OffCpuRow]) -> tuple[StackLine, ...]:
    groups: dict[tuple[Stack, Stack], list[OffCpuRow]] = {}
    for row in rows:
        groups.setdefault((row.user, row.kernel), []).append(row)
    return tuple(sorted(map(_stack, groups.values()), key=lambda stack: -stack.total_ns))


def _stack(rows: list[OffCpuRow]) -> StackLine:
    states: dict[str, Times] = {}
    wakers: dict[str, int] = {}
    places: dict[str, int] = {}
    held_ns = 0
    for row in rows:
        place, idle = place_of(row)
        states[row.state] = states.get(row.state, Times()) + row.times
        held_ns += 0 if idle else row.total_ns
        # Where it slept says more than that it then waited for a CPU.
        places[place] = places.get(place, 0) + (row.total_ns + 1 if row.state != RUNNABLE else 0)
        if row.waker and row.state != RUNNABLE:
            wakers[waker_name(row.waker)] = wakers.get(waker_name(row.waker), 0) + row.total_ns
    first = rows[0]
    ordered = tuple(sorted(wakers.items(), key=lambda item: (-item[1], item[0])))
    return StackLine(
        first.tid, first.comm, first.user, first.kernel, _largest(places), MappingProxyType(states), ordered, held_ns
    )


def waker_name(waker: Waker) -> str:
    """Who woke, in words."""
    return f"{waker.comm}-{waker.tid}" if waker.tid else "interrupt"


def _largest(sums: Mapping[str, int]) -> str:
    return max(sums, key=lambda name: (sums[name], name), default="")

"""An off-CPU measurement as lists show it: a line a thread, what held it up, and the stacks behind each line.

Nearly every thread of a host sleeps nearly all the time, and nothing waits for it: what a thread spent waiting for work
(`offcpu_places`) is taken apart from the time in which it was *held up*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from schedtop.base.stacks import Stack, Waker
from schedtop.base.units import NS_PER_MS
from schedtop.offcpu.measurement import RUNNABLE, LockHolder, OffCpu, OffCpuRow, ThreadSummary, Times, selected
from schedtop.offcpu.places import FILE_LOCK, is_stuck_in, place_of

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
    """The wakers, and the time of the waits they ended, most first."""
    held_ns: int
    """As in ThreadLine."""
    holders: tuple[LockHolder, ...] = ()
    """The processes that hold the lock of a file for which it waits now."""

    @property
    def total_ns(self) -> int:
        """All time without a CPU."""
        return sum(times.total_ns for times in self.states.values())


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """One thread. `held_ns`: its time without a CPU, other than what it spent waiting for work to do.

    `place`: where most of `held_ns` was spent, of an idle thread most of all; `states`: nanoseconds in each; `slept`:
    all the time, where one may wait for work, and so it is not known whether it is held up; `stacks`: most time first.
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


@dataclass(frozen=True, slots=True)
class _Placed:
    """A row and where that was."""

    row: OffCpuRow
    place: str
    waits_for_work: bool
    looks: tuple[object, ...]
    """What is seen of its stacks."""


class _Places:
    """Looks at each stack once: they are long, and rows are many. Good as long as the measurement is."""

    def __init__(self) -> None:
        self._places: dict[tuple[object, ...], tuple[str, bool]] = {}
        self._labels: dict[int, tuple[str, ...]] = {}

    def of(self, row: OffCpuRow) -> _Placed:
        key = (row.state, id(row.user), id(row.kernel), row.waker is not None and not row.waker.tid)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = place_of(row)
        return _Placed(row, *found, (self._seen(row.user), self._seen(row.kernel)))

    def _seen(self, stack: Stack) -> tuple[str, ...]:
        labels = self._labels.get(id(stack))
        if labels is None:
            labels = self._labels[id(stack)] = stack.labels
        return labels


def measured(offcpu: OffCpu) -> Measured:
    """The threads of a measurement. The screen makes it in the thread of the source: it takes long if there is much."""
    places = _Places()
    rows: dict[tuple[int, str], list[_Placed]] = {}
    for row in offcpu.rows:
        rows.setdefault(row.thread, []).append(places.of(row))
    return Measured(offcpu, tuple(_line(offcpu, thread, rows[thread.thread]) for thread in offcpu.threads))


def _line(offcpu: OffCpu, thread: ThreadSummary, rows: list[_Placed]) -> ThreadLine:
    held: dict[str, int] = {}
    every: dict[str, int] = {}
    wakers: dict[str, int] = {}
    states: dict[str, int] = {}
    longest_ns = stuck_ns = 0
    for placed in rows:
        row = placed.row
        _add(every, placed.place, row.total_ns)
        _add(states, row.state, row.total_ns)
        if not placed.waits_for_work:
            _add(held, placed.place, row.total_ns)
            longest_ns = max(longest_ns, row.times.max_ns)
            stuck_ns += row.total_ns if is_stuck_in(row) else 0
        if row.waker and row.state != RUNNABLE:
            _add(wakers, waker_name(row.waker), row.total_ns)
    held_ns = sum(held.values())
    is_idle = held_ns < offcpu.duration_ns // IDLE_PART and longest_ns < IDLE_NS
    slept = bool(thread.tid) and thread.blocked.total_ns - stuck_ns >= offcpu.duration_ns
    place, waker = _largest(every if is_idle else held), _largest(wakers)
    stacks = _stacks(rows, offcpu.lock_holders.get(thread.tid, ()))
    return ThreadLine(thread, held_ns, is_idle, slept, MappingProxyType(states), place, waker, stacks)


def _stacks(rows: Iterable[_Placed], holders: tuple[LockHolder, ...]) -> tuple[StackLine, ...]:
    groups: dict[tuple[object, ...], list[_Placed]] = {}
    for placed in rows:
        groups.setdefault(placed.looks, []).append(placed)
    return tuple(sorted((_stack(group, holders) for group in groups.values()), key=lambda stack: -stack.total_ns))


def _stack(rows: list[_Placed], holders: tuple[LockHolder, ...]) -> StackLine:
    states: dict[str, Times] = {}
    wakers: dict[str, int] = {}
    places: dict[str, int] = {}
    held_ns = 0
    for placed in rows:
        row = placed.row
        states[row.state] = states.get(row.state, Times()) + row.times
        held_ns += 0 if placed.waits_for_work else row.total_ns
        # Where it slept says more than that it then waited for a CPU.
        _add(places, placed.place, row.total_ns + 1 if row.state != RUNNABLE else 0)
        if row.waker and row.state != RUNNABLE:
            _add(wakers, waker_name(row.waker), row.total_ns)
    first, place = rows[0].row, _largest(places)
    ordered = tuple(sorted(wakers.items(), key=lambda item: (-item[1], item[0])))
    now = holders if place == FILE_LOCK and any(times.under_way for times in states.values()) else ()
    return StackLine(
        first.tid, first.comm, first.user, first.kernel, place, MappingProxyType(states), ordered, held_ns, now
    )


def waker_name(waker: Waker) -> str:
    """The waker, in words."""
    return waker.name if waker.tid else "interrupt"


def _add(sums: dict[str, int], name: str, ns: int) -> None:
    sums[name] = sums.get(name, 0) + ns


def _largest(sums: Mapping[str, int]) -> str:
    return max(sums, key=lambda name: (sums[name], name), default="")


def top_threads(found: Measured, state: str = "all", *, idle: bool = True) -> tuple[ThreadLine, ...]:
    """The threads with time in a state (one of STATE_CHOICES), most first; `idle`: also those that are.

    Of `all` and `blocked` the most is what was held up longest, and idle threads come last; of another state it is the
    time in it. Those that slept all the time come behind the others: nearly every daemon does, and none waits for it.
    """

    def times(line: ThreadLine) -> Times:
        thread = line.thread
        value = thread.runnable + thread.blocked if state == "all" else getattr(thread, state)
        assert isinstance(value, Times)
        return value

    def key(line: ThreadLine) -> tuple[int, ...]:
        ns = times(line).total_ns
        order = (line.is_idle, line.slept, -line.held_ns, -ns) if state in ("all", "blocked") else (line.slept, -ns)
        return (*order, line.thread.tid)

    return tuple(sorted((line for line in found.lines if times(line).count and (idle or not line.is_idle)), key=key))


def top_rows(found: Measured, state: str = "all", *, idle: bool = True) -> tuple[OffCpuRow, ...]:
    """The rows with time in a state (one of STATE_CHOICES), most first, waits for work last. `idle`: as above."""
    wanted = selected(state)
    slept = {line.thread.thread: line.slept for line in found.lines if idle or not line.is_idle}
    places = _Places()
    rows = [places.of(row) for row in found.offcpu.rows if row.total_ns and wanted(row) and row.thread in slept]

    def key(placed: _Placed) -> tuple[object, ...]:
        row = placed.row
        return placed.waits_for_work, slept[row.thread], -row.total_ns, row.tid, placed.looks

    return tuple(placed.row for placed in sorted(rows, key=key))


def alike(rows: Iterable[OffCpuRow]) -> list[OffCpuRow]:
    """Rows that look the same as one: they differ by addresses within functions, which no text shows."""
    sums: dict[tuple[object, ...], OffCpuRow] = {}
    for row in rows:
        waker = (row.waker.user.labels, row.waker.kernel.labels) if row.waker else ()
        key = (row.thread, row.path, waker)
        known = sums.get(key)
        sums[key] = replace(known, times=known.times + row.times) if known else row
    return list(sums.values())

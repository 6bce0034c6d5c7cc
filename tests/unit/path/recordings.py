"""Recordings that are written by hand: a line an event, times in microseconds since the start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedtop.capture.events import (
    BLOCKED_IN,
    EVENT_DTYPE,
    HELD_DTYPE,
    LOSS_DTYPE,
    MIGRATE,
    NAME_DTYPE,
    PLACE_DTYPE,
    SWITCH,
    WAKEUP_NEW,
    WAKING,
    WOKEN_FROM,
    Capture,
    Clocks,
)
from schedtop.model.host import Host
from schedtop.model.interrupts import INTERRUPTION_DTYPE
from schedtop.model.rows import Rows
from schedtop.path.paths import Paths, find_paths
from schedtop.path.segments import Episode
from schedtop.path.targets import Targets

START_NS = 1_000_000_000
CALLS = {0: "read", 35: "nanosleep", 74: "fsync", 202: "futex", 232: "epoll_wait"}
READ, NANOSLEEP, FSYNC, FUTEX, EPOLL = 0, 35, 74, 202, 232


@dataclass
class Recording:
    """What is written so far; `end_us` is its length."""

    end_us: int = 1000
    cpus: tuple[int, ...] = (0, 1)
    rows: list[dict[str, int]] = field(default_factory=list)
    losses: list[tuple[int, int, int, int]] = field(default_factory=list)
    held: list[tuple[int, int, int]] = field(default_factory=list)
    places: list[tuple[int, int, int, tuple[str, ...], int]] = field(default_factory=list)
    names: dict[int, tuple[int, str]] = field(default_factory=dict)
    interruptions: list[tuple[int, int, int, str, int, bool]] = field(default_factory=list)
    woken_in: dict[tuple[int, int], str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    unswitched: dict[int, tuple[int, int]] = field(default_factory=dict)

    def switch(
        self, us: int, prev: int, following: int, state: int = 1, *, cpu: int = 0, call: int = -1, flags: int = 0
    ) -> Recording:
        """`prev` leaves a CPU in a state (0: preempted) and a system call, `following` comes."""
        self._add(us, SWITCH, prev, following, cpu, prev_state=state if prev else 0, syscall=call + 1, woken_by=flags)
        return self

    def wake(
        self, us: int, tid: int, waker: int, *, cpu: int = 0, target: int = 0, by: int = 0, new: bool = False
    ) -> Recording:
        """`waker` wakes `tid`, which was last on the CPU `target`; `by`: a WokenBy."""
        self._add(us, WAKEUP_NEW if new else WAKING, tid, waker, cpu, from_cpu=target, woken_by=by)
        return self

    def move(self, us: int, tid: int, to: int) -> Recording:
        """A task is moved to another CPU's queue."""
        self._add(us, MIGRATE, tid, 0, 0, to_cpu=to)
        return self

    def blocked_in(self, us: int, tid: int, *functions: str) -> Recording:
        """The stack in which a task was that is woken then."""
        self.places.append((us, tid, 0, functions, BLOCKED_IN))
        return self

    def woken_from(self, us: int, tid: int, current: int, *functions: str) -> Recording:
        """The stack of what wakes it."""
        self.places.append((us, tid, current, functions, WOKEN_FROM))
        return self

    def lose(self, first_us: int, last_us: int, count: int = 10, cpu: int = 0) -> Recording:
        """Events of a CPU are missing."""
        self.losses.append((first_us, last_us, cpu, count))
        return self

    def name(self, tid: int, comm: str, tgid: int = 0) -> Recording:
        """A task has a name."""
        self.names[tid] = (tgid or tid, comm)
        return self

    def interrupt(
        self, start_us: int, end_us: int, name: str, *, cpu: int = 0, hard: bool = False, nested_us: int = 0
    ) -> Recording:
        """An interrupt had a CPU, for `nested_us` of it others that are told, too."""
        self.interruptions.append((start_us, end_us, end_us - start_us - nested_us, name, cpu, not hard))
        return self

    def waking_in(self, us: int, tid: int, name: str) -> Recording:
        """A wakeup came from an interrupt of that name."""
        self.woken_in[tid, START_NS + us * 1000] = name
        return self

    def _add(self, us: int, kind: int, tid: int, other: int, cpu: int, **fields: int) -> None:
        row = {"time_ns": START_NS + us * 1000, "kind": kind, "tid": tid, "other_tid": other, "seen_on": cpu}
        self.rows.append(row | fields)

    @property
    def capture(self) -> Capture:
        events = np.zeros(len(self.rows), EVENT_DTYPE)
        for index, fields in enumerate(sorted(self.rows, key=lambda row: row["time_ns"])):
            for name, value in fields.items():
                events[name][index] = value
        names = [(START_NS, tid, tgid, comm.encode()) for tid, (tgid, comm) in self.names.items()]
        sources = tuple(dict.fromkeys(one[3] for one in self.interruptions))
        losses = [
            (START_NS + first * 1000, START_NS + last * 1000, cpu, (0, 0), count)
            for first, last, cpu, count in sorted(self.losses)
        ]
        held = [(START_NS + us * 1000, ns, tid, (0,) * 4) for us, tid, ns in self.held]
        places = [
            (START_NS + us * 1000, tid, current, index, side, (0,) * 3)
            for index, (us, tid, current, _, side) in enumerate(self.places)
        ]
        return Capture(
            host=Host("box", "6.18.0-test", "btf"),
            start_ns=START_NS,
            end_ns=START_NS + self.end_us * 1000,
            clocks=Clocks(START_NS, START_NS, 1_700_000_000_000_000_000),
            cpus=self.cpus,
            events=events,
            names=np.array(names, NAME_DTYPE),
            losses=np.array(losses, LOSS_DTYPE),
            lost={kind: np.zeros(len(self.cpus), np.int64) for kind in range(5)},
            places=np.array(places, PLACE_DTYPE),
            stacks=tuple(functions for _, _, _, functions, _ in self.places),
            held=np.array(held, HELD_DTYPE),
            calls=CALLS,
            interrupts=self.woken_in,
            interruptions=self._interruptions(sources),
            interrupt_names=sources,
            unavailable=self.unavailable,
            unswitched=self.unswitched,
        )

    def _interruptions(self, names: tuple[str, ...]) -> Rows:
        rows = [
            (START_NS + start * 1000, START_NS + end * 1000, ns * 1000, names.index(name), cpu, is_soft, (0,) * 7)
            for start, end, ns, name, cpu, is_soft in self.interruptions
        ]
        return np.array(rows, INTERRUPTION_DTYPE)

    def paths(self, *tids: int, min_us: int = 0, **more: Any) -> Paths:
        """The paths of some tasks, or all."""
        return find_paths(self.capture, Targets(tids=tids, **more), min_us * 1000)

    def episode(self, tid: int) -> Episode:
        """The longest episode of a task."""
        return self.paths(tid).episodes[0]


def spelled(episode: Episode) -> list[tuple[int, int, str, int]]:
    """(start, length, state, tid) of each segment, in microseconds."""
    return [((one.start_ns - START_NS) // 1000, one.time_ns // 1000, one.state, one.tid) for one in episode.segments]


def shares(parts: Sequence[Any]) -> list[tuple[int, int]]:
    """(tid, microseconds) of what a task was queued behind."""
    return [(part.tid, part.time_ns // 1000) for part in parts]

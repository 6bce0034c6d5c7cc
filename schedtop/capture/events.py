"""What a capture holds: every switch, wakeup and migration of a short time, in order, and what was lost of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from schedtop.model.host import Host
from schedtop.model.interrupts import INTERRUPTION_DTYPE
from schedtop.model.rows import Integers, Rows, text

SWITCH, WAKING, WAKEUP_NEW, MIGRATE, NAME, LOST, STACK, HELD = range(8)
"""`enum capture_kind` of bpf/capture/capture.h."""

KIND_WORDS = {SWITCH: "switches", WAKING: "wakeups", WAKEUP_NEW: "new_tasks", MIGRATE: "migrations"}
"""The kinds that are events of the scheduler, as a summary names them."""

PREEMPTED = 0x100
"""`prev_state` of a task that was taken off its CPU (TASK_REPORT_MAX of include/linux/sched.h); 0 is TASK_RUNNING."""

STATE_LETTERS = {0x01: "S", 0x02: "D", 0x04: "T", 0x08: "t", 0x10: "X", 0x20: "Z", 0x40: "P", 0x80: "I"}
"""The kernel's letters for what a task is that does not want to run (include/trace/events/sched.h)."""

GONE = 0x30
"""The states of a task that never runs again: X and Z."""

EVENT_DTYPE = np.dtype(
    [
        ("time_ns", "<i8"),
        ("tid", "<u4"),
        ("other_tid", "<u4"),
        ("prev_state", "<u2"),
        ("prio", "<i2"),
        ("other_prio", "<i2"),
        ("seen_on", "<u2"),
        ("from_cpu", "<u2"),
        ("to_cpu", "<u2"),
        ("kind", "u1"),
        ("woken_by", "u1"),
        ("syscall", "<u2"),
    ]
)
"""One event, on the CPU `seen_on`, at CLOCK_MONOTONIC. A switch: `tid` leaves in `prev_state`, `other_tid` comes; where
that was asked for, `syscall` is the number of the system call that `tid` is in plus 1 (0: none, or not known) and
`woken_by` has LEFT_IN_IOWAIT and LEFT_THROTTLED. A wakeup: `other_tid` wakes `tid`, which was last on `from_cpu`;
`woken_by` is a WokenBy: what an interrupt or its softirq interrupted is no waker, and `other_tid` 0, unless it is
ksoftirqd. A migration: of `tid`."""

NAME_DTYPE = np.dtype([("time_ns", "<i8"), ("tid", "<u4"), ("tgid", "<u4"), ("comm", "S16")])
"""From `time_ns` on the task `tid` has this name. `tgid` 0: unknown."""

LEFT_IN_IOWAIT, LEFT_THROTTLED = 1, 2
"""Bits of a switch: it leaves to wait for a disk, or because of its group's quota."""

PLACE_DTYPE = np.dtype(
    [("time_ns", "<i8"), ("tid", "<u4"), ("current_tid", "<u4"), ("stack", "<i4"), ("side", "u1"), ("padding", "u1", 3)]
)
"""A stack at the wakeup of `tid`, an index into `Capture.stacks`. `side` BLOCKED_IN: where `tid` slept; WOKEN_FROM:
what woke it, in the time of `current_tid`."""

BLOCKED_IN, WOKEN_FROM = 0, 1

HELD_DTYPE = np.dtype([("time_ns", "<i8"), ("held_ns", "<i8"), ("tid", "<u4"), ("padding", "u1", 4)])
"""A task that left a CPU because of a quota has one again: `held_ns` of its wait were the quota's, the first ones."""

BEHIND = "behind"
"""In `Capture.unavailable`: for which CPU a task was queued, and so behind which task."""

LOSS_DTYPE = np.dtype(
    [("first_ns", "<i8"), ("last_ns", "<i8"), ("cpu", "<u2"), ("padding", "u1", (2,)), ("count", "<u4")]
)
"""A place in the events of a CPU where `count` of them are missing; lost names are not counted."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """One moment on three clocks of the kernel."""

    monotonic_ns: int
    boottime_ns: int
    realtime_ns: int


@dataclass(frozen=True, slots=True)
class Lost:
    """How much was lost. `in_interrupts`: events that came while another one was being written on their CPU; where and
    of which kind is not known, so they are in no other number. `refused`: stacks that the kernel did not give."""

    events: int = 0
    in_interrupts: int = 0
    stacks: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Capture:
    """All of one capture, from `start_ns` to `end_ns` (CLOCK_MONOTONIC). `events` are in the order of time.

    `cpus`: the ids of CPUs that were looked at. `lost`: by kind (a number of this module), for each of `cpus`.
    `machine`, `kernel_build`: as `uname -m` and `uname -v` say. `ended_early`: why it is shorter than it was to be;
    empty: it is not. `missing`: tracepoints that the kernel lacks; `unavailable`: what else it does not tell, and why.
    `interrupts`: by tid and time of a wakeup the interrupt that it came from, where they were timed; then
    `interruptions` (INTERRUPTION_DTYPE, `source` an index into `interrupt_names`) are all that took time, and
    `lost_interrupts` how many came too fast to be in either.
    `unswitched`: what had the CPUs all the time that have no switch and lost none, tid (0: idle) and priority.
    `lost_in_interrupts`, `lost_places` and `refused_places` (stacks): as in `all_lost`.
    """

    host: Host
    start_ns: int
    end_ns: int
    clocks: Clocks
    cpus: tuple[int, ...]
    events: Rows
    names: Rows
    losses: Rows
    lost: Mapping[int, Integers]
    machine: str = ""
    kernel_build: str = ""
    ended_early: str = ""
    missing: tuple[str, ...] = ()
    lost_in_interrupts: int = 0
    unavailable: Mapping[str, str] = field(default_factory=dict)
    places: Rows = field(default_factory=lambda: np.empty(0, PLACE_DTYPE))
    stacks: tuple[tuple[str, ...], ...] = ()
    held: Rows = field(default_factory=lambda: np.empty(0, HELD_DTYPE))
    calls: Mapping[int, str] = field(default_factory=dict)
    lost_places: int = 0
    refused_places: int = 0
    interrupts: Mapping[tuple[int, int], str] = field(default_factory=dict)
    interruptions: Rows = field(default_factory=lambda: np.empty(0, INTERRUPTION_DTYPE))
    interrupt_names: tuple[str, ...] = ()
    lost_interrupts: int = 0
    unswitched: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    task_names: Names = field(init=False, compare=False, repr=False)
    """The names of all tasks at all times."""

    def __post_init__(self) -> None:
        """Every format needs them."""
        object.__setattr__(self, "task_names", Names(self.names))

    @property
    def lost_total(self) -> int:
        """How many events of the scheduler were lost; names are not among them. The sum of `losses`, too."""
        return sum(self.lost_by_cpu().values())

    @property
    def all_lost(self) -> Lost:
        """All that was lost meanwhile."""
        return Lost(self.lost_total, self.lost_in_interrupts, self.lost_places, self.refused_places)

    def lost_by_cpu(self) -> dict[int, int]:
        """How many of them on each of `cpus`."""
        return {cpu: sum(int(self.lost[kind][index]) for kind in KIND_WORDS) for index, cpu in enumerate(self.cpus)}

    def counts(self) -> dict[str, int]:
        """How many events of each kind there are."""
        found = np.bincount(self.events["kind"], minlength=LOST + 1)
        return {words: int(found[kind]) for kind, words in KIND_WORDS.items()}

    def switches_by_cpu(self) -> dict[int, int]:
        """Switches seen on each of `cpus`."""
        switches = self.events[self.events["kind"] == SWITCH]
        found = np.bincount(switches["seen_on"], minlength=max(self.cpus, default=0) + 1)
        return {cpu: int(found[cpu]) for cpu in self.cpus}


class Names:
    """Of each task the names that it had, in time, and its process."""

    def __init__(self, rows: Rows) -> None:
        order = np.lexsort((rows["time_ns"], rows["tid"]))
        self.rows: Rows = rows[order]
        self._origin = int(self.rows["time_ns"].min()) if len(rows) else 0
        self._keys = self._key(self.rows["tid"], self.rows["time_ns"])
        self._tids = self.rows["tid"].astype(np.int64)
        self.texts = [text(comm) for comm in self.rows["comm"].tolist()]
        known = self.rows[self.rows["tgid"] > 0]
        # A thread that takes its leader's place by exec keeps the last.
        self.tgids: dict[int, int] = dict(zip(known["tid"].tolist(), known["tgid"].tolist(), strict=True))
        self._last = {tid: name for tid, name in zip(self._tids.tolist(), self.texts, strict=True) if name}

    def at(self, tids: Integers, times_ns: Integers) -> npt.NDArray[np.int64]:
        """Index into `texts` of each task's name at a time: the last before it, else the first one; -1: none known."""
        if not len(self.rows):
            return np.full(len(tids), -1, np.int64)
        tids = tids.astype(np.int64)
        found = np.searchsorted(self._keys, self._key(tids, times_ns), "right") - 1
        later = np.minimum(found + 1, len(self.rows) - 1)
        found = np.where((found >= 0) & (self._tids[found] == tids), found, later)
        return np.where(self._tids[found] == tids, found, -1)

    def name(self, tid: int) -> str:
        """The last name of a task."""
        return self._last.get(tid) or ("swapper" if not tid else f"tid {tid}")

    def tgid(self, tid: int) -> int:
        """The process of a task; its own number if that is not known."""
        return self.tgids.get(tid, tid)

    def _key(self, tids: Integers, times_ns: Integers) -> npt.NDArray[np.int64]:
        # 40 bits are 18 minutes, a tid has 22.
        since = np.clip(times_ns.astype(np.int64) - self._origin, 0, (1 << 40) - 1)
        return tids.astype(np.int64) << 40 | since


def reported_states(raw: Integers) -> npt.NDArray[np.uint16]:
    """`prev_state` as the kernel's tracepoint reports it, of states as the task holds them.

    Bit 31: preempted. As __trace_sched_switch_state() and __task_state_index() of the kernel do.
    """
    state = raw.astype(np.int64)
    preempted, state = state >> 31 & 1, state & 0x7FFFFFFF
    idle = state & 0x402 == 0x402  # TASK_UNINTERRUPTIBLE and TASK_NOLOAD
    stuck = state & (0x1000 | 0x8000) != 0  # TASK_RTLOCK_WAIT, TASK_FROZEN
    told = state & 0x7F
    # The highest of the bits that are reported.
    for shift in (1, 2, 4):
        told |= told >> shift
    told -= told >> 1
    told = np.where(stuck, 0x02, told)
    told = np.where(idle, 0x80, told)
    return np.where(preempted > 0, PREEMPTED, told).astype(np.uint16)

"""What the kernel side has counted since the last look, as rows of the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from schedtop.model.activity import ActivityLoss, Call, in_order
from schedtop.model.activity_rows import ID_FIELDS, ROW_DTYPE, SUMS, merge_threads
from schedtop.model.rows import Rows
from schedtop.sources.activity.programs import ActivityPrograms
from schedtop.sources.kernel.constants import ACTIVITY
from schedtop.sources.kernel.sockets import tcp_state
from schedtop.sources.kernel.syscalls import errors_between, syscall_name, syscall_names

Counters = npt.NDArray[np.int64]

_ALL, _SELECTED = 0, 1
"""Whose system calls they are, in the order of `ActivityPrograms.calls`."""

_FULL = 0.5
"""From when on room is made in a hash."""


class TaskCounts:
    """What each thread has done since it was last looked at: of the slots, only those with events are looked at."""

    def __init__(self, programs: ActivityPrograms) -> None:
        self._programs = programs
        # Memory of that size is the system's until it is first written.
        self._before = np.zeros(len(programs.tasks), programs.tasks.dtype)
        self._spilled = programs.tasks[:0].copy()

    def take(self, ended_epoch: int) -> Rows:
        """Rows of ROW_DTYPE of the interval that has just ended."""
        slots = self._programs.tasks
        # An event that began before the interval did may have been written after the last look.
        at = np.flatnonzero((slots["epoch"].astype(np.int64) >= ended_epoch - 1) & (slots["tid"] != 0))
        now, before = slots[at], self._before[at]
        self._before[at] = now
        found = [_difference(before, now, ended_epoch)]
        spilled = self._programs.values("overflow")
        spilled = spilled[spilled["tid"] != 0]
        if len(spilled):
            found.append(_difference(_same_of(self._spilled, spilled), spilled, ended_epoch))
            if len(spilled) > _FULL * ACTIVITY.ACTIVITY_OVERFLOW:
                self._programs.forget("overflow", spilled[_was_read(spilled, ended_epoch)])
        self._spilled = spilled
        return np.concatenate(found)


def _was_read(rows: Rows, ended_epoch: int) -> npt.NDArray[np.bool_]:
    """Which of them had ended before the interval: as was_read() of bpf/activity/activity.h."""
    was: npt.NDArray[np.bool_] = (rows["exit_epoch"] != 0) & (rows["exit_epoch"].astype(np.int64) < ended_epoch)
    return was


def _same_of(earlier: Rows, later: Rows) -> Rows:
    """For each later row the earlier one of the same thread, or an empty one."""
    places = {(row["tid"].item(), row["start_ns"].item()): place for place, row in enumerate(earlier)}
    found = np.zeros(len(later), later.dtype)
    for place, row in enumerate(later):
        known = places.get((row["tid"].item(), row["start_ns"].item()))
        if known is not None:
            found[place] = earlier[known]
    return found


def _difference(before: Rows, now: Rows, epoch: int) -> Rows:
    """What came in between, of the threads that did anything; `before` is of another thread where the start differs."""
    same = (before["tid"] == now["tid"]) & (before["start_ns"] == now["start_ns"])
    rows = np.zeros(len(now), ROW_DTYPE)
    anything = np.zeros(len(now), bool)
    for name in ID_FIELDS:
        rows[name] = now[name]
    for name in SUMS:
        if name in (now.dtype.names or ()):
            earlier = before[name].astype(np.int64)
            earlier[~same] = 0
            change = now[name].astype(np.int64) - earlier
            rows[name] = change
            anything |= change.any(axis=tuple(range(1, change.ndim)))
    rows["syscall_max_ns"] = _longest(now, epoch, rows["syscalls"], rows["syscall_ns"])
    return rows[anything]


def _longest(rows: Rows, epoch: int, counts: Counters, total_ns: Counters) -> Counters:
    parity = epoch & 1
    longest = np.where(rows["max_epoch"][..., parity] == epoch, rows["max_ns"][..., parity], 0).astype(np.int64)
    # One that ended just when the interval did is counted in the one and the longest of the other.
    clipped: Counters = np.clip(longest, -(-total_ns // np.maximum(counts, 1)), total_ns)
    return clipped


class CallCounts:
    """The system calls since the last look: of all tasks, and of the process that is selected."""

    def __init__(self, programs: ActivityPrograms) -> None:
        self._programs = programs
        self._names = syscall_names()
        self._before = [programs.calls[:, which].copy() for which in (_ALL, _SELECTED)]
        self._errors = programs.values("errors")

    def take(self, ended_epoch: int, *, selected: bool) -> tuple[tuple[Call, ...], tuple[Call, ...]]:
        """Those of all and (while one was `selected`) of one process in the interval that has just ended."""
        failures = self._programs.values("errors")
        errors = errors_between(self._errors, failures)
        self._errors = failures
        return self._calls(_ALL, ended_epoch, errors), self._calls(_SELECTED, ended_epoch, errors) if selected else ()

    def begin_anew(self) -> None:
        """Another process is selected."""
        self._before[_SELECTED] = self._programs.calls[:, _SELECTED].copy()

    def _calls(self, which: int, ended_epoch: int, errors: Mapping[int, Mapping[str, int]]) -> tuple[Call, ...]:
        now, before = self._programs.calls[:, which].copy(), self._before[which]
        self._before[which] = now
        change = {name: (now[name] - before[name]).astype(np.int64) for name in ("count", "errors", "total_ns")}
        used = np.flatnonzero(change["count"].any(axis=0))
        longest = _longest(now[:, used], ended_epoch, change["count"][:, used], change["total_ns"][:, used])
        return in_order(
            Call(
                syscall_name(number, self._names),
                count=int(change["count"][:, number].sum()),
                failed=int(change["errors"][:, number].sum()),
                total_ns=int(change["total_ns"][:, number].sum()),
                max_ns=int(longest[:, place].max()),
                errors=MappingProxyType(dict(errors.get(which * ACTIVITY.MOST_CALLS + number, {}))),
            )
            for place, number in enumerate(used.tolist())
        )


class ConnectionCounts:
    """What happened to connections since the last look, and which are open."""

    def __init__(self, programs: ActivityPrograms) -> None:
        self._programs = programs
        self._flows: dict[tuple[int, int, int], Rows] = {}
        self._transitions = programs.transitions.copy()

    def take_rows(self) -> Rows:
        """Retransmits and failures, rows of ROW_DTYPE by the thread that has the connection."""
        flows = self._programs.values("flows")
        rows, quiet = np.zeros(len(flows), ROW_DTYPE), np.zeros(len(flows), bool)
        known: dict[tuple[int, int, int], Rows] = {}
        for place, flow in enumerate(flows):
            key = int(flow["tid"]), int(flow["tgid"]), int(flow["start_ns"])
            before = self._flows.get(key)
            for name in ID_FIELDS:
                rows[name][place] = flow[name]
            for name in ("tcp_retransmits", "tcp_failures"):
                rows[name][place] = int(flow[name]) - (int(before[name]) if before is not None else 0)
            quiet[place] = not rows["tcp_retransmits"][place] and not rows["tcp_failures"][place]
            known[key] = flow
        self._flows = known
        if len(flows) > _FULL * ACTIVITY.MOST_FLOWS:
            self._programs.forget("flows", flows[quiet])
        return rows[~quiet]

    def take_transitions(self) -> dict[tuple[str, str], int]:
        """How often connections went from one state to another."""
        now = self._programs.transitions.copy()
        change = (now["value"] - self._transitions["value"]).astype(np.int64)
        self._transitions = now
        states = ACTIVITY.CONNECTION_STATES
        return {
            (tcp_state(place // states), tcp_state(place % states)): int(change[place])
            for place in np.flatnonzero(change).tolist()
        }

    def open_connections(self) -> Rows:
        """Rows of ROW_DTYPE by the thread that has connections open."""
        owners = self._programs.values("owners")
        owners = owners[owners["listens"] == 0]
        rows = np.zeros(len(owners), ROW_DTYPE)
        for name in ID_FIELDS:
            rows[name] = owners[name]
        rows["tcp_connections"] = 1
        return rows


def read_loss(programs: ActivityPrograms) -> ActivityLoss:
    """All that was lost so far."""
    row = programs.loss[0]
    return ActivityLoss(
        events_untracked=int(row["untracked"]),
        tasks_evicted=int(row["evicted"]),
        errors_untracked=int(row["errors_untracked"]),
        connections_untracked=int(row["connections_untracked"]),
        flows_untracked=int(row["flows_untracked"]),
        events_missed=programs.misses(),
        negative_times=int(row["negative_times"]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What came in one interval; parts that are not measured are empty."""

    rows: Rows
    connections: Rows
    syscalls: tuple[Call, ...]
    selected_syscalls: tuple[Call, ...]
    transitions: Mapping[tuple[str, str], int]
    loss: ActivityLoss


class Counts:
    """All that is counted of the parts in `only`, from one look to the next."""

    def __init__(self, programs: ActivityPrograms, only: Collection[str]) -> None:
        self._programs = programs
        self._tasks = TaskCounts(programs)
        self._calls = CallCounts(programs) if "syscalls" in only else None
        self._connections = ConnectionCounts(programs) if "network" in only else None
        self._loss = read_loss(programs)

    def select(self, tgid: int) -> None:
        """From now on the calls of this process are counted by themselves as well; 0: of none."""
        self._programs.select(tgid)
        if self._calls:
            self._calls.begin_anew()

    def take(self, ended_epoch: int, *, selected: bool) -> Counted:
        """That of the interval that has just ended; of the `selected` process, if one was."""
        rows = self._tasks.take(ended_epoch)
        connections = rows[:0]
        transitions: dict[tuple[str, str], int] = {}
        if self._connections:
            rows = np.concatenate([rows, self._connections.take_rows()])
            connections = self._connections.open_connections()
            transitions = self._connections.take_transitions()
        loss, self._loss = self._loss, read_loss(self._programs)
        syscalls, selected_syscalls = self._calls.take(ended_epoch, selected=selected) if self._calls else ((), ())
        return Counted(
            merge_threads([rows]),
            connections,
            syscalls,
            selected_syscalls,
            MappingProxyType(transitions),
            self._loss - loss,
        )

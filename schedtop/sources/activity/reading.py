"""What the kernel side has counted since the last look, as rows of the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from schedtop.model.activity import ActivityLoss, Call, in_order
from schedtop.model.activity_rows import DEVICE_DTYPE, ID_FIELDS, ROW_DTYPE, SUMS, merge_threads
from schedtop.model.rows import Rows
from schedtop.model.tcp_changes import TcpChange
from schedtop.sources.activity.connections import FULL, ConnectionCounts
from schedtop.sources.activity.devices import DeviceCounts
from schedtop.sources.activity.programs import ActivityPrograms
from schedtop.sources.kernel.constants import ACTIVITY
from schedtop.sources.kernel.syscalls import errors_between, syscall_name, syscall_names

Counters = npt.NDArray[np.int64]

_ALL, _SELECTED = 0, 1
"""Whose system calls they are, in the order of `ActivityPrograms.calls`."""


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
        at = np.flatnonzero(self._programs.touched["value"] >= max(1, ended_epoch - 1))
        at = at[slots["tid"][at] != 0]
        now, before = slots[at], self._before[at]
        self._before[at] = now
        found = [_difference(before, now, ended_epoch)]
        spilled = self._programs.values("overflow")
        spilled = spilled[spilled["tid"] != 0]
        if len(spilled):
            found.append(_difference(_same_of(self._spilled, spilled), spilled, ended_epoch))
            if len(spilled) > FULL * self._programs.room("overflow"):
                self._programs.take("overflow", spilled[_was_read(spilled, ended_epoch)])
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
            # They are all unsigned and of 64 bits: as signed ones they are compared, and copied once less.
            change = now[name].view(np.int64) - np.where(_like(same, before[name]), before[name].view(np.int64), 0)
            rows[name] = change
            anything |= change.any(axis=tuple(range(1, change.ndim)))
    rows["syscall_max_ns"] = _longest(now, epoch, rows["syscalls"], rows["syscall_ns"])
    return rows[anything]


def _like(mask: npt.NDArray[np.bool_], values: Rows) -> npt.NDArray[np.bool_]:
    """A mask of rows in the shape of their values."""
    shaped: npt.NDArray[np.bool_] = mask.reshape(-1, *(1,) * (values.ndim - 1))
    return shaped


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


def read_loss(programs: ActivityPrograms) -> ActivityLoss:
    """All that was lost so far."""
    row = programs.loss[0]
    return ActivityLoss(
        events_untracked=int(row["untracked"]),
        tasks_evicted=int(row["evicted"]),
        errors_untracked=int(row["errors_untracked"]),
        connections_untracked=int(row["connections_untracked"]),
        flows_untracked=int(row["flows_untracked"]),
        devices_untracked=int(row["devices_untracked"]),
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
    latest: tuple[TcpChange, ...]
    devices: Rows
    device_names: Mapping[int, str]
    loss: ActivityLoss


class Counts:
    """All that is counted of the parts in `only`, from one look to the next."""

    def __init__(self, programs: ActivityPrograms, only: Collection[str]) -> None:
        self._programs = programs
        self._tasks = TaskCounts(programs)
        self._calls = CallCounts(programs) if "syscalls" in only else None
        self._connections = ConnectionCounts(programs) if "network" in only else None
        self._devices = DeviceCounts(programs) if "files" in only else None
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
        latest: tuple[TcpChange, ...] = ()
        if self._connections:
            happened, connections = self._connections.take_rows()
            rows = np.concatenate([rows, happened])
            transitions, latest = self._connections.take_transitions(), self._connections.take_latest()
        devices, device_names = self._devices.take() if self._devices else (np.zeros(0, DEVICE_DTYPE), {})
        loss, self._loss = self._loss, read_loss(self._programs)
        syscalls, selected_syscalls = self._calls.take(ended_epoch, selected=selected) if self._calls else ((), ())
        return Counted(
            merge_threads([rows]),
            connections,
            syscalls,
            selected_syscalls,
            MappingProxyType(transitions),
            latest,
            devices,
            device_names,
            self._loss - loss,
        )

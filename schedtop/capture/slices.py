"""What a capture's events mean: which task ran on which CPU from when to when, and in which state each task was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.capture.events import GONE, MIGRATE, PREEMPTED, SWITCH, WAKEUP_NEW, Capture
from schedtop.capture.parts import Parted, distinct, parts_for
from schedtop.model.rows import Rows, copy_rows, join_rows, rows_where, take_many, take_rows

Flags = npt.NDArray[np.bool_]

RUN_DTYPE = np.dtype([("start_ns", "<i8"), ("end_ns", "<i8"), ("tid", "<u4"), ("cpu", "<u2"), ("prio", "<i2")])
"""A task on a CPU."""

RUNNING, RUNNABLE, SLEEPING = 1, 2, 3
"""`state` of a task; a task of which nothing is known, or that is gone, has none."""

STATE_DTYPE = np.dtype(
    [
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("tid", "<u4"),
        ("state", "u1"),
        ("prev_state", "<u2"),
        ("cpu", "<u2"),
        ("waker_cpu", "<u2"),
        ("waker_tid", "<u4"),
        ("woken_by", "u1"),
        ("woken_ns", "<i8"),
    ]
)
"""A task in a state. `cpu`: where it runs, or ran last. A runnable one was preempted, or was woken at `woken_ns`
(else 0) by `waker_tid` (0: no task) on `waker_cpu`; `woken_by` is a WokenBy. `prev_state`: what a sleeping one waits
in, as the kernel reports it."""

_CHANGE_DTYPE = np.dtype(
    [
        ("time_ns", "<i8"),
        ("tid", "<u4"),
        ("order", "u1"),
        ("state", "u1"),
        ("prev_state", "<u2"),
        ("cpu", "<u2"),
        ("waker_tid", "<u4"),
        ("waker_cpu", "<u2"),
        ("woken_by", "u1"),
        ("woken_ns", "<i8"),
    ]
)
_WAKER = ["waker_tid", "waker_cpu", "woken_by", "woken_ns"]
_WAKING, _GONE = 4, 5


@dataclass(frozen=True, slots=True)
class Slices:
    """`runs` by CPU and time, idle left out; `states` by task and time. Neither overlap.

    `unseen_switches`: how often a task left a CPU without having been seen to come to it, other than by a counted loss.
    """

    runs: Rows
    states: Rows
    unseen_switches: int


def slices_of(capture: Capture) -> Slices:
    """The slices of a capture; what is open at its end ends there."""
    changes = Changes(capture)
    return Slices(changes.runs, changes.states(0), changes.unseen_switches)


class Changes:
    """The runs of a capture, and what changed the states of its tasks: those are made for some tasks at a time."""

    def __init__(self, capture: Capture, most_rows: int | None = None, breathe: Callable[[], object] = keep_on) -> None:
        """`most_rows`: the tasks are in as many parts as make about that many rows each; `None`: all in one.
        `breathe` is called in between."""
        self._end_ns, self._breathe = capture.end_ns, breathe
        kinds = np.ascontiguousarray(capture.events["kind"])
        switches = take_many(capture.events, np.flatnonzero(kinds == SWITCH), breathe)
        found = []
        for cpu in capture.cpus:
            found.append(_runs_of_cpu(capture, switches, cpu, breathe))
        runs = join_rows([runs for runs, _ in found]) if found else np.empty(0, RUN_DTYPE)
        self.runs = rows_where(runs, runs["tid"] > 0)
        self.unseen_switches = sum(unseen for _, unseen in found)
        breathe()
        known = rows_where(runs, runs["end_ns"] > runs["start_ns"])
        breathe()
        woken = take_many(capture.events, np.flatnonzero((kinds > SWITCH) & (kinds <= WAKEUP_NEW)), breathe)
        self._few = join_rows((_interrupted(capture, known), _taken_offline(capture, runs)))
        self.parts = parts_for(len(known) + len(switches) + len(woken), most_rows)
        self._parted = []
        for rows in (known, switches, woken):
            self._parted.append(Parted(rows, self.parts, breathe))
            breathe()

    def tids(self) -> list[int]:
        """The tasks that have changes, idle among them."""
        tids: list[int] = distinct([parted.rows["tid"] for parted in self._parted], self._breathe).tolist()
        return tids

    def states(self, part: int) -> Rows:
        """The states of the tasks of a part, by task and time."""
        few = rows_where(self._few, self._few["tid"] % self.parts == part)
        runs, switches, woken = (rows.part(part) for rows in self._parted)
        return _states(runs, switches, woken, few, self._end_ns)


def unseen_switches(capture: Capture) -> int:
    """That of `Slices` alone, which takes a fraction of their time."""
    switches = rows_where(capture.events, capture.events["kind"] == SWITCH)
    return sum(_runs_of_cpu(capture, switches, cpu)[1] for cpu in capture.cpus)


def _runs_of_cpu(
    capture: Capture, switches: Rows, cpu: int, breathe: Callable[[], object] = keep_on
) -> tuple[Rows, int]:
    """The tasks that held a CPU, idle among them, and how many switches were not seen.

    Each switch ends what ran before it and begins what runs after. What ran before the first one ran since the start;
    without any switch it is what was asked for.
    """
    rows = take_many(switches, np.flatnonzero(switches["seen_on"] == cpu), breathe)
    if not len(rows):
        had = capture.unswitched.get(cpu)
        return np.array([(capture.start_ns, capture.end_ns, had[0], cpu, had[1])] if had else [], RUN_DTYPE), 0
    after = np.empty(len(rows), RUN_DTYPE)
    after["start_ns"], after["tid"], after["prio"] = rows["time_ns"], rows["other_tid"], rows["other_prio"]
    after["end_ns"] = np.append(rows["time_ns"][1:], capture.end_ns)
    first = np.array([(capture.start_ns, rows["time_ns"][0], rows["tid"][0], cpu, rows["prio"][0])], RUN_DTYPE)
    after["cpu"] = cpu
    breathe()
    runs = join_rows((first, after))
    unseen = runs["tid"][:-1] != rows["tid"]
    breathe()
    after_losses = _cut_at_losses(runs, rows, capture.losses[capture.losses["cpu"] == cpu], unseen)
    late = _unseen_runs(capture, runs[:-1], rows, unseen)
    if _is_stopper(capture, runs["tid"][-1]):
        runs["end_ns"][-1] = runs["start_ns"][-1]
    breathe()
    runs = join_rows((runs, after_losses, late))
    breathe()
    return take_many(runs, np.argsort(runs["start_ns"], kind="stable"), breathe), int(unseen.sum())


def _cut_at_losses(runs: Rows, rows: Rows, gaps: Rows, unseen: Flags) -> Rows:
    """Ends each run where a loss begins: what ran then is not known. What was there after a loss began at its end."""
    last_ns: dict[int, int] = {}
    starts = runs["start_ns"].copy()
    for gap in gaps.tolist():
        first, last = gap[0], gap[1]
        index = int(np.searchsorted(starts, first, "right")) - 1
        if index not in last_ns:
            runs["end_ns"][index] = min(int(runs["end_ns"][index]), first)
        last_ns[index] = last
    known = [index for index in last_ns if index < len(rows)]
    unseen[known] = False
    after = [
        (last_ns[index], int(row["time_ns"]), int(row["tid"]), int(row["seen_on"]), int(row["prio"]))
        for index, row in zip(known, rows[known], strict=True)
    ]
    return np.array(after, RUN_DTYPE)


def _unseen_runs(capture: Capture, before: Rows, rows: Rows, unseen: Flags) -> Rows:
    """Runs of tasks that left a CPU which was idle as far as we saw: since they were woken, if that was since then.

    Some guest kernels leave idle without passing the tracepoint. `before` is cut there; a run that began at an unknown
    time is left out, and what stood in its place ends in nothing.
    """
    late: list[tuple[int, int, int, int, int]] = []
    if not unseen.any():
        return np.array(late, RUN_DTYPE)
    wakeups = rows_where(capture.events, (capture.events["kind"] != SWITCH) & (capture.events["kind"] != MIGRATE))
    order = np.argsort(wakeups["tid"], kind="stable")
    tids, times = wakeups["tid"][order], wakeups["time_ns"][order]
    for index in np.flatnonzero(unseen).tolist():
        run, row = before[index], rows[index]
        low, high = np.searchsorted(tids, [row["tid"], int(row["tid"]) + 1])
        at = int(np.searchsorted(times[low:high], row["time_ns"])) - 1
        woken_ns = int(times[low + at]) if at >= 0 else 0
        if run["tid"] == 0 and woken_ns >= run["start_ns"]:
            late.append((woken_ns, int(row["time_ns"]), int(row["tid"]), int(row["seen_on"]), int(row["prio"])))
            run["end_ns"] = woken_ns
        elif row["tid"] == 0 or run["tid"] != 0:
            run["end_ns"] = run["start_ns"]
    return np.array(late, RUN_DTYPE)


def _states(runs: Rows, switches: Rows, woken: Rows, few: Rows, end_ns: int) -> Rows:
    changes = join_rows((*_changes(runs, switches, woken), few))
    changes = rows_where(changes, changes["tid"] > 0)
    changes = take_rows(changes, np.lexsort((changes["order"], changes["time_ns"], changes["tid"])))
    changes = _without_idle_wakings(changes)
    rows = np.zeros(len(changes), STATE_DTYPE)
    for field in ("tid", "prev_state", "cpu", *_WAKER):
        rows[field] = changes[field]
    rows["start_ns"] = changes["time_ns"]
    same = np.append(changes["tid"][1:] == changes["tid"][:-1], False)
    rows["end_ns"] = np.where(same, np.append(changes["time_ns"][1:], 0), end_ns)
    rows["state"] = np.where(changes["state"] == _WAKING, RUNNABLE, changes["state"])
    return rows_where(rows, (rows["end_ns"] > rows["start_ns"]) & (rows["state"] != _GONE))


def _changes(runs: Rows, switches: Rows, woken: Rows) -> tuple[Rows, Rows, Rows]:
    """Every change of a task's state: it came to a CPU, left it, was woken."""
    arrivals = np.zeros(len(runs), _CHANGE_DTYPE)
    arrivals["time_ns"], arrivals["tid"], arrivals["cpu"] = runs["start_ns"], runs["tid"], runs["cpu"]
    arrivals["state"], arrivals["order"] = RUNNING, 2
    departures = np.zeros(len(switches), _CHANGE_DTYPE)
    departures["time_ns"], departures["tid"] = switches["time_ns"], switches["tid"]
    departures["prev_state"], departures["cpu"] = switches["prev_state"], switches["seen_on"]
    wants = (switches["prev_state"] == 0) | (switches["prev_state"] & PREEMPTED > 0)
    gone = switches["prev_state"] & GONE > 0
    departures["state"] = np.select([wants, gone], [RUNNABLE, _GONE], SLEEPING)
    wakings = np.zeros(len(woken), _CHANGE_DTYPE)
    wakings["time_ns"], wakings["tid"], wakings["cpu"] = woken["time_ns"], woken["tid"], woken["from_cpu"]
    wakings["waker_tid"], wakings["waker_cpu"] = woken["other_tid"], woken["seen_on"]
    wakings["woken_by"] = woken["woken_by"]
    wakings["woken_ns"], wakings["state"], wakings["order"] = woken["time_ns"], _WAKING, 1
    return arrivals, departures, wakings


def _interrupted(capture: Capture, runs: Rows) -> Rows:
    """Where a loss begins, nothing is known of the task that ran."""
    if not len(capture.losses):
        return np.zeros(0, _CHANGE_DTYPE)
    ends, begins = ((rows[at] << 12 | rows["cpu"]) for rows, at in ((runs, "end_ns"), (capture.losses, "first_ns")))
    cut = runs[np.isin(ends, begins)]
    rows = np.zeros(len(cut), _CHANGE_DTYPE)
    rows["time_ns"], rows["tid"], rows["cpu"], rows["state"] = cut["end_ns"], cut["tid"], cut["cpu"], _GONE
    return rows


def _is_stopper(capture: Capture, tid: np.integer) -> bool:
    """Whether it may take its CPU offline: then it is the last to be seen there (sources/scheduler/running.py)."""
    return capture.task_names.name(int(tid)).startswith("migration/")


def _taken_offline(capture: Capture, runs: Rows) -> Rows:
    """Of a stopper that was not seen to leave its CPU nothing is known."""
    left = runs[runs["end_ns"] == runs["start_ns"]]
    left = left[[_is_stopper(capture, tid) for tid in left["tid"]]] if len(left) else left
    rows = np.zeros(len(left), _CHANGE_DTYPE)
    rows["time_ns"], rows["tid"], rows["cpu"] = left["start_ns"], left["tid"], left["cpu"]
    rows["state"], rows["order"] = _GONE, 2
    return rows


def _without_idle_wakings(changes: Rows) -> Rows:
    """The changes without wakings of tasks that run or wait for a CPU already: those change nothing.

    But a task that is woken on its way to sleep does not sleep: it waits for a CPU from when it leaves. That it was so
    shows when it runs again without having been woken since.
    """
    state, tid = changes["state"].copy(), changes["tid"]
    before = np.append(0, np.where(tid[1:] == tid[:-1], state[:-1], 0))
    after = np.append(np.where(tid[1:] == tid[:-1], state[1:], 0), 0)
    awake = (state == SLEEPING) & (before == _WAKING) & (after == RUNNING)
    result = copy_rows(changes)
    result["state"][awake] = _WAKING
    for field in _WAKER:
        result[field][awake] = changes[field][np.flatnonzero(awake) - 1]
    idle = (state == _WAKING) & ~np.isin(before, (0, SLEEPING, _GONE))
    return rows_where(result, ~idle)

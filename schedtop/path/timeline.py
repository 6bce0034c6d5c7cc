"""What each task of a capture did at all times, without a hole: what is not known is an interval that says why."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.capture import slices as states
from schedtop.capture.events import GONE, LEFT_THROTTLED, MIGRATE, PREEMPTED, Capture
from schedtop.capture.slices import Changes
from schedtop.model.rows import Rows, rows_where
from schedtop.path.by_task import ROWS_OF_A_PART, ByTask, by_task
from schedtop.path.interruptions import Interruptions
from schedtop.path.segments import (
    BLOCKED,
    IDLE_TID,
    INTERRUPT_TID,
    QUEUED,
    RUNNING,
    THROTTLED,
    UNKNOWN,
    UNKNOWN_TID,
    Behind,
    summed,
)
from schedtop.path.wakeups import Place, Wakeup, Wakeups

ABSENT = "absent"
"""A task that had not begun, or had ended."""

NOT_SEEN = "a switch was not seen"
NO_WAKEUP = "its wakeup was not seen"
BEFORE = "it was asleep before the recording"
ENDED = "it had ended"

_HIDES_A_RUN = {BLOCKED: 3, QUEUED: 2, THROTTLED: 2}
"""How many lost events can hide that a task ran meanwhile: that it was woken, came to the CPU and left it."""


@dataclass(frozen=True, slots=True)
class Interval:
    """What a task did from `start_ns` to `end_ns`: a state of segments, or ABSENT.

    `cpu`: of a running or queued one. `wakeup`, `place`: of a blocked one, what ended it and where it was; of an absent
    one what made the task. `wakeup` may lie behind the end, where the interval was cut.
    """

    start_ns: int
    end_ns: int
    state: str
    cpu: int = -1
    wakeup: Wakeup | None = None
    place: Place | None = None
    reason: str = ""


class Timeline:
    """The tasks and CPUs of a capture at all times of it."""

    def __init__(self, capture: Capture, breathe: Callable[[], object] = keep_on) -> None:
        """`breathe` is called in between, later on too."""
        changes = Changes(capture, ROWS_OF_A_PART, breathe)
        self.capture = capture
        self.wakeups = Wakeups(capture, breathe)
        self.states = ByTask(changes.parts, changes.states, "start_ns", breathe)
        self._changes, self._breathe = changes, breathe
        self._runs: dict[int, tuple[Rows, memoryview[int]]] = {}
        self.interruptions = Interruptions(capture)
        breathe()
        self._losses = _Losses(capture.losses)
        self._migrations = by_task(rows_where(capture.events, capture.events["kind"] == MIGRATE), breathe=breathe)
        self._held = {(row[2], row[0]): row[1] for row in capture.held.tolist()}
        self._names = _names(capture)

    def tids(self) -> list[int]:
        """The tasks that were seen."""
        return self._changes.tids()

    def name(self, tid: int, time_ns: int) -> str:
        """The name of a task at a time."""
        times, texts = self._names.get(tid, ((), ()))
        index = bisect_right(times, time_ns) - 1
        return texts[max(0, index)] if texts else self.capture.task_names.name(tid)

    def ran_since(self, tid: int, end_ns: int) -> int:
        """Since when a task had run that left its CPU at `end_ns`; `end_ns`: that is not known."""
        row = self.states.last_before(tid, end_ns)
        return int(row["start_ns"]) if row is not None and row["state"] == states.RUNNING else end_ns

    def between(self, tid: int, start_ns: int, end_ns: int) -> Iterator[Interval]:
        """What a task did from `start_ns` to `end_ns`: intervals that follow each other, none is empty."""
        for interval in self._whole(tid, start_ns, end_ns):
            start, end = max(interval.start_ns, start_ns), min(interval.end_ns, end_ns)
            if start < end:
                yield replace(interval, start_ns=start, end_ns=end)

    def had_cpu(self, cpu: int, start_ns: int, end_ns: int) -> tuple[Behind, ...]:
        """What had a CPU from `start_ns` to `end_ns`, most time first; the times add up to that."""
        runs, starts = self._runs_on(cpu)
        if not (len(runs) or cpu in self.capture.unswitched):
            return (Behind(UNKNOWN_TID, "unknown", end_ns - start_ns),)
        low = max(0, bisect_right(starts, start_ns) - 1)
        high = bisect_left(starts, end_ns)
        at = start_ns
        parts: list[Behind] = []
        for number, run in enumerate(runs[low:high].tolist()):
            if not number & 31:
                self._breathe()
            start, end, tid = max(run[0], at), min(run[1], end_ns), run[2]
            if start >= end:
                continue
            parts += self._without(cpu, at, start)
            parts += self._with_interrupts(cpu, start, end, Behind(tid, self.name(tid, start), end - start))
            at = end
        return summed([*parts, *self._without(cpu, at, end_ns)])

    def _runs_on(self, cpu: int) -> tuple[Rows, memoryview[int]]:
        """The runs on a CPU, and when they began."""
        found = self._runs.get(cpu)
        if found is None:
            runs = rows_where(self._changes.runs, self._changes.runs["cpu"] == cpu)
            # A search for one number is several times as quick in this.
            found = self._runs[cpu] = runs, np.ascontiguousarray(runs["start_ns"]).data
        return found

    def _without(self, cpu: int, start_ns: int, end_ns: int) -> Iterator[Behind]:
        """What a CPU without a known task did: it was idle, but where events of it were lost."""
        lost = sum(min(last + 1, end_ns) - max(first, start_ns) for first, last, on, _ in
                   self._losses.within(start_ns, end_ns) if on == cpu) if end_ns > start_ns else 0  # fmt: skip
        if lost:
            yield Behind(UNKNOWN_TID, "unknown", lost)
        if end_ns - start_ns > lost:
            idle = Behind(IDLE_TID, "idle", end_ns - start_ns - lost)
            yield from (idle,) if lost else self._with_interrupts(cpu, start_ns, end_ns, idle)

    def _with_interrupts(self, cpu: int, start_ns: int, end_ns: int, had: Behind) -> Iterator[Behind]:
        """What had a CPU, without what interrupts took from it, and those."""
        left = had.time_ns
        for name, time_ns in self.interruptions.during(cpu, start_ns, end_ns):
            yield Behind(INTERRUPT_TID, name, time_ns)
            left -= time_ns
        if left:
            yield had if left == had.time_ns else replace(had, time_ns=left)

    def _whole(self, tid: int, start_ns: int, end_ns: int) -> Iterator[Interval]:
        """The same, not cut at both ends."""
        rows = self.states.of(tid)
        starts = self.states.times(tid)
        first = max(0, bisect_right(starts, start_ns) - 1)
        if first < len(rows) and rows[first]["end_ns"] <= start_ns:
            first += 1
        last = bisect_left(starts, end_ns)
        at = int(rows["end_ns"][first - 1]) if first else self.capture.start_ns
        for index in range(first, min(last + 1, len(rows))):
            row = rows[index]
            if at < row["start_ns"]:
                yield from self._cut(tid, self._gap(tid, rows, index, at, int(row["start_ns"])))
            yield from self._cut(tid, self._interval(tid, rows, index))
            at = int(row["end_ns"])
        if at < end_ns:
            yield from self._cut(tid, self._gap(tid, rows, len(rows), at, max(end_ns, self.capture.end_ns)))

    def _interval(self, tid: int, rows: Rows, index: int) -> Interval:
        """What a row of the capture's states says."""
        row = rows[index]
        start, end, cpu = int(row["start_ns"]), int(row["end_ns"]), int(row["cpu"])
        if row["state"] == states.RUNNING:
            return Interval(start, end, RUNNING, cpu)
        if row["state"] == states.RUNNABLE:
            return Interval(start, end, QUEUED, cpu)
        wakeup = self.wakeups.first(tid, start, end)
        if wakeup and wakeup.time_ns != end:
            wakeup = None
        reason = NO_WAKEUP if end < self.capture.end_ns else "it was still blocked when the recording ended"
        return Interval(start, end, BLOCKED, cpu, wakeup, self.wakeups.place(tid, start, wakeup), reason)

    def _gap(self, tid: int, rows: Rows, index: int, start: int, end: int) -> Interval:
        """What a task did before a row, where no row says it; `index` is that of the row."""
        if index:
            left = self.wakeups.departure(tid, start)
            if left is None or not left["prev_state"] & GONE or left["prev_state"] & PREEMPTED:
                return Interval(start, end, UNKNOWN, reason=NOT_SEEN)
            wakeup = self.wakeups.first(tid, end, end) if index < len(rows) else None
            return Interval(start, end, ABSENT, wakeup=wakeup if wakeup and wakeup.is_new else None, reason=ENDED)
        if not len(rows):
            return Interval(start, end, UNKNOWN, reason="it was not seen in the recording")
        row = rows[0]
        wakeup = self.wakeups.first(tid, end, end)
        if row["state"] != states.RUNNING and wakeup:
            if wakeup.is_new:
                return Interval(start, end, ABSENT, wakeup=wakeup, reason="it had not begun")
            place = self.wakeups.place(tid, start, wakeup)
            return Interval(start, end, BLOCKED, int(row["cpu"]), wakeup, place, BEFORE)
        if row["state"] == states.RUNNING and not self._losses.ends_at(int(row["cpu"]), end):
            return Interval(start, end, QUEUED, int(row["cpu"]))
        return Interval(start, end, UNKNOWN, reason=NOT_SEEN)

    def _cut(self, tid: int, whole: Interval) -> Iterator[Interval]:
        """An interval in pieces: by what is missing, by CPUs, and by what a quota took of it."""
        if whole.state in (QUEUED, BLOCKED):
            # It came to a CPU and was not seen to leave it: some tasks of some guests, and those that get a new tid.
            came_ns = self.wakeups.arrival(tid, whole.start_ns, whole.end_ns)
            if came_ns is not None:
                if whole.start_ns < came_ns:
                    reason = NO_WAKEUP if whole.state == BLOCKED else ""
                    known = replace(whole, end_ns=came_ns, wakeup=None, reason=reason)
                    yield from self._pieces(tid, known)
                yield Interval(came_ns, whole.end_ns, UNKNOWN, reason=NOT_SEEN)
                return
        yield from self._pieces(tid, whole)

    def _pieces(self, tid: int, whole: Interval) -> Iterator[Interval]:
        pieces = [whole] if whole.state == RUNNING else self._without_losses(whole)
        for piece in pieces:
            if piece.state == QUEUED:
                yield from self._queued(tid, whole, piece)
            elif piece.state == BLOCKED and not piece.wakeup:
                yield replace(piece, state=UNKNOWN)
            else:
                yield piece

    def _without_losses(self, whole: Interval) -> Iterator[Interval]:
        """The parts in which nothing is missing, and those in which events were lost, which are unknown.

        Too few lost events hide no run of the task. Before more of them it was in that state, but not until when.
        """
        at = whole.start_ns
        for first, last, _, count in self._losses.within(whole.start_ns, whole.end_ns):
            start, end = max(at, first), min(last + 1, whole.end_ns)
            if start >= end:
                continue
            hides = count >= _HIDES_A_RUN.get(whole.state, 0)
            lost = f"{count} {'event was' if count == 1 else 'events were'} lost"
            if at < start:
                before = replace(whole, start_ns=at, end_ns=start)
                if hides and whole.state in (BLOCKED, ABSENT):
                    before = replace(before, state=UNKNOWN, reason=f"{lost} before its wakeup")
                yield before
            yield Interval(start, end, UNKNOWN, reason=lost)
            at = end
        if at < whole.end_ns:
            yield replace(whole, start_ns=at)

    def _queued(self, tid: int, whole: Interval, piece: Interval) -> Iterator[Interval]:
        cpu = whole.cpu
        at = piece.start_ns
        held_until = self._held_until(tid, whole)
        moves = self._migrations.between(tid, whole.start_ns, piece.end_ns)
        for time_ns, to_cpu in [*zip(moves["time_ns"].tolist(), moves["to_cpu"].tolist(), strict=True), (None, cpu)]:
            end = piece.end_ns if time_ns is None else time_ns
            if at < end:
                middle = min(max(at, held_until), end)
                if at < middle:
                    yield replace(piece, start_ns=at, end_ns=middle, state=THROTTLED, cpu=cpu)
                if middle < end:
                    yield replace(piece, start_ns=middle, end_ns=end, cpu=cpu)
                at = end
            cpu = to_cpu

    def _held_until(self, tid: int, whole: Interval) -> int:
        """When a task got its quota back; its start if it did not wait for that."""
        left = self.wakeups.departure(tid, whole.start_ns)
        if left is None or not left["woken_by"] & LEFT_THROTTLED:
            return whole.start_ns
        length: int = self._held.get((tid, whole.end_ns), whole.end_ns - whole.start_ns)
        return whole.start_ns + length


def _names(capture: Capture) -> dict[int, tuple[list[int], list[str]]]:
    """The names of each task, and from when on it had them; a name that nobody could read is none."""
    found: dict[int, tuple[list[int], list[str]]] = {}
    names = capture.task_names
    for row, name in zip(names.rows.tolist(), names.texts, strict=True):
        if name:
            times, texts = found.setdefault(row[1], ([], []))
            times.append(row[0])
            texts.append(name)
    return found


class _Losses:
    """Where events are missing, in the order of time."""

    def __init__(self, rows: Rows) -> None:
        self._rows = [(int(row["first_ns"]), int(row["last_ns"]), int(row["cpu"]), int(row["count"])) for row in rows]
        self._rows.sort()
        self._firsts = np.array([row[0] for row in self._rows], np.int64)
        ends = np.array([row[1] for row in self._rows], np.int64)
        self._ends = np.maximum.accumulate(ends) if len(ends) else ends
        self._at_end = {(row[2], row[1]) for row in self._rows}

    def within(self, start_ns: int, end_ns: int) -> Iterable[tuple[int, int, int, int]]:
        """First and last time, CPU and count of those that reach into a span."""
        if not self._rows:
            return ()
        low, high = np.searchsorted(self._ends, start_ns), np.searchsorted(self._firsts, end_ns)
        return [row for row in self._rows[low:high] if row[1] >= start_ns]

    def ends_at(self, cpu: int, time_ns: int) -> bool:
        """Whether the last event lost of a CPU was then."""
        return (cpu, time_ns) in self._at_end

"""What the History knows of one task or process already: no kernel program is asked, and a replay has it, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from schedtop.base.histogram import Histogram
from schedtop.history.sorting import sort_pairs, sort_slow_waits
from schedtop.model.frame import Frame
from schedtop.model.rows import (
    PAIR_DTYPE,
    SLOW_WAIT_DTYPE,
    TASK_DTYPE,
    THROTTLING_DTYPE,
    Integers,
    Rows,
    as_words,
    merge_pairs,
    merge_tasks,
    merge_throttling,
)

MINUTE_NS = 60_000_000_000


@dataclass(frozen=True, slots=True)
class Subject:
    """What the task view is about: a thread, or (`tid` is 0) a whole process.

    `start_ns` tells a reused tid from the one before, 0 if it is not known; `name`: its name when it was chosen.
    """

    tid: int
    tgid: int
    name: str
    start_ns: int = 0

    @property
    def is_process(self) -> bool:
        """Whether all threads of the process are meant."""
        return self.tid == 0

    def mask(self, rows: Rows, role: str = "") -> Integers:
        """Which rows are about it: of tasks, of slow waits, or (with `victim` or `other`) of pairs."""
        prefix = f"{role}_" if role else ""
        if self.is_process:
            return np.asarray(rows[f"{prefix}tgid"] == self.tgid)
        mask = rows[f"{prefix}tid"] == self.tid
        if self.start_ns and "start_ns" in (rows.dtype.names or ()):
            mask &= rows["start_ns"] == self.start_ns
        return np.asarray(mask)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of the subject. Rows as in a Frame; `waits`: its histogram, if Frames have it."""

    tasks: Rows
    slow_waits: Rows
    suffered: Rows
    caused: Rows
    throttling: Rows
    waits: Histogram | None


@dataclass(frozen=True, slots=True, eq=False)
class Interval(Known):
    """What one Frame says of it."""

    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Sum(Known):
    """Several Intervals together, their counters added."""

    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """What the History knows of the subject over `span_ns`, to the end of the window.

    Time before the subject began (`begin_ns`, CLOCK_MONOTONIC; 0 if that is before the window) is not part of it.
    `threads`: merged rows of TASK_DTYPE, one a thread; `slow_waits`: newest first; `suffered`: pairs with the subject
    as victim, `caused`: as the other; `throttling`: rows of its cgroups; `waits`: its histogram, `None` unless the
    Frames were grouped so. `intervals`: oldest first. `unavailable`: parts that the source does not have, with why.
    """

    subject: Subject
    begin_ns: int
    span_ns: int
    threads: Rows
    slow_waits: Rows
    suffered: Rows
    caused: Rows
    throttling: Rows
    waits: Histogram | None
    intervals: tuple[Interval, ...]
    cgroups: Mapping[int, str]
    unavailable: Mapping[str, str]
    cpus: int

    def sum(self, name: str) -> int:
        """A counter of TASK_SUMS over all threads."""
        return int(self.threads[name].sum())

    @property
    def cgroup(self) -> str:
        """The path of its cgroup, empty if it is not known."""
        ids = self.threads["cgroup_id"]
        return self.cgroups.get(int(ids[-1]), "") if len(ids) else ""


class PastReader:
    """Finds the subject in the Frames; each Frame is looked at once."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._begin_ns: int | None = None
        self._known: dict[int, Interval] = {}
        self._sums: dict[tuple[int, ...], Sum] = {}

    def read(self, frames: Sequence[Frame], window_ns: int | None) -> Past | None:
        """The subject in the Frames of the window that ends with the last one; `None` window: in all of them.

        `None` without Frames.
        """
        if not frames:
            return None
        intervals = tuple(self._intervals(_window(frames, window_ns)))
        last = frames[-1]
        parts = [*self._minutes(intervals[:-1]), _summed(intervals[-1:])]
        # The last table alone says what waits now.
        tasks = merge_tasks([part.tasks for part in parts])
        waits = [part.waits for part in parts if part.waits is not None]
        longest_ns = int(tasks["max_wait_ns"].max(initial=0))
        begin_ns = self._begin(intervals, tasks)
        lived = tuple(one for one in intervals if lived_ns(one, begin_ns)) or intervals[-1:]
        return Past(
            subject=self.subject,
            begin_ns=begin_ns,
            span_ns=sum(lived_ns(one, begin_ns) for one in lived) or last.interval_ns,
            threads=tasks,
            slow_waits=sort_slow_waits(_joined([part.slow_waits for part in parts], SLOW_WAIT_DTYPE), "time_ns"),
            suffered=sort_pairs(merge_pairs([part.suffered for part in parts]), "blocker"),
            caused=sort_pairs(merge_pairs([part.caused for part in parts]), "blocker"),
            throttling=merge_throttling([part.throttling for part in parts]),
            waits=replace(sum(waits, Histogram.empty()), max_ns=longest_ns) if waits else None,
            intervals=lived,
            cgroups=last.cgroups,
            unavailable=last.unavailable,
            cpus=len(last.cpus.ids),
        )

    def _begin(self, intervals: Sequence[Interval], tasks: Rows) -> int:
        """When it began, 0 if nothing tells: the start of the thread that is longest there, or its first sight."""
        known = self._begin_ns
        if len(tasks):
            starts = tasks["start_ns"]
            first = next(one.frame for one in intervals if len(one.tasks))
            begin = int(starts.min()) if starts.all() else first.end_ns - first.interval_ns
            self._begin_ns = begin if known is None else min(known, begin)
        return self._begin_ns or 0

    def _minutes(self, intervals: Sequence[Interval]) -> list[Sum]:
        """The sums of each minute. Those that have not changed since the last time are kept."""
        known: dict[tuple[int, ...], Sum] = {}
        for _, minute in groupby(intervals, key=lambda one: one.frame.end_ns // MINUTE_NS):
            part = tuple(minute)
            key = tuple(map(id, part))
            # The Sum holds its Intervals, so that an id cannot belong to another one meanwhile.
            known[key] = self._sums.get(key) or _summed(part)
        self._sums = known
        return list(known.values())

    def _intervals(self, frames: Iterable[Frame]) -> Iterable[Interval]:
        known: dict[int, Interval] = {}
        for frame in frames:
            found = self._known.get(id(frame))
            # The Interval holds its Frame, so that the id cannot belong to another one meanwhile.
            known[id(frame)] = found = found or self._look(frame)
            yield found
        self._known = known

    def _waits(self, frame: Frame) -> Histogram | None:
        """Its waits, if the Frame has them by thread or process, as the subject is."""
        kind, number = ("tgid", self.subject.tgid) if self.subject.is_process else ("tid", self.subject.tid)
        groups = frame.groups
        return groups.histogram([number]) if groups is not None and groups.kind == kind else None

    def _look(self, frame: Frame) -> Interval:
        mask = self.subject.mask
        tasks = frame.tasks[mask(frame.tasks)]
        of_group = np.isin(frame.throttling["cgroup_id"], tasks["cgroup_id"])
        return Interval(
            tasks,
            frame.slow_waits[mask(frame.slow_waits)],
            frame.pairs[mask(frame.pairs, "victim")],
            frame.pairs[mask(frame.pairs, "other")],
            frame.throttling[of_group],
            self._waits(frame),
            frame,
        )


def _window(frames: Sequence[Frame], window_ns: int | None) -> Sequence[Frame]:
    """The newest Frames that together are as long as the window, at least one."""
    if window_ns is None:
        return frames
    left, start = window_ns, len(frames) - 1
    while start > 0 and (left := left - frames[start].interval_ns) > 0:
        start -= 1
    return frames[start:]


def _joined(tables: Sequence[Rows], dtype: np.dtype[np.void]) -> Rows:
    filled = [as_words(table) for table in tables if len(table)]
    # As plain words: numpy joins structured rows table by table in Python.
    return np.concatenate(filled).view(dtype).reshape(-1) if filled else np.empty(0, dtype)


def _summed(intervals: Sequence[Interval]) -> Sum:
    waits = [one.waits for one in intervals if one.waits is not None]
    return Sum(
        merge_tasks([_joined([one.tasks for one in intervals], TASK_DTYPE)]),
        _joined([one.slow_waits for one in intervals], SLOW_WAIT_DTYPE),
        merge_pairs([_joined([one.suffered for one in intervals], PAIR_DTYPE)]),
        merge_pairs([_joined([one.caused for one in intervals], PAIR_DTYPE)]),
        merge_throttling([_joined([one.throttling for one in intervals], THROTTLING_DTYPE)]),
        sum(waits, Histogram.empty()) if waits else None,
        tuple(intervals),
    )


def lived_ns(interval: Interval, begin_ns: int) -> int:
    """How much of an interval came after a moment of CLOCK_MONOTONIC."""
    frame = interval.frame
    return max(0, min(frame.interval_ns, frame.end_ns - begin_ns))


def states_over_time(intervals: Sequence[Interval], slot_ns: int, most: int, begin_ns: int = 0) -> Integers:
    """Nanoseconds running, waiting for a CPU, and neither, shape (at most `most` slots of `slot_ns`, 3), oldest first.

    An interval is spread evenly over its slots: what is known of it is its sum. A task that does not appear in an
    interval did nothing in it; before `begin_ns` it did not exist, and has no slots.
    """
    parts: list[Integers] = []
    slots = 0
    for one in reversed(intervals):
        lived = lived_ns(one, begin_ns)
        count = max(1, round(lived / slot_ns))
        run, delay = int(one.tasks["run_ns"].sum()), int(one.tasks["run_delay_ns"].sum())
        whole = lived * max(1, len(one.tasks))
        state = np.array([min(run, whole), min(delay, whole), max(0, whole - run - delay)], np.int64)
        parts.append(np.tile(state // count, (count, 1)))
        slots += count
        if slots >= most:
            break
    return np.concatenate(parts[::-1])[-most:] if parts else np.zeros((0, 3), np.int64)

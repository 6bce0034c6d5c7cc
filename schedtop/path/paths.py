"""The paths of a capture: the episodes in which tasks were late, what they consist of, and what is not in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from schedtop.capture.events import Capture
from schedtop.capture.slices import RUNNING as RUNS
from schedtop.path.inversion import Inversion, Inversions, urgencies
from schedtop.path.segments import RUNNING, UNKNOWN, Episode, joined
from schedtop.path.targets import EVERY_TASK, Targets
from schedtop.path.timeline import ABSENT, Interval, Timeline
from schedtop.path.walk import Walk, same_chain

MOST_WALKED = 2_000_000
"""So many intervals all walks together look at; the longest episodes come first."""


@dataclass(frozen=True, slots=True)
class StillBlocked:
    """A task that was blocked when the recording ended: what would wake it is not known."""

    tid: int
    comm: str
    where: str
    time_ns: int
    for_work: bool


@dataclass(frozen=True, slots=True)
class Sum:
    """How many spans there are, and how long they are together."""

    count: int = 0
    time_ns: int = 0

    def plus(self, time_ns: int) -> Sum:
        """With one more."""
        return Sum(self.count + 1, self.time_ns + time_ns)

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.count + other.count, self.time_ns + other.time_ns)


@dataclass(frozen=True, slots=True)
class Paths:
    """All of it, the longest episodes first.

    `work`: waits for work that are left out, where all tasks are looked at. `not_walked`: episodes for which there was
    no time. `unclear`: spans between two runs of which nothing is known, because events were lost: maybe it ran; where
    all tasks are looked at, also those of which most is not known.
    `inversion`: the priority inversion that they show; `None`: none.
    """

    capture: Capture
    targets: Targets
    min_ns: int
    episodes: tuple[Episode, ...]
    still_blocked: tuple[StillBlocked, ...] = ()
    work: Sum = Sum()
    not_walked: Sum = Sum()
    unclear: Sum = Sum()
    inversion: Inversion | None = None


@dataclass(frozen=True, slots=True)
class _Span:
    """A span in which a task did not run."""

    tid: int
    intervals: tuple[Interval, ...]
    ended: bool

    @property
    def start_ns(self) -> int:
        return self.intervals[0].start_ns

    @property
    def end_ns(self) -> int:
        return self.intervals[-1].end_ns

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def for_work(self) -> bool:
        """Whether it begins with waiting for work."""
        place = self.intervals[0].place
        return bool(place and place.for_work)

    def without_work(self) -> _Span | None:
        """What is left when the task had work to do; `None`: nothing."""
        rest = [index for index, one in enumerate(self.intervals) if not (one.place and one.place.for_work)]
        return replace(self, intervals=self.intervals[rest[0] :]) if rest else None


def nothing() -> None:
    """Does nothing."""


def find_paths(
    capture: Capture,
    targets: Targets = EVERY_TASK,
    min_ns: int = 0,
    *,
    since_ns: int = 0,
    most_walked: int = MOST_WALKED,
    between: Callable[[], None] = nothing,
) -> Paths:
    """The episodes of at least `min_ns` of these tasks that end at `since_ns` or later.

    Of all tasks those are left out, and counted, that merely waited for work; of chosen ones all are there. `between`
    is called now and then. With `since_ns`, spans that go on at the end are not counted as unclear: a later call
    sees them end.
    """
    timeline = Timeline(capture, between)
    between()
    spans: list[_Span] = []
    blocked: list[StillBlocked] = []
    work = unclear = Sum()
    for span in _spans(timeline, targets, min_ns, since_ns):
        between()
        if _is_unclear(span, targets):
            if span.ended or not since_ns:
                unclear = unclear.plus(span.length_ns)
            continue
        last = span.intervals[-1]
        if not span.ended and last.place:
            words = last.place
            name = timeline.name(span.tid, last.start_ns)
            blocked.append(StillBlocked(span.tid, name, words.where, span.length_ns, words.for_work))
            continue
        if span.for_work and not targets.chosen:
            rest = span.without_work()
            work = work.plus(span.length_ns - (rest.length_ns if rest else 0))
            if rest is None or rest.length_ns < min_ns:
                continue
            span = rest
        spans.append(span)
    spans.sort(key=lambda span: (-span.length_ns, span.start_ns, span.tid))
    episodes, not_walked, left = [], Sum(), most_walked
    inversions, urgency = Inversions(), urgencies(capture)
    for span in spans:
        if left <= 0:
            not_walked = not_walked.plus(span.length_ns)
            continue
        walk = Walk(timeline)
        episodes.append(_episode(timeline, walk, span))
        left -= walk.looked_at
        inversions.add(episodes[-1], urgency)
        between()
    blocked.sort(key=lambda one: (-one.time_ns, one.tid))
    return Paths(capture, targets, min_ns, tuple(episodes), tuple(blocked), work, not_walked, unclear, inversions.found)


def _is_unclear(span: _Span, targets: Targets) -> bool:
    """Whether nothing is known of a span; of a task that nobody asked for, whether most of it is not."""
    if all(one.state == UNKNOWN and not one.place for one in span.intervals):
        return True
    unknown_ns = sum(one.end_ns - one.start_ns for one in span.intervals if one.state == UNKNOWN)
    still_blocked = not span.ended and span.intervals[-1].place
    return not targets.chosen and not still_blocked and 2 * unknown_ns > span.length_ns


def _episode(timeline: Timeline, walk: Walk, span: _Span) -> Episode:
    segments = joined(walk.segments(span.tid, span.start_ns, span.end_ns))
    place = next((one.place for one in span.intervals if one.place), None)
    wakeup = next((one.wakeup for one in span.intervals if one.wakeup), None)
    chain = None
    if wakeup and wakeup.tid and not wakeup.is_new:
        since_ns = timeline.ran_since(span.tid, span.start_ns)
        chain = same_chain(timeline, span.tid, since_ns, wakeup.time_ns, wakeup.tid)
    return Episode(
        span.tid,
        timeline.capture.task_names.tgid(span.tid),
        timeline.name(span.tid, span.start_ns),
        span.start_ns,
        span.end_ns,
        place.where if place else "",
        segments,
        began_before=span.start_ns == timeline.capture.start_ns,
        ended=span.ended,
        same_chain=chain,
    )


def _spans(timeline: Timeline, targets: Targets, min_ns: int, since_ns: int) -> Iterator[_Span]:
    """The spans in which tasks did not run, by task and time."""
    capture = timeline.capture
    for tid in timeline.tids():
        if not tid or not targets.include(capture, tid):
            continue
        rows = timeline.states.of(tid)
        if not len(rows):
            continue
        runs = rows[rows["state"] == RUNS]
        starts = np.append(capture.start_ns, runs["end_ns"])
        ends = np.append(runs["start_ns"], capture.end_ns)
        for index in np.flatnonzero((ends - starts >= min_ns) & (ends > starts) & (ends >= since_ns)).tolist():
            yield from _within(timeline, tid, int(starts[index]), int(ends[index]), min_ns)


def _within(timeline: Timeline, tid: int, start_ns: int, end_ns: int, min_ns: int) -> Iterator[_Span]:
    """The span between two runs of a task, without the time in which it did not exist; it may have ended, and begun."""
    intervals: list[Interval] = []
    for interval in timeline.between(tid, start_ns, end_ns):
        if interval.state in (ABSENT, RUNNING):
            intervals = []
            continue
        intervals.append(interval)
    if intervals and intervals[-1].end_ns - intervals[0].start_ns >= min_ns:
        yield _Span(tid, tuple(intervals), end_ns < timeline.capture.end_ns)

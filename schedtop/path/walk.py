"""The walk: from the wakeup of a late task back to what woke it, and on from there, down to what no task explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from schedtop.capture.events import BEHIND
from schedtop.path.segments import (
    BLOCKED,
    INTERRUPT,
    QUEUED,
    RUNNING,
    UNKNOWN,
    Hop,
    Segment,
)
from schedtop.path.timeline import ABSENT, Interval, Timeline
from schedtop.path.wakeups import ASKED_FOR

MOST_DEEP = 32
"""So many tasks a chain has at most. Each step goes to an earlier wakeup, so it ends anyway."""

MOST_INTERVALS = 200_000
"""So many intervals the walk of one episode looks at: about a second. What is left then is unknown."""

TOO_DEEP = f"the chain has more than {MOST_DEEP} tasks"
TOO_LONG = f"the walk has looked at {MOST_INTERVALS} intervals"
SELF_WOKEN = "the recording contradicts itself: what woke it was not running"


@dataclass(slots=True)
class Walk:
    """One walk over a timeline. `looked_at`: intervals so far."""

    timeline: Timeline
    looked_at: int = field(default=0)

    def segments(self, tid: int, start_ns: int, end_ns: int) -> Iterator[Segment]:
        """What kept a task from running in a span in which it did not: segments that follow each other and fill it."""
        return self._of_task(tid, start_ns, end_ns, end_ns + 1, ())

    def _of_task(self, tid: int, start_ns: int, end_ns: int, limit_ns: int, via: tuple[Hop, ...]) -> Iterator[Segment]:
        """The same of a task that ran at `limit_ns`: every sleep of it ended before."""
        at = start_ns
        for interval in self.timeline.between(tid, start_ns, end_ns):
            self.looked_at += 1
            if self.looked_at > MOST_INTERVALS:
                break
            yield from self._of_interval(tid, interval, limit_ns, via)
            at = interval.end_ns
        if at < end_ns:
            reason = TOO_LONG if self.looked_at > MOST_INTERVALS else "it is outside of the recording"
            yield self._plain(tid, Interval(at, end_ns, UNKNOWN, reason=reason), via)

    def _of_interval(self, tid: int, interval: Interval, limit_ns: int, via: tuple[Hop, ...]) -> Iterator[Segment]:
        if interval.state in (BLOCKED, ABSENT):
            yield from self._of_sleep(tid, interval, limit_ns, via)
            return
        found = self._plain(tid, interval, via)
        if interval.state == RUNNING:
            yield from self._of_run(interval, found)
            return
        if interval.state == QUEUED and BEHIND not in self.timeline.capture.unavailable:
            found = replace(found, behind=self.timeline.had_cpu(interval.cpu, interval.start_ns, interval.end_ns))
        yield found

    def _of_run(self, run: Interval, whole: Segment) -> Iterator[Segment]:
        """A task that ran, and then all that interrupts took from it meanwhile, by source."""
        taken = self.timeline.interruptions.during(run.cpu, run.start_ns, run.end_ns)
        left = whole.time_ns - sum(time_ns for _, time_ns in taken)
        if left:
            yield replace(whole, time_ns=left)
        at = run.start_ns + left
        for name, time_ns in taken:
            yield replace(whole, start_ns=at, time_ns=time_ns, state=INTERRUPT, where=name)
            at += time_ns

    def _of_sleep(self, tid: int, sleep: Interval, limit_ns: int, via: tuple[Hop, ...]) -> Iterator[Segment]:
        """What the task did that ended a sleep; where none did, the walk ends."""
        wakeup, leaf = sleep.wakeup, replace(self._plain(tid, sleep, via), state=UNKNOWN)
        if wakeup is None:
            yield leaf
        elif wakeup.time_ns >= limit_ns or wakeup.tid == tid:
            yield replace(leaf, reason=SELF_WOKEN)
        elif not wakeup.tid and not wakeup.source:
            yield replace(leaf, reason="what woke it is not known")
        elif not wakeup.tid:
            state = BLOCKED if wakeup.source in ASKED_FOR else INTERRUPT
            yield replace(leaf, state=state, woken_by=wakeup.words, reason="")
        elif len(via) + 1 >= MOST_DEEP:
            yield replace(leaf, reason=TOO_DEEP)
        else:
            where = leaf.where if sleep.state == BLOCKED else "not yet started"
            hop = Hop(tid, leaf.comm, where, wakeup.interrupt)
            for segment in self._of_task(wakeup.tid, sleep.start_ns, sleep.end_ns, wakeup.time_ns, (*via, hop)):
                yield replace(segment, for_work=True) if leaf.for_work else segment

    def _plain(self, tid: int, interval: Interval, via: tuple[Hop, ...]) -> Segment:
        name = self.timeline.name(tid, interval.start_ns)
        length = interval.end_ns - interval.start_ns
        where = interval.place.where if interval.place else ""
        for_work = not via and bool(interval.place and interval.place.for_work)
        state, reason = interval.state, interval.reason
        return Segment(interval.start_ns, length, state, tid, name, where, via=via, reason=reason, for_work=for_work)


def same_chain(timeline: Timeline, tid: int, since_ns: int, wakeup_ns: int, waker: int) -> bool:
    """Whether what woke a task ran because of it: had been woken by it since `since_ns`, directly or through others."""
    at_ns = wakeup_ns
    for _ in range(MOST_DEEP):
        earlier = timeline.wakeups.last(waker, at_ns)
        if earlier is None or not earlier.tid or earlier.time_ns < since_ns:
            return False
        if earlier.tid == tid:
            return True
        waker, at_ns = earlier.tid, earlier.time_ns
    return False

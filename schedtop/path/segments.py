"""What a path consists of: segments of an episode, and the tasks between them and the task that was late."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

RUNNING, QUEUED, THROTTLED, BLOCKED = "running", "queued", "throttled", "blocked"
INTERRUPT, UNKNOWN = "interrupt", "unknown"

STATES = (RUNNING, QUEUED, THROTTLED, BLOCKED, INTERRUPT, UNKNOWN)
"""What a task did in a segment. `blocked`: until something that it had asked for itself (a timer, a disk) came;
`interrupt`: until an interrupt brought what it waited for from outside; in both the walk ends. `interrupt` that nothing
ended (`woken_by` is empty): an interrupt had the CPU of a task that ran. `unknown`: `reason`."""

IDLE_TID, UNKNOWN_TID, INTERRUPT_TID = 0, -1, -2
"""What had the CPU for which a task was queued: nothing; it is not known; an interrupt."""


@dataclass(frozen=True, slots=True)
class Behind:
    """What had the CPU for `time_ns` while a task was queued for it."""

    tid: int
    comm: str
    time_ns: int


@dataclass(frozen=True, slots=True)
class Hop:
    """A task that was blocked in `where` until the next one, further down, woke it.

    `woken_in`: the softirq in which ksoftirqd did that, where interrupts were timed.
    """

    tid: int
    comm: str
    where: str
    woken_in: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an episode: what the task at the end of `via` was waiting for did then.

    `via`: from the late task on; empty: it is the late task itself. `behind`: of a queued one, most time first; the
    times add up to `time_ns`. `woken_by`: what ended a blocked one (`timer`, `disk`, ...). `reason`: why it is unknown.
    `for_work`: the late task merely waited for work to do.
    """

    start_ns: int
    time_ns: int
    state: str
    tid: int
    comm: str
    where: str = ""
    behind: tuple[Behind, ...] = ()
    via: tuple[Hop, ...] = ()
    woken_by: str = ""
    reason: str = ""
    for_work: bool = False

    @property
    def end_ns(self) -> int:
        """When it ends."""
        return self.start_ns + self.time_ns

    @property
    def kind(self) -> tuple[object, ...]:
        """What two segments have in common that are one if they follow each other."""
        return (self.state, self.tid, self.comm, self.where, self.via, self.woken_by, self.reason, self.for_work)


@dataclass(frozen=True, slots=True)
class Episode:
    """A span in which a task did not run, from `start_ns` to `end_ns`; its segments, in the order of time, add up.

    `where`: where it was blocked first, empty: it was not. `began_before`: it is longer than what was recorded of it.
    `ended`: it ran again; otherwise it was still waiting when the recording ended. `same_chain`: what woke it had
    itself been woken by it, directly or through others, since it last ran; `None`: no task woke it.
    """

    tid: int
    tgid: int
    comm: str
    start_ns: int
    end_ns: int
    where: str
    segments: tuple[Segment, ...]
    began_before: bool = False
    ended: bool = True
    same_chain: bool | None = None

    @property
    def length_ns(self) -> int:
        """How long it is: the sum of its segments."""
        return self.end_ns - self.start_ns

    @property
    def late_ns(self) -> int:
        """How much of it was more than waiting for work."""
        return sum(segment.time_ns for segment in self.segments if not segment.for_work)


def joined(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Segments in the order of time, those that follow each other and say the same made one."""
    found: list[Segment] = []
    group: list[Segment] = []
    for segment in segments:
        if group and group[-1].kind != segment.kind:
            found.append(_one(group))
            group = []
        group.append(segment)
    return (*found, *([_one(group)] if group else ()))


def _one(group: list[Segment]) -> Segment:
    first = group[0]
    if len(group) == 1:
        return first
    behind = summed(part for segment in group for part in segment.behind)
    time_ns = sum(segment.time_ns for segment in group)
    return Segment(
        first.start_ns, time_ns, first.state, first.tid, first.comm, first.where, behind, first.via, first.woken_by,
        first.reason, first.for_work,
    )  # fmt: skip


def summed(parts: Iterable[Behind]) -> tuple[Behind, ...]:
    """What had the CPU, each task once, most time first."""
    times: dict[tuple[int, str], int] = {}
    for part in parts:
        key = (part.tid, part.comm)
        times[key] = times.get(key, 0) + part.time_ns
    ordered = sorted(times.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Behind(tid, comm, time_ns) for (tid, comm), time_ns in ordered)

"""Priority inversion, as episodes show it: what holds a lock has no CPU, and what has that CPU is no more urgent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from schedtop.base.units import format_ns, printable
from schedtop.capture.events import SWITCH, Capture
from schedtop.model.rows import rows_where
from schedtop.path.profile import Task, Tids
from schedtop.path.remedy import Remedy, remedy
from schedtop.path.segments import QUEUED, Behind, Episode, Segment, summed
from schedtop.path.traits import Traits

LEAST_SHARE = 0.25
"""Of the time that the late tasks were late. Less is one cause among others."""

NOTABLE_SHARE = 0.1
"""Of that time: tasks that had the CPU for less are not counted in the headline."""

LOCKS = frozenset(("futex", "mutex", "rwsem", "semaphore", "file lock"))
"""Places in which a task waits for what another one holds."""

UNCERTAIN = frozenset(("futex", "semaphore"))
"""With these a task may also wait for a condition, which nothing holds."""

MOST_PAIRS = 500
"""So many pairs of a late task and a holder are kept; more are left out, which only makes the claim rarer."""

Urgency = Callable[[int], int | None]
"""The kernel's `prio` of a task (0..139, less is more urgent, 120 is nice 0); `None`: not known."""


@dataclass(frozen=True, slots=True)
class Inversion:
    """`holder` holds what `late` waits for (`through`: by way of these), and was queued meanwhile for `time_ns`, behind
    tasks that are no more urgent than `late`: `behind`, most time first. `late_ns`: how long all late tasks were late.
    `traits`: how the scheduler is told to treat them, by tid; `online`: the CPUs that there are, if that was asked.
    """

    late: Task
    holder: Task
    through: tuple[str, ...]
    where: str
    behind: tuple[Behind, ...]
    time_ns: int
    late_ns: int
    episodes: int
    traits: Mapping[int, Traits] = field(default_factory=dict)
    online: tuple[int, ...] = ()

    @property
    def share(self) -> float:
        """Its part of the time that the tasks were late, 0..1."""
        return self.time_ns / self.late_ns

    @property
    def tids(self) -> tuple[int, ...]:
        """The tasks of which it is worth knowing how they are scheduled."""
        known = (self.late.tid, self.holder.tid, self.behind[0].tid)
        return tuple(tid for tid in known if tid is not None)

    @property
    def headline(self) -> str:
        """In one sentence, without how much it is."""
        first = self.behind[0]
        late, holder = (self._named(task.comm, task.tid) for task in (self.late, self.holder))
        others = sum(part.time_ns >= NOTABLE_SHARE * self.time_ns for part in self.behind[1:])
        more = f" and {others} more" if others else ""
        through = f" (through {printable(', '.join(self.through))})" if self.through else ""
        behind = self._named(first.comm, first.tid)
        return (
            f"Priority inversion: {holder} holds what {late} waits for{through}, and is itself queued behind "
            f"{behind}{more}"
        )

    @property
    def evidence(self) -> tuple[str, ...]:
        """How one knows, the most important first."""
        share = f"{self.share * 100:.0f} % of {format_ns(self.late_ns)}"
        found = [
            f"{printable(self.holder.comm)} was ready to run and had no CPU for {share}, in {self.episodes} "
            f"{'episode' if self.episodes == 1 else 'episodes'} in which {printable(self.late.comm)} was blocked in "
            f"{printable(self.where)}"
        ]
        parts = [f"{printable(part.comm)} for {format_ns(part.time_ns)}" for part in self.behind[:3]]
        found.append(f"no more urgent than {printable(self.late.comm)}, and had that CPU: {', '.join(parts)}")
        if _place(self.where) in UNCERTAIN:
            holder = printable(self.holder.comm)
            found.append(f"a {_place(self.where)} may be a condition: then {holder} holds nothing, but is to signal it")
        return tuple(found)

    @property
    def action(self) -> str:
        """What to do about it, with the command in it."""
        found = self._remedy
        return f"{found.reason}, or use a lock with priority inheritance: {found.command}"

    @property
    def command(self) -> str:
        """The part of `action` that can be typed."""
        return self._remedy.command

    @property
    def _remedy(self) -> Remedy:
        return remedy(self.late, self.holder, self.behind, self.traits, self.online)

    def _named(self, comm: str, tid: int | None) -> str:
        traits = self.traits.get(tid) if tid is not None else None
        return printable(comm) + (f" ({traits.words})" if traits and traits.words else "")


@dataclass(slots=True)
class _Pair:
    late: Tids = field(default_factory=Tids)
    holders: Tids = field(default_factory=Tids)
    behind: tuple[Behind, ...] = ()
    time_ns: int = 0
    episodes: int = 0
    last: int = -1


class Inversions:
    """Adds up what episodes show of them."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str, tuple[str, ...], str], _Pair] = {}
        self._late_ns = 0
        self._episodes = 0

    def add(self, episode: Episode, urgency: Urgency) -> None:
        """One more episode."""
        self._late_ns += episode.late_ns
        self._episodes += 1
        # What woke it had been woken by it: a request and its answer, and no lock.
        if episode.same_chain:
            return
        own = urgency(episode.tid)
        for segment in episode.segments:
            if own is not None and _is_held_up(segment):
                self._add(episode, segment, [part for part in segment.behind if _counts(part, segment, own, urgency)])

    def _add(self, episode: Episode, segment: Segment, behind: list[Behind]) -> None:
        through = tuple(hop.comm for hop in segment.via[1:])
        key = (episode.comm, segment.comm, through, segment.via[0].where)
        if not behind or (key not in self._pairs and len(self._pairs) >= MOST_PAIRS):
            return
        pair = self._pairs.setdefault(key, _Pair())
        pair.late.add(episode.tid)
        pair.holders.add(segment.tid)
        pair.behind = summed([*pair.behind, *behind])[:MOST_PAIRS]
        pair.time_ns += sum(part.time_ns for part in behind)
        pair.episodes += pair.last != self._episodes
        pair.last = self._episodes

    @property
    def found(self) -> Inversion | None:
        """The one that cost most, if that was LEAST_SHARE of the time or more; `None`: there is none."""
        if not self._pairs or not self._late_ns:
            return None
        (late, holder, through, where), pair = max(self._pairs.items(), key=lambda item: item[1].time_ns)
        if pair.time_ns < LEAST_SHARE * self._late_ns:
            return None
        return Inversion(
            Task(late, pair.late.one), Task(holder, pair.holders.one), through, where, pair.behind, pair.time_ns,
            self._late_ns, pair.episodes,
        )  # fmt: skip


def urgencies(capture: Capture) -> Urgency:
    """Those of the tasks of a capture, as they were last seen to switch."""
    switches = rows_where(capture.events, capture.events["kind"] == SWITCH)
    known: dict[int, int | None] = {}

    def urgency(tid: int) -> int | None:
        if tid not in known:
            left, came = switches[switches["tid"] == tid][-1:], switches[switches["other_tid"] == tid][-1:]
            known[tid] = int(left["prio"][0]) if len(left) else int(came["other_prio"][0]) if len(came) else None
        return known[tid]

    return urgency


def _is_held_up(segment: Segment) -> bool:
    """Whether the holder of a lock had no CPU in it, and all tasks up to the late one waited for locks."""
    return (
        segment.state == QUEUED
        and not segment.for_work
        and bool(segment.via)
        and all(_place(hop.where) in LOCKS for hop in segment.via)
    )


def _counts(part: Behind, segment: Segment, own: int, urgency: Urgency) -> bool:
    """Whether it is a task beside the chain, and no more urgent than the late one: that would go first anyway."""
    if part.tid <= 0 or part.tid == segment.tid or part.tid in {hop.tid for hop in segment.via}:
        return False
    other = urgency(part.tid)
    return other is not None and other >= own


def _place(where: str) -> str:
    """The place in `flock: file lock`."""
    return where.rpartition(": ")[2]

"""The path of some tasks while it goes on: all episodes so far added up, the worst and the latest of them as trees."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from schedtop.base.breath import keep_on
from schedtop.capture.events import Capture, Lost
from schedtop.model.host import Host
from schedtop.path.inversion import Inversion, Inversions, urgencies
from schedtop.path.paths import Paths, Sum
from schedtop.path.segments import Episode
from schedtop.path.summary import Summary, Summing
from schedtop.path.tree import Tree, tree_of
from schedtop.path.words import segment_words

KEPT_EPISODES = 20
"""So many of the worst, and of the latest, are kept."""

MOST_UNDER_WAY = 5

_NONE = Sum()


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What a task has been doing for `time_ns`, at least, and did not end yet; what would end it is not known."""

    tid: int
    comm: str
    words: str
    time_ns: int
    for_work: bool


@dataclass(frozen=True, slots=True)
class PathLoss:
    """What is missing since the start: events, stacks (apart: refused by the kernel), interrupts where they are noted,
    episodes for which there was no time, spans of which nothing is known, and time that was not looked at because
    events came faster."""

    events: int = 0
    in_interrupts: int = 0
    stacks: int = 0
    refused: int = 0
    not_walked: Sum = _NONE
    unclear: Sum = _NONE
    unseen_ns: int = 0
    interrupts: int = 0

    @property
    def words(self) -> list[str]:
        """What there is of it, the most important first."""
        found = [f"{self.events:,} events"] if self.events else []
        found += [f"{self.unseen_ns / 1e9:.1f} s in which there were too many"] if self.unseen_ns else []
        found += [f"{self.not_walked.count} episodes for lack of time"] if self.not_walked.count else []
        found += [f"{self.unclear.count} spans unclear"] if self.unclear.count else []
        found += [f"{self.in_interrupts:,} events in interrupts"] if self.in_interrupts else []
        found += [f"{self.interrupts:,} interrupts"] if self.interrupts else []
        found += [f"{self.stacks:,} stacks"] if self.stacks else []
        found += [f"{self.refused:,} stacks that this kernel does not provide"] if self.refused else []
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PathFrame:
    """All since the start. `end_ns`: CLOCK_MONOTONIC, until when; `kept_ns`: how far back it could look at the end;
    `ended`: the task, or all of the process, is gone; `seen`: something of it was seen at all."""

    host: Host
    start_time_ns: int
    duration_ns: int
    end_ns: int
    min_ns: int
    kept_ns: int
    summary: Summary
    inversion: Inversion | None
    worst: tuple[Tree, ...]
    latest: tuple[Tree, ...]
    under_way: tuple[UnderWay, ...]
    loss: PathLoss
    notes: tuple[str, ...] = ()
    seen: bool = True
    ended: bool = False

    def missing(self, _part: str) -> str:
        """Nothing that a pane needs is ever missing."""
        return ""


class PathSource(Protocol):
    """Where PathFrames come from. A context manager, opened and used by one thread; closing it detaches.

    Opening raises SourceError with one sentence for the user.
    """

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: Any) -> None: ...

    def frames(self, stop: threading.Event) -> Iterator[PathFrame]:
        """Each second all since the start; ends soon when `stop` is set."""
        ...


class PathLog:
    """Adds up the episodes of Paths that follow each other. Of one thread."""

    def __init__(self, scope: str) -> None:
        self._summing = Summing(scope)
        self._inversions = Inversions()
        self._worst: list[tuple[int, int, Tree]] = []
        self._latest: deque[Tree] = deque(maxlen=KEPT_EPISODES)
        self._loss = PathLoss()
        self._count = 0
        self._seen = False

    @property
    def inversion(self) -> Inversion | None:
        """That of all episodes so far, without traits."""
        return self._inversions.found

    def add(
        self,
        paths: Paths,
        unseen_ns: int = 0,
        lost: Lost | None = None,
        breathe: Callable[[], object] = keep_on,
    ) -> None:
        """Takes the episodes that have ended since the last time. Of `unseen_ns` before them nothing is known.

        `lost`: since the start; `None`: what the capture lost, which then began there. `breathe` is called in between.
        """
        capture, urgency = paths.capture, urgencies(paths.capture)
        done = sorted((one for one in paths.episodes if one.ended), key=lambda one: one.end_ns)
        for episode in done:
            self._summing.add(episode)
            self._inversions.add(episode, urgency)
            breathe()
        self._keep([one for one in done if one.late_ns], capture, breathe)
        self._seen = self._seen or bool(paths.episodes) or bool(paths.still_blocked)
        lost = lost or capture.all_lost
        self._loss = PathLoss(
            lost.events,
            lost.in_interrupts,
            lost.stacks,
            lost.refused,
            self._loss.not_walked + paths.not_walked,
            self._loss.unclear + paths.unclear,
            self._loss.unseen_ns + unseen_ns,
            max(self._loss.interrupts, capture.lost_interrupts),
        )

    def _keep(self, late: Sequence[Episode], capture: Capture, breathe: Callable[[], object]) -> None:
        """The worst and the latest of them; only of these trees are made."""
        for left, episode in zip(range(len(late), 0, -1), late, strict=True):
            self._count += 1
            is_worst = len(self._worst) < KEPT_EPISODES or episode.late_ns > self._worst[0][0]
            if not is_worst and left > KEPT_EPISODES:
                continue
            tree = tree_of(episode, _wall_time(capture, episode.start_ns))
            breathe()
            if left <= KEPT_EPISODES:
                self._latest.appendleft(tree)
            item = (tree.late_ns, -self._count, tree)
            if len(self._worst) < KEPT_EPISODES:
                heapq.heappush(self._worst, item)
            elif is_worst:
                heapq.heappushpop(self._worst, item)

    def frame(self, paths: Paths, start_ns: int, inversion: Inversion | None, notes: tuple[str, ...]) -> PathFrame:
        """All so far; `paths`: the last ones."""
        capture = paths.capture
        return PathFrame(
            host=capture.host,
            start_time_ns=_wall_time(capture, start_ns),
            duration_ns=capture.end_ns - start_ns,
            end_ns=capture.end_ns,
            min_ns=paths.min_ns,
            kept_ns=capture.end_ns - capture.start_ns,
            summary=self._summing.summary,
            inversion=inversion,
            worst=tuple(tree for *_, tree in sorted(self._worst, reverse=True)),
            latest=tuple(self._latest),
            under_way=_under_way(paths),
            loss=self._loss,
            notes=notes,
            seen=self._seen,
        )


def ended(frame: PathFrame) -> PathFrame:
    """The same, of what is gone."""
    return replace(frame, ended=True, under_way=())


def _wall_time(capture: Capture, time_ns: int) -> int:
    return time_ns - capture.clocks.monotonic_ns + capture.clocks.realtime_ns


def _under_way(paths: Paths) -> tuple[UnderWay, ...]:
    """What has not ended, the longest first, what merely waits for work last."""
    found = [
        UnderWay(one.tid, one.comm, f"blocked in {one.where}" if one.where else "blocked", one.time_ns, one.for_work)
        for one in paths.still_blocked
    ]
    found += [UnderWay(one.tid, one.comm, _doing(one), one.length_ns, False) for one in paths.episodes if not one.ended]
    found.sort(key=lambda one: (one.for_work, -one.time_ns, one.tid))
    return tuple(found[:MOST_UNDER_WAY])


def _doing(episode: Episode) -> str:
    return segment_words(episode.segments[-1])

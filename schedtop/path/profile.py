"""Where the time of all episodes went: by task, what it did, and what it was queued behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from schedtop.path.segments import Behind, Episode, Segment

MOST_ROWS = 2000
"""So many are kept apart; what else there is becomes a row for each state, of `OTHERS`."""

OTHERS = "other tasks"


@dataclass(frozen=True, slots=True)
class Task:
    """Tasks of one name. `tid`: if it is one; `None`: several, or it is not known."""

    comm: str
    tid: int | None


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """Segments that have all this in common; `late`: the late task itself did that, and not one that it waited for."""

    task: Task
    late: bool
    state: str
    behind: Task | None
    where: str
    woken_by: str
    reason: str
    for_work: bool
    time_ns: int
    episodes: int


@dataclass(slots=True)
class Tids:
    """Whether it is always the same task: the first two numbers say it."""

    _some: set[int] = field(default_factory=set)

    def add(self, tid: int) -> None:
        """One more."""
        if len(self._some) < 2:
            self._some.add(tid)

    @property
    def one(self) -> int | None:
        """The only one; `None`: several, or it is not known."""
        return next(iter(self._some)) if len(self._some) == 1 and min(self._some) >= 0 else None


@dataclass(slots=True)
class _Row:
    time_ns: int = 0
    tids: Tids = field(default_factory=Tids)
    behind_tids: Tids = field(default_factory=Tids)
    episodes: int = 0
    last: int = -1


_Key = tuple[str, bool, str, str | None, str, str, str, bool]


class Profile:
    """Adds up episodes, in bounded memory."""

    def __init__(self) -> None:
        self._rows: dict[_Key, _Row] = {}
        self._episodes = 0

    def add(self, episode: Episode) -> None:
        """One more."""
        self._episodes += 1
        for segment in episode.segments:
            for behind, time_ns in _parts(segment):
                self._add(segment, behind, time_ns)

    def _add(self, segment: Segment, behind: Behind | None, time_ns: int) -> None:
        key: _Key = (
            segment.comm, not segment.via, segment.state, behind.comm if behind else None, segment.where,
            segment.woken_by, segment.reason, segment.for_work,
        )  # fmt: skip
        if key not in self._rows and len(self._rows) >= MOST_ROWS:
            key = (OTHERS, not segment.via, segment.state, None, "", "", "", segment.for_work)
        row = self._rows.setdefault(key, _Row())
        row.time_ns += time_ns
        row.tids.add(segment.tid)
        if behind:
            row.behind_tids.add(behind.tid)
        row.episodes += row.last != self._episodes
        row.last = self._episodes

    def rows(self) -> tuple[ProfileRow, ...]:
        """The rows, most time first. Their times add up to the lengths of the episodes."""
        found = [
            ProfileRow(
                Task(comm, row.tids.one), late, state, None if behind is None else Task(behind, row.behind_tids.one),
                where, woken_by, reason, for_work, row.time_ns, row.episodes,
            )
            for (comm, late, state, behind, where, woken_by, reason, for_work), row in self._rows.items()
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda row: (-row.time_ns, row.task.comm, row.state, row.where, row.reason)))


def profile(episodes: Iterable[Episode]) -> tuple[ProfileRow, ...]:
    """The rows of some episodes."""
    found = Profile()
    for episode in episodes:
        found.add(episode)
    return found.rows()


def _parts(segment: Segment) -> Iterator[tuple[Behind | None, int]]:
    """A queued segment by what it was queued behind, any other as it is."""
    if not segment.behind:
        yield None, segment.time_ns
    for behind in segment.behind:
        yield behind, behind.time_ns

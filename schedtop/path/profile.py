"""Where the time of all episodes went: by task, what it did, and what it was queued behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schedtop.path.segments import Behind, Episode, Segment


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
class _Row:
    time_ns: int
    tids: set[int]
    behind_tids: set[int]
    episodes: set[int]


def profile(episodes: Iterable[Episode]) -> tuple[ProfileRow, ...]:
    """The rows, most time first. Their times add up to the lengths of the episodes."""
    rows: dict[tuple[str, bool, str, str | None, str, str, str, bool], _Row] = {}
    for number, episode in enumerate(episodes):
        for segment in episode.segments:
            for behind, time_ns in _parts(segment):
                key = (
                    segment.comm, not segment.via, segment.state, behind.comm if behind else None, segment.where,
                    segment.woken_by, segment.reason, segment.for_work,
                )  # fmt: skip
                row = rows.setdefault(key, _Row(0, set(), set(), set()))
                row.time_ns += time_ns
                row.tids.add(segment.tid)
                row.behind_tids |= {behind.tid} if behind else set()
                row.episodes.add(number)
    found = [
        ProfileRow(
            Task(comm, _one(row.tids)), late, state, None if behind is None else Task(behind, _one(row.behind_tids)),
            where, woken_by, reason, for_work, row.time_ns, len(row.episodes),
        )
        for (comm, late, state, behind, where, woken_by, reason, for_work), row in rows.items()
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda row: (-row.time_ns, row.task.comm, row.state, row.where, row.reason)))


def _parts(segment: Segment) -> Iterator[tuple[Behind | None, int]]:
    """A queued segment by what it was queued behind, any other as it is."""
    if not segment.behind:
        yield None, segment.time_ns
    for behind in segment.behind:
        yield behind, behind.time_ns


def _one(tids: set[int]) -> int | None:
    return next(iter(tids)) if len(tids) == 1 and min(tids) >= 0 else None

"""All episodes together, as far as they are told in a sentence and a profile."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop.path.paths import Paths
from schedtop.path.profile import Profile, ProfileRow
from schedtop.path.segments import Episode


@dataclass(frozen=True, slots=True)
class Summary:
    """Of which tasks (`scope`: as it was asked for), how many episodes, and their profile.

    `late_episodes`: those that are not all waiting for work. `woken`: those that a task ended; in `same_chain` of them
    it had itself been woken by the late task.
    """

    comms: frozenset[str]
    tids: frozenset[int]
    scope: str
    rows: tuple[ProfileRow, ...]
    episodes: int
    late_episodes: int
    woken: int
    same_chain: int

    @property
    def late_ns(self) -> int:
        """How long the tasks were late."""
        return sum(row.time_ns for row in self.rows if not row.for_work)


class Summing:
    """Adds up episodes."""

    def __init__(self, scope: str) -> None:
        self._scope = scope
        self._profile = Profile()
        self._comms: set[str] = set()
        self._tids: set[int] = set()
        self._counts = [0, 0, 0, 0]

    def add(self, episode: Episode) -> None:
        """One more."""
        self._profile.add(episode)
        self._comms.add(episode.comm)
        self._tids.add(episode.tid)
        is_late = any(not segment.for_work for segment in episode.segments)
        for index, holds in enumerate((True, is_late, episode.same_chain is not None, bool(episode.same_chain))):
            self._counts[index] += holds

    @property
    def summary(self) -> Summary:
        """So far."""
        return Summary(frozenset(self._comms), frozenset(self._tids), self._scope, self._profile.rows(), *self._counts)


def summary_of(paths: Paths) -> Summary:
    """That of a recording."""
    found = Summing(paths.targets.words)
    for episode in paths.episodes:
        found.add(episode)
    return found.summary

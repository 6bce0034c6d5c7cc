"""The paths of chosen tasks as tracks of a trace: an episode, in it what its task waited for, down to the segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from schedtop.base.units import format_ns
from schedtop.path.paths import Paths
from schedtop.path.segments import Episode, Hop, Segment
from schedtop.path.words import does

Value = int | str | bool


@dataclass(frozen=True, slots=True)
class Bar:
    """A slice of a track. Those `inner` lie within it, follow each other, and fill it."""

    start_ns: int
    end_ns: int
    name: str
    details: Mapping[str, Value] = field(default_factory=dict)
    inner: tuple[Bar, ...] = ()

    def flat(self) -> Iterator[Bar]:
        """It and all within, each before those that it holds."""
        yield self
        for bar in self.inner:
            yield from bar.flat()


@dataclass(frozen=True, slots=True)
class Track:
    """The episodes of one task, in the order of time."""

    tid: int
    name: str
    bars: tuple[Bar, ...]


def path_tracks(paths: Paths) -> tuple[Track, ...]:
    """A track for each task that has episodes."""
    found: dict[int, list[Episode]] = {}
    for episode in sorted(paths.episodes, key=lambda episode: (episode.tid, episode.start_ns)):
        found.setdefault(episode.tid, []).append(episode)
    return tuple(
        Track(tid, f"path of {episodes[-1].comm} ({tid})", tuple(map(_episode, episodes)))
        for tid, episodes in found.items()
    )


def _episode(episode: Episode) -> Bar:
    late = f"late by {format_ns(episode.late_ns)}" if episode.late_ns else "waits for work"
    details: dict[str, Value] = {"late_ns": episode.late_ns, "where": episode.where}
    if episode.same_chain is not None:
        details["same_chain"] = episode.same_chain
    return Bar(episode.start_ns, episode.end_ns, late, details, tuple(_bars(episode.segments, 0)))


def _bars(segments: Iterable[Segment], depth: int) -> Iterator[Bar]:
    """Segments that follow each other: as they are, or within the task that waited for them."""
    for hop, group in groupby(segments, key=lambda one: one.via[depth] if len(one.via) > depth else None):
        if hop is None:
            yield from map(_leaf, group)
        else:
            yield _hop(hop, tuple(_bars(group, depth + 1)))


def _hop(hop: Hop, inner: tuple[Bar, ...]) -> Bar:
    name = f"{hop.comm} blocked in {hop.where}" if hop.where else f"{hop.comm} blocked"
    return Bar(inner[0].start_ns, inner[-1].end_ns, name, {"tid": hop.tid}, inner)


def _leaf(segment: Segment) -> Bar:
    behind = segment.behind[0].comm if segment.behind else None
    words = does(segment.state, behind, segment.where, segment.woken_by, segment.reason, segment.comm)
    details: dict[str, Value] = {"tid": segment.tid, "state": segment.state}
    if segment.behind:
        details["behind"] = ", ".join(f"{part.comm} {format_ns(part.time_ns)}" for part in segment.behind)
    return Bar(segment.start_ns, segment.end_ns, f"{segment.comm} {words}", details)

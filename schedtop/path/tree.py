"""An episode as a tree: each task under the one that it woke, with the times at which it did what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from schedtop.base.units import format_ns
from schedtop.path.segments import Episode, Hop, Segment, summed
from schedtop.path.words import hop_words, segment_words

MOST_LINES = 24
"""Of one episode; what else there is becomes one line."""

MOST_EDGES = 241
"""An episode is cut into so many pieces at most, and one more edge, for bars of any width."""

Edges = npt.NDArray[np.float64]


def told_together(segments: Sequence[Segment]) -> list[tuple[Segment, int]]:
    """Segments that follow each other on one path, those of a kind added up where they take turns; and how many."""
    found: list[tuple[Segment, int]] = []
    for _, path in groupby(segments, key=lambda segment: segment.via):
        kinds: dict[tuple[object, ...], list[Segment]] = {}
        for segment in path:
            kinds.setdefault(segment.kind, []).append(segment)
        found += [(_as_one(group), len(group)) for group in kinds.values()]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class TreeLine:
    """What a task did for `time_ns` of an episode, behind `guide` lines of the tree. `state`: one of STATES, empty: it
    was blocked until the task on the lines below woke it. `edges`: how much of that had passed at equal distances of
    the episode, from its start to its end, 0..1 of the episode."""

    guide: str
    state: str
    words: str
    time_ns: int
    edges: Edges

    def coverage(self, cells: int) -> npt.NDArray[np.float64]:
        """How much of each of so many equal parts of the episode it has, 0..1."""
        at = np.interp(np.linspace(0, 1, cells + 1), np.linspace(0, 1, len(self.edges)), self.edges)
        return np.clip(np.diff(at) * cells, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """An episode and its lines. `start_time_ns`: its start by wall clock."""

    tid: int
    comm: str
    where: str
    start_time_ns: int
    length_ns: int
    late_ns: int
    began_before: bool
    lines: tuple[TreeLine, ...]


@dataclass(slots=True)
class _Node:
    """What a task did, and under it what it waited for, each in the order in which it came first."""

    segments: dict[tuple[object, ...], list[Segment]] = field(default_factory=dict)
    below: dict[tuple[Hop, int, str], _Node] = field(default_factory=dict)
    start_ns: int = -1

    def add(self, segment: Segment, depth: int = 0) -> None:
        if self.start_ns < 0:
            self.start_ns = segment.start_ns
        if depth == len(segment.via):
            self.segments.setdefault(segment.kind, []).append(segment)
            return
        hop = segment.via[depth]
        following = segment.via[depth + 1] if depth + 1 < len(segment.via) else segment
        self.below.setdefault((hop, following.tid, following.comm), _Node()).add(segment, depth + 1)

    def every(self) -> Iterator[Segment]:
        """All segments at it and below."""
        for group in self.segments.values():
            yield from group
        for node in self.below.values():
            yield from node.every()


def tree_of(episode: Episode, start_time_ns: int) -> Tree:
    """The tree of an episode; `start_time_ns`: when it began by wall clock."""
    root = _Node()
    for segment in episode.segments:
        root.add(segment)
    lines = [*_lines(episode, root, "")]
    if len(lines) > MOST_LINES:
        # A parent has the time of what is below it: only leaves add up.
        left = [line for line in lines[MOST_LINES:] if line.state]
        edges = np.sum([line.edges for line in left], axis=0) if left else lines[-1].edges
        time_ns = sum(line.time_ns for line in left)
        lines = [*lines[:MOST_LINES], TreeLine("", "unknown", f"in {len(left)} more lines", time_ns, edges)]
    return Tree(
        episode.tid, episode.comm, episode.where, start_time_ns, episode.length_ns, episode.late_ns,
        episode.began_before, tuple(lines),
    )  # fmt: skip


def _lines(episode: Episode, node: _Node, guide: str) -> Iterator[TreeLine]:
    """The lines of a node and of all below it, in the order of time."""
    parts: list[tuple[int, object]] = [(group[0].start_ns, group) for group in node.segments.values()]
    parts += [(below.start_ns, key) for key, below in node.below.items()]
    parts.sort(key=lambda part: part[0])
    for index, (_, part) in enumerate(parts):
        is_last = index == len(parts) - 1
        branch = guide + ("└ " if is_last else "├ ")
        if isinstance(part, list):
            often = f", {len(part)} times" if len(part) > 1 else ""
            yield _line(episode, branch, part[0].state, segment_words(_as_one(part)) + often, part)
            continue
        assert isinstance(part, tuple)
        hop, tid, comm = part
        below = node.below[part]
        yield _line(episode, branch, "", hop_words(hop, f"{comm} ({tid})"), sorted(below.every(), key=_start))
        yield from _lines(episode, below, guide + ("  " if is_last else "│ "))


def _start(segment: Segment) -> int:
    return segment.start_ns


def _line(episode: Episode, guide: str, state: str, words: str, segments: Sequence[Segment]) -> TreeLine:
    starts = np.array([segment.start_ns for segment in segments], np.float64) - episode.start_ns
    times = np.array([segment.time_ns for segment in segments], np.float64)
    passed = np.concatenate(([0.0], np.cumsum(times)))
    at = np.stack((starts, starts + times), axis=1).ravel()
    done = np.stack((passed[:-1], passed[1:]), axis=1).ravel()
    whole = max(1, episode.length_ns)
    edges = np.interp(np.linspace(0, whole, MOST_EDGES), at, done, left=0.0) / whole
    return TreeLine(guide, state, words, int(times.sum()), edges)


def _as_one(group: Iterable[Segment]) -> Segment:
    segments = list(group)
    behind = summed(part for segment in segments for part in segment.behind)
    return replace(segments[0], time_ns=sum(segment.time_ns for segment in segments), behind=behind)


def tree_words(tree: Tree) -> str:
    """What an episode is, in words."""
    parts = [f"{tree.comm} ({tree.tid})", f"blocked in {tree.where}" if tree.where else ""]
    parts += [f"{format_ns(tree.late_ns)} of it late"] if tree.late_ns < tree.length_ns else []
    parts += ["longer than what is kept"] if tree.began_before else []
    return ", ".join(filter(None, parts))

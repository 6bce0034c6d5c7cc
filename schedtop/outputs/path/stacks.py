"""The path across tasks as folded lines, or a flame graph: each task stands on the one that waited for it."""

from __future__ import annotations

from collections.abc import Iterator

from schedtop.base.units import NS_PER_US, printable
from schedtop.outputs.path.document import about
from schedtop.outputs.path.words import origin, trouble
from schedtop.path.paths import Paths
from schedtop.path.segments import Hop, Segment
from schedtop.path.words import does


def to_folded(paths: Paths) -> str:
    """A line for each path, in microseconds, as flamegraph.pl reads them: nothing else has a place there."""
    sums: dict[str, int] = {}
    for stack, time_ns in _stacks(paths):
        line = ";".join(name.replace(";", ",") for name in stack)
        sums[line] = sums.get(line, 0) + time_ns
    return "".join(f"{printable(line)} {time_ns // NS_PER_US}\n" for line, time_ns in sorted(sums.items()))


def to_svg(paths: Paths) -> str:
    """The flame graph: the late task below, what it waited for above it."""
    # Late: it brings the templates, which the other formats need not wait for.
    from schedtop.outputs.flame import flame_svg

    lines = ["  ".join(origin(paths)), *trouble(paths)]
    return flame_svg(_stacks(paths), title="Paths across tasks", subtitle=lines, unit="ns", about=about(paths))


def _stacks(paths: Paths) -> Iterator[tuple[tuple[str, ...], int]]:
    for episode in paths.episodes:
        for segment in episode.segments:
            below = tuple(name for hop in segment.via for name in (hop.comm, _place(hop)))
            for leaf, time_ns in _leaves(segment):
                yield (*below, segment.comm, f"[{leaf}]"), time_ns


def _place(hop: Hop) -> str:
    place = f"blocked in {hop.where}" if hop.where else "blocked"
    return f"[{place}, until {hop.woken_in}]" if hop.woken_in else f"[{place}]"


def _leaves(segment: Segment) -> Iterator[tuple[str, int]]:
    """A queued segment by what it was queued behind, any other as it is."""
    if not segment.behind:
        yield does(segment.state, None, segment.where, segment.woken_by, segment.reason), segment.time_ns
    for part in segment.behind:
        yield does(segment.state, part.comm, "", "", ""), part.time_ns

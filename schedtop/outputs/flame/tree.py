"""Folded stacks as the frames of a flame graph: where each begins, how wide it is, and of which kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schedtop.base.units import printable

Stack = tuple[Sequence[str], int]
"""Names from the root to the leaf, and their value."""

SEPARATOR = "-"
KERNEL_SUFFIX = "_[k]"
WAKER_PREFIXES = ("--", "woken by ")
RUNNABLE = "[runnable]"
STATES = (RUNNABLE, "[blocked]", "[sleeping]", "[uninterruptible]", "[idle]", "[stopped]", "[traced]", "[parked]")

KINDS = ("task", "user", "kernel", "runnable", "blocked", "waker")

MOST_FRAMES = 20_000
"""As many are drawn at most: some 5 MB, which a browser still moves smoothly."""

MOST_DEPTH = 512
LONGEST_NAME = 240


@dataclass(frozen=True, slots=True)
class FlameFrame:
    """One box. `start` and `value` are in the stacks' unit, `depth` is 0 at the root; `kind` is one of KINDS."""

    name: str
    depth: int
    start: int
    value: int
    kind: str


@dataclass(frozen=True, slots=True)
class Flame:
    """The boxes from the root on, widest first beside each other, and what is not drawn because it is too narrow.

    `left_out`: how many boxes, each with what it called; `left_out_value`: their part of `total`; `least`: the
    smallest value that is drawn.
    """

    frames: tuple[FlameFrame, ...]
    total: int
    least: int
    left_out: int
    left_out_value: int

    @property
    def height(self) -> int:
        """Levels."""
        return max((frame.depth for frame in self.frames), default=-1) + 1


def flame_of(stacks: Iterable[Stack], root: str, least_ratio: float) -> Flame:
    """The flame graph of some stacks over a box `root` for all of them. What is not positive does not count.

    Boxes below `least_ratio` of the whole are left out, and more if there are over MOST_FRAMES.
    """
    merged = _merged(stacks)
    total = sum(value for _, value in merged)
    least = max(1, round(total * least_ratio))
    frames, left_out = _frames(merged, root, total, least) if total else ([], [])
    if len(frames) > MOST_FRAMES:
        # A box is never wider than its caller, so one bound leaves no holes.
        least = sorted((frame.value for frame in frames), reverse=True)[MOST_FRAMES] + 1
        frames, left_out = _frames(merged, root, total, least)
    # None of what is left out is called by another: the walk does not go on from there.
    return Flame(tuple(frames), total, least, len(left_out), sum(left_out))


def boxes_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """The boxes of one stack: name and kind (one of KINDS).

    The first two names are tasks (process and thread), the next are user functions up to `-`, then kernel ones, which
    get a suffix (as some tools write it instead of the `-`); then the state in brackets, and last the waker.
    """
    boxes = []
    part = "user"
    for index, name in enumerate(names[:MOST_DEPTH]):
        if index < 2:
            boxes.append((name, "task"))
        elif name == SEPARATOR and part == "user":
            part = "kernel"
        elif part == "waker" or name.startswith(WAKER_PREFIXES):
            part = "waker"
            boxes.append((name, part))
        elif name in STATES:
            boxes.append((name, "runnable" if name == RUNNABLE else "blocked"))
        elif part == "kernel" or name.endswith(KERNEL_SUFFIX):
            boxes.append((name if name.endswith(KERNEL_SUFFIX) else name + KERNEL_SUFFIX, "kernel"))
        else:
            boxes.append((name, part))
    return boxes


def shown_name(name: str) -> str:
    """A name without what steers terminals or is no XML, in bounded length; the suffix stays."""
    clean = printable(name)
    if len(clean) <= LONGEST_NAME:
        return clean
    suffix = KERNEL_SUFFIX if clean.endswith(KERNEL_SUFFIX) else ""
    return f"{clean[: LONGEST_NAME - len(suffix) - 1]}…{suffix}"


Boxes = tuple[tuple[str, str], ...]


def _merged(stacks: Iterable[Stack]) -> list[tuple[Boxes, int]]:
    sums: dict[Boxes, int] = {}
    known: dict[tuple[str, str], tuple[str, str]] = {}
    for names, value in stacks:
        if value > 0:
            boxes = tuple(known.setdefault(box, box) for box in boxes_of(names))
            sums[boxes] = sums.get(boxes, 0) + value
    # The order of the input must not show.
    return sorted(sums.items())


def _frames(
    stacks: Sequence[tuple[Boxes, int]], root: str, total: int, least: int
) -> tuple[list[FlameFrame], list[int]]:
    """The boxes that are wide enough, and the values of those that are not."""
    frames = [FlameFrame(shown_name(root), 0, 0, total, "task")]
    left_out: list[int] = []
    todo: list[tuple[int, int, Sequence[tuple[Boxes, int]]]] = [(0, 0, stacks)]
    while todo:
        depth, start, members = todo.pop()
        groups: dict[tuple[str, str], list[tuple[Boxes, int]]] = {}
        for stack in members:
            if len(stack[0]) > depth:
                groups.setdefault(stack[0][depth], []).append(stack)
        sums = sorted((-sum(value for _, value in group), box) for box, group in groups.items())
        for negative, box in sums:
            if -negative < least:
                left_out.append(-negative)
            else:
                frames.append(FlameFrame(shown_name(box[0]), depth + 1, start, -negative, box[1]))
                todo.append((depth + 1, start, groups[box]))
            start -= negative
    frames.sort(key=lambda frame: (frame.depth, frame.start))
    return frames, left_out

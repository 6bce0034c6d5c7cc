"""Windows: which Frames fill one, and their sum, without adding everything up again each second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from schedtop.base.breath import keep_on
from schedtop.model.frame import Frame, merge

BLOCKS_A_WINDOW = 8


def window_of(frames: Sequence[Frame], window_ns: int) -> list[Frame]:
    """The newest Frames that fill the window: at least one, and none that is mostly outside of it."""
    chosen: list[Frame] = []
    length = 0
    for frame in reversed(frames):
        if chosen and length + frame.interval_ns / 2 > window_ns:
            break
        chosen.append(frame)
        length += frame.interval_ns
    return chosen[::-1]


class WindowMerger:
    """Merges windows, keeping what the next one will need again: a long window is redrawn each second.

    Frames that end in the same eighth of a window (counted from time zero, so that blocks stay where they are while
    the window moves on) are merged once, and the whole blocks of a window once for all of them. Only what belongs to
    the latest window is kept.
    """

    def __init__(self) -> None:
        self._blocks: dict[tuple[Frame, ...], Frame] = {}
        self._middle: dict[tuple[Frame, ...], Frame] = {}
        self._latest: tuple[tuple[Frame, ...], Frame] | None = None

    def merge(self, frames: Sequence[Frame], window_ns: int, breathe: Callable[[], object] = keep_on) -> Frame:
        """The Frame of consecutive Frames, as `model.merge` gives it; the same one again for the same Frames.

        `breathe` is called in between.
        """
        add = partial(merge, lightly=True, breathe=breathe)
        wanted = tuple(frames)
        if self._latest is None or self._latest[0] != wanted:
            block_ns = max(1, window_ns // BLOCKS_A_WINDOW)
            groups = [tuple(group) for _, group in groupby(wanted, lambda frame: frame.end_ns // block_ns)]
            # The window cuts the first block, and the last one still grows.
            whole = groups[1:-1]
            self._blocks = {group: self._blocks.get(group) or add(group) for group in whole}
            blocks = tuple(self._blocks.values())
            self._middle = {blocks: self._middle.get(blocks) or add(blocks)} if blocks else {}
            last = groups[-1] if len(groups) > 1 else ()
            self._latest = wanted, add((*groups[0], *self._middle.values(), *last))
        return self._latest[1]

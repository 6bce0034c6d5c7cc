"""What lies over a screen: texts and lists, around which it is seen, fainter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.geometry import Region
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen

from schedtop.ui.terminal.textual_private import regions_of


@dataclass(frozen=True, slots=True)
class Cover:
    """Regions of the terminal in which nothing of a screen is seen, and the colours that lie over the rest of it."""

    regions: Sequence[Region] = ()
    tints: Sequence[Color] = ()

    def seen(self, y: int, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of these cells of a line that nothing lies over."""
        over = sorted((each.x, each.right) for each in self.regions if each.y <= y < each.bottom)
        for left, right in over:
            if start < min(left, end):
                yield start, min(left, end)
            start = max(start, right)
        if start < end:
            yield start, end

    def tinted(self, segments: list[Segment]) -> list[Segment]:
        """Segments of the screen in the colours in which they are seen."""
        for tint in self.tints:
            segments = list(BackgroundScreen.process_segments(segments, tint))
        return segments


NO_COVER = Cover()


def cover_of(app: App[Any], screen: Screen[Any]) -> Cover | None:
    """What lies over a screen of the app; `None`: nothing of it is seen, or it is not known where that is."""
    stack = app.screen_stack
    if screen not in stack:
        return None
    regions: list[Region] = []
    tints: list[Color] = []
    for above in stack[stack.index(screen) + 1 :]:
        placed, tint = regions_of(above), above.styles.background
        if placed is None or tint.a == 1:
            return None
        regions += [region.intersection(clip) for widget, (region, clip) in placed.items() if widget is not above]
        tints.append(tint)
    return Cover(regions, tints)

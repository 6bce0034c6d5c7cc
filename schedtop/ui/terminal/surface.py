"""The way of a changed line past the framework: from the lines of a Canvas to the painter, and on to the terminal.

To the framework each change is a region of a screen that is to be composed again: for a few cells that differ it looks
at all widgets, their styles and all Strips in these lines. Here the line before and the line now are compared, and
what differs is painted at the place of the Canvas. That works while the Canvas is seen whole, with nothing over it but
a text that one reads, and while nothing is about to move; else the framework paints it. What is seen around a text it
would paint anew each time, with the text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from schedtop.ui.slices import Slices
from schedtop.ui.terminal.cover import NO_COVER, cover_of
from schedtop.ui.terminal.edge import Edge
from schedtop.ui.terminal.ink import Ink, blank, ink_of
from schedtop.ui.terminal.painter import Painter, cells_of
from schedtop.ui.terminal.textual_private import OpenApp, forget_lines, forget_what_is_under, regions_of
from schedtop.widgets.ascii_filter import in_ascii
from schedtop.widgets.canvas import Canvas
from schedtop.widgets.strips import Span, Spans, steady, width_of

EDGES = ("bottom edge", "top edge")

Place = tuple[Region, Region]
"""Where a Canvas is with its border, and without."""


class Surface:
    """Paints lines of an app's canvases. What is painted within one turn of the event loop is sent together."""

    def __init__(
        self, app: OpenApp[Any], painter: Painter, keys_wait: Callable[[bool], bool], *, ascii_only: bool = False
    ) -> None:
        """`keys_wait`: as in Slices."""
        self._app = app
        self.slices = Slices(keys_wait, app.call_later)
        """The steps of a frame, with a breath between what a Canvas has computed and its painting."""
        self._painter = painter
        self._ascii = ascii_only
        self._regions: object = None
        self._places: Mapping[Widget, Place] = {}
        self._is_due = False
        self._cover = NO_COVER

    def paint(self, canvas: Canvas, rows: Sequence[tuple[int, Spans]]) -> bool:
        """Paints these rows of a Canvas, each given with the line before; false if that does not work now."""
        place = self._place(canvas)
        if place is None:
            return False
        self.breathe()
        x, y, _width, _height = place[1]
        for row, before in rows:
            line = canvas.line_at(row)
            # Around a text the framework may have painted nothing of the line before.
            start, spans = (0, line) if self._cover.tints else difference(before, line)
            self._put(y + row, x + start, *self._cells(canvas, spans))
            self.breathe()
        canvas.catch_up = forget_lines
        self._ask()
        return True

    def paint_edge(self, canvas: Canvas, label: str, *, top: bool, look: str = "") -> bool:
        """Paints the first or the last line of a Canvas, its border with a label in it; false as above."""
        place = self._place(canvas)
        if place is None:
            return False
        self.breathe()
        x, y, width, height = place[0]
        canvas.catch_up = forget_lines
        label = steady(in_ascii(label) if self._ascii else label)
        known = f"{EDGES[top]} {look}{self._under}"
        edge: Edge | None = canvas.inks.get(known)
        if edge is not None and label:
            cells = edge.cells(label, width)
        else:
            line = canvas.render_lines(Region(0, 0 if top else height - 1, width, 1))[0]
            cells = self._painter.cells(Strip(self._cover.tinted(list(line))))
            if label:
                canvas.inks[known] = Edge.seen_in(cells, label, right=not top)
        self._put(y if top else y + height - 1, x, *cells)
        self._ask()
        return True

    def refreshed(self, canvas: Canvas) -> None:
        """Has the framework paint a Canvas that it paints anew, even where a text lies over its screen."""
        stack = self._app.screen_stack
        if stack and stack[-1] is not canvas.screen and stack[-1].styles.background.a < 1:
            forget_what_is_under(stack[-1])
            stack[-1].refresh(canvas.region)

    def breathe(self) -> None:
        """Gives the CPU away for a moment, if it was kept for a while."""
        self.slices.breathe()

    def flush(self) -> None:
        """Sends what has been painted."""
        if self._is_due:
            self._is_due = False
            # What is sent in one piece is painted in one piece.
            if sequences := self._painter.taken():
                self._app.send(sequences)

    def _ask(self) -> None:
        if not self._is_due:
            self._is_due = True
            if self._cover.tints:
                for above in filter(lambda screen: screen.is_modal, self._app.screen_stack):
                    forget_what_is_under(above)
            asyncio.get_running_loop().call_soon(self.flush)

    def _place(self, canvas: Canvas) -> Place | None:
        """Where a Canvas is, if it can be painted there."""
        app, screen = self._app, canvas.screen
        if not app.is_painting or not self._painter.knows(app.size):
            return None
        cover = NO_COVER if app.screen is screen else cover_of(app, screen)
        regions = regions_of(screen)
        if regions is None or cover is None:
            return None
        self._cover = cover
        if regions is not self._regions:
            self._regions, self._places = regions, free_places(regions)
        return self._places.get(canvas)

    def _put(self, y: int, x: int, texts: list[str], inks: list[Ink]) -> None:
        """Paints cells of a line where nothing lies over them."""
        for start, end in self._cover.seen(y, x, x + len(texts)):
            part = texts[start - x : end - x]
            # A wide character is seen whole, or not at all.
            if not part[0]:
                part[0] = " "
            if end < x + len(texts) and not texts[end - x]:
                part[-1] = " "
            self._painter.put(y, start, part, inks[start - x : end - x])

    @property
    def _under(self) -> str:
        """What the styles under so many texts are known by."""
        return f" under {len(self._cover.tints)}" if self._cover.tints else ""

    def _cells(self, canvas: Canvas, spans: Spans) -> tuple[list[str], list[Ink]]:
        """The text of each cell and its style."""
        texts: list[str] = []
        inks: list[Ink] = []
        known, under = canvas.inks, self._under
        for text, name in spans:
            ink = known.get(f"{name}{under}") or self._learned(canvas, name)
            cells = cells_of(in_ascii(text) if self._ascii and not text.isascii() else text)
            texts += cells
            inks += [ink[1] if text.isspace() else ink[0]] * len(cells)
        return texts, inks

    def _learned(self, canvas: Canvas, name: str) -> tuple[Ink, Ink]:
        """A style of a Canvas as the terminal has it, and that of spaces."""
        segments = [Segment("x", canvas.style_named(name))]
        for one in canvas.get_line_filters():
            segments = one.apply(segments, canvas.background_colors[1])
        ink = ink_of(self._cover.tinted(segments)[0].style, self._painter.depth)
        canvas.inks[f"{name}{self._under}"] = learned = ink, blank(ink)
        return learned


def difference(before: Sequence[Span], now: Sequence[Span]) -> tuple[int, Sequence[Span]]:
    """From which cell on two lines of one width differ, and the spans from there to the last one that does."""
    first, start, least = 0, 0, min(len(before), len(now))
    while first < least and before[first] == now[first]:
        start += width_of(now[first][0])
        first += 1
    last = 0
    while last < least - first and before[-1 - last] == now[-1 - last]:
        last += 1
    return start, now[first : len(now) - last]


def free_places(regions: Mapping[Widget, tuple[Region, Region]]) -> dict[Widget, Place]:
    """The canvases of a screen that are seen whole, with nothing over them."""
    places: dict[Widget, Place] = {}
    above: list[Region] = []
    for widget, (region, clip) in regions.items():
        if isinstance(widget, Canvas) and clip.contains_region(region) and not any(map(region.overlaps, above)):
            styles = widget.styles
            if widget.opacity == 1 and not styles.tint.a and styles.text_opacity == 1:
                places[widget] = region, region.shrink(styles.gutter)
        # What a Canvas is in comes after it.
        above.append(region.intersection(clip))
    return places

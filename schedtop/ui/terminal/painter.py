"""What the terminal shows, cell by cell: only cells that change are sent, and only what changes of their style.

The framework sends whole regions, each piece with its complete style and an end of it: over a slow ssh connection
that is ten times as much. What it wants to send comes here instead, is compared with what is there already, and the
difference is written with as few moves and codes as possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from operator import is_not, ne, or_

from rich.cells import cell_len, get_character_cell_size
from rich.console import Console
from textual.strip import Strip

from schedtop.base.breath import keep_on
from schedtop.ui.terminal.ink import PLAIN, Depth, Ink, blank, change, hides, ink_of
from schedtop.ui.terminal.textual_private import ChopsUpdate, CompositorUpdate, LayoutUpdate

UNKNOWN = "\x00"
"""A cell of which it is not known what it shows."""

SHORT_GAP = 4
"""Cells that are written again rather than jumped over: a jump takes as many bytes."""

MANY_PIECES = 6
"""From so many pieces of a line on those of one style are written together: a jump takes fewer bytes than a style."""

END_STYLE = "\x1b[m"

STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters without a cell that steer a terminal: pasted text and messages may have them, the screen must not."""

_NARROW = set(map(chr, range(32, 127)))
"""Characters of one cell that have been met, of those that never join their neighbours."""

Line = list[tuple[int, list[str], list[Ink]]]
"""Pieces of a line: where each begins, the text of its cells and their styles."""


class Painter:
    """Knows what the terminal shows. `paint` takes what the framework wants to send and gives what has to be sent."""

    def __init__(self, depth: Depth = Depth.TRUE) -> None:
        self.depth = depth
        self._size = (0, 0)
        self._texts: list[list[str]] = []
        self._inks: list[list[Ink]] = []
        self._strips: list[dict[int, Strip | None]] = []
        """What each line was last made of, by where it begins: the same Strip at the same place is not looked at."""
        self._out: list[str] = []
        self._pen = PLAIN
        self._at = (-1, -1)

    def forget(self) -> None:
        """Nothing is known of the screen any more: something else has written to it, or it has another size."""
        self._size = (0, 0)

    def paint(self, update: CompositorUpdate, size: tuple[int, int], breathe: Callable[[], object] = keep_on) -> str:
        """The sequences that bring the terminal, of `size` (columns, lines), from what it shows to the update.

        `breathe` is called between lines.
        """
        if size != self._size:
            self._size = size
            self._texts = [[UNKNOWN] * size[0] for _ in range(size[1])]
            self._inks = [[PLAIN] * size[0] for _ in range(size[1])]
            self._strips = [{} for _ in range(size[1])]
        if isinstance(update, ChopsUpdate):
            for y in sorted({span[0] for span in update.spans}):
                if y < size[1]:
                    breathe()
                    self._line(y, self._pieces(self._new(y, update.chops[y])))
        elif isinstance(update, LayoutUpdate):
            self._strips = [{} for _ in range(size[1])]
            for y, strips in enumerate(update.strips, update.region.y):
                breathe()
                self._line(y, self._pieces(_placed(strips, update.region.x)))
        return self.taken()

    def knows(self, size: tuple[int, int]) -> bool:
        """Whether it is known what a terminal of this size shows, so that parts of it can be painted alone."""
        return size == self._size

    def put(self, y: int, x: int, texts: list[str], inks: list[Ink]) -> None:
        """Brings some cells of a line to this; what that takes is in the next `taken`."""
        if 0 <= y < self._size[1]:
            # What the framework has painted last in this line is there no more.
            self._strips[y].clear()
            self._piece(y, x, texts, inks)

    def taken(self) -> str:
        """All sequences since the last time."""
        if self._pen is not PLAIN:
            self._out.append(END_STYLE)
        text = "".join(self._out)
        self._out, self._pen, self._at = [], PLAIN, (-1, -1)
        return text

    def _new(self, y: int, chops: Mapping[int, Strip | None]) -> list[tuple[int, Strip]]:
        """The pieces of a line that are others than before."""
        before = self._strips[y]
        if before.keys() != chops.keys():
            # Divided otherwise: what was at a place may have been covered since.
            before = self._strips[y] = dict.fromkeys(chops)
        new = [(x, strip) for x, strip in chops.items() if strip is not None and strip is not before[x]]
        before.update(new)
        return new

    def _pieces(self, placed: Iterable[tuple[int, Strip]]) -> Line:
        return [(x, *self.cells(strip)) for x, strip in placed]

    def cells(self, strip: Strip) -> tuple[list[str], list[Ink]]:
        """The text of each cell and its style; a cell that a wide character goes on into has an empty one."""
        texts: list[str] = []
        inks: list[Ink] = []
        for text, style, control in strip:
            if control:
                continue
            cells = cells_of(text)
            ink = ink_of(style, self.depth)
            texts += cells
            inks += [blank(ink) if text.isspace() else ink] * len(cells)
        return texts, inks

    def _line(self, y: int, pieces: Line) -> None:
        """Writes what of a line is not there yet."""
        if not 0 <= y < self._size[1]:
            return
        for x, texts, inks in pieces:
            self._piece(y, x, texts, inks)

    def _piece(self, y: int, x: int, texts: list[str], inks: list[Ink]) -> None:
        shown_texts, shown_inks = self._texts[y], self._inks[y]
        end = x + len(texts)
        if end > self._size[0]:
            end = max(x, self._size[0])  # made for the screen before it became narrower
            del texts[end - x :], inks[end - x :]
        old_texts, old_inks = shown_texts[x:end], shown_inks[x:end]
        shown_texts[x:end] = texts
        # Without a step in Python for each cell.
        differ = map(ne, old_texts, texts)
        if old_inks != inks:
            differ = map(or_, differ, map(is_not, old_inks, inks))
            shown_inks[x:end] = inks
        if changed := list(compress(range(x, end), differ)):
            self._write(y, changed, shown_texts, shown_inks)

    def _write(self, y: int, changed: Sequence[int], texts: list[str], inks: list[Ink]) -> None:
        """Writes these cells of a line, and those between them where that is shorter."""
        runs: list[tuple[int, int]] = []
        start = before = changed[0]
        if changed[-1] - start >= len(changed):
            for index in changed:
                gap = index - before - 1
                if gap > 0 and (gap > SHORT_GAP or not _is_alike(texts[before + 1 : index], inks[before : index + 1])):
                    runs.append((start, before + 1))
                    start = index
                before = index
        runs.append((start, changed[-1] + 1))
        for start, end in self._by_style(runs, texts, inks):
            self._run(y, start, end, texts, inks)

    def _by_style(
        self, runs: list[tuple[int, int]], texts: Sequence[str], inks: Sequence[Ink]
    ) -> list[tuple[int, int]]:
        """The runs as they are, or, where they have many pieces, pieces of one style after each other."""
        if sum(end - start for start, end in runs) < MANY_PIECES:
            return runs
        pieces: dict[Ink, list[tuple[int, int]]] = {self._pen: []}
        count = 0
        for start, end in runs:
            first, pen = start, inks[start]
            alike = inks[start:end].count(pen) == end - start
            for place in range(end if alike else start + 1, end):
                ink = inks[place]
                # A wide character keeps both halves, and a space the style before it.
                if ink is not pen and texts[place] and not hides(pen, ink):
                    pieces.setdefault(pen, []).append((first, place))
                    count += 1
                    first, pen = place, ink
            pieces.setdefault(pen, []).append((first, end))
            count += 1
        return [piece for alike in pieces.values() for piece in alike] if count >= MANY_PIECES else runs

    def _run(self, y: int, start: int, end: int, texts: list[str], inks: list[Ink]) -> None:
        """Writes the cells from start to end, and the other halves of wide characters."""
        while start > 0 and not texts[start]:
            start -= 1
        while end < len(texts) and not texts[end]:
            end += 1
        column, line = self._at
        out, pen = self._out, self._pen
        if line != y or column > start:
            out.append(f"\x1b[{y + 1};{start + 1}H")
        elif start > column:
            out.append(f"\x1b[{start - column}C")
        place = start
        surely = end < len(texts)
        while place < end:
            ink, first = inks[place], place
            place = end if inks[place:end].count(ink) == end - place else place + 1
            while place < end and inks[place] is ink:
                place += 1
            if ink is not pen and not hides(pen, ink):
                out.append(change(pen, ink))
                pen = ink
            text = "".join(texts[first:place])
            out.append(text)
            # How wide a terminal draws what is not of one cell, and where it is at the end of a line, is not known.
            surely = surely and (text.isascii() or (len(text) == place - first and "" not in texts[first:place]))
        self._pen = pen
        self._at = (end, y) if surely else (-1, -1)


def _is_alike(texts: Sequence[str], inks: Sequence[Ink]) -> bool:
    """Whether the few cells between two that change are as short as a jump over them."""
    return "".join(texts).isascii() and inks.count(inks[0]) == len(inks)


def _placed(strips: Iterable[Strip], x: int) -> Iterable[tuple[int, Strip]]:
    for strip in strips:
        yield x, strip
        x += strip.cell_length


def cells_of(text: str) -> list[str]:
    """The text of each cell: empty where a wide character goes on, with the marks that a character carries."""
    if not text.isprintable():
        # Half of a surrogate pair, from the name of a file, cannot be written at all.
        text = STEERING.sub("", text).encode(errors="replace").decode()
    if text.isascii() or _NARROW.issuperset(text):
        return list(text)
    cells: list[str] = []
    for char in text:
        width = get_character_cell_size(char)
        if width == 0 and cells:
            # To the last cell that has a text, over the second half of a wide one.
            place = next((index for index in range(len(cells) - 1, -1, -1) if cells[index]), 0)
            cells[place] += char
        else:
            cells += [char, *[""] * (width - 1)]
            if width == 1 and (ord(char) < 0x250 or 0x2010 <= ord(char) < 0x2C00):
                _NARROW.add(char)
    if len(cells) != (width := cell_len(text)):
        # Characters that together are narrower than one by one: they stay together.
        cells = [text, *[""] * (width - 1)] if width else []
    return cells


class Difference(CompositorUpdate):
    """What a Painter makes of an update, computed when it is sent."""

    def __init__(
        self, painter: Painter, update: CompositorUpdate, size: tuple[int, int], breathe: Callable[[], object]
    ) -> None:
        self._painter = painter
        self._update = update
        self._size = size
        self._breathe = breathe

    def render_segments(self, console: Console) -> str:
        return self._painter.paint(self._update, self._size, self._breathe)

"""The first or last line of a border with a label in it, as the framework draws it, without the framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from schedtop.ui.terminal.ink import Ink
from schedtop.ui.terminal.painter import cells_of
from schedtop.widgets.strips import clip

Cells = tuple[list[str], list[Ink]]

AROUND = 6
"""Cells beside a label: two corners, a piece of the line beside each, two blanks."""


@dataclass(frozen=True, slots=True)
class Edge:
    """How a line of a border looks: what it is made of, and the styles of the line and of the label."""

    corners: tuple[str, str]
    line: str
    ink: Ink
    label_ink: Ink
    right: bool

    @classmethod
    def seen_in(cls, cells: Cells, label: str, *, right: bool) -> Self | None:
        """The edge that the framework has drawn so; `None` if it draws in another way than `cells`, or has no label.

        `right`: the label is at the right end.
        """
        texts, inks = cells
        if not label or len(texts) <= AROUND:
            return None
        edge = cls((texts[0], texts[-1]), texts[-2 if right else 1], inks[0], inks[-4 if right else 3], right)
        return edge if edge.cells(label, len(texts)) == cells else None

    def cells(self, label: str, width: int) -> Cells:
        """The line with another label in it."""
        body = [" ", *cells_of(clip(label, max(0, width - AROUND))), " "]
        rest = width - 3 - len(body)
        before, after = (rest, 1) if self.right else (1, rest)
        texts = [self.corners[0], *self.line * before, *body, *self.line * after, self.corners[1]]
        inks = [self.ink] * (before + 1) + [self.label_ink] * len(body) + [self.ink] * (after + 1)
        return texts, inks

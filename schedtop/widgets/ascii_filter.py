"""Lines of the screen in ASCII, cell by cell."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from schedtop.base.ascii import to_ascii


class AsciiFilter(LineFilter):
    """Every character that is not ASCII becomes its stand-in; a line stays as wide as it is."""

    def apply(self, segments: list[Segment], _background: Color) -> list[Segment]:
        return [
            segment if segment.text.isascii() else Segment(in_ascii(segment.text), segment.style, segment.control)
            for segment in segments
        ]


def in_ascii(text: str) -> str:
    """The text in ASCII, as wide as it is."""
    plain = to_ascii(text)
    # What the screen takes for the width of rare characters may be something else.
    return plain if len(plain) == (width := cell_len(text)) else plain[:width].ljust(width)

"""Text of an exact cell width, and Strips made of it. A Strip of the wrong width corrupts its neighbours."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import zip_longest

from rich.cells import cached_cell_len as cell_len  # without a step in Python for what it knows
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

Span = tuple[str, str]
"""Text and the name of its style (one of `widgets.canvas.STYLES`)."""

Spans = Sequence[Span]
"""One line, from left to right."""

StyleOf = Callable[[str], Style]


def width_of(text: str) -> int:
    """How many terminal cells a text takes."""
    return len(text) if text.isascii() else cell_len(text)


@lru_cache(maxsize=4096)
def steady(text: str) -> str:
    """A name from outside with only characters that every terminal gives the same width.

    Control characters, and those that join with their neighbours (flags, skin tones, marks without a width of
    their own), are where terminals and width tables disagree.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_steady_char, unicodedata.normalize("NFC", text)))


def _steady_char(char: str) -> str:
    joins = 0x1F1E6 <= ord(char) <= 0x1F1FF or 0x1F3FB <= ord(char) <= 0x1F3FF
    if not char.isprintable() or joins:
        return "?"
    return char if cell_len(char) else ""


def fit(text: str, width: int, right: bool = False) -> str:
    """The text (a `steady` one, if it is from outside) in exactly `width` cells: padded, or cut with `…`."""
    cells = len(text) if text.isascii() else cell_len(text)
    if cells > width:
        text = clip(text, width)
        cells = width_of(text)
    pad = " " * (width - cells)
    return pad + text if right else text + pad


def clip(text: str, width: int) -> str:
    """The text in at most `width` cells, cut with `…`."""
    if width_of(text) <= width:
        return text
    if width <= 0:
        return ""
    return _head(text, width - 1) + "…"


def clip_left(text: str, width: int) -> str:
    """The end of a text that says most there, such as a path; all cells are one wide."""
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :]


def _head(text: str, width: int) -> str:
    """As many whole characters as `width` cells hold."""
    if text.isascii():
        return text[:width]
    used = 0
    for index, char in enumerate(text):
        used += cell_len(char)
        if used > width:
            return text[:index]
    return text


def spans_width(spans: Iterable[Span]) -> int:
    """How many cells a line takes."""
    return sum([len(text) if text.isascii() else cell_len(text) for text, _ in spans])


def fitted(spans: Spans, width: int) -> list[Span]:
    """The line in exactly `width` cells: padded with the style `text`, or cut."""
    line = [span for span in spans if span[0]]
    left = width - sum([len(text) if text.isascii() else cell_len(text) for text, _ in line])
    if left >= 0:
        if left:
            line.append((" " * left, "text"))
        return line
    return _cut(line, width)


def _cut(spans: Spans, width: int) -> list[Span]:
    line: list[Span] = []
    left = width
    for span in spans:
        if left <= 0:
            break
        cells = width_of(span[0])
        if cells > left:
            span = (fit(_head(span[0], left), left), span[1])
            cells = left
        line.append(span)
        left -= cells
    return line


def strip_of(spans: Spans, width: int, style_of: StyleOf) -> Strip:
    """A Strip of exactly `width` cells: the line padded with the style `text`, or cut."""
    return Strip([Segment(text, style_of(name)) for text, name in fitted(spans, width)], width)


def side_by_side(left: Sequence[Spans], right: Sequence[Spans], width: int, gutter: int) -> list[Spans]:
    """Two blocks of lines as one: each line of the left one in `width` cells, `gutter` blanks, a line of the right."""
    gap = (" " * gutter, "text")
    return [[*fitted(one, width), gap, *other] for one, other in zip_longest(left, right, fillvalue=())]


def whole_parts(parts: Iterable[Spans], width: int, separator: Span) -> list[Span]:
    """As many whole parts as fit in a line, in their order; one that does not fit is left out."""
    line: list[Span] = []
    taken, gap = 0, width_of(separator[0])
    for part in parts:
        cells = spans_width(part) + (gap if line else 0)
        if taken + cells <= width:
            line += [separator, *part] if line else part
            taken += cells
    return line


def broken(text: str, width: int) -> tuple[str, str]:
    """A sentence in two: what fits in `width` cells, and the rest; at a space, or within the first word."""
    fits = _head(text, width)
    if len(fits) == len(text):
        return text, ""
    place = len(fits) if text[len(fits)] == " " else fits.rfind(" ")
    return (text[:place], text[place + 1 :]) if place > 0 else (fits, text[len(fits) :])


def wrapped(text: str, width: int) -> list[str]:
    """A sentence in lines of at most `width` cells, broken at spaces."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        candidate = f"{line} {word}" if line else word
        if line and width_of(candidate) > width:
            lines.append(line)
            candidate = word
        line = candidate
    return [clip(item, width) for item in (*lines, line)]


def clip_spans(spans: Spans, width: int) -> list[Span]:
    """As much of a line as fits, its last text cut with `…`."""
    line: list[Span] = []
    left = width
    for text, style in spans:
        if left <= 0:
            break
        line.append((clip(text, left), style))
        left -= width_of(line[-1][0])
    return line


def marked_spans(spans: Spans, wanted: str) -> list[Span]:
    """The line with the style `match` wherever the text stands, in whatever case."""
    line: list[Span] = []
    wanted = wanted.lower()
    for text, style in spans:
        # Some letters have another length in the other case: such a text stays as it is.
        lower = text.lower()
        start = 0
        while wanted and len(lower) == len(text) and (at := lower.find(wanted, start)) >= 0:
            line += [(text[start:at], style)] if at > start else []
            line.append((text[at : at + len(wanted)], "match"))
            start = at + len(wanted)
        line += [(text[start:], style)] if start < len(text) else []
    return line


def rows_with(texts: Sequence[str], wanted: str) -> list[int]:
    """The rows with this text, in whatever case."""
    wanted = wanted.lower()
    return [row for row, text in enumerate(texts) if wanted in text.lower()]

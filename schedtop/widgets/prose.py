"""Sentences, and terms with their meanings, broken to a width."""

from __future__ import annotations

from collections.abc import Iterable

from schedtop.widgets.strips import Spans, fit, wrapped


def entry(term: str, meaning: str, indent: int, width: int, style: str = "text") -> Iterable[Spans]:
    """A term and its meaning, the latter broken and indented."""
    for index, line in enumerate(wrapped(meaning, max(10, width - indent))):
        yield [(fit(term if index == 0 else "", indent), "strong"), (line, style)]


def paragraph(words: str, width: int, style: str = "text") -> Iterable[Spans]:
    """A sentence or more, broken."""
    for line in wrapped(words, width):
        yield [(line, style)]

"""What every output owes its reader: it steers no terminal and no spreadsheet, whoever chose the names in it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from schedtop.base.units import printable

FORMULA = ("=", "+", "-", "@")
"""How a cell begins that a spreadsheet computes."""


def plain(value: Any) -> Any:
    """Plain objects of JSON without characters that could steer a terminal, keys too: they become `?`."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def json_text(data: Any) -> str:
    """Plain objects as a document, ending with a newline. A terminal may show it, and a program print what is in it."""
    text = io.StringIO()
    # Piece by piece: all pieces of a large report together take many times what the text does.
    for piece in json.JSONEncoder(indent=1, ensure_ascii=False, allow_nan=False).iterencode(plain(data)):
        text.write(piece)
    return text.getvalue() + "\n"


def json_line(data: Any) -> str:
    """The same in one line, for a stream of documents."""
    return json.dumps(plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def blocks_text(blocks: Iterable[str]) -> str:
    """A report to read: its blocks with an empty line between them, without the empty ones."""
    text = "\n\n".join(block for block in blocks if block) + "\n"
    return "\n".join(map(printable, text.split("\n")))


def cell(value: Any) -> Any:
    """A value as a cell of CSV: text that a spreadsheet would compute gets an apostrophe in front of it."""
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if shown.startswith(FORMULA) else shown

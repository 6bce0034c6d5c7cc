"""Lines of JSON that stand for much longer ones, as a file does that was packed: few bytes say "so many of these"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

TIMES = "*"
"""`{"*": 1000, "of": VALUE}` is a list of a thousand; of text, a thousand times the text; of `["key", VALUE]`
an object with so many keys."""

MOST_CHARS = 10_000_000


def inflated(data: bytes) -> Iterator[str]:
    """The lines that these stand for, together no longer than a file that has to be read; what is no JSON as it is."""
    room = MOST_CHARS
    for line in data.decode(errors="replace").splitlines():
        text = line
        try:
            thing = json.loads(line)
            if TIMES in line:
                text = json.dumps(_grown(thing, room), separators=(",", ":"))
        except (ValueError, RecursionError, OverflowError):
            pass
        room -= len(text)
        if room < 0:
            return
        yield text + "\n"


def _grown(thing: Any, room: int) -> Any:
    """Raises OverflowError where it would be longer than that."""
    if isinstance(thing, list):
        return [_grown(inner, room) for inner in thing]
    if not isinstance(thing, dict):
        return thing
    if thing.keys() != {TIMES, "of"} or not isinstance(thing[TIMES], int):
        return {key: _grown(inner, room) for key, inner in thing.items()}
    inner, times = _grown(thing["of"], room), thing[TIMES]
    if times < 0 or times * (len(json.dumps(inner)) + 1) > room:
        raise OverflowError
    if isinstance(inner, str):
        return inner * times
    if isinstance(inner, list) and len(inner) == 2 and inner[0] == "key":
        return {str(number): inner[1] for number in range(times)}
    return [inner] * times

"""Changes of values within lines of JSON: what a fuzzer of bytes would hardly ever hit upon."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

STRANGE = (
    *(None, True, False, 0, 1, -1, 2, 511, 512, 4_194_304, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63),
    *(2**64, -(2**31), -(2**63), 10**9, 10**18, 10**40, 0.5, -0.0, 1e308, "", "0", "a", "-1", "1e9", "wakeup", "tid"),
    *("\x1b[31m", "[red]", "\u202e", "é", "\ud800", "漢" * 20, "\0", "x" * 300),
    # What tests/fuzz/targets/inflating.py makes long; elsewhere an object like any other.
    *({"*": 10**times, "of": of} for times in (2, 4, 5, 6) for of in ("x", "\uffff", [], {}, 0, 10**9, ["key", 0])),
    *([], {}, [0], [[]], [1, 2, 3], [[0], [1]], [[5, 9], [1, 1]], {"a": 1}, {"1": "/a"}),
)
"""What is put in the place of a value."""


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The same lines with one to four values changed; what is no JSON loses or gets a byte."""
    lines = data.split(b"\n")
    places = [number for number, line in enumerate(lines) if line.startswith(b"{")]
    for _ in range(chance.randint(1, 4)):
        if chance.random() < 0.05 or not places:
            chance.shuffle(lines)
            continue
        number = chance.choice(places)
        try:
            thing = json.loads(lines[number])
        except (ValueError, RecursionError):
            continue
        if isinstance(thing, dict) and thing:
            _change(thing, chance)
            try:
                lines[number] = json.dumps(thing, separators=(",", ":")).encode()
            except (ValueError, RecursionError):
                continue
    return b"\n".join(lines)


def _change(thing: Any, chance: random.Random) -> None:
    """Changes one value somewhere below."""
    while True:
        key = chance.choice(list(thing)) if isinstance(thing, dict) else chance.randrange(len(thing))
        inner = thing[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
            thing = inner
            continue
        what = chance.random()
        if what < 0.1:
            del thing[key]
        elif what < 0.2 and isinstance(thing, list):
            thing.insert(key, copy.deepcopy(chance.choice(thing)))
        elif what < 0.3 and type(inner) is int:
            thing[key] = inner + chance.choice((-1, 1, 1000, -inner - 1, inner))
        elif what < 0.35 and isinstance(thing, dict):
            thing[str(chance.choice(STRANGE))] = inner
        else:
            thing[key] = copy.deepcopy(chance.choice(STRANGE))
        return

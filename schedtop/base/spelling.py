"""What was probably meant by an unknown name."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Words for the name that was probably meant, nothing if none is near."""
    # Late: it takes a while, and names are seldom wrong.
    from difflib import get_close_matches

    found = get_close_matches(name.lower(), list(known), 1, 0.6)
    return f": did you mean {found[0]!r}?" if found else ""

"""What every text that comes out of a parser promises."""

from __future__ import annotations

import re

STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""What could steer a terminal, turn text around or hide: nothing of it may come out; a line may end."""


def plain(*texts: str) -> None:
    """Raises AssertionError if one of the texts could steer a terminal."""
    for text in texts:
        found = STEERING.search(text)
        assert not found, f"{found!r} in {text!r}"

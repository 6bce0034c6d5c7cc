"""How much steal is how bad: a sign and a word for each level, because colour alone says nothing to many."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop.verdict.limits import STEAL_ALARM, STEAL_NOTICE


@dataclass(frozen=True, slots=True)
class Level:
    """One level: what is printed beside a value, and its style."""

    sign: str
    word: str
    style: str


NORMAL = Level("", "", "text")
NOTICE = Level("!", "high", "notice")
ALARM = Level("!!", "very high", "alarm")


def steal_level(ratio: float | None) -> Level:
    """The level of a steal ratio (0..1): marked from 5 % and from 10 % on."""
    if ratio is None or ratio < STEAL_NOTICE:
        return NORMAL
    return ALARM if ratio >= STEAL_ALARM else NOTICE

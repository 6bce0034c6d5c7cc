"""One number before and after, and how much its change says."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any

ENOUGH = 20
"""With so many events a change counts half; one alone counts a twentieth."""


@dataclass(frozen=True, slots=True)
class Change:
    """A number before and after: `unit` is `ns`, `ratio`, `per_second` or `ns_per_second`; `score`: how much it says.

    `family`: the headline names one of each. `status` is `both`, `appeared`, `vanished` or `not listed`.
    """

    name: str
    label: str
    unit: str
    family: str
    before: float | None
    after: float | None
    score: float
    status: str = "both"

    @property
    def factor(self) -> float | None:
        """After as a multiple of before, `None` without both or from zero."""
        return round(self.after / self.before, 4) if self.before and self.after is not None else None


def score(before: float, after: float, floor: float, weight: float, events: float) -> float:
    """How much a change says: `weight * |log2((after + floor) / (before + floor))| * events / (events + ENOUGH)`.

    `floor` is what does not matter (it keeps 2 µs against 20 µs, or 0 against 3, from being a large change);
    `events`: how many things that happened the less certain of the two numbers rests on.
    """
    return weight * abs(log2((after + floor) / (before + floor))) * events / (events + ENOUGH)


def change_of(
    name: str, label: str, unit: str, family: str, values: tuple[Any, Any], floor: float, weight: float, events: float
) -> Change:
    """The Change of two values, `None`: not known; the rest as in `score`."""
    old, new = values
    known = old is not None and new is not None
    return Change(name, label, unit, family, old, new, score(old, new, floor, weight, events) if known else 0.0)

"""Many batches of one figure. The best is compared: what disturbs a batch only ever makes it slower."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Item = TypeVar("Item")


@dataclass(slots=True)
class Batches:
    """The batches of one figure, in one unit, the smaller the better."""

    values: list[float] = field(default_factory=list)

    def add(self, value: float) -> None:
        """Adds a batch."""
        self.values.append(value)

    @property
    def best(self) -> float | None:
        """The smallest batch, `None` without any."""
        return min(self.values, default=None)

    @property
    def median(self) -> float | None:
        """The middle batch, `None` without any."""
        return statistics.median(self.values) if self.values else None

    @property
    def spread_ratio(self) -> float | None:
        """How far the median lies above the best: the noise of the machine, as a share of the best."""
        return self.median / self.best - 1 if self.best and self.median else None

    def to_data(self) -> dict[str, Any]:
        """All of it for the JSON file."""
        return {
            "best": self.best,
            "median": self.median,
            "spread_ratio": self.spread_ratio,
            "batches": [round(value, 3) for value in self.values],
        }


def minus(one: float | None, other: float | None) -> float | None:
    """A difference, `None` where a side is missing."""
    return None if one is None or other is None else one - other


def alternating(items: Sequence[Item], rounds: int) -> Iterator[Item]:
    """All items once a round; every other round backwards, and each beginning elsewhere, so that drift hits all."""
    for number in range(rounds):
        start = number * 3 % len(items) if items else 0
        order = [*items[start:], *items[:start]]
        yield from reversed(order) if number % 2 else order

"""Sums by name over many recordings: how much, on how many hosts, and where it was worst."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

KEEP = 20_000
"""How many names are kept; of more those with least of the first value go, and are counted."""


@dataclass(slots=True)
class Sum:
    """`values` in the order they were given; `hosts` has a bit for each; `worst`: the most in one recording, a second,
    and its host.
    """

    values: list[int]
    hosts: int = 0
    worst: tuple[float, str] = (-1.0, "")

    @property
    def host_count(self) -> int:
        """On how many hosts."""
        return self.hosts.bit_count()


@dataclass(slots=True)
class Sums(Generic[Key]):
    """Sums by name. `longest`: places of values of which the largest counts, and not the sum."""

    longest: tuple[int, ...] = ()
    most: int = KEEP
    forgotten: int = 0
    _rows: dict[Key, Sum] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, key: Key, values: Sequence[int]) -> Sum:
        """Adds values to a name's, and gives its sum."""
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= 2 * self.most:
                self.bound()
            row = self._rows[key] = Sum([0] * len(values))
        for place, value in enumerate(values):
            row.values[place] = max(row.values[place], value) if place in self.longest else row.values[place] + value
        return row

    def bound(self) -> None:
        """Drops those with least, so that no more than `most` are left."""
        if len(self._rows) > self.most:
            kept = sorted(self._rows.items(), key=lambda item: -item[1].values[0])[: self.most]
            self.forgotten += len(self._rows) - len(kept)
            self._rows = dict(kept)

    def largest(self, most: int | None = None) -> Iterator[tuple[Key, Sum]]:
        """Names and sums, most of the first value first."""
        self.bound()
        yield from sorted(self._rows.items(), key=lambda item: (-item[1].values[0], str(item[0])))[:most]


@dataclass(slots=True)
class Known:
    """A number that not every recording tells: its sum, over how long, and of how many recordings."""

    total: int = 0
    ns: int = 0
    recordings: int = 0

    def add(self, value: int | None, ns: int) -> None:
        """Adds what one recording says; `None`: it does not."""
        if value is not None:
            self.total += value
            self.ns += ns
            self.recordings += 1

    def over(self, span_ns: int) -> int | None:
        """What it would be over all of a span at the same rate, `None` if no recording tells."""
        if not self.recordings:
            return None
        return self.total if self.ns in (0, span_ns) else round(self.total * span_ns / self.ns)

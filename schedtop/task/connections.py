"""How the connections of a task changed: one by one, and counted, which a list of them is too short for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

_OPENING = ("SYN_SENT", "SYN_RECV", "NEW_SYN_RECV")
_NOT_CONNECTED = (*_OPENING, "CLOSED", "LISTEN", "BOUND_INACTIVE")


@dataclass(frozen=True, slots=True)
class ConnectionChange:
    """A connection of the task went from one TCP state to another, at wall-clock time `time_ns`.

    `local`, `remote`: address and port, `127.0.0.1:80` or `[::1]:80`. States as `ss` names them, with underscores.
    """

    time_ns: int
    protocol: str
    old: str
    new: str
    local: str
    remote: str


@dataclass(frozen=True, slots=True)
class Transition:
    """How many connections went from one TCP state (`old`) to another."""

    old: str
    new: str
    count: int

    def __add__(self, later: Transition) -> Transition:
        return replace(self, count=self.count + later.count)


def transitions(changes: Iterable[ConnectionChange]) -> tuple[Transition, ...]:
    """Changes counted by what they were, the most frequent first."""
    counted = Counter((change.old, change.new) for change in changes)
    return tuple(sorted((Transition(*key, count) for key, count in counted.items()), key=transition_order))


def transition_order(one: Transition) -> tuple[int, str, str]:
    """The most frequent first."""
    return (-one.count, one.old, one.new)


def connection_counts(counted: Iterable[Transition]) -> Mapping[str, int]:
    """`opened` (by connect), `accepted`, `closed` (after it was there), `failed` (it came to nothing)."""
    found = dict.fromkeys(("opened", "accepted", "closed", "failed"), 0)
    for one in counted:
        if one.new == "ESTABLISHED":
            found["opened" if one.old == "SYN_SENT" else "accepted"] += one.count
        elif one.new == "CLOSED" and one.old in _OPENING:
            found["failed"] += one.count
        elif one.new == "CLOSED" and one.old not in _NOT_CONNECTED:
            found["closed"] += one.count
    return found


def counts_words(counted: Iterable[Transition]) -> str:
    """Those of `connection_counts` that there are; empty if there are none."""
    return ", ".join(f"{count:,} {word}" for word, count in connection_counts(counted).items() if count)


def entered(counted: Iterable[Transition]) -> Mapping[str, int]:
    """How often a connection came to be in each state, the most frequent first."""
    found: Counter[str] = Counter()
    for one in counted:
        found[one.new] += one.count
    return dict(found.most_common())

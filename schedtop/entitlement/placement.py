"""Sharing out several CPUs: by weight on each, with the tasks spread over the CPUs that they may use.

The kernel balances load between CPUs, so that weight is spread as evenly as affinity allows; a group's weight is split
over the CPUs in proportion to the load that it has on each. Source: calc_group_shares() and load_balance() of
kernel/sched/fair.c.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from schedtop.entitlement.competition import Contender, Group
from schedtop.entitlement.filling import ROOT, Claims, Tree, fill_tree, innermost_first, tree_of

_ROUNDS = 60
_CLOSE = 1e-4
_MOST_KINDS = 32


@dataclass(frozen=True, slots=True)
class Kind:
    """CPUs on which the same contenders may run, so that they are one store of CPU time."""

    cpus: frozenset[int]
    capacity: float
    allowed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Division:
    """Which contender gets how many CPUs, in order, and which group, by key; `parts`: the same on each kind of CPU.

    The groups of a part have the root among them, under the empty key.
    """

    shares: tuple[float, ...]
    groups: Mapping[str, float]
    kinds: tuple[Kind, ...]
    parts: tuple[tuple[list[float], dict[str, float]], ...]

    def on(self, cpus: Collection[int], key: str) -> float:
        """What a group gets of these CPUs, the root (all that is shared out there) by the empty key."""
        return sum(got.get(key, 0.0) for _, (_, got) in self._of(cpus))

    def member_on(self, cpus: Collection[int], place: int) -> float:
        """What one contender gets of these CPUs."""
        return sum(given[place] for _, (given, _) in self._of(cpus))

    def _of(self, cpus: Collection[int]) -> Iterable[tuple[Kind, tuple[list[float], dict[str, float]]]]:
        return (pair for pair in zip(self.kinds, self.parts, strict=True) if pair[0].cpus & set(cpus))


def divide(
    contenders: Sequence[Contender], most: Sequence[float], groups: Mapping[str, Group], capacity: Mapping[int, float]
) -> Division:
    """Shares the CPUs out; `most`: how much of a CPU each contender can use."""
    kinds = _kinds(contenders, capacity)
    tree = tree_of([one.groups for one in contenders])
    spread = _even_spread(kinds, len(contenders))
    parts: list[tuple[list[float], dict[str, float]]] = []
    for _ in range(_ROUNDS if len(kinds) > 1 else 1):
        parts = _shares_by_kind(kinds, tree, contenders, most, groups, spread)
        if not _rebalance(kinds, spread, [given for given, _ in parts]):
            break
    shares = tuple(sum(given[place] for given, _ in parts) for place in range(len(contenders)))
    totals = {key: sum(got.get(key, 0.0) for _, got in parts) for key in tree if key != ROOT}
    return Division(shares, totals, tuple(kinds), tuple(parts))


def _kinds(contenders: Sequence[Contender], capacity: Mapping[int, float]) -> list[Kind]:
    """The CPUs by who may run there. Of more kinds than are worth it the last ones are one."""
    by_allowed: dict[tuple[int, ...], set[int]] = {}
    for cpu in capacity:
        allowed = tuple(place for place, one in enumerate(contenders) if cpu in one.cpus)
        by_allowed.setdefault(allowed, set()).add(cpu)
    by_allowed.pop((), None)
    kinds = [
        Kind(frozenset(cpus), sum(max(0.0, capacity[cpu]) for cpu in cpus), allowed)
        for allowed, cpus in by_allowed.items()
    ]
    kinds.sort(key=lambda kind: -len(kind.allowed))
    if len(kinds) <= _MOST_KINDS:
        return kinds
    rest = kinds[_MOST_KINDS - 1 :]
    together = Kind(
        frozenset().union(*(kind.cpus for kind in rest)),
        sum(kind.capacity for kind in rest),
        tuple(sorted({place for kind in rest for place in kind.allowed})),
    )
    return [*kinds[: _MOST_KINDS - 1], together]


Spread = list[list[float]]
"""The share of its time that each contender spends on each kind of CPU, shape (kinds, contenders)."""


def _even_spread(kinds: Sequence[Kind], many: int) -> Spread:
    spread = [[0.0] * many for _ in kinds]
    for row, kind in zip(spread, kinds, strict=True):
        for place in kind.allowed:
            row[place] = float(len(kind.cpus))
    for place in range(many):
        whole = sum(row[place] for row in spread)
        for row in spread:
            row[place] = row[place] / whole if whole else 0.0
    return spread


def _shares_by_kind(
    kinds: Sequence[Kind],
    tree: Tree,
    contenders: Sequence[Contender],
    most: Sequence[float],
    groups: Mapping[str, Group],
    spread: Spread,
) -> list[tuple[list[float], dict[str, float]]]:
    split = _group_split(tree, contenders, groups, spread)
    found = []
    for place, kind in enumerate(kinds):
        row = spread[place]
        claims = Claims(
            [one.weight * part for one, part in zip(contenders, row, strict=True)],
            [want * part for want, part in zip(most, row, strict=True)],
            {key: groups[key].weight * split[key][place] for key in split},
            {key: quota * split[key][place] for key in split if (quota := groups[key].quota) is not None},
        )
        found.append(fill_tree(tree, claims, kind.capacity))
    return found


def _group_split(
    tree: Tree, contenders: Sequence[Contender], groups: Mapping[str, Group], spread: Spread
) -> dict[str, list[float]]:
    """How each group's weight is split over the kinds of CPUs: as the load in it is."""
    split: dict[str, list[float]] = {}
    for key in innermost_first(tree)[:-1]:  # the last one is the root
        node = tree[key]
        loads = []
        for place in range(len(spread)):
            load = sum(contenders[one].weight * contenders[one].wanted * spread[place][one] for one in node.members)
            loads.append(load + sum(groups[child].weight * split[child][place] for child in node.children))
        whole = sum(loads)
        split[key] = [load / whole if whole else 1.0 / len(spread) for load in loads]
    return split


def _rebalance(kinds: Sequence[Kind], spread: Spread, given: Sequence[Sequence[float]]) -> bool:
    """Moves each contender towards the CPUs where it gets more for its time; whether that changed anything."""
    if len(kinds) < 2:
        return False
    moved = 0.0
    for one in range(len(spread[0]) if spread else 0):
        places = [place for place, row in enumerate(spread) if row[one] > 0]
        if len(places) < 2:
            continue
        worth = [spread[place][one] * (given[place][one] / spread[place][one]) ** 0.5 for place in places]
        whole = sum(worth)
        if not whole:
            continue
        for place, value in zip(places, worth, strict=True):
            # Never quite nothing: what has left a CPU must be able to return.
            part = max(value / whole, 1e-3)
            moved = max(moved, abs(part - spread[place][one]))
            spread[place][one] = part
    return moved > _CLOSE

"""Water-filling: capacity shared out by weight, where nothing gets more than it wants, and the rest goes to the others.

That is what the fair class does over time: on one CPU a task of weight w beside others has w of the sum of the weights
of those that want to run; a group counts as one task of its own weight and shares what it got among what is in it.
Source: Documentation/scheduler/sched-eevdf.rst and sched-design-CFS.rst, "Group scheduler extensions to CFS".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NOTHING = 1e-12


def fill(claims: Sequence[tuple[float, float]], capacity: float) -> list[float]:
    """What each claim (weight, the most that it wants) gets of the capacity."""
    given = [0.0] * len(claims)
    left, weights = max(0.0, capacity), sum(weight for weight, _ in claims)
    # Those that want least for their weight are the first to be satisfied.
    for place in sorted(range(len(claims)), key=lambda one: claims[one][1] / max(claims[one][0], NOTHING)):
        weight, most = claims[place]
        share = left * weight / weights if weights > NOTHING else 0.0
        given[place] = min(most, share)
        left, weights = left - given[place], weights - weight
    return given


@dataclass(slots=True)
class Node:
    """A group of the hierarchy, or the root: what it holds itself, by place, and the groups in it, by key."""

    members: list[int] = field(default_factory=list)
    children: list[str] = field(default_factory=list)


Tree = dict[str, Node]
"""Groups by key; the root is the empty one."""

ROOT = ""


def tree_of(paths: Sequence[tuple[str, ...]]) -> Tree:
    """The tree of members at these paths (keys of groups, outermost first)."""
    tree: Tree = {ROOT: Node()}
    for place, path in enumerate(paths):
        parent = tree[ROOT]
        for key in path:
            if key not in tree:
                tree[key] = Node()
                parent.children.append(key)
            parent = tree[key]
        parent.members.append(place)
    return tree


@dataclass(frozen=True, slots=True)
class Claims:
    """What is claimed in one place: of each member its weight and the most that it wants, of each group its weight and
    the most that it may have (absent: no limit)."""

    weights: Sequence[float]
    most: Sequence[float]
    group_weights: Mapping[str, float]
    group_most: Mapping[str, float]


def fill_tree(tree: Tree, claims: Claims, capacity: float) -> tuple[list[float], dict[str, float]]:
    """What each member gets, and each group in sum."""
    wanted = _wanted(tree, claims)
    given = [0.0] * len(claims.weights)
    got = {ROOT: min(max(0.0, capacity), wanted[ROOT])}
    todo = [ROOT]
    while todo:
        key = todo.pop()
        node = tree[key]
        asked = [(claims.weights[member], claims.most[member]) for member in node.members]
        asked += [(claims.group_weights[child], wanted[child]) for child in node.children]
        shares = fill(asked, got[key])
        for member, share in zip(node.members, shares, strict=False):
            given[member] = share
        for child, share in zip(node.children, shares[len(node.members) :], strict=True):
            got[child] = share
            todo.append(child)
    return given, got


def innermost_first(tree: Tree) -> list[str]:
    """The keys of all groups, each before the one that it is in; the root is the last."""
    order, todo = [], [ROOT]
    while todo:
        order.append(todo.pop())
        todo.extend(tree[order[-1]].children)
    return order[::-1]


def _wanted(tree: Tree, claims: Claims) -> dict[str, float]:
    """The most that each group can use."""
    found: dict[str, float] = {}
    for key in innermost_first(tree):
        node = tree[key]
        whole = sum(claims.most[member] for member in node.members) + sum(found[child] for child in node.children)
        found[key] = min(whole, claims.group_most.get(key, whole))
    return found

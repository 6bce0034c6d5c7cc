"""Entitlement: the share of the CPUs that the weights give a task, against the share that it got in the same window.

The weights divide what the classes before the fair one leave: real-time and deadline tasks have what they used. A task
that used less than its share because it slept counts with what it used; one that waited counts with its whole weight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import takewhile

from schedtop.entitlement.competition import FIRST, Competition, Contender, Group
from schedtop.entitlement.placement import Division, divide

NEAR, NEAR_RATIO = 0.01, 0.1
"""What is so near (of a CPU, or of what it is entitled to) is the same: edges of the window, short waits."""

_NOTABLE = 0.05
"""What comes before weights is worth a word from here on, if it has more than all that compete by weight."""

ALWAYS = 0.95
"""A task that wants a CPU for so much of the window wants it all the time."""


class Conclusion(Enum):
    """What the comparison says."""

    WEIGHTS = "weights"
    """It got what the weights give it, and wanted more."""
    SATISFIED = "satisfied"
    """It got all that it wanted."""
    LESS = "less"
    """It got less than the weights give it."""
    MORE = "more"
    """It got more: others left theirs, or were kept from it."""
    QUOTA = "quota"
    """The quota of its group gives it less than its weight would."""
    BEHIND = "behind real-time"
    """Tasks that come before weights had more of its CPUs than all its rivals: it shared in what they left."""
    FIRST = "first"
    """It is of a class that comes before weights."""
    OTHER = "other class"
    """It is of a class whose rules are not known here (a loaded scheduler)."""
    IDLE = "idle"
    """It wanted no CPU."""


@dataclass(frozen=True, slots=True)
class Level:
    """One step from the root to the task: its group, or at last (`key` empty) the task or process itself.

    `weight` against `weights`, the sum of those beside it that wanted a CPU, itself included; of a process the sum of
    its threads. `entitled` (if the subject always wanted more) and `got`: CPUs. `ratio`: its share of what is shared
    out at this step on the CPUs of the subject, 1 where nothing competes with it. `quota`: as of a Group.
    """

    key: str
    words: str
    weight: int
    weights: int
    entitled: float
    got: float
    ratio: float
    quota: float | None = None


@dataclass(frozen=True, slots=True)
class Rival:
    """A contender beside the subject, with what it is entitled to and got, in CPUs."""

    contender: Contender
    entitled: float
    got: float


@dataclass(frozen=True, slots=True)
class Entitlement:
    """What the weights give the subject, in CPUs: 1.0 is one CPU all the time.

    `entitled`: of what it wanted; `limit`: if it always wanted more; `got`, `wanted`: it ran, ran or waited.
    `levels`: from the root to the subject; `rivals`: the largest shares first, `more_rivals`: how many are left out;
    `first`: real-time and deadline tasks on its CPUs, `first_used`: what they had of these, if they
    were on all their CPUs alike. `group`: the key of the group that it is about; empty: it is about tasks.
    """

    interval_ns: int
    subject: tuple[Contender, ...]
    conclusion: Conclusion
    entitled: float
    limit: float
    got: float
    wanted: float
    cpus: frozenset[int]
    levels: tuple[Level, ...] = ()
    rivals: tuple[Rival, ...] = ()
    more_rivals: int = 0
    first: tuple[Rival, ...] = ()
    first_used: float = 0.0
    group: str = ""

    @property
    def always_wanted(self) -> bool:
        """Whether it wanted a CPU all the time, with every thread."""
        return self.wanted >= ALWAYS * len(self.subject)


MOST_RIVALS = 8


def entitlement(competition: Competition, tids: Collection[int]) -> Entitlement | None:
    """Of the tasks `tids` together: a thread, or all threads of a process. `None`: none of them is a contender."""
    subject = tuple(one for one in competition.contenders if one.tid in tids)
    if not subject:
        return None
    got, wanted = sum(one.used for one in subject), sum(one.wanted for one in subject)
    cpus = frozenset().union(*(one.cpus for one in subject))
    fair = tuple(one for one in competition.contenders if one.is_fair)
    first = [one for one in competition.contenders if one.policy in FIRST and one.cpus & cpus and one.tid not in tids]
    came_first = tuple(Rival(one, one.used, one.used) for one in sorted(first, key=lambda one: -one.used)[:MOST_RIVALS])
    found = Entitlement(
        interval_ns=competition.interval_ns,
        subject=subject,
        conclusion=Conclusion.WEIGHTS,
        entitled=wanted,
        limit=wanted,
        got=got,
        wanted=wanted,
        cpus=cpus,
        first=came_first,
        first_used=sum(one.used * len(one.cpus & cpus) / len(one.cpus) for one in first),
    )
    if not all(one.is_fair for one in subject):
        first_too = any(one.policy in FIRST for one in subject)
        return replace(found, conclusion=Conclusion.FIRST if first_too else Conclusion.OTHER)
    return _by_weight(competition, fair, found)


def group_entitlement(competition: Competition, key: str) -> Entitlement | None:
    """Of all tasks in a group and below, those that share by weight, if there are any: the way ends at the group."""
    inside = [one for one in competition.contenders if key in one.groups]
    tids = {one.tid for one in inside if one.is_fair} or {one.tid for one in inside}
    found = entitlement(competition, tids)
    if found is None:
        return None
    keys = [level.key for level in found.levels]
    return replace(found, group=key, levels=found.levels[: keys.index(key) + 1] if key in keys else ())


def _by_weight(competition: Competition, fair: Sequence[Contender], found: Entitlement) -> Entitlement:
    """The same with what the weights give it, and its rivals."""
    tids = {one.tid for one in found.subject}
    shared, limit = share_out(competition), share_out(competition, tids)
    mine = [place for place, one in enumerate(fair) if one.tid in tids]
    rivals = _rivals(fair, mine, shared, found.cpus)
    found = replace(
        found,
        entitled=sum(shared.shares[place] for place in mine),
        limit=sum(limit.shares[place] for place in mine),
        levels=_levels(competition, fair, mine, limit),
        rivals=tuple(rivals[:MOST_RIVALS]),
        more_rivals=max(0, len(rivals) - MOST_RIVALS),
    )
    return replace(found, conclusion=_conclusion(found, rivals))


def share_out(competition: Competition, insatiable: Collection[int] = ()) -> Division:
    """What the weights give the contenders of the fair class; the `insatiable` (tids) as if they always wanted more."""
    fair = [one for one in competition.contenders if one.is_fair]
    capacity = _left_by_the_first(competition)
    # Clocks of a reading and of the kernel differ a little: nearly always is always.
    wanted = [1.0 if one.tid in insatiable or one.wanted >= ALWAYS else one.wanted for one in fair]
    could = divide(fair, wanted, competition.groups, capacity).shares
    # One that slept counts with what it used, or with its share of the time in which it wanted a CPU.
    most = [
        1.0 if one.tid in insatiable else min(want, max(one.used, want * share))
        for one, want, share in zip(fair, wanted, could, strict=True)
    ]
    return divide(fair, most, competition.groups, capacity)


def _left_by_the_first(competition: Competition) -> dict[int, float]:
    """The capacity of each CPU without what real-time, deadline and other classes used, evenly over their CPUs."""
    left = dict(competition.capacity)
    for one in competition.contenders:
        if not one.is_fair:
            cpus = [cpu for cpu in one.cpus if cpu in left]
            for cpu in cpus:
                left[cpu] -= one.used / len(cpus)
    return {cpu: max(0.0, capacity) for cpu, capacity in left.items()}


def _conclusion(found: Entitlement, rivals: Sequence[Rival]) -> Conclusion:
    near = max(NEAR, NEAR_RATIO * found.entitled)
    if found.wanted <= 0:
        return Conclusion.IDLE
    if found.got >= found.wanted - NEAR:
        return Conclusion.SATISFIED
    if any(level.quota is not None and level.got >= level.quota * (1 - NEAR_RATIO) for level in found.levels):
        return Conclusion.QUOTA
    if found.first_used > max(_NOTABLE, sum(rival.entitled for rival in rivals)):
        return Conclusion.BEHIND
    if found.got < found.entitled - near:
        return Conclusion.LESS
    return Conclusion.MORE if found.got > found.entitled + near else Conclusion.WEIGHTS


def _levels(
    competition: Competition, fair: Sequence[Contender], mine: Sequence[int], division: Division
) -> tuple[Level, ...]:
    """From the root to the subject: of threads in several groups those steps that they have in common."""
    paths = [fair[place].groups for place in mine]
    path = tuple(keys[0] for keys in takewhile(lambda keys: len(set(keys)) == 1, zip(*paths, strict=False)))
    cpus = frozenset().union(*(fair[place].cpus for place in mine))
    levels = []
    for depth, key in enumerate(path):
        group = competition.groups[key]
        levels.append(
            Level(
                key,
                group.words,
                group.weight,
                _beside(competition.groups, fair, path[:depth], cpus),
                division.groups.get(key, 0.0),
                sum(one.used for one in fair if one.groups[: depth + 1] == path[: depth + 1]),
                _part(division.on(cpus, key), division.on(cpus, path[depth - 1] if depth else "")),
                group.quota,
            )
        )
    own = sum(division.member_on(cpus, place) for place in mine)
    return (
        *levels,
        Level(
            "",
            "the task" if len(mine) == 1 else f"its {len(mine)} threads",
            sum(fair[place].weight for place in mine),
            _beside(competition.groups, fair, path, cpus),
            sum(division.shares[place] for place in mine),
            sum(fair[place].used for place in mine),
            _part(own, division.on(cpus, path[-1] if path else "")),
        ),
    )


def _part(one: float, whole: float) -> float:
    return min(1.0, one / whole) if whole > 0 else 1.0


def _beside(groups: Mapping[str, Group], fair: Sequence[Contender], path: tuple[str, ...], cpus: frozenset[int]) -> int:
    """The sum of the weights of what competes for the CPUs right in a group: tasks, and groups that hold any."""
    inside = [one for one in fair if one.groups[: len(path)] == path and one.cpus & cpus]
    keys = {one.groups[len(path)] for one in inside if len(one.groups) > len(path)}
    return sum(one.weight for one in inside if len(one.groups) == len(path)) + sum(groups[key].weight for key in keys)


def _rivals(fair: Sequence[Contender], mine: Sequence[int], division: Division, cpus: frozenset[int]) -> list[Rival]:
    found = [
        Rival(one, division.shares[place], one.used)
        for place, one in enumerate(fair)
        if place not in mine and one.cpus & cpus
    ]
    return sorted(found, key=lambda rival: -max(rival.entitled, rival.got))

"""One action that changes what the weights give a task, where they hold it back, and what it would have then."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from schedtop.entitlement.competition import Competition, Contender, Group
from schedtop.entitlement.share import Conclusion, Entitlement, Level, entitlement
from schedtop.model.weights import (
    LEAST_NICE,
    MOST_CPU_WEIGHT,
    MOST_SHARES,
    cpu_weight_of_shares,
    nice_of_weight,
    nice_weight,
    shares_of_cpu_weight,
    task_weight,
)

_STEP = 5
"""How many nice values a task goes up where nothing beside it says how far."""

_FACTOR = 4
"""The same for the weight of a group."""

LEAST_GAIN = 1.05
"""What a heavier weight must give, by what the subject has without it."""

_ALONE = 0.98
"""From such a share on nothing competes at a level."""


@dataclass(frozen=True, slots=True)
class Advice:
    """`command`: to be typed; `expected`: the CPUs that the subject is entitled to then, if it behaves as before.

    `reason`: why this and not another setting, a clause; empty: it needs none.
    """

    command: str
    expected: float
    reason: str = ""


def advise(competition: Competition, found: Entitlement) -> Advice | None:
    """What gives the subject more; `None` where no weight holds it back, or a heavier one would not help."""
    if found.conclusion is Conclusion.BEHIND:
        return _without_the_first(competition, found)
    if found.conclusion is not Conclusion.WEIGHTS:
        return None
    if not found.levels:
        return None
    held = min(reversed(found.levels), key=lambda level: level.ratio)
    if held.ratio >= _ALONE:
        return None
    advice = _heavier_group(competition, found, held) if held.key else _heavier_task(competition, found)
    return advice if advice and advice.expected >= LEAST_GAIN * found.entitled else None


def idle_nice(found: Entitlement) -> bool:
    """Whether the subject has a nice value, and nothing competes with it inside of its group: it changes nothing."""
    own = found.levels[-1] if found.levels else None
    return (
        own is not None
        and not found.group
        and len(found.levels) > 1
        and any(one.nice for one in found.subject)
        and own.ratio >= _ALONE
        and any(level.ratio < _ALONE for level in found.levels[:-1])
    )


def _without_the_first(competition: Competition, found: Entitlement) -> Advice:
    """The task of a class that comes first, as an ordinary one."""
    most = found.first[0].contender
    ordinary = replace(most, policy="other", rt_priority=0, weight=nice_weight(most.nice))
    changed = _with(competition, {most.tid: ordinary})
    return Advice(
        f"chrt --other --pid 0 {most.tid}", _expected(changed, found), f"{most.policy} comes before any weight"
    )


def _heavier_task(competition: Competition, found: Entitlement) -> Advice | None:
    subject, path = found.subject, found.subject[0].groups
    tids = {one.tid for one in subject}
    if any(one.policy == "idle" for one in subject):
        command = (
            f"chrt --other --pid 0 {_tids(subject)}" if len(subject) == 1 else _each(subject, "chrt --other --pid 0")
        )
        changed = {one.tid: replace(one, policy="other", weight=nice_weight(one.nice)) for one in subject}
        return Advice(command, _expected(_with(competition, changed), found), "the policy idle has a weight of 3")
    beside = [
        one.nice
        for one in competition.contenders
        if one.policy in ("other", "batch") and one.groups == path and one.tid not in tids and one.cpus & found.cpus
    ]
    now = max(one.nice for one in subject)
    nice = min(beside, default=now)
    nice = nice if nice < now else max(LEAST_NICE, now - _STEP)
    if nice == now:
        return None
    changed = {one.tid: replace(one, nice=nice, weight=task_weight(one.policy, nice)) for one in subject}
    return Advice(f"renice -n {nice} -p {_tids(subject)}", _expected(_with(competition, changed), found))


def _heavier_group(competition: Competition, found: Entitlement, held: Level) -> Advice | None:
    group, path = competition.groups[held.key], found.subject[0].groups
    # A nice value that has no effect inside says what the group was to have.
    target = nice_weight(min(one.nice for one in found.subject)) if idle_nice(found) else 0
    if target <= group.weight:
        target = _heaviest_beside(competition, found, path[: path.index(held.key)], held.key)
    if target <= group.weight:
        target = group.weight * _FACTOR
    heavier = _of_weight(group, target)
    if heavier.weight <= group.weight:
        return None
    changed = replace(competition, groups={**competition.groups, held.key: heavier})
    reason = ""
    if idle_nice(found):
        inside = "its autogroup" if group.kind == "autogroup" else "its cgroup"
        reason = f"{_nice_words(found)} acts only inside of {inside}; change the group's weight"
    # The file of any process of the session sets it for all of them.
    file = f"/proc/{found.subject[0].tgid}/autogroup" if group.kind == "autogroup" else group.file
    return Advice(f"echo {heavier.setting} > {shlex.quote(file)}", _expected(changed, found), reason)


def _of_weight(group: Group, target: float) -> Group:
    """The group with the nearest setting of its kind to a weight."""
    if group.kind == "autogroup":
        nice = nice_of_weight(target)
        return replace(group, weight=nice_weight(nice), setting=nice)
    if group.file.endswith("cpu.weight"):
        setting = min(cpu_weight_of_shares(target), MOST_CPU_WEIGHT)
        return replace(group, weight=shares_of_cpu_weight(setting), setting=setting)
    setting = min(round(target), MOST_SHARES)
    return replace(group, weight=setting, setting=setting)


def _heaviest_beside(competition: Competition, found: Entitlement, path: tuple[str, ...], key: str) -> int:
    """The largest weight right beside a group, of what competes for the CPUs of the subject."""
    weights = [0]
    for one in competition.contenders:
        if one.is_fair and one.groups[: len(path)] == path and one.cpus & found.cpus and key not in one.groups:
            inner = one.groups[len(path) : len(path) + 1]
            weights.append(competition.groups[inner[0]].weight if inner else one.weight)
    return max(weights)


def _with(competition: Competition, changed: dict[int, Contender]) -> Competition:
    return replace(competition, contenders=tuple(changed.get(one.tid, one) for one in competition.contenders))


def _expected(changed: Competition, found: Entitlement) -> float:
    after = entitlement(changed, {one.tid for one in found.subject})
    return after.entitled if after else 0.0


def _tids(subject: Sequence[Contender]) -> str:
    """The number, or what stands for the numbers of all threads: renice takes one by one."""
    return str(subject[0].tid) if len(subject) == 1 else f"$(ls /proc/{subject[0].tgid}/task)"


def _each(subject: Sequence[Contender], command: str) -> str:
    return f"for t in {_tids(subject)}; do {command} $t; done"


def _nice_words(found: Entitlement) -> str:
    values = sorted({one.nice for one in found.subject})
    return f"nice {values[0]}" if len(values) == 1 else f"nice {values[0]} to {values[-1]}"

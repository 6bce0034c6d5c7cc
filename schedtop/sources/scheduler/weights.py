"""Weights of a victim and its blockers where they meet: fair scheduling compares siblings alone, level by level.

The levels from the root down: the cgroups as far as they have the cpu controller (v2 enables it for some alone), for
tasks in none of them the autogroups (a session each, sched(7)), then the tasks themselves. Files are read for long
waits only, and what they say holds for KEEP_NS.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from schedtop.base.breath import Breath
from schedtop.base.units import NS_PER_S
from schedtop.model.rows import Integers, Rows, rows_where
from schedtop.model.sched_class import Level, Policy, SchedClass, Treatment
from schedtop.model.short_lived import by_parent
from schedtop.model.weights import nice_weight
from schedtop.sources.host.pid_numbers import PROC
from schedtop.sources.host.weights import read_group_weight

KEEP_NS = 5 * NS_PER_S
"""How long a weight holds that was read."""

MOST_READ = 200
"""How many files are read for the waits of one interval; the weights of the others stay unknown until the next."""

MOST_OF_TASKS = 50
"""The same for the groups of all tasks: those of slow waits go before."""

MOST_PARENTS = 4
"""Of how many parents of short-lived tasks the sessions are looked at."""

NO_NAME = -1
"""Instead of the number of a name: there is none."""

NO_LEVEL = -1
"""Instead of a weight: v2 has not enabled the controller there, so that its tasks count in the group above."""

_AUTOGROUP = re.compile(rb"/autogroup-([0-9]+) nice (-?[0-9]+)")

Step = tuple[str, int, Level]
"""A scheduling entity on the way from the root to a task: its name, its weight, what it is."""


class WeightFiles:
    """The weights of cgroups below `root` (the mount of the cpu controller) and of autogroups, read now and then."""

    def __init__(self, root: Path | None, unified: bool, proc: Path = PROC) -> None:
        self._root = root
        self._unified = unified
        self._proc = proc
        self._known: dict[str | int, tuple[int, tuple[str, int]]] = {}
        self._ways: dict[str, Sequence[Step]] = {}
        self._left = MOST_READ

    def begin(self, now_ns: int, most: int = MOST_READ) -> None:
        """A new interval, or a new purpose in it, for which so many files may be read: forgets what is old."""
        self._left = most
        self._now_ns = now_ns
        self._ways.clear()
        self._known = {key: known for key, known in self._known.items() if known[0] > now_ns - KEEP_NS}
        self._has_sessions: bool | None = None

    def way_to(self, path: str) -> Sequence[Step]:
        """The cgroups on the way to one, as far as they have the controller: mostly many tasks are in each."""
        if (way := self._ways.get(path)) is None:
            way = self._ways[path] = _group_steps(path, self)
        return way

    def of_group(self, path: str) -> int:
        """The weight of a cgroup in units of cpu.shares, 0 if it is not known, NO_LEVEL if it has none of its own."""
        return self._kept(path, lambda: (path, self._group(path)), (path, 0))[1]

    def of_session(self, tgid: int) -> tuple[str, int]:
        """The name and weight of the autogroup of a process; no name: it is in none, or (weight NO_LEVEL) not known.

        Of a process that has ended it is not known.
        """
        if self._has_sessions is None:
            self._has_sessions = (self._contents("sys/kernel/sched_autogroup_enabled") or b"").strip() == b"1"
        return self._kept(tgid, lambda: self._session(tgid), ("", NO_LEVEL)) if self._has_sessions else ("", 0)

    def _kept(self, key: str | int, read: Callable[[], tuple[str, int]], not_known: tuple[str, int]) -> tuple[str, int]:
        if key not in self._known:
            if self._left <= 0:
                return not_known
            self._left -= 1
            self._known[key] = (self._now_ns, read())
        return self._known[key][1]

    def _group(self, path: str) -> int:
        if self._root is None:
            return 0
        directory = f"{self._root}{path}"
        ends = self._unified and not os.path.exists(f"{directory}/cpu.weight") and os.path.isdir(directory)
        return NO_LEVEL if ends else read_group_weight(directory, self._unified)

    def _session(self, tgid: int) -> tuple[str, int]:
        contents = self._contents(f"{tgid}/autogroup")
        if contents is None:
            return "", NO_LEVEL
        found = _AUTOGROUP.match(contents)  # of a kernel thread it is empty
        # autogroup_move_group(): its shares are the weight of its nice.
        return (f"autogroup {int(found[1])}", nice_weight(int(found[2]))) if found else ("", 0)

    def _contents(self, path: str) -> bytes | None:
        try:
            with open(f"{self._proc}/{path}", "rb", buffering=0) as file:
                return file.read()
        except OSError:
            return None


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A fair task where it stands: tid, process by its number in /proc, path of its cgroup (empty: not known)."""

    tid: int
    number: int
    path: str
    treatment: Treatment


class Meeting(NamedTuple):
    """What of each of two tasks is compared where they meet, and its weight; UNKNOWN and 0 where that is not known."""

    own_level: Level = Level.UNKNOWN
    own_weight: int = 0
    level: Level = Level.UNKNOWN
    weight: int = 0


def meet(one: Member, other: Member, files: WeightFiles) -> Meeting:
    """Where two tasks meet: the first step from the root down that the ways to them do not share."""
    ways = _Ways.of([_steps(one, files), _steps(other, files)])
    return Meeting(*ways.meetings(np.array([0]), np.array([1]))[0].tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """The steps of many ways from the root, as arrays of shape (ways, the longest one's steps): numbers of names,
    weights and Levels. Where a way has ended the name is NO_NAME, and the weight 0."""

    names: Integers
    weights: Integers
    levels: Integers

    @classmethod
    def of(cls, ways: Sequence[Sequence[Step]]) -> _Ways:
        shape = (len(ways), max(1, *map(len, ways)))
        names, weights, levels = np.full(shape, NO_NAME), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        numbers: dict[str, int] = {}
        for row, steps in enumerate(ways):
            for column, (name, weight, level) in enumerate(steps):
                names[row, column] = numbers.setdefault(name, len(numbers))
                weights[row, column], levels[row, column] = weight, level
        return cls(names, weights, levels)

    def meetings(self, one: Integers, other: Integers) -> Integers:
        """Where each two ways (by their rows) part: the fields of Meeting, shape (pairs, 4)."""
        differ = self.names[one] != self.names[other]
        at = differ.argmax(axis=1)
        sides = [table[way, at] for way in (one, other) for table in (self.levels, self.weights)]
        found: Integers = np.column_stack(sides)
        # A weight of 0 is not known, or there the way has ended.
        found[~differ.any(axis=1) | (found[:, 1] == 0) | (found[:, 3] == 0)] = 0
        return found


def _steps(member: Member, files: WeightFiles) -> list[Step]:
    weight = member.treatment.weight
    if not member.path or weight is None:
        return []
    steps = [*files.way_to(member.path)]
    if not steps:  # task_wants_autogroup()
        session, shares = files.of_session(member.number)
        if shares == NO_LEVEL:
            return []
        steps += [(session, shares, Level.AUTOGROUP)] if session else []
    return [*steps, (f"task {member.tid}", weight, Level.TASK)]


def _group_steps(path: str, files: WeightFiles) -> list[Step]:
    """The cgroups on the way, as far as they have the controller."""
    names = [name for name in path.split("/") if name]
    steps: list[Step] = []
    for depth in range(len(names)):
        group = "/" + "/".join(names[: depth + 1])
        shares = files.of_group(group)
        if shares == NO_LEVEL:
            break
        steps.append((group, shares, Level.CGROUP))
    return steps


def note_group_weights(tasks: Rows, paths: Mapping[int, str], files: WeightFiles) -> None:
    """Fills `cgroup_weight` of rows of TASK_DTYPE; `paths`: of cgroups by id."""
    ids = tasks["cgroup_id"].tolist()  # few on a quiet host, where np.unique is the more code to pass through
    weights = dict.fromkeys(ids, 0)
    for number in weights:
        if (path := paths.get(number, "/")) != "/":
            weights[number] = max(0, files.of_group(path))
    tasks["cgroup_weight"] = [weights[number] for number in ids]


def note_session_weights(
    short_lived: Rows, tasks: Rows, paths: Mapping[int, str], inside: Callable[[int], int], files: WeightFiles
) -> None:
    """Fills `session_weight` of rows of SHORT_LIVED_DTYPE, for those that started most; `tasks`: rows of TASK_DTYPE."""
    leaders = rows_where(tasks, tasks["tid"] == tasks["tgid"]) if len(short_lived) else tasks
    for parent in by_parent(short_lived)[:MOST_PARENTS]:
        own = leaders[leaders["comm"] == parent.comm][:MOST_OF_TASKS]
        places = zip(own["tgid"].tolist(), own["cgroup_id"].tolist(), strict=True)
        weights = [_session_weight(inside(tgid), paths.get(cgroup, ""), files) for tgid, cgroup in places]
        short_lived["session_weight"][short_lived["parent"] == parent.comm] = max(weights, default=0)


def _session_weight(number: int, path: str, files: WeightFiles) -> int:
    """The weight of the autogroup of a process, 0 if it is in none or that is not known."""
    return 0 if not path or files.way_to(path) else max(0, files.of_session(number)[1])


def note_weights(
    rows: Rows,
    blockers: Rows,
    paths: Mapping[int, str],
    inside: Callable[[int], int],
    files: WeightFiles,
    breath: Breath,
) -> None:
    """Fills `blocker_level`, `victim_level` and the weights there of slow waits where both tasks are fair.

    `blockers`: rows of TASK_NAME_DTYPE, shape (rows, BLOCKERS); `paths`: of cgroups by id; `inside`: what a process of
    the host is called in /proc (0: not at all). Takes breaths.
    """
    fair = (rows["sched_class"] == SchedClass.FAIR)[:, None] & (rows["blocker_sched_class"] == SchedClass.FAIR)
    fair &= rows["blocker_ns"] > 0
    if not fair.any():
        return
    # Many waits are of the same few tasks: each is looked at once.
    places = np.nonzero(fair)
    waiting, back = np.unique(places[0], return_inverse=True)
    facts = np.concatenate((_facts(rows, waiting), _facts(blockers, places)))
    breath.take()
    _, first, which = np.unique(facts.view(f"V{facts.itemsize * len(FACTS)}"), return_index=True, return_inverse=True)
    breath.take()
    # Not all files are read: those of the tasks with most waits go before, then in the order of the waits.
    which = which.ravel()
    order = np.lexsort((first, -np.bincount(which)))
    ways: list[Sequence[Step]] = [()] * len(order)
    for place, known in breath.between(zip(order.tolist(), facts[first[order]].tolist(), strict=True)):
        ways[place] = _steps(_member(*known, paths=paths, inside=inside), files)
    met = _Ways.of(ways).meetings(which[: len(waiting)][back], which[len(waiting) :])
    breath.take()
    for name, numbers in zip(("victim_level", "victim_weight", "blocker_level", "blocker_weight"), met.T, strict=True):
        rows[name][places] = numbers


FACTS = ("tid", "tgid", "cgroup_id", "sched_class", "policy", "nice")
"""By which a task is known here."""


def _facts(tasks: Rows, places: Any) -> Integers:
    """FACTS of some rows, shape (rows, len(FACTS))."""
    return np.column_stack([tasks[name][places].astype(np.int64) for name in FACTS])


def _member(
    tid: int,
    tgid: int,
    cgroup: int,
    kind: int,
    policy: int,
    nice: int,
    *,
    paths: Mapping[int, str],
    inside: Callable[[int], int],
) -> Member:
    return Member(tid, inside(tgid), paths.get(cgroup, ""), _treatment(kind, policy, nice))


@lru_cache(256)
def _treatment(kind: int, policy: int, nice: int) -> Treatment:
    return Treatment(SchedClass.known(kind) or SchedClass.UNKNOWN, Policy.known(policy) or Policy.UNKNOWN, nice=nice)

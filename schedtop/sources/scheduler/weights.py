"""Weights of a victim and its blockers where they meet: fair scheduling compares siblings alone, level by level.

The levels from the root down: the cgroups of the cpu controller, in its root the autogroups (a session each, sched(7)),
then the tasks themselves. Files are read for long waits only, and what they say holds for KEEP_NS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.model.rows import Rows
from schedtop.model.sched_class import Level, SchedClass, Treatment, treatment
from schedtop.model.weights import nice_weight
from schedtop.sources.host.pid_numbers import PROC
from schedtop.sources.host.weights import read_group_weight

KEEP_NS = 5 * NS_PER_S
"""How long a weight holds that was read."""

MOST_READ = 200
"""How many files are read for the waits of one interval; the weights of the others stay unknown until the next."""

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
        self._left = MOST_READ

    def begin(self, now_ns: int) -> None:
        """A new interval: forgets what is old."""
        self._left = MOST_READ
        self._now_ns = now_ns
        self._known = {key: known for key, known in self._known.items() if known[0] > now_ns - KEEP_NS}

    def of_group(self, path: str) -> int:
        """The weight of a cgroup in units of cpu.shares, 0 if it is not known."""
        return self._kept(path, lambda: (path, self._group(path)))[1]

    def of_session(self, tgid: int) -> tuple[str, int]:
        """The name and weight of the autogroup of a process; no name: it is in none, or that is not known."""
        return self._kept(tgid, lambda: self._session(tgid))

    def _kept(self, key: str | int, read: Callable[[], tuple[str, int]]) -> tuple[str, int]:
        if key not in self._known:
            if self._left <= 0:
                return "", 0
            self._left -= 1
            self._known[key] = (self._now_ns, read())
        return self._known[key][1]

    def _group(self, path: str) -> int:
        return 0 if self._root is None else read_group_weight(f"{self._root}{path}", self._unified)

    def _session(self, tgid: int) -> tuple[str, int]:
        try:
            if (self._proc / "sys/kernel/sched_autogroup_enabled").read_bytes().strip() != b"1":
                return "", 0
            found = _AUTOGROUP.match((self._proc / str(tgid) / "autogroup").read_bytes())
        except OSError:
            return "", 0
        # autogroup_move_group(): its shares are the weight of its nice.
        return (f"autogroup {int(found[1])}", nice_weight(int(found[2]))) if found else ("", 0)


@dataclass(frozen=True, slots=True)
class Member:
    """A fair task where it stands: tid, process by its number in /proc, path of its cgroup (empty: not known)."""

    tid: int
    number: int
    path: str
    treatment: Treatment


def meet(one: Member, other: Member, files: WeightFiles) -> tuple[Level, int, int]:
    """The level at which two tasks meet, and the weights of both there; (UNKNOWN, 0, 0) where that cannot be told."""
    steps, others = _steps(one, files), _steps(other, files)
    unknown = (Level.UNKNOWN, 0, 0)
    if not steps or not others:
        return unknown
    for step, against in zip(steps, others, strict=False):
        if step[0] == against[0]:
            continue
        if not step[1] or not against[1]:
            return unknown
        return max(step[2], against[2]), step[1], against[1]
    return unknown


def _steps(member: Member, files: WeightFiles) -> list[Step]:
    weight = member.treatment.weight
    if not member.path or weight is None:
        return []
    names = [name for name in member.path.split("/") if name]
    paths = ["/" + "/".join(names[: depth + 1]) for depth in range(len(names))]
    steps = [(path, files.of_group(path), Level.CGROUP) for path in paths]
    if not paths:
        session, shares = files.of_session(member.number)
        steps += [(session, shares, Level.AUTOGROUP)] if session else []
    return [*steps, (f"task {member.tid}", weight, Level.TASK)]


def note_weights(
    rows: Rows, blockers: Rows, paths: Mapping[int, str], inside: Callable[[int], int], files: WeightFiles
) -> None:
    """Fills `blocker_level`, `blocker_weight` and `victim_weight` of slow waits where both tasks are fair.

    `blockers`: rows of TASK_NAME_DTYPE, shape (rows, BLOCKERS); `paths`: of cgroups by id; `inside`: what a process of
    the host is called in /proc (0: not at all).
    """
    fair = (rows["sched_class"] == SchedClass.FAIR)[:, None] & (rows["blocker_sched_class"] == SchedClass.FAIR)
    fair &= rows["blocker_ns"] > 0
    met: dict[tuple[int, ...], tuple[Level, int, int]] = {}
    for place, which in zip(*(each.tolist() for each in np.nonzero(fair)), strict=True):
        row, blocker = rows[place], blockers[place][which]
        told = treatment(row), treatment(blocker)
        key = (int(row["tid"]), int(blocker["tid"]), *(each.weight or 0 for each in told))
        if key not in met:
            one, other = (
                Member(int(task["tid"]), inside(int(task["tgid"])), paths.get(int(task["cgroup_id"]), ""), each)
                for task, each in zip((row, blocker), told, strict=True)
            )
            met[key] = meet(one, other, files)
        level, own, against = met[key]
        rows["blocker_level"][place, which] = level
        rows["victim_weight"][place, which], rows["blocker_weight"][place, which] = own, against

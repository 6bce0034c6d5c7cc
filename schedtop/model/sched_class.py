"""How the scheduler is told to treat a task: its class, its policy, priority or nice, and the weight that follows.

Rows hold the numbers (`sched_class`, `policy`, `priority`, `nice`), recordings and JSON the words. Class and policy
are two things: a lock with priority inheritance lifts a task into another class, and a sched_ext scheduler has tasks of
ordinary policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from schedtop.model.labels import Labeled
from schedtop.model.rows import Rows
from schedtop.model.weights import task_weight


class SchedClass(Labeled):
    """Which scheduling class has the task; in the order of `enum sched_class` of bpf/scheduler/maps.h."""

    UNKNOWN = 0, ""
    FAIR = 1, "fair"
    EXT = 2, "ext"  # a sched_ext scheduler
    RT = 3, "rt"
    DEADLINE = 4, "deadline"
    STOP = 5, "stop"  # migration/N, before all others


class Policy(Labeled):
    """Its scheduling policy (sched(7)), whatever class it has for the moment; SCHED_* of the kernel, and one."""

    UNKNOWN = 0, ""
    OTHER = 1, "other"
    FIFO = 2, "fifo"
    RR = 3, "rr"
    BATCH = 4, "batch"
    ISO = 5, "iso"  # reserved, and never used
    IDLE = 6, "idle"
    DEADLINE = 7, "deadline"
    EXT = 8, "ext"


class Level(Labeled):
    """What of a task is compared where it meets another: fair scheduling compares the weights of siblings alone."""

    UNKNOWN = 0, ""
    TASK = 1, "task"  # itself
    AUTOGROUP = 2, "autogroup"  # its session
    CGROUP = 3, "cgroup"  # the group that it is in, below the innermost one around both


SCHED_CLASSES = tuple(each.label for each in SchedClass)
POLICIES = tuple(each.label for each in Policy)
LEVELS = tuple(each.label for each in Level)

FIELDS = ("sched_class", "policy", "priority", "nice")
"""The fields of a row that say it: of a task, of the victim of a wait, and (`blocker_...`) of its blockers."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """Class, policy, real-time priority (0: none) and nice of one task."""

    sched_class: SchedClass = SchedClass.UNKNOWN
    policy: Policy = Policy.UNKNOWN
    priority: int = 0
    nice: int = 0

    @property
    def is_fair(self) -> bool:
        """Whether weights decide how much of a CPU it gets."""
        return self.sched_class is SchedClass.FAIR

    @property
    def weight(self) -> int | None:
        """Its own weight among its siblings (nice 0 has 1024), `None` where it has none, or none is known."""
        if not self.is_fair:
            return None
        return task_weight(self.policy.label, self.nice)

    @property
    def words(self) -> str:
        """What is not ordinary of it, in a word or two: `fifo 50`, `deadline`, `batch nice 5`; empty: fair, nice 0."""
        policy = self.policy.label if self.policy is not Policy.UNKNOWN else ""
        if self.sched_class is SchedClass.STOP:
            return "stop"
        if self.sched_class is SchedClass.DEADLINE:
            return "deadline"
        if self.sched_class is SchedClass.RT:
            # With another policy it was lifted by a lock with priority inheritance.
            word = policy if self.policy in (Policy.FIFO, Policy.RR) else "rt"
            return f"{word} {self.priority}"
        parts = ["ext"] if self.sched_class is SchedClass.EXT else []
        parts += [policy] if self.policy in (Policy.BATCH, Policy.IDLE) else []
        parts += [f"nice {self.nice}"] if self.nice and self.policy is not Policy.IDLE else []
        return " ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Plain values: `null` where it does not apply to the class, or is not known."""
        fair = self.sched_class in (SchedClass.FAIR, SchedClass.EXT)
        return {
            "sched_class": self.sched_class.label or None,
            "policy": self.policy.label or None,
            "priority": self.priority or None,
            "nice": self.nice if fair else None,
            "weight": self.weight,
        }


UNKNOWN_TREATMENT = Treatment()


def treatment(row: np.void, role: str = "", place: int | None = None) -> Treatment:
    """That of a row with FIELDS; `role`: what their names begin with (`victim_`), `place`: which one of several."""
    names = [f"{role}{name}" for name in FIELDS]
    if names[0] not in (row.dtype.names or ()):
        return UNKNOWN_TREATMENT
    numbers = [int(row[name] if place is None else row[name][place]) for name in names]
    return Treatment(
        SchedClass.known(numbers[0]) or SchedClass.UNKNOWN,
        Policy.known(numbers[1]) or Policy.UNKNOWN,
        numbers[2],
        numbers[3],
    )


def treatments(rows: Rows, role: str = "") -> list[Treatment]:
    """That of each row; equal ones are one object."""
    names = [f"{role}{name}" for name in FIELDS]
    if names[0] not in (rows.dtype.names or ()):
        return [UNKNOWN_TREATMENT] * len(rows)
    known: dict[tuple[int, ...], Treatment] = {}
    found = []
    for numbers in zip(*(rows[name].tolist() for name in names), strict=True):
        if numbers not in known:
            known[numbers] = Treatment(
                SchedClass.known(numbers[0]) or SchedClass.UNKNOWN,
                Policy.known(numbers[1]) or Policy.UNKNOWN,
                numbers[2],
                numbers[3],
            )
        found.append(known[numbers])
    return found


def class_words(fields: Mapping[str, Any]) -> str:
    """Treatment.words of what `as_json` has made of one, empty where nothing is told."""
    if not fields.get("sched_class"):
        return ""
    return Treatment(
        tuple(SchedClass)[SCHED_CLASSES.index(fields["sched_class"])],
        tuple(Policy)[POLICIES.index(fields["policy"] or "")],
        fields["priority"] or 0,
        fields["nice"] or 0,
    ).words


def is_ordinary(rows: Rows) -> bool:
    """Whether all tasks are fair (or not known), with nice 0 and without a policy of their own."""
    ordinary = rows["sched_class"] <= SchedClass.FAIR
    ordinary &= (rows["policy"] <= Policy.OTHER) & (rows["nice"] == 0)
    return bool(ordinary.all())


CLASS_WORDS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = MappingProxyType(
    {
        **{each.label: ((), (int(each),)) for each in Policy if each.label},
        **{each.label: ((int(each),), ()) for each in SchedClass if each.label and each is not SchedClass.EXT},
        "ext": ((int(SchedClass.EXT),), (int(Policy.EXT),)),
    }
)
"""What `class:` may ask for in a filter: a class or a policy, with the numbers of classes and of policies it means."""

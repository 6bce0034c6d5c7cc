"""Tasks by their part in several slow waits: victims, wakers, blockers, and which of them stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from schedtop.model.rows import TREATMENT, Integers, Rows, kept_rows, text
from schedtop.model.sched_class import UNKNOWN_TREATMENT, SchedClass, Treatment, treatment
from schedtop.model.waits import Beginning, WokenBy
from schedtop.verdict.limits import COVERED_SHARE, MAIN_SHARE, VICTIM_SHARE
from schedtop.verdict.phrases import task_words

ALIKE = 1.1
"""Tasks of two names have about as much time if one has at most so much of the other's."""


@dataclass(frozen=True, slots=True)
class Part:
    """The part of one task in several waits, in nanoseconds."""

    tid: int
    comm: bytes
    ns: int
    treatment: Treatment = UNKNOWN_TREATMENT

    @property
    def name(self) -> str:
        """For people. Made when it is asked for, as `words`: of a hundred parts one or two are told."""
        return text(self.comm)

    @property
    def words(self) -> str:
        """Its name, tid and what is not ordinary of it."""
        return task_words(self.tid, self.comm, self.treatment.words)


class Parts(Sequence[Part]):
    """Parts, longest first. Each is made when it is asked for: of the thousands of a storm one or two are told."""

    def __init__(self, numbers: Rows, names: Rows, times: Integers, told: Rows) -> None:
        """One element a part, in any order: tid, comm, nanoseconds, and rows of TREATMENT."""
        self._order = np.argsort(-times, kind="stable")
        self._columns = numbers, names, times, told

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> Part: ...

    @overload
    def __getitem__(self, place: slice) -> list[Part]: ...

    def __getitem__(self, place: int | slice) -> Part | list[Part]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        numbers, names, times, told = self._columns
        at = self._order[place]
        return Part(int(numbers[at]), bytes(names[at]), int(times[at]), treatment(told[at]))

    def ns_of(self, tids: Sequence[int]) -> int:
        """The time of these tasks together."""
        numbers, _names, times, _told = self._columns
        return int(times[np.isin(numbers, tids)].sum())

    def at_least(self, ns: float) -> list[Part]:
        """Those with so much time."""
        return self[: int(np.count_nonzero(self._columns[2] >= ns))]


def victims_of(rows: Rows) -> Parts:
    """The tasks that waited in these rows of SLOW_WAIT_DTYPE, longest first."""
    return _parts(rows, "", rows["wait_ns"])


def wakers_of(rows: Rows) -> Parts:
    """The tasks that woke those of these waits, by the time that these then waited. Interrupts are none."""
    woken = rows[(rows["kind"] != Beginning.FORK) & (rows["woken_by"] == WokenBy.TASK)]
    return _parts(woken, "waker_", woken["wait_ns"])


def blockers_of(rows: Rows, sched_class: SchedClass | None = None) -> Parts:
    """The tasks that had the CPU during these waits, longest first, without those too small to be kept by name.

    `sched_class`: of these alone.
    """
    times = rows["blocker_ns"]
    if sched_class is not None:
        times = np.where(rows["blocker_sched_class"] == sched_class, times, 0)

    return _parts(rows, "blocker_", times)


def _parts(rows: Rows, role: str, times: Integers) -> Parts:
    """The tasks in the fields of a role by their times, longest first. A field may have several of them in each row."""
    tids = rows[f"{role}tid"]
    known = ((tids > 0) & (times > 0)).nonzero()
    found, first, places = np.unique(tids[known], return_index=True, return_inverse=True)
    totals = np.bincount(places, times[known], len(found)).astype(np.int64)
    firsts = tuple(axis[first] for axis in known)
    told = np.zeros(len(found), [*TREATMENT])
    for name, _ in TREATMENT:
        if role + name in (rows.dtype.names or ()):
            told[name] = rows[role + name][firsts]
    return Parts(found, rows[f"{role}comm"][firsts], totals, told)


def waiters(tasks: Rows) -> list[Part]:
    """Rows of TASK_DTYPE as parts of their run delay."""
    return [Part(int(row["tid"]), row["comm"], int(row["run_delay_ns"]), treatment(row)) for row in tasks]


def longest_runner(tasks: Rows) -> list[Part]:
    """Of rows of TASK_DTYPE the task that ran longest, if any did."""
    if not len(tasks) or int(tasks["run_ns"].max()) <= 0:
        return []
    row = tasks[int(np.argmax(tasks["run_ns"]))]
    return [Part(int(row["tid"]), row["comm"], int(row["run_ns"]), treatment(row))]


def main_blocker(rows: Rows) -> Part | None:
    """The task that had the CPU for most of what is known of these waits, if one did and enough is known."""
    whole, covered = int(rows["wait_ns"].sum()), int(rows["covered_ns"].sum())
    top = next(iter(blockers_of(rows)), None)
    return top if top and covered >= COVERED_SHARE * whole and top.ns >= MAIN_SHARE * covered else None


def main_victims(rows: Rows) -> Sequence[Part]:
    """The tasks that waited for long in these, the longest first; all of them where many waited a little each."""
    victims, whole = victims_of(rows), int(rows["wait_ns"].sum())
    long = victims.at_least(VICTIM_SHARE * whole)
    return long if sum(victim.ns for victim in long) >= MAIN_SHARE * whole else victims


def are_alike(parts: Sequence[Part]) -> bool:
    """Whether all of them have the name of the first one."""
    return all(part.comm == parts[0].comm for part in parts)


def steadiest(parts: Sequence[Part]) -> Part:
    """Of tasks with about as much time as the first one: the same one each second, where they take turns."""
    first = parts[0]
    alike = [part for part in parts if (2 if part.comm == first.comm else ALIKE) * part.ns >= first.ns]
    return min(alike, key=lambda part: part.tid)


def among_share(rows: Rows, victims: Sequence[Part]) -> float:
    """For how much of these waits the victims themselves had the CPU."""
    blocked = blockers_of(rows).ns_of([victim.tid for victim in victims])
    return blocked / max(1, int(rows["wait_ns"].sum()))


def rival_of(rows: Rows, victims: Sequence[Part]) -> Part | None:
    """The one task behind which these victims wait, unless they mostly wait for each other."""
    top = main_blocker(rows)
    if top is None or among_share(rows, victims) >= MAIN_SHARE or top.tid in {victim.tid for victim in victims}:
        return None
    return top


def on_worst_cpu(rows: Rows) -> tuple[Rows, int]:
    """The waits on the CPU with most of the time of these, and that CPU."""
    cpu = int(np.argmax(np.bincount(np.maximum(rows["cpu"], 0), rows["wait_ns"])))
    return kept_rows(rows, np.maximum(rows["cpu"], 0) == cpu), cpu

"""Which CPU a slow wait could have had instead: one that was idle, allowed, and within the scheduler's reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from schedtop.model.host import Topology
from schedtop.model.rows import Integers, Rows
from schedtop.model.waits import Distance, Evidence
from schedtop.sources.host.isolation import Isolation
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.scheduler.causes import CPU_ANY, MOST
from schedtop.sources.scheduler.names import allowed_cpus

Mask = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]

_ORDER = (Distance.SAME_CACHE, Distance.SAME_CORE, Distance.OTHER_CACHE, Distance.OTHER_NODE)
"""Which idle CPU is named: the nearest, but a core of its own before a share of one that is busy."""
_RANKS = np.array([_ORDER.index(distance) if distance in _ORDER else len(_ORDER) for distance in Distance])


@dataclass(frozen=True, slots=True)
class Reach:
    """Which CPUs the scheduler moves tasks between.

    `possible`: how many CPU ids there are; `affinity`: which CPUs a task may use, or OSError.
    """

    topology: Topology
    possible: int
    isolation: Isolation = field(default_factory=Isolation)
    affinity: Callable[[int], set[int]] = allowed_cpus

    def distances(self, froms: Integers, tos: Integers) -> npt.NDArray[np.int64]:
        """Distances from each CPU of `froms` to each of `tos`, shape (froms, tos); numbers of Distance."""
        nodes, caches = np.array(self.topology.nodes), np.array(self.topology.caches)
        cores = self.cores
        found = np.full((len(froms), len(tos)), int(Distance.SAME_CACHE), np.int64)
        for distance, places in (
            (Distance.SAME_CORE, cores),
            (Distance.OTHER_CACHE, caches),
            (Distance.OTHER_NODE, nodes),
        ):
            same = places[froms][:, None] == places[tos][None, :]
            found[same if distance is Distance.SAME_CORE else ~same] = distance
        return found

    def ranks(self, cpus: Integers) -> npt.NDArray[np.int64]:
        """How near each CPU id is to the nearest of some CPUs: the lowest first."""
        distances = self.distances(np.unique(cpus), np.arange(self.possible))
        ranks: npt.NDArray[np.int64] = _RANKS[distances].min(axis=0, initial=len(_ORDER))
        return ranks

    @property
    def cores(self) -> Integers:
        """A number for each CPU, equal for the threads of a core."""
        return np.array(self.topology.cores or range(self.possible))


def note_idle_cpus(rows: Rows, bonds: Integers, idle: tuple[Integers, Times, bool], reach: Reach) -> None:
    """Fills `idle_cpu`, `idle_cpu_ns`, `idle_distance` and, where that is most of the wait, `evidence`.

    `bonds`: BOUND_* of each wait; `idle`: ids of the CPUs that were idle, for how long in each wait (rows, cpus), and
    whether there are no others. Named is the nearest that the scheduler could have used, else the nearest that the
    affinity mask forbids. None is where the task was bound to its CPU, or a deadline task without runtime, or of
    sched_ext, which waits for no CPU in particular, nor on a CPU where it waited itself, nor where only such CPUs were
    idle as the scheduler does not use.
    """
    rows["idle_cpu"] = CPU_ANY
    cpus, idle_ns, complete = idle
    if not len(cpus):
        return
    own = (cpus[None, :] == rows["cpu"][:, None]) | (cpus[None, :] == rows["enqueue_cpu"][:, None])
    elsewhere = np.where(own | np.isin(cpus, list(reach.isolation.apart))[None, :], 0, idle_ns)
    long_idle = elsewhere >= MOST * rows["wait_ns"][:, None]
    settled = (rows["evidence"] == Evidence.SCHED_EXT) | (rows["evidence"] == Evidence.DEADLINE_RUNTIME)
    long_idle[((bonds & SCHEDULER.BOUND_TO_CPU) != 0) | settled] = False
    moments = np.flatnonzero(long_idle.any(axis=1))
    if len(moments):
        _choose(rows, moments, bonds[moments], cpus, (idle_ns[moments], long_idle[moments], complete), reach)


def _choose(
    rows: Rows, moments: Integers, bonds: Integers, cpus: Integers, idle: tuple[Times, Mask, bool], reach: Reach
) -> None:
    """The same for those waits that some CPU was idle for, `moments`."""
    idle_ns, long_idle, complete = idle
    waits = rows[moments]
    allowed, known = _allowed(waits, cpus, reach)
    rows["allowed_cpus"][moments] = waits["allowed_cpus"]
    free = long_idle & allowed & known[:, None]
    forced = (bonds & SCHEDULER.BOUND_BY_CORE) != 0
    free[forced] &= _whole_core_idle(waits[forced], cpus, idle_ns[forced], reach)
    free[np.isin(waits["cpu"], list(reach.isolation.isolated))] = False
    forbidden = long_idle & ~allowed & known[:, None]
    is_free: Mask = np.logical_or.reduce(free, axis=1)
    is_forbidden: Mask = np.logical_or.reduce(forbidden, axis=1)
    candidates = np.where(is_free[:, None], free, np.where(is_forbidden[:, None], forbidden, long_idle))
    distances = reach.distances(waits["cpu"], cpus)
    # Of those equally near the one that was idle longest.
    nearest = np.where(candidates, _RANKS[distances], len(_RANKS))
    longest = np.where(nearest == nearest.min(axis=1)[:, None], idle_ns, -1)
    best = np.argmax(longest, axis=1)
    evidence = np.where(is_free, Evidence.NOT_BALANCED, Evidence.PINNED)
    # Of CPUs that are not in the list, one may have been idle that the mask allows.
    elsewhere = np.zeros(len(waits), bool) if complete else waits["allowed_cpus"] != 1
    unsure = np.where(is_free, (bonds & SCHEDULER.BOUND_UNKNOWN) != 0, elsewhere)
    evidence[unsure | ~known] = Evidence.NONE
    named = is_free | is_forbidden | ~known
    places, each = moments[named], np.arange(len(moments))
    rows["idle_cpu"][places] = cpus[best][named]
    rows["idle_cpu_ns"][places] = idle_ns[each, best][named]
    rows["idle_distance"][places] = distances[each, best][named]
    rows["evidence"][places] = evidence[named]


def _whole_core_idle(waits: Rows, cpus: Integers, idle_ns: Times, reach: Reach) -> Mask:
    """Which CPUs were idle for most of each wait with all threads of their core: then none of these forced it.

    That they were so together is certain of what their idle times exceed the rest of the wait by.
    """
    cores = reach.cores
    together = np.zeros(idle_ns.shape, bool)
    for place, cpu in enumerate(cpus.tolist()):
        threads = np.flatnonzero(cores == cores[cpu])
        of_core = idle_ns[:, np.isin(cpus, threads)].sum(axis=1)
        together[:, place] = of_core - (len(threads) - 1) * waits["wait_ns"] >= MOST * waits["wait_ns"]
    return together


def _allowed(rows: Rows, cpus: Integers, reach: Reach) -> tuple[Mask, Mask]:
    """Which of the CPUs each task may use, shape (rows, cpus), and whether that is still known, shape (rows,).

    The kernel counts offline CPUs as well: only a mask of all that are possible says by its length what is in it. Where
    that was not told, `allowed_cpus` is filled.
    """
    allowed: Mask = np.equal(cpus[None, :], rows["cpu"][:, None])
    allowed |= (rows["allowed_cpus"] >= reach.possible)[:, None]
    known = np.ones(len(rows), bool)
    some = (rows["allowed_cpus"] != 1) & (rows["allowed_cpus"] < reach.possible)
    for tid in np.unique(rows["tid"][some]).tolist():
        mine = some & (rows["tid"] == tid)
        try:
            mask = reach.affinity(tid)
        except OSError:
            known[mine] = False
            continue
        allowed[mine] = np.isin(cpus, list(mask))
        rows["allowed_cpus"][mine & (rows["allowed_cpus"] == 0)] = len(mask)
    return allowed, known

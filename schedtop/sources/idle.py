"""When each CPU was idle: the idle periods of a millisecond and more that the kernel side keeps in its timelines."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schedtop.rows import Integers, Rows

KEEP_PERIODS = 200_000
"""How many periods are remembered, of all CPUs together; with more, the older half is forgotten."""

MOST_CPUS = 64
"""How many CPUs are asked about a wait: those that were idle longest."""

Times = npt.NDArray[np.int64]


class IdleTimes:
    """Idle periods since a while ago. `collect` must be called several times a second, or some are missed.

    A missed or shorter period counts as busy: what is found idle was idle, never the other way round.
    """

    def __init__(self) -> None:
        self._cpus = self._starts = self._ends = np.zeros(0, np.int64)
        self._counts: Integers | None = None

    def collect(self, timelines: Rows) -> None:
        """Takes the periods that ended since the last call; `timelines`: rows of `struct timeline`, one a CPU."""
        counts = timelines["idle_count"].astype(np.int64)
        before, self._counts = self._counts, counts
        if before is None:
            return
        places = timelines["idle_start_ns"].shape[1]
        # The entry that is written next may be half written.
        fresh = np.minimum(counts - before, places - 1)
        cpus = np.flatnonzero(fresh)
        if not len(cpus):
            return
        back = np.arange(int(fresh.max()))
        chosen = back < fresh[cpus, None]
        entries = (counts[cpus, None] - 1 - back) % places
        rows = np.broadcast_to(cpus[:, None], entries.shape)
        starts = timelines["idle_start_ns"][rows[chosen], entries[chosen]].astype(np.int64)
        ends = timelines["idle_end_ns"][rows[chosen], entries[chosen]].astype(np.int64)
        self._cpus = np.concatenate((self._cpus, rows[chosen]))
        self._starts = np.concatenate((self._starts, starts))
        self._ends = np.concatenate((self._ends, ends))
        if len(self._ends) > KEEP_PERIODS:
            kept = np.argpartition(self._ends, -KEEP_PERIODS // 2)[-KEEP_PERIODS // 2 :]
            self._cpus, self._starts, self._ends = self._cpus[kept], self._starts[kept], self._ends[kept]

    def during(self, starts: Times, ends: Times, cpu_rows: Rows, now_ns: int) -> tuple[Times, Times]:
        """How long CPUs were idle in each of some spans: (CPU ids, nanoseconds of shape (spans, CPUs)).

        Only CPUs that were idle at all, the MOST_CPUS that were so longest. `cpu_rows`: rows of `struct cpu_state` at
        `now_ns`, for the idle periods under way.
        """
        idle_since = np.where(cpu_rows["current_tid"] == 0, cpu_rows["slice_start_ns"], 0).astype(np.int64)
        idles_now = np.flatnonzero((idle_since > 0) & (idle_since < now_ns))
        first, last = int(starts.min(initial=now_ns)), int(ends.max(initial=0))
        known = (self._ends > first) & (self._starts < last)
        cpus = np.concatenate((self._cpus[known], idles_now))
        begins = np.concatenate((self._starts[known], idle_since[idles_now]))
        stops = np.concatenate((self._ends[known], np.full(len(idles_now), now_ns)))
        totals = np.bincount(cpus, stops - begins) if len(cpus) else np.zeros(0)
        ids = np.argsort(-totals, kind="stable")[: min(MOST_CPUS, int((totals > 0).sum()))].astype(np.int64)
        idle = np.zeros((len(starts), len(ids)), np.int64)
        for column, cpu in enumerate(ids):
            mine = cpus == cpu
            idle[:, column] = _idle_until(ends, begins[mine], stops[mine]) - _idle_until(
                starts, begins[mine], stops[mine]
            )
        return ids, idle


def _idle_until(moments: Times, begins: Times, stops: Times) -> Times:
    """How long a CPU had been idle at each moment, since the first of its periods (which do not overlap)."""
    order = np.argsort(begins)
    begins, stops = begins[order], stops[order]
    before = np.concatenate(([0], np.cumsum(stops - begins)))
    index = np.searchsorted(begins, moments, side="right")
    inside = np.minimum(moments, stops[np.maximum(index - 1, 0)]) - begins[np.maximum(index - 1, 0)]
    idle: Times = np.where(index > 0, before[np.maximum(index - 1, 0)] + inside, 0)
    return idle

"""When each CPU was idle: the idle periods of a millisecond and more that the kernel side keeps in its timelines."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Integers, Rows

KEEP_PERIODS = 200_000
"""How many periods are remembered, of all CPUs together; the oldest go first."""

KEEP_NS = 60_000_000_000
"""How far back they reach at most: a longer wait has had idle CPUs before that are not known."""

MOST_CPUS = 64
"""How many CPUs are asked about a wait: the nearest that were idle."""

Times = npt.NDArray[np.int64]


class IdleTimes:
    """Idle periods since a while ago. `collect` must be called once a second, or some are missed.

    A missed or shorter period counts as busy: what is found idle was idle, never the other way round.
    """

    def __init__(self) -> None:
        # Of each call: CPUs, starts and ends of its periods.
        self._taken: deque[tuple[Times, Times, Times]] = deque()
        self._count = 0
        self._counts: Integers | None = None

    def collect(self, timelines: Rows) -> None:
        """Takes the periods that ended since the last call; `timelines`: rows of `struct timeline`, one a CPU."""
        counts = timelines["idle_count"].astype(np.int64)
        before, self._counts = self._counts, counts
        if before is None:
            return
        starts_of, ends_of = timelines["idle_start_ns"], timelines["idle_end_ns"]
        places = starts_of.shape[1]
        cpus = np.flatnonzero(counts != before)
        if not len(cpus):
            return
        lengths, rings = [], []
        for cpu, old, new in zip(cpus.tolist(), before[cpus].tolist(), counts[cpus].tolist(), strict=True):
            # The entry that is written next may be half written.
            old = max(old, new - places + 1)
            lengths.append(new - old)
            first, end = old % places, new % places
            for part in (slice(first, end),) if first < end else (slice(first, places), slice(0, end)):
                rings.append((starts_of[cpu, part], ends_of[cpu, part]))
        starts, ends = (np.concatenate(parts).astype(np.int64) for parts in zip(*rings, strict=True))
        self._taken.append((np.repeat(cpus, lengths), starts, ends))
        self._count += len(starts)
        horizon = int(ends.max()) - KEEP_NS
        while len(self._taken) > 1 and (self._count > KEEP_PERIODS or int(self._taken[0][2].max()) < horizon):
            self._count -= len(self._taken.popleft()[0])

    def during(
        self, starts: Times, ends: Times, cpu_rows: Rows, now_ns: int, ranks: Integers | None = None
    ) -> tuple[Times, Times, bool]:
        """How long CPUs were idle in each of some spans: (CPU ids, nanoseconds of shape (spans, CPUs), all of them?).

        Only CPUs that were idle at all, the MOST_CPUS of lowest `ranks` (by CPU), of equals those that were so longest.
        `cpu_rows`: what `Running` makes of rows of `struct cpu_state`, for the idle periods under way; `now_ns` is from
        before they were read.
        """
        # The tid first: what has begun since is later than now_ns, and left out.
        idle_since = np.where(cpu_rows["current_tid"] == 0, cpu_rows["slice_start_ns"], 0).astype(np.int64)
        idles_now = np.flatnonzero((idle_since > 0) & (idle_since < now_ns))
        first, last = int(starts.min(initial=now_ns)), int(ends.max(initial=0))
        under_way = (idles_now, idle_since[idles_now], np.full(len(idles_now), now_ns))
        cpus, begins, stops = (np.concatenate(parts) for parts in zip(*self._taken, under_way, strict=True))
        known = (stops > first) & (begins < last)
        cpus, begins, stops = cpus[known], begins[known], stops[known]
        totals = np.bincount(cpus, stops - begins) if len(cpus) else np.zeros(0)
        order = np.lexsort((-totals,) if ranks is None else (-totals, ranks[: len(totals)], totals <= 0))
        ids = order[: min(MOST_CPUS, int((totals > 0).sum()))].astype(np.int64)
        idle = np.zeros((len(starts), len(ids)), np.int64)
        for column, cpu in enumerate(ids):
            mine = cpus == cpu
            idle[:, column] = _idle_until(ends, begins[mine], stops[mine]) - _idle_until(
                starts, begins[mine], stops[mine]
            )
        return ids, idle, len(ids) == int((totals > 0).sum())


def _idle_until(moments: Times, begins: Times, stops: Times) -> Times:
    """How long a CPU had been idle at each moment, since the first of its periods (which do not overlap)."""
    order = np.argsort(begins)
    begins, stops = begins[order], stops[order]
    before = np.concatenate(([0], np.cumsum(stops - begins)))
    index = np.searchsorted(begins, moments, side="right")
    inside = np.minimum(moments, stops[np.maximum(index - 1, 0)]) - begins[np.maximum(index - 1, 0)]
    idle: Times = np.where(index > 0, before[np.maximum(index - 1, 0)] + inside, 0)
    return idle

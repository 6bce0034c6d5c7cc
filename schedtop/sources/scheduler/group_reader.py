"""The latency of groups of tasks, and how many waits are in none of them because their group made room for others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schedtop.model.group_latency import GroupLatency, entry_keys
from schedtop.model.rows import Rows
from schedtop.sources.scheduler.programs import Programs

Counts = npt.NDArray[np.int64]


class GroupReader:
    """Reads them interval by interval, and compares what they got with all waits that ended meanwhile.

    The kernel keeps the groups that were used last (an LRU map) and says nothing when one goes. `waits_ungrouped`:
    waits so far that went with one. Those that end while this reads may hide as many, but none is made up.
    """

    def __init__(self) -> None:
        self.waits_ungrouped = 0
        self._kind = 0
        self._waits = 0
        self._missing = 0
        self._ids: Counts = np.empty(0, np.int64)
        self._counts: Counts = np.empty(0, np.int64)

    def read(self, programs: Programs, kind: str, number: int) -> GroupLatency:
        """The cumulative latency of the groups of one kind, of that number in the kernel side."""
        before = _all_waits(programs.cpus)
        rows = programs.group_latency()
        rows = rows[rows["grouping"] == number]
        rows = rows[np.argsort(entry_keys(rows["id"].astype(np.int64), rows["kind"]))]
        ids, latency, kinds = rows["id"].astype(np.int64), rows["latency"], rows["kind"].astype(np.int8)
        counts = latency.sum(axis=1, dtype=np.int64)
        self._compare(number, before, _all_waits(programs.cpus), entry_keys(ids, kinds), counts)
        return GroupLatency(kind, ids, latency, rows["wait_sum_ns"].astype(np.int64), kinds)

    def _compare(self, kind: int, before: int, after: int, ids: Counts, counts: Counts) -> None:
        """`before`, `after`: all waits that had ended before the groups were read, and after it."""
        if kind == self._kind:
            self._missing += before - self._waits - _added(self._ids, self._counts, ids, counts)
            self._waits = before
            if self._missing > 0:
                self.waits_ungrouped += self._missing
                self._missing = 0
        else:
            self._kind, self._waits, self._missing = kind, after, 0
        self._ids, self._counts = ids, counts


def _all_waits(cpus: Rows) -> int:
    return int(cpus["latency"].sum(dtype=np.int64))


def _added(old_ids: Counts, old: Counts, ids: Counts, counts: Counts) -> int:
    """What was added to groups; one with less than before is another one by the same id."""
    _, earlier, later = np.intersect1d(old_ids, ids, assume_unique=True, return_indices=True)
    grew = counts[later] >= old[earlier]
    return int(counts.sum() - old[earlier[grew]].sum())

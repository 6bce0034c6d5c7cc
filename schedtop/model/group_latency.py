"""GroupLatency: histograms of runqueue latency by group of tasks, which add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from schedtop.base.histogram import BUCKETS, Histogram
from schedtop.model.rows import Integers


@dataclass(frozen=True, slots=True, eq=False)
class GroupLatency:
    """Runqueue latency by group of tasks: `kind` is an id field of GROUPS, `ids` are its values, shape (groups,).

    `counts`: shape (groups, BUCKETS); `sum_ns`: shape (groups,).
    """

    kind: str
    ids: Integers
    counts: Integers
    sum_ns: Integers

    def histogram(self, ids: Sequence[int], max_ns: int = 0) -> Histogram:
        """The waits of some groups together; `max_ns`: the longest, if it is known."""
        chosen = np.isin(self.ids, np.asarray(ids, self.ids.dtype))
        counts = self.counts[chosen].sum(axis=0, dtype=np.int64)
        return Histogram(counts, int(self.sum_ns[chosen].sum()), max_ns)


def merge_groups(tables: Sequence[GroupLatency | None]) -> GroupLatency | None:
    """Counts added by group, of the tables that group as the last one does; `None` if that does not."""
    last = tables[-1]
    if last is None:
        return None
    same = [table for table in tables if table is not None and table.kind == last.kind]
    ids, places = np.unique(np.concatenate([table.ids for table in same]), return_inverse=True)
    counts = np.zeros((len(ids), BUCKETS), np.int64)
    sums = np.zeros(len(ids), np.int64)
    np.add.at(counts, places, np.concatenate([table.counts for table in same]))
    np.add.at(sums, places, np.concatenate([table.sum_ns for table in same]))
    return GroupLatency(last.kind, ids, counts, sums)

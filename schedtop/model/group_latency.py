"""GroupLatency: histograms of runqueue latency by group of tasks, which add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedtop.base.histogram import BUCKETS, Histogram
from schedtop.base.limits import GROUPS
from schedtop.model.encoding import NARROW_BYTES, decode_integers, decode_sparse, encode_sparse, whole_numbers
from schedtop.model.rows import GROUPS as GROUPED_BY
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
    begin = 0
    for table in same:
        np.add.at(counts, places[begin : begin + len(table.ids)], table.counts)
        begin += len(table.ids)
    np.add.at(sums, places, np.concatenate([table.sum_ns for table in same]))
    return GroupLatency(last.kind, ids, counts, sums)


def subtract_groups(earlier: GroupLatency | None, later: GroupLatency | None) -> GroupLatency | None:
    """What was added to each group; a group that the kernel had to forget meanwhile starts from zero."""
    if earlier is None or later is None or earlier.kind != later.kind:
        return None
    _, old, new = np.intersect1d(earlier.ids, later.ids, assume_unique=True, return_indices=True)
    counts, sums = later.counts.astype(np.int64), later.sum_ns.copy()
    grew = later.sum_ns[new] >= earlier.sum_ns[old]
    counts[new[grew]] -= earlier.counts[old[grew]]
    sums[new[grew]] -= earlier.sum_ns[old[grew]]
    used = sums > 0
    return GroupLatency(later.kind, later.ids[used], np.maximum(counts[used], 0), sums[used])


def encode_groups(groups: GroupLatency | None) -> dict[str, Any] | None:
    """Plain values of JSON."""
    if groups is None:
        return None
    return {
        "kind": groups.kind,
        "ids": groups.ids.tolist(),
        "sum_ns": groups.sum_ns.tolist(),
        "counts": encode_sparse(groups.counts),
    }


def decode_groups(data: dict[str, Any] | None, _: int = 0) -> GroupLatency | None:
    """The table of what `encode_groups` gave."""
    if data is None:
        return None
    ids = whole_numbers(data["ids"])
    if len(ids) > GROUPS:
        raise ValueError("more groups than are kept")
    counts = decode_sparse(data["counts"], (len(ids), BUCKETS))
    if data["kind"] not in GROUPED_BY.values():
        raise ValueError("groups of a kind that is not known")
    return GroupLatency(data["kind"], ids, counts, decode_integers(data["sum_ns"], (len(ids),)))


def claimed_groups(data: dict[str, Any] | None, _: int = 0) -> int:
    """How many bytes `decode_groups` would take."""
    return len(data["ids"]) * BUCKETS * NARROW_BYTES if data else 0

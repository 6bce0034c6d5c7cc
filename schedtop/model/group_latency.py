"""GroupLatency: histograms of runqueue latency by group of tasks, which add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.histogram import BUCKETS, Histogram
from schedtop.base.limits import GROUPS
from schedtop.model.encoding import NARROW_BYTES, decode_integers, decode_sparse, encode_sparse, whole_numbers
from schedtop.model.rows import GROUPS as GROUPED_BY
from schedtop.model.rows import WAIT_KINDS, Integers

NO_KIND = len(WAIT_KINDS)
"""Of entries with all kinds of wait together."""

_KINDS = NO_KIND + 1
_MOST_ID = 1 << 61
_MOST_IN_INTERVAL = (1 << 32) - 1


@dataclass(frozen=True, slots=True, eq=False)
class GroupLatency:
    """Runqueue latency by group of tasks: `kind` is an id field of GROUPS, `ids` are its values, shape (entries,).

    An entry is of a group and a kind of wait: `wait_kinds` has its place in WAIT_KINDS, NO_KIND in old recordings,
    which have all kinds together. No two entries have the same of both. `counts`: shape (entries, BUCKETS); `sum_ns`
    and `wait_kinds`: shape (entries,).
    """

    kind: str
    ids: Integers
    counts: Integers
    sum_ns: Integers
    wait_kinds: Integers

    @property
    def has_kinds(self) -> bool:
        """Whether it tells kinds of wait apart."""
        return not (self.wait_kinds == NO_KIND).any()

    def histogram(self, ids: Sequence[int], max_ns: int = 0, kind: str | None = None) -> Histogram:
        """The waits of some groups together, of one of WAIT_KINDS or of all; `max_ns`: the longest, if it is known."""
        chosen = np.isin(self.ids, np.asarray(ids, self.ids.dtype))
        if kind is not None:
            chosen &= self.wait_kinds == WAIT_KINDS.index(kind)
        counts = self.counts[chosen].sum(axis=0, dtype=np.int64)
        return Histogram(counts, int(self.sum_ns[chosen].sum()), max_ns)


def entry_keys(ids: Integers, wait_kinds: Integers) -> npt.NDArray[np.int64]:
    """A number for each entry, by group and then by kind."""
    keys: npt.NDArray[np.int64] = ids.astype(np.int64) * _KINDS + wait_kinds
    return keys


def merge_groups(tables: Sequence[GroupLatency | None]) -> GroupLatency | None:
    """Counts added by group, of the tables that group as the last one does; `None` if that does not."""
    last = tables[-1]
    if last is None:
        return None
    same = [table for table in tables if table is not None and table.kind == last.kind]
    ids = np.concatenate([table.ids for table in same]).astype(np.int64)
    kinds = np.concatenate([table.wait_kinds for table in same])
    keys, first, places = np.unique(entry_keys(ids, kinds), return_index=True, return_inverse=True)
    counts = np.zeros((len(keys), BUCKETS), np.int64)
    sums = np.zeros(len(keys), np.int64)
    begin = 0
    for table in same:
        np.add.at(counts, places[begin : begin + len(table.ids)], table.counts)
        begin += len(table.ids)
    np.add.at(sums, places, np.concatenate([table.sum_ns for table in same]))
    return GroupLatency(last.kind, ids[first], counts, sums, kinds[first])


def subtract_groups(earlier: GroupLatency | None, later: GroupLatency | None) -> GroupLatency | None:
    """What was added to each entry; one that the kernel had to forget meanwhile starts from zero."""
    if earlier is None or later is None or earlier.kind != later.kind:
        return None
    before, after = (entry_keys(table.ids, table.wait_kinds) for table in (earlier, later))
    _, old, new = np.intersect1d(before, after, assume_unique=True, return_indices=True)
    counts, sums = later.counts.astype(np.int64), later.sum_ns.copy()
    grew = later.sum_ns[new] >= earlier.sum_ns[old]
    counts[new[grew]] -= earlier.counts[old[grew]]
    sums[new[grew]] -= earlier.sum_ns[old[grew]]
    used = sums > 0
    # Half as wide: a history has those of minutes, and in one interval no bucket gets so many.
    narrow = np.clip(counts[used], 0, _MOST_IN_INTERVAL).astype(np.uint32)
    return GroupLatency(later.kind, later.ids[used], narrow, sums[used], later.wait_kinds[used])


def encode_groups(groups: GroupLatency | None) -> dict[str, Any] | None:
    """Plain values of JSON."""
    if groups is None:
        return None
    return {
        "kind": groups.kind,
        "ids": groups.ids.tolist(),
        "wait_kinds": groups.wait_kinds.tolist(),
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
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < _MOST_ID:
        raise ValueError("a group of a number that cannot be")
    known = data.get("wait_kinds")  # older recordings have all kinds together
    kinds = np.full(len(ids), NO_KIND) if known is None else decode_integers(known, (len(ids),))
    if len(ids) and not 0 <= int(kinds.min()) <= int(kinds.max()) <= NO_KIND:
        raise ValueError("a kind of wait that is not known")
    if len(np.unique(entry_keys(ids, kinds))) < len(ids):
        raise ValueError("a group that is there twice")
    counts = decode_sparse(data["counts"], (len(ids), BUCKETS))
    if data["kind"] not in GROUPED_BY.values():
        raise ValueError("groups of a kind that is not known")
    sums = decode_integers(data["sum_ns"], (len(ids),))
    return GroupLatency(data["kind"], ids, counts, sums, kinds.astype(np.int8))


def claimed_groups(data: dict[str, Any] | None, _: int = 0) -> int:
    """How many bytes `decode_groups` would take."""
    return len(data["ids"]) * BUCKETS * NARROW_BYTES if data else 0

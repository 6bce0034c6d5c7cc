"""Histograms by group and kind of wait: sums, recordings of older versions, and what cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from schedtop.base.histogram import BUCKETS
from schedtop.model.group_latency import GroupLatency, decode_groups, encode_groups, merge_groups


def groups(*entries: tuple[int, int, int]) -> GroupLatency:
    """Each of a group, a kind of wait, and how many waits of 100 ns there were."""
    ids, kinds, counts = (np.array(column, np.int64) for column in zip(*entries, strict=True))
    latency = np.zeros((len(entries), BUCKETS), np.int64)
    latency[:, 5] = counts
    return GroupLatency("tgid", ids, latency, counts * 100, kinds)


def test_kinds_of_a_group_are_merged_apart_and_read_together() -> None:
    merged = merge_groups([groups((7, 0, 1), (7, 1, 10)), groups((7, 1, 100), (9, 2, 1000))])
    assert merged is not None and merged.has_kinds
    assert [merged.histogram([7], kind=kind).count for kind in ("wakeup", "preemption", "fork")] == [1, 110, 0]
    assert merged.histogram([7]).count == 111
    assert merged.histogram([7, 9]).sum_ns == 111_100


def test_a_recording_without_kinds_has_all_of_them_together() -> None:
    encoded: dict[str, Any] = encode_groups(groups((7, 0, 3), (9, 0, 4))) or {}
    assert encoded.pop("wait_kinds") == [0, 0]
    read = decode_groups(encoded)
    assert read is not None and not read.has_kinds
    assert (read.histogram([7]).count, read.histogram([7], kind="wakeup").count) == (3, 0)


def test_what_was_written_is_read_back() -> None:
    written = groups((1, 2, 5), (7, 0, 3), (7, 1, 4))
    read = decode_groups(encode_groups(written))
    assert read is not None
    for name in ("ids", "wait_kinds", "sum_ns", "counts"):
        assert getattr(read, name).tolist() == getattr(written, name).tolist(), name


@pytest.mark.parametrize(
    "wrong",
    [{"wait_kinds": [0, 4]}, {"wait_kinds": [0]}, {"ids": [7, 1 << 62]}, {"ids": [7, 7]}, {"wait_kinds": [0, -1]}],
)
def test_entries_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        decode_groups({**(encode_groups(groups((7, 0, 3), (9, 0, 4))) or {}), **wrong})

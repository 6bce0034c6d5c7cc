"""Rows that are copied whole."""

import numpy as np
import pytest

from schedtop.capture.parts import distinct
from schedtop.model.rows import (
    AT_ONCE,
    BYTES_AT_ONCE,
    Rows,
    copy_rows,
    join_rows,
    kept_rows,
    rows_where,
    take_many,
    take_rows,
)

ODD = np.dtype([("time_ns", "<i8"), ("tid", "<u4"), ("kind", "u1")])
"""13 bytes: no whole number of words."""


def odd_rows(count: int) -> Rows:
    rows = np.zeros(count, ODD)
    rows["time_ns"], rows["tid"], rows["kind"] = np.arange(count) * 3, np.arange(count) % 7, np.arange(count) % 5
    return rows


@pytest.mark.parametrize("count", [0, 1, AT_ONCE, AT_ONCE * 2 + 1])
def test_copies_are_what_an_index_gives(count: int) -> None:
    rows = odd_rows(count)
    order = np.random.default_rng(3).permutation(count)
    breaths: list[int] = []
    for found, wanted in (
        (take_rows(rows, order), rows[order]),
        (take_many(rows, order, lambda: breaths.append(1)), rows[order]),
        (rows_where(rows, rows["kind"] == 2), rows[rows["kind"] == 2]),
        (join_rows((rows, rows[::2])), np.concatenate((rows, rows[::2]))),
        (copy_rows(rows), rows),
    ):
        assert found.dtype == ODD and found.tobytes() == wanted.tobytes()
        assert not np.shares_memory(found, rows)
    assert len(breaths) == -(-count // AT_ONCE)


def test_wide_rows_are_copied_fewer_at_once() -> None:
    rows = np.zeros(AT_ONCE, np.dtype([("number", "<i8"), ("rest", "V1016")]))
    rows["number"] = np.arange(AT_ONCE)
    breaths: list[int] = []
    assert take_many(rows, np.arange(AT_ONCE)[::-1], lambda: breaths.append(1))["number"][0] == AT_ONCE - 1
    assert len(breaths) == AT_ONCE * 1024 // BYTES_AT_ONCE


def test_rows_that_are_all_kept_are_not_copied() -> None:
    rows = odd_rows(6)
    assert kept_rows(rows, rows["time_ns"] >= 0) is rows
    assert kept_rows(rows, rows["kind"] == 2).tobytes() == rows[rows["kind"] == 2].tobytes()


def test_numbers_are_told_once_and_in_order() -> None:
    rows = odd_rows(40_000)
    assert distinct((rows["tid"], np.array([90, 3], "<u4"))).tolist() == [*range(7), 90]
    assert distinct(()).tolist() == []

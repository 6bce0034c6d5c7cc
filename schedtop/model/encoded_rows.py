"""Rows as columns of plain values of JSON, and back. What is read may come from anywhere: what cannot be is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.model.encoding import MOST_COUNT, is_within
from schedtop.model.rows import UNKNOWN, Rows
from schedtop.model.sched_class import LEVELS, POLICIES, SCHED_CLASSES
from schedtop.model.short_lived import FOLDED
from schedtop.model.waits import BEGINNINGS, CAUSES, DISTANCES, DOMAINS, EVIDENCE, WAKERS

NAME_CODE = "latin-1"
"""Names are bytes of any value: each becomes the character of that number."""

_SKIPPED = ("padding",)
_MOST_WAIT_NS = 1 << 50  # thirteen days
_MOST_TIME_NS = 1 << 62  # the year 2116
_UNTOLD_ROWS = 1024
"""So many rows may have nothing but zeros; of more, at least one column must be told."""
_ROLES = ("", "blocker_", "victim_", "other_")
_WORDS = {
    "kind": BEGINNINGS,
    "cause": CAUSES,
    "evidence": EVIDENCE,
    "domain": DOMAINS,
    "woken_by": WAKERS,
    "idle_distance": DISTANCES,
    **{f"{role}sched_class": SCHED_CLASSES for role in _ROLES},
    **{f"{role}policy": POLICIES for role in _ROLES},
    "blocker_level": LEVELS,
    "victim_level": LEVELS,
}


def encode_rows(rows: Rows) -> dict[str, Any]:
    """Rows as a list for each field that is not zero (or unknown) everywhere; none at all has no fields."""
    return dict(encoded_columns(rows))


def encoded_columns(rows: Rows) -> Iterator[tuple[str, Any]]:
    """The same, one after the other."""
    if not len(rows):
        return
    yield "rows", len(rows)
    for name in rows.dtype.names or ():
        values = rows[name]
        if name in _SKIPPED or not ((values != UNKNOWN[name]).any() if name in UNKNOWN else values.any()):
            continue
        yield name, _names(values) if values.dtype.kind == "S" else values.tolist()


def _names(values: npt.NDArray[np.bytes_]) -> list[Any]:
    """Names as text, in lists of the shape of `values`."""
    if values.ndim > 1:
        return [_names(row) for row in values]
    return [name.decode(NAME_CODE) for name in values.tolist()]


def claimed_rows(data: dict[str, Any] | None, dtype: np.dtype[np.void]) -> int:
    """How many bytes `decode_rows` would take. Raises ValueError, TypeError."""
    return int(data["rows"]) * dtype.itemsize if data else 0


def decode_rows(data: dict[str, Any] | None, dtype: np.dtype[np.void]) -> Rows:
    """Rows of a type; without data there are none."""
    if not data:
        return np.zeros(0, dtype)
    count = int(data["rows"])
    columns = {name: data[name] for name in dtype.names or () if name in data}
    # One number would be spread over all rows: a line of a few bytes could fill the memory.
    if not all(isinstance(column, list) and len(column) == count for column in columns.values()):
        raise ValueError("a column that is not as long as it should be")
    if count < 0 or (not columns and count > _UNTOLD_ROWS):
        raise ValueError("rows that hold nothing")
    rows = np.zeros(count, dtype)
    for name in dtype.names or ():
        if name in columns:
            rows[name] = _column(columns[name], dtype[name])
        elif name in UNKNOWN:
            rows[name] = UNKNOWN[name]
        if name in UNKNOWN and (rows[name] < UNKNOWN[name]).any():
            raise ValueError("a queue that cannot be so short")
        if name in columns and rows[name].dtype == np.int64:
            most = _MOST_TIME_NS if name == "time_ns" else MOST_COUNT
            if not is_within(rows[name], most):
                raise ValueError(f"{name} cannot be that")
    for name, words in _WORDS.items():
        if name in (dtype.names or ()) and not ((rows[name] >= 0) & (rows[name] < len(words))).all():
            raise ValueError(f"a {name} that is not known")
    if "exit_code" in (dtype.names or ()) and not (rows["exit_code"] >= FOLDED).all():
        raise ValueError("an exit code that cannot be")
    if "wait_ns" in (dtype.names or ()) and not ((rows["wait_ns"] >= 0) & (rows["wait_ns"] < _MOST_WAIT_NS)).all():
        raise ValueError("a wait that cannot be so long")
    return rows


def _column(column: list[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The values of a field in all rows, in the shape that the field has."""
    if dtype.shape:
        width = math.prod(dtype.shape)
        if not all(isinstance(values, list) and len(values) == width for values in column):
            raise ValueError("a row that has not as many values as it should")
        return _column(list(chain.from_iterable(column)), dtype.base).reshape(len(column), *dtype.shape)
    if dtype.kind != "S":
        if not set(map(type, column)) <= {int}:
            raise TypeError("a column holds something else than whole numbers")
        return np.array(column, dtype)
    # Looked at before: the array would be as wide as the longest one in each row.
    if not set(map(type, column)) <= {str} or max(map(len, column), default=0) > dtype.itemsize:
        raise ValueError("a name that is longer than its field, or none")
    return np.array([name.encode(NAME_CODE) for name in column], dtype)

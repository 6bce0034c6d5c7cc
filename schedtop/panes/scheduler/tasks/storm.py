"""Tasks of a storm that have ended: a row for each command, where single ones are gone when one reads."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.model.rows import TASK_SUMS, Rows, name_words, neighbours, rows_where, take_rows
from schedtop.model.short_lived import MANY, names_of_many


def with_storm(rows: Rows, short: Rows, breathe: Callable[[], object] = keep_on) -> tuple[Rows, dict[bytes, int]]:
    """Rows of TASK_DTYPE with those of short-lived commands added up by name, and how many these are.

    `short`: rows of SHORT_LIVED_DTYPE of the same window. Such a row has no tid, and so no CPU and no class. `breathe`
    is called in between.
    """
    ended = np.flatnonzero(rows["ended"])
    if len(ended) < MANY or not (names := names_of_many(short)):
        return rows, {}
    order, starts = neighbours(name_words(take_rows(rows, ended), "comm"))
    breathe()
    own = take_rows(rows, ended[order])
    counts = np.diff(np.append(starts, len(own)))
    is_added = (counts >= MANY) & np.isin(own["comm"][starts], names)
    if not is_added.any():
        return rows, {}
    breathe()
    sums = np.zeros(len(starts), rows.dtype)
    sums["comm"], sums["last_cpu"] = own["comm"][starts], -1
    for field in TASK_SUMS:
        sums[field] = np.add.reduceat(own[field], starts)
    sums["max_wait_ns"] = np.maximum.reduceat(own["max_wait_ns"], starts)
    sums["start_ns"] = [crc32(name) for name in sums["comm"].tolist()]
    breathe()
    gone = np.zeros(len(rows), np.bool_)
    gone[ended[order]] = np.repeat(is_added, counts)
    found = np.concatenate((rows_where(rows, ~gone), sums[is_added]))
    return found, dict(zip(sums["comm"][is_added].tolist(), counts[is_added].tolist(), strict=True))

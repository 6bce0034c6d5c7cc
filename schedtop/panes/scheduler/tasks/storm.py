"""Tasks of a storm that have ended: a row for each command, where single ones are gone when one reads."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from schedtop.model.rows import TASK_SUMS, Rows
from schedtop.model.short_lived import names_of_many

MANY = 10
"""From so many on, those of a name are added up."""


def with_storm(rows: Rows, short: Rows) -> tuple[Rows, dict[bytes, int]]:
    """Rows of TASK_DTYPE with those of short-lived commands added up by name, and how many these are.

    `short`: rows of SHORT_LIVED_DTYPE of the same window. Such a row has no tid, and so no CPU and no class.
    """
    ended = np.flatnonzero(rows["ended"])
    if len(ended) < MANY or not (names := names_of_many(short, MANY)):
        return rows, {}
    known = rows["comm"][ended]
    counts: dict[bytes, int] = {}
    sums, gone = [], []
    for name in names:
        own = ended[known == name]
        if len(own) < MANY:
            continue
        whole = np.zeros(1, rows.dtype)
        whole["comm"], whole["start_ns"], whole["last_cpu"] = name, crc32(name), -1
        for field in TASK_SUMS:
            whole[field] = rows[field][own].sum()
        whole["max_wait_ns"] = rows["max_wait_ns"][own].max()
        counts[name] = len(own)
        sums.append(whole)
        gone.append(own)
    if not counts:
        return rows, {}
    return np.concatenate((np.delete(rows, np.concatenate(gone)), *sums)), counts

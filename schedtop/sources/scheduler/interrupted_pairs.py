"""Pairs of which interrupts had a part: what they took from a blocker blocks its victims, and not the blocker."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.model.rows import INTERRUPTERS, PAIR_DTYPE, Integers, Rows, neighbours
from schedtop.sources.interrupts.reader import InterruptReader

LEAST_SHARE = 0.001
"""Of the time of a blocker: what takes less of it stays in its time."""


def with_interrupts(
    pairs: Rows,
    tasks: Rows,
    reader: InterruptReader,
    start_ns: int,
    end_ns: int,
    breathe: Callable[[], object] = keep_on,
) -> Rows:
    """Rows of PAIR_DTYPE with the interrupts of an interval as blockers; `blocked_ns` of all stays the same.

    Pairs are counted by task, without when: it is assumed that interrupts took from a blocker as much of the time in
    which a victim waited as of all its time in the interval. The INTERRUPTERS sources with the most of it are told.
    `tasks`: TASK_DTYPE; blockers that are not among them keep all of their time. `breathe` is called in between.
    """
    blockers = np.unique(pairs["other_tid"][pairs["blocked_ns"] > 0])
    chosen = tasks[np.isin(tasks["tid"], blockers) & (tasks["interrupted_ns"] > 0)]
    shares = _shares(chosen, reader, start_ns, end_ns, breathe)
    if not shares:
        return pairs
    pairs = pairs.copy()
    pieces = [pairs]
    for tid, by_source in shares.items():
        mine = np.flatnonzero((pairs["other_tid"] == tid) & (pairs["blocked_ns"] > 0))
        blocked_ns = pairs["blocked_ns"][mine].copy()
        for source, share in by_source.items():
            taken_ns = np.minimum(np.rint(blocked_ns * share).astype(np.int64), pairs["blocked_ns"][mine])
            pairs["blocked_ns"][mine] -= taken_ns
            pieces.append(_by_interrupt(pairs[mine], taken_ns, reader.name(source)))
        breathe()
    return _merged(np.concatenate(pieces))


def _shares(
    tasks: Rows, reader: InterruptReader, start_ns: int, end_ns: int, breathe: Callable[[], object]
) -> dict[int, dict[int, float]]:
    """Of tasks the part of their time that each source took from them, 0..1 and together not more than 1."""
    taken = reader.spans.taken_from(tasks["tid"].astype(np.uint32), start_ns, end_ns, breathe)
    found: dict[int, dict[int, float]] = {}
    for row in tasks:
        by_source = taken.get(int(row["tid"]), {})
        whole = sum(by_source.values())
        # How much it was is counted for each task; what was noted one by one only says of which sources.
        ratio = min(1.0, row["interrupted_ns"] / max(1, row["run_ns"])) / max(1, whole)
        most = sorted(by_source.items(), key=lambda item: -item[1])[:INTERRUPTERS]
        shares = {source: ns * ratio for source, ns in most if ns * ratio >= LEAST_SHARE}
        if shares:
            found[int(row["tid"])] = shares
    return found


def _by_interrupt(pairs: Rows, taken_ns: Integers, name: bytes) -> Rows:
    """The victims of pairs, with a source of interrupts as the other one."""
    rows = np.zeros(len(pairs), PAIR_DTYPE)
    for field in PAIR_DTYPE.names or ():
        if field.startswith("victim_"):
            rows[field] = pairs[field]
    rows["waits"], rows["blocked_ns"], rows["other_interrupt"] = pairs["waits"], taken_ns, name
    return rows[taken_ns > 0]


def _merged(rows: Rows) -> Rows:
    """A victim and a source once: in as many waits as it had behind the task that was interrupted most often."""
    order, starts = neighbours([rows[name] for name in ("victim_tid", "other_tid", "other_interrupt")])
    rows = rows[order]
    merged: Rows = rows[starts]
    for name in ("preemptions", "preempted_ns", "blocked_ns"):
        merged[name] = np.add.reduceat(rows[name], starts)
    merged["waits"] = np.maximum.reduceat(rows["waits"], starts)
    return merged

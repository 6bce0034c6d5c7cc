"""The periods of a quota that ran out early: how long it lasted, and how much more could have run until the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Rows, neighbours, take_rows
from schedtop.quota.record import QuotaRecord

Numbers = npt.NDArray[np.float64]

SAME_REFILL = 0.25
"""Threads that get their quota back within this share of a period were throttled in the same one."""


@dataclass(frozen=True, slots=True, eq=False)
class Periods:
    """Throttled periods of a group, one a row; all arrays have the shape (periods,).

    `held_ns`: from the moment the first thread had to wait until the quota came back; `throttled_ns`: the same of each
    CPU that had such a thread, summed: what cpu.stat counts. `hidden_ns`: the most that these threads could have run
    meanwhile: all of them all the time, bounded by the CPUs; `least_hidden_ns`: the same if none has more work than it
    usually runs from one sleep to the next, its burst. `work_ns`: the work that they had at the same time: the longest
    burst, or all those together that take a period and more and so overlap; at least what the quota let them run.
    """

    held_ns: Numbers
    throttled_ns: Numbers
    hidden_ns: Numbers
    least_hidden_ns: Numbers
    work_ns: Numbers

    def __len__(self) -> int:
        return len(self.held_ns)


def periods_of(record: QuotaRecord) -> Periods:
    """The throttled periods of a record, in order of time, as far as the waits for the quota are known."""
    rows = _one_a_thread(record.held, record.period_ns * SAME_REFILL)
    place = rows.place
    count = int(place[-1]) + 1 if len(place) else 0
    held = rows.rows["held_ns"].astype(np.float64)
    by_cpu = _longest(rows, "cpu")
    bursts = _bursts(record)
    work = np.array([bursts.get(tid, 0.0) for tid in rows.rows["tid"].tolist()], np.float64)
    together = np.bincount(place, np.where(work >= record.period_ns, work, 0), count)
    shortened = take_rows(rows.rows, np.arange(len(held)))
    shortened["held_ns"] = np.minimum(held, work)
    return Periods(
        held_ns=_maximum(place, held, count),
        throttled_ns=np.bincount(by_cpu.place, by_cpu.rows["held_ns"], count).astype(np.float64),
        hidden_ns=_most_that_runs(rows, record.cpus, count),
        least_hidden_ns=_most_that_runs(_Placed(shortened, place), record.cpus, count),
        work_ns=np.maximum(np.maximum(together, _maximum(place, work, count)), record.quota_ns),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """HELD_DTYPE rows with the number of the period that each is in, in that order."""

    rows: Rows
    place: npt.NDArray[np.intp]


def _one_a_thread(held: Rows, gap_ns: float) -> _Placed:
    """The longest wait of each thread in each period."""
    held = take_rows(held, np.argsort(held["refill_ns"], kind="stable"))
    fresh = np.diff(held["refill_ns"], prepend=held["refill_ns"][:1]) > gap_ns
    return _longest(_Placed(held, np.cumsum(fresh)), "tid")


def _longest(placed: _Placed, name: str) -> _Placed:
    """Of the rows of one period that agree in a field only the longest."""
    if not len(placed.rows):
        return placed
    order, _ = neighbours([placed.place, placed.rows[name], placed.rows["held_ns"]])
    rows, place = take_rows(placed.rows, order), placed.place[order]
    same = np.append((np.diff(place) == 0) & (rows[name][1:] == rows[name][:-1]), False)
    last = np.flatnonzero(~same)
    return _Placed(take_rows(rows, last), place[last])


def _maximum(place: npt.NDArray[np.intp], values: Numbers, count: int) -> Numbers:
    found = np.zeros(count)
    np.maximum.at(found, place, values)
    return found


def _most_that_runs(placed: _Placed, cpus: int, count: int) -> Numbers:
    """Of each period: no more threads run at a time than there are CPUs, and of those bound to one CPU only one."""
    bound = placed.rows["allowed_cpus"] == 1
    alone = _longest(_Placed(placed.rows[bound], placed.place[bound]), "cpu")
    rows = np.concatenate((placed.rows[~bound], alone.rows))
    place = np.concatenate((placed.place[~bound], alone.place))
    order = np.lexsort((-rows["held_ns"], place))
    place = place[order]
    # Which one of its period it is, the longest first.
    rank = np.arange(len(place)) - np.searchsorted(place, place)
    counted = np.where(rank < cpus, rows["held_ns"][order], 0)
    return np.bincount(place, counted, count).astype(np.float64)


def _bursts(record: QuotaRecord) -> dict[int, float]:
    """What each thread runs from one sleep to the next, on average; one that never slept had all of its work."""
    tasks = record.tasks
    means = tasks["run_ns"] / np.maximum(tasks["voluntary_switches"], 1)
    return dict(zip(tasks["tid"].tolist(), means.tolist(), strict=True))

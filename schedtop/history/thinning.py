"""Thinning: a Frame with less detail, for the time that is long past. What is left out is counted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from schedtop.model.counts import Attribution, Loss
from schedtop.model.frame import Frame
from schedtop.model.rows import Integers, Rows, take_rows
from schedtop.model.short_lived import folded

FRAME_BYTES = 4 << 10
"""What a Frame costs besides its arrays, about."""


@dataclass(frozen=True, slots=True)
class Detail:
    """How many rows a Frame keeps of those that lived or happened only once.

    The others are counted in its loss, the waits of pairs among the others of its attribution, short-lived tasks
    without a name. `ended`: how many of the tasks that ended in it; they stay among the short-lived ones.
    """

    tasks: int
    slow_waits: int
    pairs: int
    short_lived: int
    ended: int | None = None


DETAILS = (
    Detail(1000, 250, 250, 100),
    Detail(1000, 250, 250, 100, ended=100),
    Detail(100, 50, 50, 30, ended=20),
)
"""What is kept of a Frame: as much as of two that are merged; where it would push others out; of long ago."""

WHOLE, THINNED, SPARSE = range(len(DETAILS))


def frame_bytes(frame: Frame) -> int:
    """What a Frame takes, in bytes."""
    arrays = [frame.cpus.counters, frame.latency.counts, frame.tasks, frame.slow_waits, frame.pairs, frame.throttling]
    arrays.append(frame.short_lived)
    if frame.groups is not None:
        arrays.append(frame.groups.counts)
    if frame.queue is not None:
        arrays.append(frame.queue.counts)
    return FRAME_BYTES + sum(array.nbytes for array in arrays)


def with_detail(frame: Frame, number: int) -> Frame:
    """The Frame with the rows that one of DETAILS keeps."""
    return thinned(frame, DETAILS[number])


def thinned(frame: Frame, keep: Detail = DETAILS[WHOLE]) -> Frame:
    """The Frame without its least tasks, slow waits and pairs, where it has many, and without histograms by group.

    Least are those with the least run delay and run time together, and the shortest waits. They are counted.
    """
    tasks = frame.tasks if keep.ended is None else _without_ended(frame.tasks, keep.ended)
    tasks = _heaviest(tasks, _weight(tasks), keep.tasks)
    slow_waits = _heaviest(frame.slow_waits, frame.slow_waits["wait_ns"], keep.slow_waits)
    pairs = _heaviest(frame.pairs, frame.pairs["blocked_ns"] + frame.pairs["preempted_ns"], keep.pairs)
    forgotten = Loss(
        tasks_forgotten=len(frame.tasks) - len(tasks), slow_waits_forgotten=len(frame.slow_waits) - len(slow_waits)
    )
    unnamed = Attribution(others_ns=int(frame.pairs["blocked_ns"].sum() - pairs["blocked_ns"].sum()))
    return replace(
        frame,
        tasks=tasks,
        slow_waits=slow_waits,
        loss=frame.loss + forgotten,
        pairs=pairs,
        attribution=frame.attribution + unnamed,
        short_lived=folded(frame.short_lived, keep.short_lived),
        groups=None,
    )


def _without_ended(tasks: Rows, keep: int) -> Rows:
    """Only so many of those that ended, where there are more."""
    has_ended = tasks["ended"] != 0
    ended = np.count_nonzero(has_ended)
    if ended <= keep:
        return tasks
    weight = np.where(has_ended, _weight(tasks), np.iinfo(np.int64).max)
    return _heaviest(tasks, weight, keep + len(tasks) - int(ended))


def _weight(tasks: Rows) -> Integers:
    weight: Integers = tasks["run_delay_ns"] + tasks["run_ns"]
    return weight


def _heaviest(rows: Rows, weight: Integers, most: int) -> Rows:
    """The rows of the largest weights, in their order."""
    if len(rows) <= most:
        return rows
    return take_rows(rows, np.sort(np.argpartition(weight, len(rows) - most)[len(rows) - most :]))

"""Detail: how much of a Frame's rows is kept of the time that is long past, and how parts are thinned to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from schedtop.model.counts import Attribution, Loss
from schedtop.model.rows import Integers, Rows, take_rows
from schedtop.model.short_lived import folded

Value = TypeVar("Value")


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


@dataclass(frozen=True, slots=True, eq=False)
class Thinned(Generic[Value]):
    """What is left of a part, and what the others of the Frame must tell of what is not."""

    value: Value
    loss: Loss = Loss()  # noqa: RUF009 (frozen)
    attribution: Attribution = Attribution()  # noqa: RUF009 (frozen)


def thin_tasks(tasks: Rows, keep: Detail) -> Thinned[Rows]:
    """Without the tasks of the least run delay and run time together."""
    left = tasks if keep.ended is None else _without_ended(tasks, keep.ended)
    left = heaviest(left, _weight(left), keep.tasks)
    return Thinned(left, Loss(tasks_forgotten=len(tasks) - len(left)))


def thin_slow_waits(waits: Rows, keep: Detail) -> Thinned[Rows]:
    """Without the shortest waits."""
    left = heaviest(waits, waits["wait_ns"], keep.slow_waits)
    return Thinned(left, Loss(slow_waits_forgotten=len(waits) - len(left)))


def thin_pairs(pairs: Rows, keep: Detail) -> Thinned[Rows]:
    """Without the pairs of the shortest waits; what blocked in these is of unnamed others."""
    left = heaviest(pairs, pairs["blocked_ns"] + pairs["preempted_ns"], keep.pairs)
    unnamed = int(pairs["blocked_ns"].sum() - left["blocked_ns"].sum())
    return Thinned(left, attribution=Attribution(others_ns=unnamed))


def thin_short_lived(rows: Rows, keep: Detail) -> Thinned[Rows]:
    """The least of them added up, without a name."""
    return Thinned(folded(rows, keep.short_lived))


def heaviest(rows: Rows, weight: Integers, most: int) -> Rows:
    """The rows of the largest weights, in their order."""
    if len(rows) <= most:
        return rows
    return take_rows(rows, np.sort(np.argpartition(weight, len(rows) - most)[len(rows) - most :]))


def _without_ended(tasks: Rows, keep: int) -> Rows:
    """Only so many of those that ended, where there are more."""
    has_ended = tasks["ended"] != 0
    ended = np.count_nonzero(has_ended)
    if ended <= keep:
        return tasks
    weight = np.where(has_ended, _weight(tasks), np.iinfo(np.int64).max)
    return heaviest(tasks, weight, keep + len(tasks) - int(ended))


def _weight(tasks: Rows) -> Integers:
    weight: Integers = tasks["run_delay_ns"] + tasks["run_ns"]
    return weight

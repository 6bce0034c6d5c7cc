"""The columns of the CPUs' run queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from schedtop.base.units import format_count
from schedtop.model.queue_lengths import QUEUE_KINDS, QueueLengths, QueueTable
from schedtop.panes.percent import percent
from schedtop.widgets.bars import thin_bar
from schedtop.widgets.columns import Column, explained

_BAR = 10


@dataclass(frozen=True, slots=True, eq=False)
class QueueRows:
    """The visible CPUs and their samples."""

    ids: Sequence[int]
    whole: Sequence[QueueLengths]
    fair: Sequence[QueueLengths]

    @classmethod
    def of(cls, queue: QueueTable, ids: Sequence[int]) -> Self:
        """The rows of some CPUs."""
        return cls(ids, *([queue.lengths(kind, [cpu]) for cpu in ids] for kind in QUEUE_KINDS))


def mean_words(mean: float) -> str:
    """An average length in at most five characters: `0.25`, `120.5`, `4096`."""
    return f"{mean:.2f}" if mean < 99.995 else f"{mean:.1f}" if mean < 999.95 else format_count(mean)


def _means(lengths: Sequence[QueueLengths]) -> list[str]:
    return ["·" if one.mean is None else mean_words(one.mean) for one in lengths]


def _p99(context: QueueRows) -> list[str]:
    return [format_count(one.percentile(0.99)) if one.samples else "·" for one in context.whole]


def _longest(context: QueueRows) -> list[str]:
    return [format_count(one.longest) if one.samples else "·" for one in context.whole]


def _waiting(context: QueueRows) -> list[str]:
    return [percent(one.waiting_ratio) if one.samples else "·" for one in context.whole]


def _bars(context: QueueRows) -> list[str]:
    return [thin_bar(one.waiting_ratio or 0, _BAR) for one in context.whole]


MEANINGS = {
    "cpu": "the CPU",
    "avg": "how many tasks waited in its queue on average, the running one not counted",
    "fair": "the same of the fair class alone: normal tasks, not real-time ones",
    "p99": "in one sample of a hundred the queue was longer",
    "max": "the longest queue that was seen",
    "wait %": "the share of the samples in which at least one task waited",
    "": "the same as a bar",
}

COLUMNS: tuple[Column[QueueRows], ...] = explained(
    (
        Column("cpu", 4, lambda context: [str(cpu) for cpu in context.ids], style="strong"),
        Column("avg", 5, lambda context: _means(context.whole)),
        Column("fair", 5, lambda context: _means(context.fair), rank=2, style="dim"),
        Column("p99", 4, _p99, rank=1),
        Column("max", 5, _longest, rank=3),
        Column("wait %", 6, _waiting),
        Column("", _BAR, _bars, right=False, rank=4, style="preemption"),
    ),
    MEANINGS,
)

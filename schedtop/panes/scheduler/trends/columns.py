"""The values of trends in the columns of a pane; what has been added up is kept while its Frames stay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from schedtop.charts.chart import Line
from schedtop.charts.trends import Trend, Values, values_by_cpu, values_of
from schedtop.model.frame import Frame
from schedtop.panes.time_columns import Placed

CPU_LINES = 5
CPU_STYLES = ("throttled", "preemption", "steal", "wakeup", "text")
"""Of so many CPUs there is a line, each in another style."""


class TrendColumns:
    """Adds Frames up by column. A column is added up again only when it has other Frames than before."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[Sequence[Frame], Values]] = {}
        self._cpus: tuple[int, ...] | None = None

    def forget(self) -> None:
        """Drops what is kept of Frames."""
        self._kept = {}

    def values(self, placed: Placed, cpus: tuple[int, ...] | None) -> list[Values | None]:
        """The Values of each column; `None` where there is no Frame."""
        if cpus != self._cpus:
            self._kept, self._cpus = {}, cpus
        before, self._kept = self._kept, {}
        columns: list[Values | None] = []
        for frames in frames_by_column(placed):
            if not frames:
                columns.append(None)
                continue
            key = tuple(map(id, frames))
            found = self._kept.get(key) or before.get(key) or (frames, values_of(frames, cpus))
            self._kept[key] = found
            columns.append(found[1])
        return columns


def lines_by_cpu(trend: Trend, placed: Placed, cpus: Sequence[int]) -> tuple[Line, ...]:
    """A line for each of the CPUs that have most of it over the columns, those with most first."""
    table = np.full((placed.width, max(cpus, default=0) + 1), np.nan)
    for column, frames in enumerate(frames_by_column(placed)):
        if frames:
            table[column] = values_by_cpu(trend.by_cpu, frames, table.shape[1])
    sums = np.nansum(table, axis=0)
    worst = sorted(cpus, key=lambda cpu: -sums[cpu])[:CPU_LINES]
    return tuple(
        Line(f"cpu{cpu}", style, [None if np.isnan(value) else float(value) for value in table[:, cpu]])
        for cpu, style in zip(worst, CPU_STYLES, strict=False)
    )


def frames_by_column(placed: Placed) -> list[list[Frame]]:
    """The Frames in each column. One that is longer than a column is in several."""
    columns: list[list[Frame]] = [[] for _ in range(placed.width)]
    for begin, last, frame in placed.frames:
        for column in range(max(begin, 0), min(last, placed.width - 1) + 1):
            columns[column].append(frame)
    return columns

"""The table of cgroups with a CPU quota: how often and how long each was throttled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from schedtop.base.units import format_count, format_ns
from schedtop.model.groups import group_name
from schedtop.model.rows import Rows, take_rows
from schedtop.panes.levels import cell_style, quota_level
from schedtop.panes.percent import percent
from schedtop.widgets.columns import Column, explained, header_spans, place, row_lines
from schedtop.widgets.strips import Spans, steady


@dataclass(frozen=True, slots=True, eq=False)
class QuotaRows:
    """Rows of THROTTLING_DTYPE, and the paths of cgroups by id."""

    rows: Rows
    cgroups: Mapping[int, str]


def _ratios(context: QuotaRows) -> list[float | None]:
    """The share of its periods in which each was throttled."""
    pairs = zip(context.rows["throttled_periods"].tolist(), context.rows["periods"].tolist(), strict=True)
    return [throttled / periods if periods else None for throttled, periods in pairs]


def _shares(context: QuotaRows) -> list[str]:
    return list(map(percent, _ratios(context)))


def _names(context: QuotaRows) -> list[str]:
    return [steady(name) for name in group_name(context.rows, "cgroup", context.cgroups)]


MEANINGS = {
    "cgroup with a quota": "those with a limit in cpu.max, the one throttled most often first",
    "throttled %": "the share of its periods in which the quota was used up before the end",
    "periods": "how many periods of its quota had begun with work to do",
    "throttled": "how long it was throttled, summed over CPUs",
    "PSI some": "how long at least one of its tasks waited for a CPU, for whatever reason",
}

COLUMNS: tuple[Column[QuotaRows], ...] = explained((
    Column("cgroup with a quota", 12, _names, right=False, grow=28, style="strong"),
    Column("throttled %", 11, _shares, style="throttled",
           level=lambda context: [cell_style(quota_level(share)) for share in _ratios(context)]),
    Column("periods", 7, lambda context: list(map(format_count, context.rows["periods"].tolist())), rank=2),
    Column("throttled", 9, lambda context: list(map(format_ns, context.rows["throttled_ns"].tolist())), rank=1),
    Column("PSI some", 9, lambda context: list(map(format_ns, context.rows["pressure_ns"].tolist())), rank=3),
), MEANINGS)  # fmt: skip


def worst_first(rows: Rows) -> Rows:
    """Rows of THROTTLING_DTYPE, those throttled in most of their periods first."""
    shares = rows["throttled_periods"] / np.maximum(rows["periods"], 1)
    return take_rows(rows, np.lexsort((rows["cgroup_id"], -rows["throttled_ns"], -shares)))


def quota_lines(rows: Rows, cgroups: Mapping[int, str], width: int) -> list[Spans]:
    """A header and a line for each row; nothing without rows."""
    if not len(rows):
        return []
    placed = place(COLUMNS, width)
    return [header_spans(placed, None), *row_lines(placed, QuotaRows(worst_first(rows), cgroups), len(rows))]

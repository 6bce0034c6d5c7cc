"""What the keys for order and group do to the settings, for the pane that has the focus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedtop.history.sorting import CPU_SORTS, PAIR_ORDERS, SLOW_WAIT_SORTS, TASK_SORTS
from schedtop.history.view import View, ViewSettings
from schedtop.model.rows import GROUPS
from schedtop.model.short_lived import SORTS
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.blame.pane import BlamePane
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.short_lived.pane import ShortLivedPane
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.tasks.pane import TasksPane
from schedtop.ui.screens.dashboard.timeline import cycled

SORTED: tuple[tuple[type[Pane[View]], str, Mapping[str, str]], ...] = (
    (SlowWaitsPane, "slow_wait_sort", SLOW_WAIT_SORTS),
    (BlamePane, "pair_sort", PAIR_ORDERS),
    (ShortLivedPane, "short_lived_sort", SORTS),
    (CpusPane, "cpu_sort", CPU_SORTS),
    (TasksPane, "task_sort", TASK_SORTS),
)
"""Panes that have an order, the setting that holds it, and all orders with their words."""


def _sorted_by(pane: object) -> tuple[type[Pane[View]], str, Mapping[str, str]]:
    """The row of SORTED for a pane, that of the tasks for one without an order."""
    return next((row for row in SORTED if isinstance(pane, row[0])), SORTED[-1])


def next_order(settings: ViewSettings, pane: object, step: int) -> ViewSettings:
    """The next order of the pane if it has one, else of the tasks."""
    _, field, orders = _sorted_by(pane)
    return ordered(settings, pane, cycled([*orders], getattr(settings, field), step))


def ordered(settings: ViewSettings, pane: object, sort: str) -> ViewSettings:
    """The rows of a pane in another order."""
    changed: dict[str, Any] = {_sorted_by(pane)[1]: sort}
    return replace(settings, **changed)


def orders_of(settings: ViewSettings, pane: object) -> tuple[str, Mapping[str, str], str]:
    """What can be sorted where a pane has the focus: the rows, the orders with their words, the one that holds."""
    kind, field, orders = _sorted_by(pane)
    return kind.TITLE, orders, getattr(settings, field)


def next_group(settings: ViewSettings, step: int = 1) -> ViewSettings:
    """The next of GROUPS."""
    return replace(settings, group=cycled([*GROUPS], settings.group, step), selected_task=None)


def next_blame(settings: ViewSettings) -> ViewSettings:
    """The other way to blame."""
    return replace(settings, blame="preemptor" if settings.blame == "blocker" else "blocker")


def grouping_of(settings: ViewSettings, selected: bool) -> str:
    """The id field by which the source should keep histograms; of single tasks only while one of them is selected."""
    return "" if settings.group == "thread" and not selected else GROUPS[settings.group]

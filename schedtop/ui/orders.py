"""What the keys for order and group do to the settings, for the pane that has the focus."""

from __future__ import annotations

from dataclasses import replace

from schedtop.history import CPU_SORTS, PAIR_ORDERS, SLOW_WAIT_SORTS, TASK_SORTS, ViewSettings
from schedtop.panes.blame import BlamePane
from schedtop.panes.cpus import CpusPane
from schedtop.panes.short_lived import ShortLivedPane
from schedtop.panes.slow_waits import SlowWaitsPane
from schedtop.rows import GROUPS
from schedtop.short_lived import SORTS
from schedtop.ui.timeline import cycled


def next_order(settings: ViewSettings, pane: object, step: int) -> ViewSettings:
    """The next order of the slow waits, pairs or short-lived tasks or CPUs if theirs is the pane, else of the tasks."""
    if isinstance(pane, SlowWaitsPane):
        return replace(settings, slow_wait_sort=cycled([*SLOW_WAIT_SORTS], settings.slow_wait_sort, step))
    if isinstance(pane, BlamePane):
        return replace(settings, pair_sort=cycled([*PAIR_ORDERS], settings.pair_sort, step))
    if isinstance(pane, ShortLivedPane):
        return replace(settings, short_lived_sort=cycled([*SORTS], settings.short_lived_sort, step))
    if isinstance(pane, CpusPane):
        return replace(settings, cpu_sort=cycled([*CPU_SORTS], settings.cpu_sort, step))
    return replace(settings, task_sort=cycled([*TASK_SORTS], settings.task_sort, step))


def ordered(settings: ViewSettings, table: object, sort: str) -> ViewSettings:
    """The table of a pane in the order of one of its columns."""
    if isinstance(table, SlowWaitsPane):
        return replace(settings, slow_wait_sort=sort)
    if isinstance(table, BlamePane):
        return replace(settings, pair_sort=sort)
    if isinstance(table, ShortLivedPane):
        return replace(settings, short_lived_sort=sort)
    if isinstance(table, CpusPane):
        return replace(settings, cpu_sort=sort)
    return replace(settings, task_sort=sort)


def orders_of(settings: ViewSettings, pane: object) -> tuple[str, dict[str, str], str]:
    """What can be sorted where the pane has the focus: whose rows, the orders with their words, the one that holds."""
    if isinstance(pane, SlowWaitsPane):
        return pane.TITLE, dict(SLOW_WAIT_SORTS), settings.slow_wait_sort
    if isinstance(pane, BlamePane):
        return pane.TITLE, dict(PAIR_ORDERS), settings.pair_sort
    if isinstance(pane, ShortLivedPane):
        return pane.TITLE, dict(SORTS), settings.short_lived_sort
    if isinstance(pane, CpusPane):
        return pane.TITLE, dict(CPU_SORTS), settings.cpu_sort
    return "Tasks", dict(TASK_SORTS), settings.task_sort


def next_group(settings: ViewSettings, step: int = 1) -> ViewSettings:
    """The next of GROUPS."""
    return replace(settings, group=cycled([*GROUPS], settings.group, step))


def next_blame(settings: ViewSettings) -> ViewSettings:
    """The other way to blame."""
    return replace(settings, blame="preemptor" if settings.blame == "blocker" else "blocker")


def grouping_of(settings: ViewSettings, selected: bool) -> str:
    """The id field by which the source should keep histograms; of single tasks only while one of them is selected."""
    return "" if settings.group == "thread" and not selected else GROUPS[settings.group]

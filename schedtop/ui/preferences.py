"""What a config gives the screen, and what keys have changed of it since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schedtop.history import PAIR_ORDERS, SLOW_WAIT_SORTS, TASK_SORTS
from schedtop.panes.cpus import CpusPane
from schedtop.panes.trend import MEASURES
from schedtop.short_lived import SORTS
from schedtop.ui.presets import PRESETS, preset_named
from schedtop.units import exact_duration

if TYPE_CHECKING:
    from schedtop.ui.dashboard import Dashboard

Choices = Mapping[str, str | bool]
"""Values by the names of the config's keys."""


def forget(_choices: Choices) -> str:
    """Keeps nothing."""
    return ""


@dataclass(frozen=True, slots=True)
class Preferences:
    """How the screen begins. `bindings`: keys by the names of actions; `problems`: what is wrong in the config.

    `keep` is given what keys have changed, when the dashboard has ended, and says what went wrong, if anything did;
    `remember`: whether more than the hint is to be kept.
    """

    preset: str = PRESETS[0].word
    measure: str = MEASURES[0].key
    bindings: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    file: str = "the config"
    hint: bool = False
    remember: bool = False
    keep: Callable[[Choices], str] = forget


NO_PREFERENCES = Preferences()
"""The defaults: nothing is told at the start, and nothing is remembered."""


def begin_with(dashboard: Dashboard, preferences: Preferences) -> None:
    """Sets up a dashboard that is not yet shown."""
    dashboard.preset = preset_named(preferences.preset)
    if preferences.measure != MEASURES[0].key:
        _cpus(dashboard).measure = {measure.key: measure for measure in MEASURES}[preferences.measure]
    dashboard.show_hint(preferences.hint)


def choices_of(dashboard: Dashboard, theme: str) -> dict[str, str | bool]:
    """What is chosen now, by the config's keys."""
    settings = dashboard.timeline.settings
    choices: dict[str, str | bool] = {
        "theme": theme,
        "preset": dashboard.preset.word.lower(),
        "window": exact_duration(settings.window_ns).replace("1m", "60s"),
        "group": settings.group,
        "blame": settings.blame,
        "measure": (_cpus(dashboard).measure or MEASURES[0]).key,
        "sort_tasks": TASK_SORTS[settings.task_sort],
        "sort_slow_waits": SLOW_WAIT_SORTS[settings.slow_wait_sort],
        "sort_pairs": PAIR_ORDERS[settings.pair_sort],
        "sort_short_lived": SORTS[settings.short_lived_sort],
    }
    if dashboard.wanted_threshold_ns is not None:
        choices["threshold"] = exact_duration(dashboard.wanted_threshold_ns)
    return choices


def _cpus(dashboard: Dashboard) -> CpusPane:
    return next(pane for pane in dashboard.panes if isinstance(pane, CpusPane))

"""What a config gives the screen, and what keys have changed of it since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from schedtop.base.units import exact_duration
from schedtop.history.view import ViewSettings
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.cpus.order import measure_named
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.cpus.strips import CpuStripsPane
from schedtop.panes.scheduler.cpus.trend import MEASURES
from schedtop.ui.layout.presets import PRESETS, preset_named

if TYPE_CHECKING:
    from schedtop.ui.screens.dashboard.screen import Dashboard

AnyPane = TypeVar("AnyPane", bound=Pane)

Choices = Mapping[str, str | bool]
"""Values by the names of the config's keys."""


def forget(_choices: Choices) -> str:
    """Keeps nothing."""
    return ""


def nothing_of(_settings: ViewSettings) -> Choices:
    """Tells nothing of a view."""
    return {}


@dataclass(frozen=True, slots=True)
class Preferences:
    """How the screen begins. `bindings`: keys by the names of actions; `problems`: what is wrong in the config.

    `keep` is given what keys have changed, when the dashboard has ended, and says what went wrong, if anything did;
    `view_choices` says what the settings of a view are in the config; `remember`: whether more than the hint is kept.
    """

    preset: str = PRESETS[0].word
    measure: str = MEASURES[0].key
    measure_strips: str = MEASURES[0].key
    cpu_form: str = "auto"
    bindings: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    file: str = "the config"
    hint: bool = False
    remember: bool = False
    view_choices: Callable[[ViewSettings], Choices] = nothing_of
    keep: Callable[[Choices], str] = forget


NO_PREFERENCES = Preferences()
"""The defaults: nothing is told at the start, and nothing is remembered."""


def begin_with(dashboard: Dashboard, preferences: Preferences) -> None:
    """Sets up a dashboard that is not yet shown."""
    dashboard.preset = preset_named(preferences.preset)
    cpus, strips = _pane(dashboard, CpusPane), _pane(dashboard, CpuStripsPane)
    if preferences.measure != MEASURES[0].key:
        cpus.measure = measure_named(preferences.measure)
    strips.measure = measure_named(preferences.measure_strips)
    cpus.form = preferences.cpu_form
    dashboard.show_hint(preferences.hint)


def choices_of(dashboard: Dashboard, theme: str, preferences: Preferences) -> dict[str, str | bool]:
    """What is chosen now, by the config's keys."""
    cpus, strips = _pane(dashboard, CpusPane), _pane(dashboard, CpuStripsPane)
    choices: dict[str, str | bool] = {
        **preferences.view_choices(dashboard.timeline.settings),
        "theme": theme,
        "preset": dashboard.preset.word.lower(),
        "measure": (cpus.measure or MEASURES[0]).key,
        "measure_strips": strips.measure.key,
        "cpu_form": cpus.form,
    }
    if dashboard.wanted_threshold_ns is not None:
        choices["threshold"] = exact_duration(dashboard.wanted_threshold_ns)
    return choices


def _pane(dashboard: Dashboard, kind: type[AnyPane]) -> AnyPane:
    return next(pane for pane in dashboard.panes if isinstance(pane, kind))

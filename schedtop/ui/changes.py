"""From the preferences to the dashboard at its start, and back: what keys have changed of them since."""

from __future__ import annotations

from typing import TypeVar

from schedtop.base.units import exact_duration
from schedtop.history.view import View
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.cpus.order import measure_named
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.cpus.strips import CpuStripsPane
from schedtop.panes.scheduler.cpus.trend import MEASURES
from schedtop.ui.layout.presets import preset_named
from schedtop.ui.preferences import Choices, Preferences
from schedtop.ui.screens.dashboard.screen import Dashboard

AnyPane = TypeVar("AnyPane", bound=Pane[View])


class Changes:
    """Sets up a dashboard that is not yet shown, and knows what is another choice than at its start."""

    def __init__(self, dashboard: Dashboard, preferences: Preferences, theme: str) -> None:
        self.kept: dict[str, str | bool] = {}
        """What is to be remembered, by the config's keys, when the app has ended."""
        self._dashboard = dashboard
        self._preferences = preferences
        begin_with(dashboard, preferences)
        self._first = self._now(theme)

    def keep(self, theme: str) -> None:
        """Notes what is another choice now, if that is wanted."""
        if self._preferences.remember:
            now = self._now(theme).items()
            self.kept |= {name: value for name, value in now if self._first.get(name) != value}

    def drop_hint(self) -> None:
        """Takes the hint off the screen, for good."""
        if self._dashboard.pane_layout.hint.shown:
            self._dashboard.pane_layout.show_hint(False)
            self.kept["hint"] = False

    def _now(self, theme: str) -> Choices:
        return choices_of(self._dashboard, theme, self._preferences)


def begin_with(dashboard: Dashboard, preferences: Preferences) -> None:
    """Sets up a dashboard that is not yet shown."""
    dashboard.pane_layout.preset = preset_named(preferences.preset)
    cpus, strips = _pane(dashboard, CpusPane), _pane(dashboard, CpuStripsPane)
    if preferences.measure != MEASURES[0].key:
        cpus.measure = measure_named(preferences.measure)
    strips.measure = measure_named(preferences.measure_strips)
    cpus.form = preferences.cpu_form
    dashboard.pane_layout.show_hint(preferences.hint)


def choices_of(dashboard: Dashboard, theme: str, preferences: Preferences) -> dict[str, str | bool]:
    """What is chosen now, by the config's keys."""
    cpus, strips = _pane(dashboard, CpusPane), _pane(dashboard, CpuStripsPane)
    choices: dict[str, str | bool] = {
        **preferences.view_choices(dashboard.shown.settings),
        "theme": theme,
        "preset": dashboard.pane_layout.preset.word.lower(),
        "measure": (cpus.measure or MEASURES[0]).key,
        "measure_strips": strips.measure.key,
        "cpu_form": cpus.form,
    }
    if (threshold_ns := dashboard.source_keys.wanted_threshold_ns) is not None:
        choices["threshold"] = exact_duration(threshold_ns)
    return choices


def _pane(dashboard: Dashboard, kind: type[AnyPane]) -> AnyPane:
    return next(pane for pane in dashboard.pane_layout.panes if isinstance(pane, kind))

"""What a config gives the screen: how it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from schedtop.history.view import ViewSettings
from schedtop.panes.scheduler.cpus.trend import MEASURES
from schedtop.ui.layout.presets import PRESETS

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

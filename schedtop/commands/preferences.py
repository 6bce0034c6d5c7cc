"""The config file in commands that have a screen: under the options of the command line, over the defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from schedtop.config.load import Config, load_config
from schedtop.config.place import ConfigError
from schedtop.config.save import remember
from schedtop.config.schema import KEYS, Choice, Value
from schedtop.history.view import ViewSettings
from schedtop.run.errors import complain

if TYPE_CHECKING:
    from schedtop.ui.preferences import Choices, Preferences


def config_of(options: dict[str, Any]) -> Config:
    """The config that the screen begins with; what is wrong in it is said on standard error."""

    config = load_config(not options.pop("no_config"))
    for problem in config.problems:
        complain(problem)
    return config


def fill(options: dict[str, Any], context: click.Context, config: Config) -> None:
    """Gives the dashboard's options that are not on the command line the config's values."""
    group = config["group"]
    values = {
        "interval": config.ns("interval"),
        "threshold": config.ns("threshold"),
        # With --group thread a histogram of each is wanted; the file's thread is how everything begins.
        "group": group if group != "thread" else None,
        "hide_self": config["hide_self"],
    }
    for name, value in values.items():
        if context.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            options[name] = value


def preferred(settings: ViewSettings, config: Config) -> ViewSettings:
    """The settings with what the config says of the view."""
    return replace(settings, **{name: _swapped(words)[config[key]] for key, name, words in _view_keys()})


def view_choices(settings: ViewSettings) -> Choices:
    """What the settings say of the view, in the words of the config."""
    return {key: words[getattr(settings, name)] for key, name, words in _view_keys()} | {"group": settings.group}


def _view_keys() -> Iterator[tuple[str, str, Mapping[Any, str]]]:
    """Keys of the config that are settings of the view: the key, the field, and the word for each of its values."""

    for key in KEYS:
        if key.setting and isinstance(key.kind, Choice):
            yield key.name, key.setting, key.kind.meant


def _swapped(words: Mapping[Any, str]) -> dict[Value, Any]:
    return {word: meant for meant, word in words.items()}


def preferences_of(config: Config, *, hint: bool = True) -> Preferences:
    """What the screen itself begins with; `hint`: it may be told what to press first."""
    # Late: the screen's modules are imported while the source opens.
    from schedtop.ui.preferences import Preferences

    return Preferences(
        preset=config.text("preset"),
        measure=config.text("measure"),
        measure_strips=config.text("measure_strips"),
        cpu_form=config.text("cpu_form"),
        bindings=config.bindings,
        problems=config.problems,
        file=str(config.path or "the config"),
        hint=hint and config.shows_hint,
        remember=bool(config["remember"]),
        view_choices=view_choices,
        keep=partial(_keep, config),
    )


def looks(options: dict[str, Any], config: Config) -> dict[str, Any]:
    """The theme and the characters that are asked for: on the command line, or in the config."""
    wanted, drawn = options["ascii"], config["ascii"]
    return {
        "theme": options["theme"] or config.text("theme"),
        "insists": bool(options["theme"]),
        "ascii_only": wanted if wanted is not None else drawn if isinstance(drawn, bool) else None,
    }


def _keep(config: Config, choices: Choices) -> str:
    """Writes choices into the file; gives what went wrong."""

    if config.path is None:
        return ""
    try:
        remember(config.path, choices)
    except ConfigError as error:
        return f"cannot remember what you changed: {config.path}: {error}"
    return ""

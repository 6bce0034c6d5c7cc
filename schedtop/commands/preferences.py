"""The config file in commands that have a screen: under the options of the command line, over the defaults."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from schedtop.commands.options import Command
from schedtop.config.load import Config, load_config

if TYPE_CHECKING:
    from schedtop.history import ViewSettings
    from schedtop.ui.preferences import Choices, Preferences


def config_option(command: Command) -> Command:
    """`--no-config`."""
    return click.option(
        "--no-config", is_flag=True, help="Begin with the defaults, and remember nothing; see `schedtop config`."
    )(command)


def config_of(options: dict[str, Any]) -> Config:
    """The config that the screen begins with; what is wrong in it is said on standard error."""
    from schedtop.session import complain

    config = load_config(not options.pop("no_config"))
    for problem in config.problems:
        complain(problem)
    return config


def fill(options: dict[str, Any], context: click.Context, config: Config) -> None:
    """Gives the dashboard's options that nobody wrote on the command line the config's values."""
    values = {
        "interval": config.ns("interval"),
        "threshold": config.ns("threshold"),
        "group": config.values.get("group"),
        "hide_self": config["hide_self"],
    }
    for name, value in values.items():
        if context.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            options[name] = value


def preferred(settings: ViewSettings, config: Config) -> ViewSettings:
    """The settings with what the config says of the view."""
    from schedtop.history import PAIR_ORDERS, SLOW_WAIT_SORTS, TASK_SORTS
    from schedtop.short_lived import SORTS

    return replace(
        settings,
        window_ns=config.ns("window"),
        blame=config.text("blame"),
        task_sort=_by_words(TASK_SORTS, config.text("sort_tasks")),
        slow_wait_sort=_by_words(SLOW_WAIT_SORTS, config.text("sort_slow_waits")),
        pair_sort=_by_words(PAIR_ORDERS, config.text("sort_pairs")),
        short_lived_sort=_by_words(SORTS, config.text("sort_short_lived")),
    )


def _by_words(sorts: dict[str, str], words: str) -> str:
    return next(name for name, shown in sorts.items() if shown == words)


def preferences_of(config: Config, *, hint: bool = True) -> Preferences:
    """What the screen itself begins with; `hint`: it may be told what to press first."""
    from schedtop.ui.preferences import Preferences

    return Preferences(
        preset=config.text("preset"),
        measure=config.text("measure"),
        bindings=config.bindings,
        problems=config.problems,
        file=str(config.path or "the config"),
        hint=hint and config.shows_hint,
        remember=bool(config["remember"]),
        keep=partial(_keep, config),
    )


def looks(options: dict[str, Any], config: Config) -> dict[str, Any]:
    """The theme and the characters that are asked for: on the command line, or in the config."""
    wanted, drawn = options["ascii"], config["ascii"]
    return {
        "theme": options["theme"] or config.text("theme"),
        "ascii_only": wanted if wanted is not None else drawn if isinstance(drawn, bool) else None,
    }


def _keep(config: Config, choices: Choices) -> str:
    """Writes choices into the file; gives what went wrong."""
    from schedtop.config.place import ConfigError
    from schedtop.config.save import remember

    if config.path is None:
        return ""
    try:
        remember(config.path, choices)
    except ConfigError as error:
        return f"cannot remember what you changed: {config.path}: {error}"
    return ""

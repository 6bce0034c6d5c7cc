"""`schedtop config`: the config that holds, as a config file with every key explained."""

from __future__ import annotations

import click

from schedtop.config.load import load_config
from schedtop.config.place import ConfigError, config_path
from schedtop.config.text import ActionLine, config_text
from schedtop.run.errors import complain
from schedtop.run.stdout import write_stdout
from schedtop.ui.keys.own_keys import actions, make_keymap, written_keys


def run(*, path: bool, no_config: bool) -> int:
    """What the command does, by its options; gives the exit status."""

    if path:
        try:
            write_stdout(f"{config_path()}\n")
        except ConfigError as error:
            raise click.ClickException(str(error)) from error
        return 0
    found = load_config(not no_config)
    keymap = make_keymap(found.bindings)
    problems = [*found.problems, *(f"{found.path}: {problem}" for problem in keymap.problems)]
    lines = [ActionLine(action.name, written_keys(action.keys), action.meaning) for action in actions().values()]
    write_stdout(config_text(found, lines, keymap.written))
    for problem in problems:
        complain(problem)
    return 1 if problems else 0

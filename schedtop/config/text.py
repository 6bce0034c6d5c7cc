"""The config that holds, as the text of a config file: every key with its meaning, values and default."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from schedtop.config.load import Config
from schedtop.config.schema import KEYS, KEYS_TABLE, Value


@dataclass(frozen=True, slots=True)
class ActionLine:
    """An action of `[keys]`: its name, its default keys as they are written in the file, its meaning."""

    name: str
    keys: str
    meaning: str


def config_text(config: Config, actions: Sequence[ActionLine], bindings: Mapping[str, str]) -> str:
    """The whole text. `bindings`: the user's keys that hold, by the names of actions."""
    return "\n".join([*_head(config), *_values(config), *_bindings(actions, bindings)]) + "\n"


def _head(config: Config) -> Iterable[str]:
    if config.path is None:
        yield "# schedtop's config: the defaults."
    elif not config.exists:
        yield f"# schedtop's config: the defaults. There is no file {_one_line(str(config.path))}"
    else:
        yield f"# schedtop's config: {_one_line(str(config.path))}"
        yield "# What differs from the default is marked with <-."
    for problem in config.problems:
        yield f"# WRONG: {_one_line(problem)}"


def _values(config: Config) -> Iterable[str]:
    for key in KEYS:
        value = config.shows_hint if key.name == "hint" else config[key.name]
        mark = "  # <-" if value != key.default else ""
        yield ""
        yield f"# {key.meaning}." + (" Remembered." if key.chosen else "")
        yield f"# Takes {key.kind.words()}; default: {toml(key.default)}"
        yield f"{key.name} = {toml(value)}{mark}"


def _bindings(actions: Sequence[ActionLine], bindings: Mapping[str, str]) -> Iterable[str]:
    yield ""
    yield '# Own keys, by the names of actions; several are separated by commas, none: "".'
    yield f"[{KEYS_TABLE}]"
    width = max((len(f"{action.name} = {toml(action.keys)}") for action in actions), default=0)
    for action in actions:
        default = f"# {f'{action.name} = {toml(action.keys)}':<{width}}  # {_one_line(action.meaning)}"
        yield default.rstrip()
        if action.name in bindings:
            yield f"{action.name} = {toml(bindings[action.name])}  # <-"


def toml(value: Value) -> str:
    """A value as TOML writes it."""
    # A JSON string is a basic string of TOML: the same escapes.
    return str(value).lower() if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)

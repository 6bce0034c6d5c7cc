"""The config file as values: what is wrong in it is left out and told, in one line each; the rest holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedtop.base.spelling import nearest
from schedtop.base.units import printable
from schedtop.config.place import ConfigError, config_path, read_config
from schedtop.config.schema import BY_NAME, KEYS_TABLE, Value, duration_ns


@dataclass(frozen=True, slots=True)
class Config:
    """What the file says. `values`: only what is right in it; `problems`: the rest, a line each.

    `path` is None if there is no place for a file, or none is wanted; `exists`: there is a file, whatever is in it.
    """

    path: Path | None = None
    exists: bool = False
    values: Mapping[str, Value] = field(default_factory=dict)
    bindings: Mapping[str, str] = field(default_factory=dict)
    """The user's keys by the names of actions, as they were written (several with commas); not yet checked."""
    problems: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Value:
        """What holds: the file's value, else the default."""
        return self.values.get(name, BY_NAME[name].default)

    def text(self, name: str) -> str:
        """The value of a key that takes words."""
        return str(self[name])

    def ns(self, name: str) -> int:
        """The value of a key that takes durations."""
        return duration_ns(self.text(name))

    @property
    def shows_hint(self) -> bool:
        """Whether it is the first start: a user with a config file has been here, unless the file says otherwise."""
        return self.path is not None and bool(self.values.get("hint", not self.exists))


def load_config(wanted: bool = True) -> Config:
    """The user's config; unless it is `wanted`, only defaults. Never fails: `problems` say what is wrong."""
    if not wanted:
        return Config()
    try:
        path = config_path()
    except ConfigError as error:
        return Config(problems=(f"there is no config file: {error}",))
    try:
        text = read_config(path)
    except ConfigError as error:
        return Config(path, exists=True, problems=(f"{path}: {error}; the defaults hold",))
    return Config(path) if text is None else parse_config(text, path)


def parse_config(text: str, path: Path) -> Config:
    """What a file of this text says."""
    # Most starts have no file: they need not wait for the parser.
    import tomllib

    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits is a ValueError, but none of the parser's.
        return Config(path, exists=True, problems=(f"{path}: {error or 'it nests too deeply'}; the defaults hold",))
    values: dict[str, Value] = {}
    bindings: dict[str, str] = {}
    problems = []
    for name, value in table.items():
        if name == KEYS_TABLE:
            problems += [f"{path}: {problem}" for problem in _read_bindings(value, bindings)]
        elif name not in BY_NAME:
            problems.append(f"{path}: unknown key {name!r}{nearest(name, (*BY_NAME, KEYS_TABLE))}")
        else:
            key = BY_NAME[name]
            try:
                values[name] = key.kind.read(value)
            except ValueError as error:
                problems.append(f"{path}: {name} = {_shown(value)}: {error}; the default holds ({key.default})")
    return Config(path, True, values, bindings, tuple(problems))


def _read_bindings(table: Any, bindings: dict[str, str]) -> Iterable[str]:
    """Puts the user's keys where they belong; gives what is wrong."""
    if not isinstance(table, dict):
        yield f'{KEYS_TABLE} is a table of actions: [{KEYS_TABLE}], below it lines like freeze = "space,f5"'
        return
    for name, keys in table.items():
        if isinstance(keys, list) and all(isinstance(key, str) for key in keys):
            bindings[name] = " ".join(keys)
        elif isinstance(keys, str):
            bindings[name] = keys
        else:
            yield f'{KEYS_TABLE}.{printable(name)} = {_shown(keys)}: it takes keys, like "space,f5"'


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits, written in hex
        text = "a huge number"
    return text if len(text) <= 40 else text[:37] + "..."

"""How choices get into the config file: line by line, everything else in it stays as its user wrote it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from schedtop.config.place import ConfigError, read_config, write_config
from schedtop.config.schema import Value

NEW = "# schedtop's config; `schedtop config` prints every key with its meaning.\n"


def remember(path: Path, choices: Mapping[str, Value]) -> None:
    """Writes these values into the file, unless it has them. Raises ConfigError; then it is as it was.

    It is read anew: another schedtop may have written it since. What is not TOML is not touched.
    """
    text = read_config(path)
    new = with_choices(NEW if text is None else text, choices)
    if new != text:
        write_config(path, new)


def with_choices(text: str, choices: Mapping[str, Value]) -> str:
    """The text of a config file with other values; comments and order stay. Raises ConfigError."""
    # Late: when the dashboard ends, and something was changed.
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        before = tomllib.loads(text)
        wanted = {name: value for name, value in choices.items() if before.get(name) != value}
        if not wanted:
            return text
        document = tomlkit.parse(text)
        for name, value in wanted.items():
            document[name] = value
        new = tomlkit.dumps(document)
        right = tomllib.loads(new) == before | wanted
    except (ValueError, TOMLKitError, RecursionError) as error:
        raise ConfigError(f"it is not TOML: {error}") from error
    if not right:
        raise ConfigError("its form is too unusual to be changed by a program")
    return new

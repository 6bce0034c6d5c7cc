"""Other files that somebody may have been given: saved snapshots and reports, and the config."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from schedtop.config.load import parse_config
from schedtop.config.place import ConfigError
from schedtop.config.save import with_choices
from schedtop.config.text import config_text
from schedtop.model.source import SourceError
from schedtop.outputs.diff.changes import diff
from schedtop.outputs.diff.text import to_text
from schedtop.outputs.saved import Wrong, read_saved
from schedtop.outputs.schemas import schema_of
from schedtop.ui.keys.own_keys import make_keymap
from tests.fuzz.targets.inflating import inflated as inflate
from tests.fuzz.targets.promises import plain


def saved(data: bytes) -> None:
    """A snapshot or a report, as `diff` reads it. What is wrong deep inside it may raise Wrong, as the command says."""
    plain(schema_of(data))
    try:
        found = read_saved(data, "fuzzed")
    except SourceError as error:
        plain(str(error))
        return
    with suppress(*Wrong):
        plain(to_text(diff(found, found, ("a", "b"), 10), 10))


def inflated(data: bytes) -> None:
    """A snapshot of up to ten million bytes, of which few are told."""
    saved("".join(inflate(data)).encode(errors="replace"))


def config(data: bytes) -> None:
    """A config file: never an error, always an answer; printed it is TOML; choices are written into it or refused."""
    text = data.decode(errors="replace")
    found = parse_config(text, Path("/config.toml"))
    keymap = make_keymap(found.bindings)
    plain(*found.problems, *keymap.problems)
    printed = config_text(found, (), {})
    again = parse_config(printed, Path("/config.toml"))
    assert not again.problems, again.problems
    for name, value in found.values.items():
        assert again[name] == value, name
    with suppress(ConfigError):
        changed = with_choices(text, {"theme": "dark", "threshold": "7ms"})
        assert parse_config(changed, Path("/config.toml")).values["threshold"] == "7ms"

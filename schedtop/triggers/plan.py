"""Plan: which conditions are watched, and what is done when one comes true."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from schedtop.base.units import NS_PER_S
from schedtop.triggers.grammar import Condition

ACTIONS = {
    "freeze": "the dashboard stands still at that moment",
    "export": "what was shown then becomes a JSON file (and, in the dashboard, an SVG)",
    "record": "the time before and after goes into a recording",
    "path": "why tasks were late in the last seconds, across tasks, becomes two files",
    "run": "a command is run",
}
"""What can be done, with words. `run` has the command after it."""

AROUND_NS = 60 * NS_PER_S
"""How much of before and after is recorded, unless asked otherwise."""


Say = Callable[[str, bool], None]
"""Tells the user something; true: it is a problem. Any thread may call it."""


class LastSeconds(Protocol):
    """What keeps the last seconds of the kernel's events while conditions are watched. Only `open` may come twice."""

    def open(self, say: Say) -> None:
        """Begins to keep; returns at once, and says later what goes wrong."""
        ...

    def write(self, json: Path, text: Path, about: Mapping[str, str], done: Callable[[], None]) -> bool:
        """Writes the paths up to now into two files; returns at once, and says it when done.

        False: it cannot, as it has said. `done` is called in the end, also then, by any thread.
        """
        ...

    def close(self) -> None:
        """Finishes what is being written, and ends."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """Every action is done for every condition. `commands`: words of the commands to run.

    `last_seconds`: what the paths of `--then path` are from; `None`: they are not asked for. `export_dir` is where
    files go, `around_ns` how long before and after is recorded, `nice` the priority of commands; with `run_as_root`
    they are root's even under sudo.
    """

    conditions: tuple[Condition, ...] = ()
    freeze: bool = False
    export: bool = False
    record: bool = False
    last_seconds: LastSeconds | None = None
    commands: tuple[tuple[str, ...], ...] = ()
    export_dir: Path = Path(".")
    around_ns: int = AROUND_NS
    nice: int = 0
    run_as_root: bool = False

    @property
    def writes(self) -> bool:
        """Whether it writes files."""
        return self.export or self.record or self.last_seconds is not None

    @property
    def needs_activity(self) -> bool:
        """Whether a condition is about what tasks do."""
        return any(condition.needs_activity for condition in self.conditions)


def parse_actions(texts: Sequence[str]) -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
    """The names among ACTIONS, and the words of the commands. Raises ValueError with a sentence for the user."""
    names, commands = set(), []
    for text in texts:
        name, _, rest = text.strip().partition(" ")
        if name not in ACTIONS:
            near = get_close_matches(name, ACTIONS, 1)
            raise ValueError(f"{text!r}: there are freeze, export, record, path and 'run COMMAND'" + _meant(near))
        if name != "run" and rest.strip():
            raise ValueError(f"{text!r}: {name} stands alone; write one --then for each action")
        names.add(name)
        if name == "run":
            commands.append(command_words(rest))
    return frozenset(names), tuple(commands)


def command_words(text: str) -> tuple[str, ...]:
    """The words of a command, as a shell would split them; there is no shell. Raises ValueError."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"'run {text}': {str(error).lower()}") from error
    if not words:
        raise ValueError("'run' needs a command, like 'run ./page.sh'")
    if shutil.which(words[0]) is None:
        there = os.path.exists(words[0]) and not os.path.isdir(words[0])
        why = "it cannot be executed" if there else "there is no such command"
        shell = "; a shell's own words need 'run sh -c ...'" if not there and "/" not in words[0] else ""
        raise ValueError(f"'run {text}': {words[0]!r}: {why}{shell}")
    return words


def _meant(near: Sequence[str]) -> str:
    return f"; did you mean {near[0]}?" if near else ""

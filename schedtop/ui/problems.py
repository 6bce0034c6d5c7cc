"""What is wrong in the config, for the screen and for standard error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedtop.ui.preferences import Preferences

MOST_PROBLEMS = 3
"""How many problems of the config are told on the screen: they cover panes."""


def problem_words(problems: Sequence[str]) -> str:
    """The first problems, a line each, and where the others are told."""
    rest = len(problems) - MOST_PROBLEMS
    return "\n".join([*problems[:MOST_PROBLEMS], *([f"and {rest} more: schedtop config"] if rest > 0 else [])])


@dataclass(frozen=True, slots=True)
class Problems:
    """Lines that begin with the name of the `file`: of all values, and of the keys alone."""

    file: str
    every: tuple[str, ...]
    of_keys: tuple[str, ...]

    @property
    def words(self) -> str:
        """The first of them, for the screen, without the name of the file."""
        return problem_words([problem.removeprefix(f"{self.file}: ") for problem in self.every])


def problems_of(preferences: Preferences, key_problems: Sequence[str]) -> Problems:
    """What of the preferences does not hold."""
    of_keys = tuple(f"{preferences.file}: {problem}" for problem in key_problems)
    return Problems(preferences.file, (*preferences.problems, *of_keys), of_keys)

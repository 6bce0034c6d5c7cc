"""Every key of the config file: its kind, its default, its meaning. Another key is another line of KEYS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from schedtop.units import NS_PER_S, NS_PER_US, format_round_ns, parse_duration

Value = str | bool
"""What a key has: durations are text, as they were written."""

KEYS_TABLE = "keys"
"""The table of the user's own key bindings."""


class Kind(Protocol):
    """What values a key takes."""

    def read(self, value: object) -> Value:
        """The value, if it is one. Raises ValueError that says what would be."""
        ...

    def words(self) -> str:
        """What it takes, for people."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words, in any case; they are asked for only when they are needed, as a module may have them."""

    names: Callable[[], Sequence[str]]

    def read(self, value: object) -> Value:
        if isinstance(value, str):
            for name in self.names():
                if name.lower() == value.strip().lower():
                    return name
        raise ValueError(f"it takes {self.words()}")

    def words(self) -> str:
        return ", ".join(f'"{name}"' for name in self.names())


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false; with `auto` also "auto"."""

    auto: bool = False

    def read(self, value: object) -> Value:
        if isinstance(value, bool) or (self.auto and value == "auto"):
            return value
        raise ValueError(f"it takes {self.words()}")

    def words(self) -> str:
        return '"auto", true, false' if self.auto else "true, false"


@dataclass(frozen=True, slots=True)
class Time:
    """A duration with its unit, within bounds."""

    least_ns: int
    most_ns: int

    def read(self, value: object) -> Value:
        try:
            if isinstance(value, str) and self.least_ns <= duration_ns(value) <= self.most_ns:
                return value.strip()
        except (ValueError, OverflowError):
            pass
        raise ValueError(f"it takes {self.words()}")

    def words(self) -> str:
        return f'a time from "{format_round_ns(self.least_ns)}" to "{format_round_ns(self.most_ns)}", with its unit'


def duration_ns(text: str) -> int:
    """A duration that has a unit, in ns. Raises ValueError or OverflowError."""
    if text.strip()[-1:].isdigit():
        raise ValueError("it needs a unit")
    return parse_duration(text)


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the file. `chosen`: keys of the dashboard change it, so that it can be remembered."""

    name: str
    kind: Kind
    default: Value
    meaning: str
    chosen: bool = False


def _just(*names: str) -> Choice:
    return Choice(lambda: names)


def _themes() -> Sequence[str]:
    from schedtop.ui.themes import AUTO, THEME_NAMES

    return [AUTO, *THEME_NAMES]


def _presets() -> Sequence[str]:
    from schedtop.ui.presets import PRESETS

    return [preset.word.lower() for preset in PRESETS]


def _groups() -> Sequence[str]:
    from schedtop.rows import GROUPS

    return [*GROUPS]


def _measures() -> Sequence[str]:
    from schedtop.panes.trend import MEASURES

    return [measure.key for measure in MEASURES]


def _task_sorts() -> Sequence[str]:
    from schedtop.history import TASK_SORTS

    return [*TASK_SORTS.values()]


def _slow_wait_sorts() -> Sequence[str]:
    from schedtop.history import SLOW_WAIT_SORTS

    return [*SLOW_WAIT_SORTS.values()]


def _pair_sorts() -> Sequence[str]:
    from schedtop.history import PAIR_ORDERS

    return [*PAIR_ORDERS.values()]


def _short_lived_sorts() -> Sequence[str]:
    from schedtop.short_lived import SORTS

    return [*SORTS.values()]


KEYS = (
    Key("theme", Choice(_themes), "auto", "The colours; auto: as the terminal has them", chosen=True),
    Key("ascii", Flag(auto=True), "auto", "Draw with ASCII characters only; auto: where the locale is not UTF-8"),
    Key("preset", Choice(_presets), "overview", "The panes that are seen at first", chosen=True),
    Key("window", _just("1s", "10s", "60s"), "1s", "The time that all numbers are about", chosen=True),
    Key("threshold", Time(10 * NS_PER_US, 100 * NS_PER_S), "5ms", "Waits from this long on are slow", chosen=True),
    Key("interval", Time(NS_PER_S // 5, 60 * NS_PER_S), "1s", "How often the screen is refreshed"),
    Key("group", Choice(_groups), "thread", "What tasks, waits and pairs are added up by", chosen=True),
    Key("blame", _just("blocker", "preemptor"), "blocker", "Who had the CPU, or who took it", chosen=True),
    Key("measure", Choice(_measures), "busy", "What the CPUs' history shows, if the source has it", chosen=True),
    Key("sort_tasks", Choice(_task_sorts), "run delay", "The order of the tasks", chosen=True),
    Key("sort_slow_waits", Choice(_slow_wait_sorts), "slowest first", "The order of the slow waits", chosen=True),
    Key("sort_pairs", Choice(_pair_sorts), "most time first", "The order of the pairs in Blame", chosen=True),
    Key("sort_short_lived", Choice(_short_lived_sorts), "most first", "The order of short-lived tasks", chosen=True),
    Key("hide_self", Flag(), False, "Leave schedtop itself out of every table"),
    Key("remember", Flag(), True, "Write what keys have changed into this file when q ends the dashboard"),
    Key("hint", Flag(), True, "Three lines on what to press first, until the next key"),
)
"""All keys, in the order in which they are printed."""

BY_NAME = {key.name: key for key in KEYS}

MOST_BYTES = 256 << 10
"""No config file is larger."""

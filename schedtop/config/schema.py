"""Every key of the config file: its kind, its default, its meaning. Another key is another line of KEYS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from schedtop.base.units import NS_PER_S, NS_PER_US, format_round_ns, parse_duration

Value = str | bool
"""What a key has: durations are text, as they were written."""

KEYS_TABLE = "keys"
"""The table of the user's own key bindings."""


THEME_NAMES = ("dark", "light", "contrast", "terminal", "mono")
"""`ui.themes.THEME_NAMES`; its module would bring the screen with it, before there is something to be shown."""


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
    """One of some words, in any case. `meant` gives what the program calls each; called late, as a module has them."""

    meant: Callable[[], Mapping[Any, str]]

    def read(self, value: object) -> Value:
        if isinstance(value, str):
            for word in self.meant().values():
                if word.lower() == value.strip().lower():
                    return word
        raise ValueError(f"it takes {self.words()}")

    def words(self) -> str:
        return ", ".join(f'"{word}"' for word in self.meant().values())


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
    setting: str = ""
    """The field of ViewSettings that it is, if it is one; its kind is a Choice then."""


def _just(*words: str) -> Choice:
    return Choice(lambda: {word: word for word in words})


def _of(module: str, name: str) -> Choice:
    """The choices that a module has: internal names with their words."""
    return Choice(lambda: getattr(import_module(module), name))


def _presets() -> Mapping[str, str]:
    from schedtop.ui.layout.presets import PRESETS

    return {preset.word: preset.word.lower() for preset in PRESETS}


def _groups() -> Mapping[str, str]:
    from schedtop.model.rows import GROUPS

    return {group: group for group in GROUPS}


def _measures() -> Mapping[str, str]:
    from schedtop.panes.scheduler.cpus.trend import MEASURES

    return {measure.key: measure.key for measure in MEASURES}


def _forms() -> Mapping[str, str]:
    from schedtop.panes.scheduler.cpus.order import FORMS

    return {form: form for form in FORMS}


def _windows() -> Mapping[int, str]:
    return {NS_PER_S: "1s", 10 * NS_PER_S: "10s", 60 * NS_PER_S: "60s"}


_TASKS, _WAITS = _of("schedtop.history.sorting", "TASK_SORTS"), _of("schedtop.history.sorting", "SLOW_WAIT_SORTS")
_PAIRS, _SHORT = _of("schedtop.history.sorting", "PAIR_ORDERS"), _of("schedtop.model.short_lived", "SORTS")
_CPUS = _of("schedtop.history.sorting", "CPU_SORTS")
_THRESHOLD, _INTERVAL = Time(10 * NS_PER_US, 100 * NS_PER_S), Time(NS_PER_S // 5, 60 * NS_PER_S)

KEYS = (
    Key("theme", _just("auto", *THEME_NAMES), "auto", "The colours; auto: as the terminal has them", True),
    Key("ascii", Flag(auto=True), "auto", "Draw with ASCII characters only; auto: where the locale is not UTF-8"),
    Key("preset", Choice(_presets), "overview", "The panes that are seen at first", True),
    Key("window", Choice(_windows), "1s", "The time that all numbers are about", True, "window_ns"),
    Key("threshold", _THRESHOLD, "5ms", "Waits at least this long are slow waits", True),
    Key("interval", _INTERVAL, "1s", "How often the screen is refreshed"),
    Key("group", Choice(_groups), "thread", "What tasks, waits and pairs are added up by", True),
    Key("blame", _just("blocker", "preemptor"), "blocker", "Who had the CPU, or who took it", True, "blame"),
    Key("measure", Choice(_measures), "busy", "What the CPUs' history shows, if the source has it", True),
    Key("measure_strips", Choice(_measures), "busy", "What CPUs over time shows, if the source has it", True),
    Key("cpu_form", Choice(_forms), "auto", "How the CPUs are shown; auto: as there is room", True),
    Key("sort_tasks", _TASKS, "run delay", "The order of the tasks", True, "task_sort"),
    Key("sort_slow_waits", _WAITS, "slowest first", "The order of the slow waits", True, "slow_wait_sort"),
    Key("sort_pairs", _PAIRS, "most time first", "The order of the pairs in Blame", True, "pair_sort"),
    Key("sort_short_lived", _SHORT, "most first", "The order of short-lived tasks", True, "short_lived_sort"),
    Key("sort_cpus", _CPUS, "number", "The order of the CPUs", True, "cpu_sort"),
    Key("hide_self", Flag(), False, "Leave schedtop itself out of every table"),
    Key("remember", Flag(), True, "Write what keys have changed into this file when q ends the dashboard"),
    Key("hint", Flag(), True, "Three lines on what to press first, until the next key"),
)
"""All keys, in the order in which they are printed."""

BY_NAME = {key.name: key for key in KEYS}

MOST_BYTES = 256 << 10
"""No config file is larger."""

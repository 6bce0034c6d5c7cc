"""Every key of the config file: its kind, its default, its meaning. Another key is another line of KEYS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from schedtop.base.units import NS_PER_S, NS_PER_US, format_round_ns, parse_duration
from schedtop.config.theme_names import THEME_NAMES
from schedtop.history.sorting import CPU_SORTS, PAIR_ORDERS, SLOW_WAIT_SORTS, TASK_SORTS
from schedtop.model.rows import GROUPS
from schedtop.model.short_lived import SORTS
from schedtop.panes.scheduler.cpus.order import FORMS
from schedtop.panes.scheduler.cpus.trend import MEASURES
from schedtop.ui.layout.presets import PRESETS

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
    """One of some words, in any case. `meant`: by what the program calls each."""

    meant: Mapping[Any, str]

    def read(self, value: object) -> Value:
        if isinstance(value, str):
            for word in self.meant.values():
                if word.lower() == value.strip().lower():
                    return word
        raise ValueError(f"it takes {self.words()}")

    def words(self) -> str:
        return ", ".join(f'"{word}"' for word in self.meant.values())


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
    return Choice({word: word for word in words})


_WINDOWS = {NS_PER_S: "1s", 10 * NS_PER_S: "10s", 60 * NS_PER_S: "60s"}
_PRESETS = {preset.word: preset.word.lower() for preset in PRESETS}
_MEASURES = [measure.key for measure in MEASURES]
_WAITS = Choice(SLOW_WAIT_SORTS)
_THRESHOLD, _INTERVAL = Time(10 * NS_PER_US, 100 * NS_PER_S), Time(NS_PER_S // 5, 60 * NS_PER_S)

KEYS = (
    Key("theme", _just("auto", *THEME_NAMES), "auto", "The colours; auto: as the terminal has them", True),
    Key("ascii", Flag(auto=True), "auto", "Draw with ASCII characters only; auto: where the locale is not UTF-8"),
    Key("preset", Choice(_PRESETS), "overview", "The panes that are seen at first", True),
    Key("window", Choice(_WINDOWS), "1s", "The time that all numbers are about", True, "window_ns"),
    Key("threshold", _THRESHOLD, "5ms", "Waits at least this long are slow waits", True),
    Key("interval", _INTERVAL, "1s", "How often the kernel is read; the screen is drawn twice a second at most"),
    Key("group", _just(*GROUPS), "thread", "What tasks, waits and pairs are added up by", True),
    Key("blame", _just("blocker", "preemptor"), "blocker", "Tasks that held the CPU, or took it", True, "blame"),
    Key("measure", _just(*_MEASURES), "busy", "What the CPUs' history shows, if the source has it", True),
    Key("measure_strips", _just(*_MEASURES), "busy", "What CPUs over time shows, if the source has it", True),
    Key("cpu_form", _just(*FORMS), "auto", "How the CPUs are shown; auto: as there is room", True),
    Key("sort_tasks", Choice(TASK_SORTS), "run delay", "The order of the tasks", True, "task_sort"),
    Key("sort_slow_waits", _WAITS, "slowest first", "The order of the slow waits", True, "slow_wait_sort"),
    Key("sort_pairs", Choice(PAIR_ORDERS), "most time first", "The order of the pairs in Blame", True, "pair_sort"),
    Key("sort_short_lived", Choice(SORTS), "most first", "The order of short-lived tasks", True, "short_lived_sort"),
    Key("sort_cpus", Choice(CPU_SORTS), "number", "The order of the CPUs", True, "cpu_sort"),
    Key("hide_self", Flag(), False, "Leave schedtop itself out of every table"),
    Key("remember", Flag(), True, "Write what keys have changed into this file when q ends the dashboard"),
    Key("hint", Flag(), True, "Three lines on what to press first, until the next key"),
)
"""All keys, in the order in which they are printed."""

BY_NAME = {key.name: key for key in KEYS}

MOST_BYTES = 256 << 10
"""No config file is larger."""

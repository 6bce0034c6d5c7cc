"""Presets: which panes are seen for which job, at which size. The first plan that fits is taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OVER_TIME, LATENCY, CPUS, CPU_STRIPS = "over-time", "latency", "cpus", "cpu-strips"
STEAL, QUEUE, SLOW_WAITS, BLAME = "steal", "queue", "slow-waits", "blame"
TASKS, SHORT_LIVED = "tasks", "short-lived"
"""The panes, by the ids of their widgets."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panes beside each other. `weight`: its share of the lines that no row needs; `most`: no more lines than that."""

    cells: Mapping[str, int]
    """Each pane with its share of the width."""
    weight: int = 1
    most: int = 1000


Plan = tuple[Row, ...]
"""Rows from top to bottom. Panes that are in none of them are told in one cell of the strip below, each."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A job: its key, its word, what it is for, its plans from large to small.

    The main pane is alone above the strip where no plan fits, and gives its place to a pane that is in none.
    `focus`: the pane that has the focus at first, if it is seen; else the main one.
    """

    number: int
    word: str
    meaning: str
    main: str
    plans: tuple[Plan, ...]
    focus: str = ""


PRESETS = (
    Preset(
        1,
        "Overview",
        "Is it the scheduler, and who is to blame? A little of everything",
        OVER_TIME,
        (
            (
                Row({CPUS: 28, OVER_TIME: 40, LATENCY: 32}, 3),
                Row({STEAL: 30, QUEUE: 34, SHORT_LIVED: 36}, 2, most=14),
                Row({SLOW_WAITS: 55, BLAME: 45}, 3),
                Row({TASKS: 1}, 4),
            ),
            (
                Row({CPUS: 30, OVER_TIME: 40, LATENCY: 30}, 3),
                Row({SLOW_WAITS: 55, BLAME: 45}, 3),
                Row({TASKS: 1}, 3),
            ),
            (
                Row({OVER_TIME: 60, CPUS: 60}, 3),
                Row({SLOW_WAITS: 1}, 2, most=14),
                Row({TASKS: 1}, 3),
            ),
            (
                Row({OVER_TIME: 1}, 3),
                Row({CPUS: 1}, 2),
                Row({SLOW_WAITS: 1}, 2),
                Row({TASKS: 1}, 3),
            ),
        ),
        focus=TASKS,
    ),
    Preset(
        2,
        "Latency",
        "How long tasks wait for a CPU, when, and which waits were the slowest",
        LATENCY,
        (
            (
                Row({OVER_TIME: 1}, 4),
                Row({LATENCY: 55, QUEUE: 45}, 4),
                Row({SLOW_WAITS: 1}, 4),
            ),
            (
                Row({OVER_TIME: 1}, 4),
                Row({LATENCY: 1}, 4),
            ),
        ),
        focus=OVER_TIME,
    ),
    Preset(
        3,
        "Blame",
        "Who keeps whom waiting: victims, blockers, preemptors, each slow wait",
        BLAME,
        (
            (
                Row({BLAME: 1}, 5),
                Row({SLOW_WAITS: 1}, 4),
                Row({OVER_TIME: 50, TASKS: 60}, 4),
            ),
            (
                Row({BLAME: 1}, 4),
                Row({SLOW_WAITS: 1}, 3),
            ),
        ),
    ),
    Preset(
        4,
        "CPUs",
        "Which CPUs are busy, robbed by the hypervisor, or have tasks waiting",
        CPUS,
        (
            (
                Row({CPUS: 55, CPU_STRIPS: 45}, 5),
                Row({STEAL: 1, QUEUE: 1}, 3, most=16),
                Row({TASKS: 1}, 2),
            ),
            (
                Row({CPUS: 1}, 4),
                Row({CPU_STRIPS: 1}, 4),
            ),
        ),
    ),
    Preset(
        5,
        "Tasks",
        "Who runs, who waits, who is put off the CPU, who comes and goes",
        TASKS,
        (
            (
                Row({TASKS: 1}, 6),
                Row({SHORT_LIVED: 50, BLAME: 50}, 3),
                Row({OVER_TIME: 50, SLOW_WAITS: 60}, 3, most=14),
            ),
            (
                Row({TASKS: 1}, 5),
                Row({SHORT_LIVED: 1}, 3),
            ),
        ),
    ),
)


def preset_named(name: str) -> Preset:
    """The preset with this word, in any case. Raises KeyError."""
    return {preset.word.lower(): preset for preset in PRESETS}[name.lower()]

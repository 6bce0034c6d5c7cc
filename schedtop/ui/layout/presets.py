"""Presets: which panes are seen for which job, at which size. The first plan that fits is taken."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

OVER_TIME, LATENCY, CPUS, CPU_STRIPS = "over-time", "latency", "cpus", "cpu-strips"
STEAL, QUEUE, SLOW_WAITS, BLAME = "steal", "queue", "slow-waits", "blame"
TASKS, SHORT_LIVED, INTERRUPTS, TRENDS = "tasks", "short-lived", "interrupts", "trends"
"""The panes, by the ids of their widgets."""

NOT_IN_STRIP = frozenset({TRENDS, CPU_STRIPS})
"""What they show the cells of others tell already."""

WIDE_IN_STRIP = frozenset({SLOW_WAITS})
"""They take two cells of the strip."""


FEW_CPUS = 4

CPU_LINES, CPU_FRAME = 3, 3
"""Lines that a pane can fill for each CPU and for all of them together, and around those."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panes beside each other. `weight`: its share of the lines; `least`, `most`: no fewer and no more than these.

    `least` is for plans that are not worth it in less room, although each pane could be read.
    """

    cells: Mapping[str, int]
    """Each pane with its share of the width."""
    weight: int = 1
    least: int = 0
    most: int = 1000
    of_cpus: bool = False
    """Whether its panes are about CPUs alone, so that it needs no more lines than a host with few CPUs can fill."""

    def most_lines(self, cpus: int | None) -> int:
        """No more lines than these, on a host with so many CPUs (`None`: not known yet)."""
        return self.most if cpus is None or not self.of_cpus else min(self.most, CPU_LINES * (cpus + 1) + CPU_FRAME)

    def filled_lines(self, height: int, cpus: int | None) -> int:
        """How many of so many lines its panes can fill: of CPUs each has as many lines as the others."""
        each = (height - CPU_FRAME) // (cpus + 1) if self.of_cpus and cpus is not None else 0
        return CPU_FRAME + each * (cpus + 1) if each and cpus is not None else height


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
    few_cpus: tuple[Plan, ...] = ()
    """Plans that come after the largest where there are at most FEW_CPUS: panes about CPUs are low there."""

    def for_cpus(self, cpus: int | None) -> Preset:
        """The same on a host with so many CPUs (`None`: not known yet)."""
        if cpus is None or cpus > FEW_CPUS or not self.few_cpus:
            return self
        return replace(self, plans=(*self.plans[:1], *self.few_cpus, *self.plans[1:]), few_cpus=())

    def without(self, absent: Collection[str]) -> Preset:
        """The same where these panes have nothing to show: the others get their room."""
        if not absent:
            return self
        plans = tuple(filter(None, (_without(plan, absent) for plan in self.plans)))
        few_cpus = tuple(filter(None, (_without(plan, absent) for plan in self.few_cpus)))
        left = [pane for plan in plans for row in plan for pane in row.cells] or [
            pane for pane in (TASKS, CPUS) if pane not in absent
        ]
        main = next((pane for pane in (self.main, self.focus, *left) if pane and pane not in absent), self.main)
        return replace(self, main=main, plans=plans, few_cpus=few_cpus)


def _without(plan: Plan, absent: Collection[str]) -> Plan:
    rows = (
        replace(row, cells={pane: weight for pane, weight in row.cells.items() if pane not in absent}) for row in plan
    )
    return tuple(row for row in rows if row.cells)


PRESETS = (
    Preset(
        1,
        "Overview",
        "Is it the scheduler, and which task is to blame? A little of everything",
        OVER_TIME,
        (
            (
                Row({OVER_TIME: 60, LATENCY: 40}, 15, least=13),
                Row({CPUS: 50, CPU_STRIPS: 50, STEAL: 50, QUEUE: 50}, 12, least=11, most=18),
                Row({SLOW_WAITS: 55, BLAME: 45}, 13, least=11),
                Row({TASKS: 60, SHORT_LIVED: 40}, 15, least=12),
            ),
            (
                Row({CPUS: 28, OVER_TIME: 42, LATENCY: 30}, 13, least=11),
                Row({STEAL: 30, QUEUE: 34, SHORT_LIVED: 36}, 9, most=14),
                Row({SLOW_WAITS: 57, BLAME: 43}, 11),
                Row({TASKS: 1}, 13),
            ),
            (
                Row({CPUS: 30, OVER_TIME: 42, LATENCY: 28}, 12),
                Row({SLOW_WAITS: 57, BLAME: 43}, 11),
                Row({TASKS: 1}, 12),
            ),
            (
                Row({OVER_TIME: 60, CPUS: 60}, 3, least=10),
                Row({SLOW_WAITS: 1}, 2, least=8, most=14),
                Row({TASKS: 1}, 3, least=10),
            ),
            (
                Row({OVER_TIME: 1}, 3),
                Row({CPUS: 1}, 2, of_cpus=True),
                Row({SLOW_WAITS: 1}, 2),
                Row({TASKS: 1}, 3),
            ),
            (
                Row({OVER_TIME: 1}, 4, least=10),
                Row({TASKS: 1}, 4, least=10),
            ),
            (
                Row({OVER_TIME: 1}, 4),
                Row({SLOW_WAITS: 1}, 3, least=7, most=9),
            ),
        ),
        focus=TASKS,
        few_cpus=(
            (
                Row({OVER_TIME: 58, LATENCY: 42}, 14, least=13),
                Row({CPUS: 25, STEAL: 35, QUEUE: 40}, 8, least=8, most=12),
                Row({SLOW_WAITS: 57, BLAME: 43}, 10, least=8),
                Row({TASKS: 60, SHORT_LIVED: 50}, 12, least=10),
            ),
            (
                Row({OVER_TIME: 58, LATENCY: 42}, 13, least=11),
                # Without the run queues: they are sampled while they are seen, and that has a price.
                Row({CPUS: 45, STEAL: 55}, 7, least=7, most=8),
                Row({SLOW_WAITS: 57, BLAME: 43}, 8, least=7),
                Row({TASKS: 1}, 10, least=8),
            ),
        ),
    ),
    Preset(
        2,
        "Latency",
        "How long tasks wait for a CPU, when, and which waits were the slowest",
        LATENCY,
        (
            (
                Row({OVER_TIME: 1}, 20, least=16),
                Row({LATENCY: 38, QUEUE: 32, STEAL: 30}, 14, least=11),
                Row({SLOW_WAITS: 55, BLAME: 45}, 14, least=11),
            ),
            (
                Row({OVER_TIME: 1}, 14, least=10),
                Row({LATENCY: 55, QUEUE: 45}, 12, least=10),
                Row({SLOW_WAITS: 1}, 10, least=8),
            ),
            (
                Row({OVER_TIME: 1}, 4, least=10),
                Row({LATENCY: 1}, 4, least=10),
            ),
        ),
        focus=OVER_TIME,
    ),
    Preset(
        3,
        "Blame",
        "What keeps tasks waiting: victims, blockers, preemptors, each slow wait",
        BLAME,
        (
            (
                Row({BLAME: 55, OVER_TIME: 45}, 15, least=13),
                Row({SLOW_WAITS: 1}, 15, least=12),
                Row({TASKS: 1}, 13, least=11),
            ),
            (
                Row({BLAME: 1}, 5, least=10),
                Row({SLOW_WAITS: 1}, 4, least=9),
                Row({OVER_TIME: 50, TASKS: 60}, 4, least=9),
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
        "Which CPUs are busy, losing time to steal, or have tasks waiting",
        CPUS,
        (
            (
                Row({CPUS: 50, CPU_STRIPS: 50}, 22, least=13, of_cpus=True),
                Row({STEAL: 30, QUEUE: 30, OVER_TIME: 50}, 12, least=12),
                Row({TASKS: 1}, 12, least=11),
            ),
            (
                Row({CPUS: 55, CPU_STRIPS: 45}, 15, least=11, of_cpus=True),
                Row({STEAL: 1, QUEUE: 1}, 10, least=9),
                Row({TASKS: 1}, 7, least=8),
            ),
            (
                Row({CPUS: 1}, 4, least=10, of_cpus=True),
                Row({CPU_STRIPS: 1}, 4, least=10),
            ),
        ),
    ),
    Preset(
        5,
        "Tasks",
        "Which tasks run, wait, are preempted, are short-lived",
        TASKS,
        (
            (
                Row({TASKS: 1}, 20, least=11),
                Row({SHORT_LIVED: 50, BLAME: 50}, 11, least=9),
                Row({OVER_TIME: 50, SLOW_WAITS: 60}, 11, least=9),
            ),
            (
                Row({TASKS: 1}, 5, least=12),
                Row({SHORT_LIVED: 1}, 3, least=7),
            ),
        ),
    ),
    Preset(
        6,
        "Trends",
        "What changed over the whole history, and together with what: charts over time",
        TRENDS,
        ((Row({TRENDS: 1}),),),
    ),
)


def preset_named(name: str) -> Preset:
    """The preset with this word, in any case. Raises KeyError."""
    return {preset.word.lower(): preset for preset in PRESETS}[name.lower()]

"""How much of something is how bad, by the limits of the verdict: a sign and a word for each level, and a style.

Colour alone says nothing to many: where a value has no sign of its own, it repeats what the number says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schedtop.verdict.limits import (
    ALARM_LOAD,
    BUSY,
    DELAYED_SHARE,
    PRESSURE_NOTICE,
    QUOTA_NOTICE,
    STARVED_NS,
    STEAL_ALARM,
    STEAL_NOTICE,
)


@dataclass(frozen=True, slots=True)
class Level:
    """One level: what is printed beside a value, and its style."""

    sign: str
    word: str
    style: str


NORMAL = Level("", "", "text")
NOTICE = Level("!", "high", "notice")
ALARM = Level("!!", "very high", "alarm")

THROTTLED_MARK, THROTTLED = "◆", "throttled"
"""The sign and the style of a wait for a quota: no task had the CPU."""


def steal_level(ratio: float | None) -> Level:
    """The level of a steal ratio (0..1): marked from 5 % and from 10 % on."""
    if ratio is None or ratio < STEAL_NOTICE:
        return NORMAL
    return ALARM if ratio >= STEAL_ALARM else NOTICE


NEARLY_IDLE = 0.05
"""A CPU that is busy for less is as good as idle."""

RAISED, GRAVE = "raised", "grave"
"""The styles of values in tables at the levels of a notice and of an alarm: the band of the verdict stays the loudest.

Not bold: where there are colours, another attribute costs more bytes than another colour.
"""


def cell_style(level: Level) -> str:
    """The style of a table's cell at a level, empty for an ordinary one."""
    return {NORMAL: "", NOTICE: RAISED}.get(level, GRAVE)


def quota_level(ratio: float | None) -> Level:
    """The level of the share of periods in which a group was throttled."""
    return NOTICE if ratio is not None and ratio >= QUOTA_NOTICE else NORMAL


def pressure_level(ratio: float | None) -> Level:
    """The level of the share of time in which some task waited for a CPU."""
    return NOTICE if ratio is not None and ratio >= PRESSURE_NOTICE else NORMAL


def wait_style(ns: float | None, threshold_ns: int) -> str:
    """The style of one wait, empty for an ordinary one: slow from the threshold on, starved from a second on."""
    if not ns or ns < threshold_ns:
        return ""
    return GRAVE if ns >= STARVED_NS else RAISED


def wait_styles(waits_ns: Iterable[float | None], threshold_ns: int) -> list[str]:
    """`wait_style` of each."""
    return [wait_style(ns, threshold_ns) for ns in waits_ns]


def delay_styles(delays_ns: Iterable[int], interval_ns: int) -> list[str]:
    """The style of the run delay of each of some threads, empty for one that no task notices."""
    notice, alarm = DELAYED_SHARE * interval_ns, ALARM_LOAD * interval_ns
    return ["" if ns < notice or not ns else GRAVE if ns >= alarm else RAISED for ns in delays_ns]


def busy_styles(ratios: Iterable[float | None]) -> list[str]:
    """The style of CPUs by how busy they are: one that has no room left is bright, which alone is no trouble; one that
    is nearly idle is dim."""
    return [
        "" if ratio is None else "text" if ratio >= BUSY else "dim" if ratio < NEARLY_IDLE else "" for ratio in ratios
    ]

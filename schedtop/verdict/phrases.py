"""The smallest pieces of a sentence: a task, a share, a count, a list."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.base.units import plural
from schedtop.model.rows import text


def task_words(tid: int, comm: bytes, how: str = "") -> str:
    """`name (tid)`, `task tid` without a name, `idle` for the idle task.

    `how`: what is not ordinary of its class, priority or nice (Treatment.words): `name (tid, fifo 50)`.
    """
    name = text(comm)
    if not tid:
        return "idle"
    inner = f"{tid}, {how}" if how else f"{tid}"
    return f"{name} ({inner})" if name else f"task {inner}"


def interrupt_words(name: bytes, raiser: bytes) -> str:
    """A source of interrupts, a softirq with what raised it: `softirq NET_RX raised by iperf (1234)`."""
    return f"{text(name)} raised by {text(raiser)}" if raiser else text(name)


def percent(ratio: float) -> str:
    """A ratio as whole percent, clamped to 0..100: clocks of two CPUs may differ by a little."""
    ratio = min(1.0, max(0.0, ratio))
    return "under 1 %" if 0 < ratio < 0.005 else f"{ratio * 100:.0f} %"


def counted(count: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count} {plural(count, noun)}"


def verb(count: int, one: str, many: str) -> str:
    """The form of a verb for so many."""
    return one if count == 1 else many


def of_one_name(name: str, count: int) -> str:
    """`web`, `web ×2`."""
    return f"{name} ×{count}" if count > 1 else name


def listed(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"

"""Which threads of an off-CPU measurement the screen lists, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from schedtop.model.filters import Filter
from schedtop.offcpu.measurement import ThreadSummary, Times
from schedtop.offcpu.threads import ThreadLine

Order = Callable[[ThreadLine], tuple[int, ...]]

ORDERS: Mapping[str, tuple[str, Order]] = MappingProxyType(
    {
        # What slept all the time comes last: it may be held up for good, but mostly nothing waits for it.
        "held": ("held up", lambda line: (not line.slept, line.held_ns)),
        "blocked": ("blocked", lambda line: (line.thread.blocked.total_ns,)),
        "runnable": ("run delay", lambda line: (line.thread.runnable.total_ns,)),
        "uninterruptible": ("uninterruptible", lambda line: (line.thread.uninterruptible.total_ns,)),
        "count": ("waits", lambda line: (waits_of(line).count,)),
        "longest": ("longest", lambda line: (waits_of(line).max_ns,)),
    }
)
"""The orders of the threads: words, and what is largest first."""


def waits_of(line: ThreadLine) -> Times:
    """What count, average and longest are of: the blocked waits, else the waits for a CPU."""
    return line.thread.blocked if line.thread.blocked.count else line.thread.runnable


def chosen(
    lines: Iterable[ThreadLine], wanted: Filter, order: str, *, idle: bool, always: int = 0
) -> tuple[list[ThreadLine], int]:
    """The lines that pass, in an order, and how many of those that passed are left out because they are idle.

    `idle`: idle ones are in; `always`: this tid is in.
    """
    passing = [line for line in lines if _passes(line.thread, wanted)]
    shown = [line for line in passing if idle or not line.is_idle or line.thread.tid == always]
    key = ORDERS[order][1]
    shown.sort(key=lambda line: (*(-value for value in key(line)), -line.thread.total_ns, line.thread.tid))
    return shown, len(passing) - len(shown)


def _passes(row: ThreadSummary, wanted: Filter) -> bool:
    """Whether a thread passes a filter, as far as it is about names and numbers."""
    names = f"{row.comm}\n{row.process}".lower()
    return (
        (not wanted.tids or row.tid in wanted.tids)
        and (not wanted.tgids or row.tgid in wanted.tgids)
        and (not wanted.numbers or row.tid in wanted.numbers or row.tgid in wanted.numbers)
        and (not wanted.comms or any(part.lower() in names for part in wanted.comms))
    )

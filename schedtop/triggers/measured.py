"""What a metric is asked, and what it answers: its argument and the measured value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from schedtop.base.units import NS_PER_S
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame

PRESSURE_SPAN_NS = 10 * NS_PER_S
"""The kernel brings /proc/pressure up to date every 2 s: shorter spans jump."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What of a metric is meant: waits of one kind, one CPU, or some tasks or cgroups. Nothing given: all of it."""

    kind: str | None = None
    cpu: int | None = None
    tasks: Filter = field(default_factory=Filter)
    cgroup: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind or self.cpu is not None or self.tasks or self.cgroup)

    def __str__(self) -> str:
        """As it is written between brackets."""
        return self.kind or self.cgroup or (str(self.tasks) if self.cpu is None else f"cpu:{self.cpu}")


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric in one interval, in ns, as a ratio (0..1), per second, or as a count.

    `value` is `None` where there is none: `why` says what is not available; empty: nothing happened that has a value.
    `matched`: whether anything in the interval was what the argument names.
    """

    value: float | None
    why: str = ""
    matched: bool = True


Measure = Callable[[Sequence[Frame], Argument], Measured]
"""Measures the last of consecutive Frames, the others reach at most PRESSURE_SPAN_NS back."""

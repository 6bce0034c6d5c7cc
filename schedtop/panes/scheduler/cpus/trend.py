"""Per-CPU values over time: which measures there are, and their table over the last Frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedtop.base.units import format_brief_ns, format_count, format_rate
from schedtop.model.frame import Frame
from schedtop.panes.percent import percent

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing to draw over time: per-CPU values of a Frame, shape (cpus,), NaN where there is none.

    `whole` is the value of a full bar; 0 means: the largest one seen. `parts` are the parts of a Frame it needs.
    """

    key: str
    word: str
    values: Callable[[Frame], Values]
    format: Callable[[float | None], str]
    whole: float = 0.0
    parts: tuple[str, ...] = ()
    style: str = "text"

    def available(self, frame: Frame) -> bool:
        """Whether the Frame has what it needs."""
        return not any(part in frame.unavailable for part in self.parts)


def _share(counter: str) -> Callable[[Frame], Values]:
    def values(frame: Frame) -> Values:
        whole = frame.cpus.column("accounted_ns").astype(float)
        return _divided(frame.cpus.column(counter), whole)

    return values


def _rate(counter: str) -> Callable[[Frame], Values]:
    def values(frame: Frame) -> Values:
        return _offline_as_nan(frame, frame.cpus.column(counter) / max(frame.duration_s, 1e-9))

    return values


def involuntary_share(frame: Frame) -> Values:
    """Involuntary switches among those of tasks, shape (cpus,), NaN where nothing switched."""
    involuntary = frame.cpus.column("involuntary_switches").astype(float)
    return _divided(involuntary, involuntary + frame.cpus.column("voluntary_switches"))


def _divided(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Values:
    """Shares, NaN where the whole is zero."""
    shares: Values = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return shares


def _queue(frame: Frame) -> Values:
    return _offline_as_nan(frame, frame.cpus.queue_length.astype(float))


def _longest_wait(frame: Frame) -> Values:
    longest = frame.latency.max_ns.max(axis=0).astype(float)
    lacking = len(frame.cpus.online) - len(longest)
    return _offline_as_nan(frame, np.concatenate((longest, np.zeros(lacking))) if lacking > 0 else longest)


def _offline_as_nan(frame: Frame, values: npt.NDArray[np.floating]) -> Values:
    return np.where(frame.cpus.online, values, np.nan)


MEASURES = (
    Measure("busy", "busy %", _share("busy_ns"), percent, 1.0, ("busy",), "busy"),
    Measure("switches", "switches/s", _rate("switches"), format_rate, 0.0, ("switches",), "text"),
    Measure(
        "involuntary", "involuntary/s", _rate("involuntary_switches"), format_rate, 0.0, ("switches",), "preemption"
    ),
    Measure("share", "involuntary %", involuntary_share, percent, 1.0, ("switches",), "preemption"),
    Measure("queue", "queue length", _queue, format_count, 0.0, ("queue_length", "latency"), "wakeup"),
    Measure("steal", "steal %", _share("steal_ns"), percent, 1.0, ("steal",), "steal"),
    Measure("wait", "longest wait", _longest_wait, format_brief_ns, 0.0, ("latency",), "wakeup"),
)
"""What the history strips can show; the first is the default."""


def next_measure(current: Measure, step: int, frame: Frame | None) -> Measure | None:
    """The measure so many places after this one that the Frame has, `None` if it has none."""
    at = MEASURES.index(current)
    order = [MEASURES[(at + step * offset) % len(MEASURES)] for offset in range(1, len(MEASURES) + 1)]
    return next((measure for measure in order if frame is None or measure.available(frame)), None)


def trend(measure: Measure, frames: Sequence[Frame], cpus: int) -> Values:
    """The measure over the Frames, shape (cpus, len(frames)), as a share (0..1) of a full bar.

    CPUs that a Frame does not know are NaN.
    """
    table = np.full((cpus, len(frames)), np.nan)
    for index, frame in enumerate(frames):
        values = measure.values(frame)[:cpus]
        table[: len(values), index] = values
    whole = measure.whole or float(np.nanmax(table, initial=0.0)) or 1.0
    return table / whole


def mean(shares: Values) -> Values:
    """The mean over the CPUs (first axis) of what is known, NaN where nothing is."""
    known = ~np.isnan(shares)
    return _divided(np.where(known, shares, 0.0).sum(axis=0), known.sum(axis=0))

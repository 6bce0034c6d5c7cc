"""Advice on one throttled cgroup: what spends its quota, how long that lasts, and which one would have been enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from schedtop.model.rows import Rows, take_rows
from schedtop.quota.prediction import Prediction, Range, predict
from schedtop.quota.record import QuotaRecord

REMOVED = (0.5, 0.9, 0.99)
"""The shares of the throttled time that quotas are found for."""

USUAL = 0.9
"""The one of them that a single line tells."""

FEW_PERIODS = 5
"""In fewer throttled periods one alone decides."""

UNKNOWN_QUOTA = "its quota is not in this recording: an older schedtop made it"


@dataclass(frozen=True, slots=True)
class Step:
    """What would have removed `removed_ratio` (0..1) of the throttled time: a quota, or a burst beside the quota."""

    removed_ratio: float
    quota_ns: Range
    burst_ns: Range


@dataclass(frozen=True, slots=True)
class Lasting:
    """How long the quota lasts in a throttled period, from its beginning: until the first thread has to wait."""

    median_ns: float
    worst_ns: float


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """Of a record. `why_not`: why there is none, empty if there is; then `prediction` is there and `steps` are.

    `lasting` is `None` where no single wait for the quota is known.
    """

    record: QuotaRecord
    why_not: str
    prediction: Prediction | None = None
    steps: tuple[Step, ...] = ()
    lasting: Lasting | None = None

    @property
    def spenders(self) -> Rows:
        """The threads that ran, TASK_DTYPE rows, the largest first."""
        tasks = self.record.tasks
        order = np.argsort(-tasks["run_ns"], kind="stable")
        return take_rows(tasks, order[tasks["run_ns"][order] > 0])

    def quota_ratio(self, quota_ns: float) -> float:
        """A quota as a number of CPUs."""
        return quota_ns / self.record.period_ns


def advise(record: QuotaRecord, removed: tuple[float, ...] = REMOVED) -> Advice:
    """The Advice on a record, for these shares of its throttled time."""
    why_not = _why_not(record)
    if why_not:
        return Advice(record, why_not)
    found = predict(record)
    steps = tuple(Step(share, found.quota_ns(share), found.burst_ns(share)) for share in removed)
    lasting = None
    if not found.by_sums:
        lasted_ns = np.maximum(record.period_ns - found.each.held_ns, 0)
        lasting = Lasting(float(np.median(lasted_ns)), float(lasted_ns.min()))
    return Advice(record, "", found, steps, lasting)


def _why_not(record: QuotaRecord) -> str:
    if record.throttled_periods < FEW_PERIODS:
        times = "one period" if record.throttled_periods == 1 else f"{record.throttled_periods} periods"
        return f"it was throttled in {times} only: at least {FEW_PERIODS} are needed"
    if not record.quota_ns or not record.period_ns:
        return UNKNOWN_QUOTA
    if not record.throttled_ns and not len(record.held):
        return "for how long it was throttled is not known"
    return ""


def cpus_words(ratio: float) -> str:
    """A quota as a number of CPUs, rounded up: `0.20`, `0.015`, `12.5`."""
    digits = 3 if ratio < 0.1 else 2 if ratio < 10 else 1
    scale = 10**digits
    return f"{math.ceil(round(ratio * scale, 6)) / scale:.{digits}f}"


def range_words(low: str, high: str) -> str:
    """Two bounds that may be the same."""
    return low if low == high else f"{low} to {high}"


def step_words(advice: Advice, step: Step) -> str:
    """The quota of a step in words: `quota 0.20 → 0.71 to 0.92 CPUs would have removed 90 %`."""
    now = cpus_words(advice.quota_ratio(advice.record.quota_ns))
    return f"quota {now} → {advised_range(advice, step)} CPUs would have removed {step.removed_ratio:.0%}".replace(
        "%", " %"
    )


def advised_range(advice: Advice, step: Step) -> str:
    """The bounds of a step, as numbers of CPUs."""
    return range_words(*advised_bounds(advice, step))


def advised_bounds(advice: Advice, step: Step) -> tuple[str, str]:
    """The lower and the upper one alone."""
    low, high = (cpus_words(advice.quota_ratio(ns or 0.0)) for ns in (step.quota_ns.low, step.quota_ns.high))
    return low, high

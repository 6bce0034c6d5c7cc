"""What another quota would have done to a throttled group in the time that was recorded, as a range.

Throttling hides demand: what a throttled thread would have run is not known. So there are two bounds.

At least: its threads had only the work that they did, in bursts from one sleep to the next as they were recorded. With
a larger quota a burst is through in fewer periods. At most: each thread that was held back would have run all that
time, bounded by the CPUs; and where fewer periods are spent waiting, the same load comes more often.

A period that runs out is throttled from then on until the quota comes back (`throttle_cfs_rq()` and
`__refill_cfs_bandwidth_runtime()` in kernel/sched/fair.c), so a quota that is larger by `more` shortens that by what
the threads need to run it: by the share `more` / `hidden_ns` of a period.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from schedtop.quota.periods import Numbers, Periods, periods_of
from schedtop.quota.record import QuotaRecord

STEPS = 500
"""A quota is found to within this part of the hidden demand of a period."""


SLICE_NS = 5_000_000
"""A CPU takes so much of a quota at a time (`sysctl_sched_cfs_bandwidth_slice` in kernel/sched/fair.c): whether a
period that lacks less is throttled depends on what the CPUs have left."""


@dataclass(frozen=True, slots=True)
class Range:
    """At least, and at most; `None`: cannot be reached."""

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What quotas of this record would have done. `each`: its throttled periods, of which at least one is there.

    `by_sums`: no single wait is known, so all periods are taken for alike.
    """

    record: QuotaRecord
    each: Periods
    by_sums: bool

    @property
    def known_ratio(self) -> float:
        """How much of the throttled time single waits tell, 0..1."""
        whole = self.record.throttled_ns
        return 0.0 if self.by_sums else min(1.0, float(self.each.throttled_ns.sum()) / whole) if whole else 1.0

    def throttled_ns(self, quota_ns: float) -> Range:
        """For how long it would have been throttled, summed over CPUs."""
        return Range(self._least_ns(quota_ns), self._most_ns(quota_ns))

    def throttled_periods(self, quota_ns: float) -> Range:
        """In how many periods it would have been throttled."""
        left_ns = self._left(quota_ns, self._reached) * self.each.held_ns
        least = float((self._bursts_left(quota_ns) * (left_ns > SLICE_NS)).sum())
        most = float((self._left(quota_ns, self.each.hidden_ns) > 0).sum()) * self._growth(quota_ns)
        return Range(least * self._periods_scale, min(most * self._periods_scale, self._most_periods))

    def quota_ns(self, removed_ratio: float) -> Range:
        """The quota that would have removed this share (0..1) of the throttled time."""
        target = (1 - removed_ratio) * self._whole_ns
        return Range(self._smallest(self._least_ns, target), self._smallest(self._most_ns, target))

    def burst_ns(self, removed_ratio: float) -> Range:
        """The burst that would have done the same beside the quota as it is; `None`: no burst would.

        What a group has left over in quiet periods is all that it can save, and the kernel takes no burst that is
        larger than the quota (`tg_set_cfs_bandwidth()` in kernel/sched/core.c).
        """
        record, quota_ns = self.record, self.record.quota_ns
        lengths = record.interval_ns / record.period_ns
        held_ns = float(self.each.held_ns.sum()) * self._periods_scale
        # While it is not held back it wants more than it has shown on average.
        busiest = record.run_ns / max(record.interval_ns - held_ns, record.period_ns) * record.period_ns
        low = self._smallest_burst(
            removed_ratio, np.maximum(self.each.work_ns - quota_ns, 0), quota_ns * lengths - record.run_ns
        )
        high = self._smallest_burst(removed_ratio, self.each.hidden_ns, (quota_ns - busiest) * lengths)
        return Range(low, high)

    def _smallest_burst(self, removed_ratio: float, lacks_ns: Numbers, saved_ns: float) -> float | None:
        """`lacks_ns`: what each period lacks; `saved_ns`: what the other ones have left over altogether."""
        order = np.argsort(lacks_ns, kind="stable")
        removed = np.cumsum(self.each.throttled_ns[order])
        place = int(np.searchsorted(removed, removed_ratio * removed[-1]))
        lacks_ns = lacks_ns[order][: place + 1]
        enough = float(lacks_ns.sum()) * self._periods_scale <= saved_ns
        return float(lacks_ns[-1]) if enough and lacks_ns[-1] <= self.record.quota_ns else None

    @property
    def _whole_ns(self) -> float:
        """What was throttled. A kernel may not count it: then what the waits say."""
        return float(self.record.throttled_ns or self.each.throttled_ns.sum())

    @property
    def _time_scale(self) -> float:
        """Not each wait for a quota is known; what is not known is like the rest."""
        return self._whole_ns / max(1.0, float(self.each.throttled_ns.sum()))

    @property
    def _periods_scale(self) -> float:
        return self.record.throttled_periods / len(self.each)

    @property
    def _most_periods(self) -> float:
        return max(self.record.periods, self.record.interval_ns / self.record.period_ns)

    @property
    def _reached(self) -> Numbers:
        """The hidden demand at the speed at which the group ran its quota: other load may have had a part of the CPUs.

        Both ways to tell that speed take it for too low: threads of the group wait for each other, too, and it may have
        begun late in the period.
        """
        tasks, hidden_ns = self.record.tasks, self.each.least_hidden_ns
        run_ns = int(tasks["run_ns"].sum())
        by_delay = run_ns / max(1, run_ns + int(tasks["run_delay_ns"].sum()))
        at_once = self.each.hidden_ns / np.maximum(self.each.held_ns, 1)  # how many CPUs it could have had
        lasted_ns = np.maximum(self.record.period_ns - self.each.held_ns, 1)
        by_time = self.record.quota_ns / (lasted_ns * np.maximum(at_once, 1e-9))
        reached: Numbers = hidden_ns * np.clip(np.maximum(by_time, by_delay), 1e-3, 1)
        return reached

    def _left(self, quota_ns: float, hidden_ns: Numbers) -> Numbers:
        """The share of the throttled time of each period that is left."""
        more = max(0.0, quota_ns - self.record.quota_ns)
        left: Numbers = np.clip(1 - more / np.maximum(hidden_ns, 1), 0, 1)
        return left

    def _bursts_left(self, quota_ns: float) -> Numbers:
        """How many of the periods that a burst was throttled in are left, as a share."""
        if quota_ns <= self.record.quota_ns:
            return np.ones(len(self.each))
        before = np.maximum(np.ceil(self.each.work_ns / self.record.quota_ns) - 1, 1)
        left: Numbers = np.maximum(np.ceil(self.each.work_ns / quota_ns) - 1, 0) / before
        return left

    def _least_ns(self, quota_ns: float) -> float:
        left = self._bursts_left(quota_ns) * self._left(quota_ns, self._reached)
        return float((self.each.throttled_ns * left).sum()) * self._time_scale

    def _most_ns(self, quota_ns: float) -> float:
        left = self._left(quota_ns, self.each.hidden_ns)
        return float((self.each.throttled_ns * left).sum()) * self._time_scale * self._growth(quota_ns)

    def _growth(self, quota_ns: float) -> float:
        """How much more often its load comes when less of the time goes into waiting for the quota."""
        saved = (self.each.held_ns * (1 - self._left(quota_ns, self.each.hidden_ns))).sum() * self._periods_scale
        most = self._most_periods / self.record.throttled_periods
        rest_ns = self.record.interval_ns - float(saved)
        return max(1.0, min(most, self.record.interval_ns / rest_ns if rest_ns > 0 else most))

    def _smallest(self, throttled_ns: Callable[[float], float], target_ns: float) -> float:
        """The smallest quota from which on no more than that is left."""
        low = float(self.record.quota_ns)
        high = low + float(self.each.hidden_ns.max())
        least = (high - low) / STEPS
        while high - low > least > 0:
            middle = (low + high) / 2
            low, high = (low, middle) if throttled_ns(middle) <= target_ns else (middle, high)
        return high


def predict(record: QuotaRecord) -> Prediction:
    """The prediction for a record whose quota and period are known, and that was throttled."""
    each = periods_of(record)
    if len(each):
        return Prediction(record, each, by_sums=False)
    # Without single waits: the threads of one CPU at least, those of all at most.
    throttled_ns = np.array([record.throttled_ns / record.throttled_periods])
    held_ns = np.minimum(throttled_ns, record.period_ns)
    quota_ns = np.array([float(record.quota_ns)])
    nothing = np.zeros(1)
    each = Periods(held_ns, throttled_ns, held_ns * record.cpus, nothing, quota_ns)
    return Prediction(record, each, by_sums=True)

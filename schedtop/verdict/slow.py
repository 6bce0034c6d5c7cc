"""The slow waits of a View, weighed by what explains them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from schedtop.base.histogram import LOW_NS
from schedtop.history.view import View
from schedtop.model.frame import Frame
from schedtop.model.rows import Integers, Rows, take_rows
from schedtop.model.waits import Explanation, explanations
from schedtop.verdict.limits import FEW_SLOW, LITTLE_LOAD, MAIN_FACTOR, MAIN_SHARE


@dataclass(frozen=True, slots=True, eq=False)
class SlowWaits:
    """`rows`: the slow waits shown, `codes` their Explanations, `weights` their nanoseconds by that.

    `main`: the Explanation that dominates, if one does; `load`: tasks in slow waits on average.
    """

    rows: Rows
    codes: Integers
    weights: Mapping[Explanation, int]
    main: Explanation | None
    load: float

    @property
    def enough(self) -> bool:
        """Whether there are enough to speak of a cause."""
        return len(self.rows) >= FEW_SLOW or self.load >= LITTLE_LOAD

    @property
    def total_ns(self) -> int:
        """The time of all of them."""
        return sum(self.weights.values())

    def of(self, explanation: Explanation) -> Rows:
        """Those of one explanation."""
        return take_rows(self.rows, np.flatnonzero(self.codes == explanation))

    def share(self, explanation: Explanation) -> float:
        """Its share of the time of all."""
        return self.weights.get(explanation, 0) / max(1, self.total_ns)

    def main_is(self, explanation: Explanation) -> bool:
        """Whether there are enough, and most of them are so explained."""
        return self.enough and self.main is explanation


def slow_waits(view: View) -> SlowWaits:
    """Those of a View that are at least as long as the threshold."""
    frame = view.frame
    rows = take_rows(view.slow_waits, np.flatnonzero(view.slow_waits["wait_ns"] >= max(1, frame.threshold_ns)))
    codes = explanations(rows)
    totals = np.bincount(codes, rows["wait_ns"], len(Explanation)).astype(np.int64).tolist()
    weights = {each: ns for each, ns in zip(Explanation, totals, strict=True) if ns > 0}
    return SlowWaits(rows, codes, weights, _main(weights), sum(weights.values()) / max(1, frame.interval_ns))


def _main(weights: Mapping[Explanation, int]) -> Explanation | None:
    ordered = sorted(weights.items(), key=lambda item: -item[1])
    if not ordered:
        return None
    main, most = ordered[0]
    second = ordered[1][1] if len(ordered) > 1 else 0
    return main if most >= MAIN_SHARE * sum(weights.values()) or most >= MAIN_FACTOR * second else None


def missing_share(frame: Frame) -> float:
    """The share of slow waits that was not seen: what the kernel side counted as lost, or the histogram has besides.

    The histogram counts of throttled waits what followed the return of the quota.
    """
    seen = int((frame.slow_waits["wait_ns"] >= frame.threshold_ns).sum())
    counts = frame.latency.histogram().counts[np.searchsorted(LOW_NS, frame.threshold_ns) :]
    loss = frame.loss
    lost = loss.ring_dropped + loss.slow_waits_suppressed + loss.slow_waits_forgotten
    lost = max(lost, int(counts.sum(dtype=np.int64)) - seen)
    return lost / (lost + seen) if lost >= FEW_SLOW else 0.0

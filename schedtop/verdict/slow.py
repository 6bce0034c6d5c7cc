"""The slow waits of a View, weighed by what explains them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.base.histogram import LOW_NS
from schedtop.history.view import View
from schedtop.model.frame import Frame
from schedtop.model.rows import Integers, Rows, kept_rows, kernel_tids, take_many
from schedtop.model.sched_class import Level, Policy, SchedClass
from schedtop.model.waits import Explanation, explanations
from schedtop.model.weights import nice_weight
from schedtop.verdict.limits import FEW_SLOW, LITTLE_LOAD, MAIN_FACTOR, MAIN_SHARE, SOME_ROOM

OWN_COMM = b"schedtop"


@dataclass(frozen=True, slots=True, eq=False)
class SlowWaits:
    """`rows`: the slow waits shown, `codes` their Explanations, `weights` their nanoseconds by that.

    `main`: the Explanation that dominates, if one does; `load`: tasks in slow waits on average; `urgent_load`: those of
    them that did not ask to wait (`asks_to_wait`); `left_out`: tasks that did, and of which the rows tell nothing.
    `by_chance`: they are a small part of what their tasks wait, and are not spoken of. `breathe` is called where many
    are copied.
    """

    rows: Rows
    codes: Integers
    weights: Mapping[Explanation, int]
    main: Explanation | None
    load: float
    urgent_load: float
    left_out: int = 0
    by_chance: bool = False
    breathe: Callable[[], object] = keep_on
    _parts: dict[Explanation, Rows] = field(default_factory=dict, init=False)

    @property
    def enough(self) -> bool:
        """Whether there are enough to speak of a cause."""
        return not self.by_chance and is_enough(len(self.rows), self.load)

    @property
    def total_ns(self) -> int:
        """The time of all of them."""
        return sum(self.weights.values())

    def of(self, explanation: Explanation) -> Rows:
        """Those of one explanation. Several rules ask for the same, and a copy of a minute is 10 MB."""
        if explanation not in self._parts:
            self._parts[explanation] = kept_rows(self.rows, self.codes == explanation, self.breathe)
        return self._parts[explanation]

    def share(self, explanation: Explanation) -> float:
        """Its share of the time of all."""
        return self.weights.get(explanation, 0) / max(1, self.total_ns)

    def main_is(self, explanation: Explanation) -> bool:
        """Whether there are enough, and most of them are so explained."""
        return self.enough and self.main is explanation

    def largest_is(self, explanation: Explanation) -> bool:
        """Whether no other explanation has more of the time, be it the main one or not."""
        return self.weights.get(explanation, 0) >= max(self.weights.values(), default=1)


def is_enough(count: int, load: float) -> bool:
    """Whether so many slow waits, of so many tasks on average, have a common cause to speak of."""
    return count >= FEW_SLOW or load >= LITTLE_LOAD


def slow_waits(view: View, breathe: Callable[[], object] = keep_on) -> SlowWaits:
    """Those of a View that are at least as long as the threshold, without our own unless these are asked for.

    `breathe` is called where many are copied.
    """
    frame = view.frame
    kept = view.slow_waits["wait_ns"] >= max(1, frame.threshold_ns)
    if not view.settings.shown_filter.names_tasks:
        # That we wait harms nobody.
        kept &= view.slow_waits["comm"] != OWN_COMM
    rows = kept_rows(view.slow_waits, kept, breathe)
    codes = explanations(rows)
    if not len(rows):
        return SlowWaits(rows, codes, {}, None, 0.0, 0.0, breathe=breathe)
    codes[_pinned_beside_room(frame, view.cpu_ids, rows, codes)] = Explanation.PINNED
    return _weighed(rows, codes, frame.interval_ns, breathe)


def _pinned_beside_room(frame: Frame, cpus: Sequence[int], rows: Rows, codes: Integers) -> npt.NDArray[np.bool_]:
    """Which waits in a queue are of tasks that may run on this CPU alone, while another has room.

    A wait of the same tasks is explained by that only if the other CPU was idle all the while.
    """
    found: npt.NDArray[np.bool_] = (codes == Explanation.QUEUEING) & (rows["allowed_cpus"] == 1)
    if "switches" in frame.unavailable or not found.any():
        return found & False
    idle = frame.cpus.column("idle_ns")
    most_ns = int(idle[list(cpus)].max(initial=0))
    found &= most_ns - idle[np.clip(rows["cpu"], 0, len(idle) - 1)] >= SOME_ROOM * frame.interval_ns
    return found & ~np.isin(rows["tid"], kernel_tids(frame.tasks))


def urgent(slow: SlowWaits, interval_ns: int) -> SlowWaits:
    """Those of them that are not of tasks that asked to wait."""
    if not len(slow.rows) or not (ask_for_it := _is_meant(slow.rows, slow.codes)).any():
        return replace(slow, left_out=0)
    kept = np.flatnonzero(~ask_for_it)
    left_out = len(np.unique(slow.rows["tid"][ask_for_it]))
    rows = take_many(slow.rows, kept, slow.breathe)
    return replace(_weighed(rows, slow.codes[kept], interval_ns, slow.breathe), left_out=left_out)


def asks_to_wait(rows: Rows) -> npt.NDArray[np.bool_]:
    """Which of these tasks or victims have a nice value above 0 or the policy idle; no other class has a nice value."""
    fair = (rows["sched_class"] == SchedClass.FAIR) | (rows["sched_class"] == SchedClass.UNKNOWN)
    found: npt.NDArray[np.bool_] = fair & ((rows["nice"] > 0) | (rows["policy"] == Policy.IDLE))
    return found


_BY_OTHERS = (Explanation.QUEUEING, Explanation.PINNED, Explanation.NOT_BALANCED, Explanation.LOWER_WEIGHT)
"""What makes a task wait for other tasks, which is what it asks for with its nice value."""


def meant(rows: Rows) -> int:
    """How many of these slow waits are of tasks that asked to wait: no verdict counts them."""
    ask_for_it = asks_to_wait(rows) | _session_asks_to_wait(rows)
    return int(np.count_nonzero(_is_meant(rows, explanations(rows)))) if ask_for_it.any() else 0


def _is_meant(rows: Rows, codes: Integers) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (asks_to_wait(rows) | _session_asks_to_wait(rows)) & np.isin(codes, _BY_OTHERS)
    return found


def _session_asks_to_wait(rows: Rows) -> npt.NDArray[np.bool_]:
    """Which victims met a blocker as sessions (autogroups), of which theirs has a nice value above 0."""
    weights = np.where(rows["victim_level"] == Level.AUTOGROUP, rows["victim_weight"], 0)
    found: npt.NDArray[np.bool_] = np.logical_or.reduce((weights > 0) & (weights < nice_weight(0)), axis=1)
    return found


def _weighed(rows: Rows, codes: Integers, interval_ns: int, breathe: Callable[[], object]) -> SlowWaits:
    totals = np.bincount(codes, rows["wait_ns"], len(Explanation)).astype(np.int64).tolist()
    weights = {each: ns for each, ns in zip(Explanation, totals, strict=True) if ns > 0}
    meant_ns = int(rows["wait_ns"][_is_meant(rows, codes)].sum())
    whole, span = sum(weights.values()), max(1, interval_ns)
    urgent_load = (whole - meant_ns) / span
    return SlowWaits(rows, codes, weights, _main(weights), whole / span, urgent_load, breathe=breathe)


def _main(weights: Mapping[Explanation, int]) -> Explanation | None:
    ordered = sorted(weights.items(), key=lambda item: -item[1])
    if not ordered:
        return None
    main, most = ordered[0]
    second = ordered[1][1] if len(ordered) > 1 else 0
    return main if most >= MAIN_SHARE * sum(weights.values()) or most >= MAIN_FACTOR * second else None


def slow_load(frame: Frame, rows: Rows | None = None) -> float:
    """How many tasks were in slow waits on average, of all that were seen, or of these rows of SLOW_WAIT_DTYPE."""
    waits_ns = (frame.slow_waits if rows is None else rows)["wait_ns"]
    return int(waits_ns[waits_ns >= frame.threshold_ns].sum()) / max(1, frame.interval_ns)


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

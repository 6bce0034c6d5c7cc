"""The longest time that schedtop had the CPU while another task waited for it: an upper bound, by its own blame.

Of each pair of a victim and one of our threads the kernel side keeps the longest share in one wait. In one wait several
of our threads may have had the CPU: their longest shares add up. What blame did not look at is added, unless that is
more than any wait, or more than our whole run time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedtop.model.counts import Attribution
from schedtop.model.rows import Integers, Rows
from schedtop.sources.kernel.constants import SCHEDULER

_FEW = 16


@dataclass(frozen=True, slots=True)
class Caused:
    """What is known of one interval: the longest share in a wait of others, and our run time.

    `longest_ns`: of all our threads in one wait, at most; `least_ns`: of one thread, which is certain.
    `pairs_lost`: there may have been other pairs. `run_ns`: of all our tasks, in this interval and the one before.
    """

    longest_ns: int = 0
    least_ns: int = 0
    pairs_lost: bool = False
    run_ns: int = 0


class OwnTasks:
    """The threads of schedtop and of what it has started, as the kernel numbers them."""

    def __init__(self, tgid: int) -> None:
        """`tgid`: this process, 0 if that is not known."""
        self._own = tgid
        self._tgids = {tgid} if tgid else set()
        self._tids = set(self._tgids)
        self._run_ns = 0

    def learn(self, tasks: Rows) -> int:
        """Looks at the tasks that ran in an interval (TASK_DTYPE); run time of ours in it and the one before."""
        if not self._own:
            return 0
        tids, tgids = tasks["tid"], tasks["tgid"]
        started = set(tgids[_among(tasks["parent_tgid"], self._tgids)].tolist())
        # A number that another process has by now is ours no longer.
        self._tgids = self._tgids.difference(tgids.tolist()) | started | {self._own}
        ours = _among(tgids, self._tgids)
        self._tids = self._tids.difference(tids.tolist()).union(tids[ours].tolist())
        before, self._run_ns = self._run_ns, sum(tasks["run_ns"][ours].tolist())
        return before + self._run_ns

    @property
    def tids(self) -> set[int]:
        """Of all that are known; empty: nothing is known."""
        return self._tids


def _among(numbers: Integers, ours: set[int]) -> npt.NDArray[np.bool_]:
    """Which of the numbers are ours. np.isin is much code for a handful, and comes out of a cold cache."""
    if len(ours) > _FEW:
        return np.isin(numbers, list(ours))
    found = np.zeros(len(numbers), bool)
    for number in ours:
        found |= numbers == number
    return found


def caused(pairs: Rows, epoch: int, own: OwnTasks, tasks: Rows, most_pairs: int) -> Caused | None:
    """What is known of the interval `epoch`; `None` if not even our own number is.

    `pairs`: rows of `struct pair`, of which the kernel side keeps `most_pairs`; it drops old ones for new ones.
    """
    run_ns, tids = own.learn(tasks), own.tids
    if not len(tids):
        return None
    lost = 2 * len(pairs) > most_pairs
    parity = epoch & 1
    pairs = pairs[pairs["epoch"][:, parity] == (epoch & 0xFFFFFFFF)]
    pairs = pairs[_among(pairs["other_tid"], tids)]
    shares: dict[int, int] = {}
    least_ns = 0
    for victim, ns in zip(pairs["victim_tid"].tolist(), pairs["longest_ns"][:, parity].tolist(), strict=True):
        if victim not in tids:
            shares[victim] = shares.get(victim, 0) + ns
            least_ns = max(least_ns, ns)
    return Caused(max(shares.values(), default=0), least_ns, lost, run_ns)


def longest_caused_ns(known: Caused, attribution: Attribution, longest_wait_ns: int, interval_ns: int) -> int:
    """The least upper bound of a wait's part that was ours, with what else is known of the interval.

    `attribution`: what became of its waits; `longest_wait_ns`: the longest of them, whatever blocked it.
    """
    unseen = attribution.over_budget_ns + attribution.uncovered_ns + attribution.others_ns + attribution.unpaired_ns
    bounds = [longest_wait_ns]
    if longest_wait_ns <= interval_ns:  # a longer one began before what run_ns is for
        bounds.append(known.run_ns)
    if not known.pairs_lost:
        # Shorter waits than LOOK_NS are not looked at, so no bound is below.
        bounds.append(max(known.longest_ns, SCHEDULER.LOOK_NS) + unseen)
    # Of a CPU that was stopped while it counted a wait, one interval may have the sums and another the longest share.
    return max(known.least_ns, min(bounds))

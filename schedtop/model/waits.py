"""What is known of a slow wait in single words: how it began, why it was slow, what that rests on, what it crossed.

Rows of SLOW_WAIT_DTYPE hold the numbers (`kind`, `cause`, `evidence`, `domain`, `idle_distance`), recordings and JSON
the labels. What a later version may write besides has no member here: it decodes to `None`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schedtop.model.labels import Labeled
from schedtop.model.rows import Integers, Rows


class Beginning(Labeled):
    """How a wait began (`kind`), in the order of recordings; WAIT_KINDS are among them."""

    WAKEUP = 0, "wakeup"
    PREEMPTION = 1, "preemption"  # another task was given the CPU
    THROTTLED = 2, "throttled"  # it left the CPU because of the quota of its cgroup
    YIELD = 3, "yield"  # the task called sched_yield
    FORK = 4, "fork"  # the task is new: until it first runs


class Cause(Labeled):
    """Why a slow wait was slow, exclusive, see docs/blame.md. The first three and `fork` only say how it began."""

    WAKEUP = 0, "wakeup"
    PREEMPTION = 1, "preemption"
    YIELD = 2, "yield"
    THROTTLED = 3, "throttled"
    STOLEN = 4, "stolen"  # the hypervisor had the CPU for most of it
    IDLE_CPU = 5, "idle-cpu"  # another CPU was idle for most of it
    FORK = 6, "fork"
    INTERRUPTS = 7, "interrupts"  # they had the CPU for most of it
    BEHIND_RT = 8, "behind-rt"  # real-time tasks of no lower priority had the CPU for most of it
    BEHIND_DEADLINE = 9, "behind-deadline"
    LOWER_WEIGHT = 10, "lower-weight"  # fair tasks with twice its weight and more had it


class Evidence(Labeled):
    """What the cause rests on, where it does not say so itself."""

    NONE = 0, ""
    INFERRED = 1, "inferred"  # throttled, by the statistics of its cgroup
    PINNED = 2, "pinned"  # the affinity mask forbids the idle CPU
    NOT_BALANCED = 3, "not balanced"  # the scheduler could have used it
    SCHED_EXT = 4, "sched_ext"  # of any cause: such a scheduler may have had it in a queue of its own, for any CPU
    DEADLINE_RUNTIME = 5, "deadline runtime"  # throttled: a deadline task had used up its own
    RT_RUNTIME = 6, "rt runtime"  # throttled: real-time tasks had used up theirs, and others run for the rest


class Distance(Labeled):
    """How far the idle CPU is from the one that the task waited for (`idle_distance`)."""

    NONE = 0, ""  # or not known: recordings before it was told
    SAME_CORE = 1, "same_core"  # the other thread of it
    SAME_CACHE = 2, "same_cache"
    OTHER_CACHE = 3, "other_cache"
    OTHER_NODE = 4, "other_node"

    @property
    def words(self) -> str:
        """The same for people."""
        return self.label.replace("_", " ")


class WokenBy(Labeled):
    """What woke a task (`woken_by`)."""

    TASK = 0, "task"  # or not known, see `waker_tid`
    INTERRUPT = 1, "interrupt"
    SOFTIRQ = 2, "softirq"  # what an interrupt leaves to be done after it: the waker is told if it is ksoftirqd


class Domain(Labeled):
    """What a wait crossed from the CPU where it began to the one where it ended."""

    NONE = 0, ""
    CACHE = 1, "cache"
    NUMA = 2, "numa"


BEGINNINGS = tuple(each.label for each in Beginning)
CAUSES = tuple(each.label for each in Cause)
EVIDENCE = tuple(each.label for each in Evidence)
WAKERS = tuple(each.label for each in WokenBy)
DOMAINS = tuple(each.label for each in Domain)
DISTANCES = tuple(each.label for each in Distance)

CAUSE_BY_BEGINNING = np.array([Cause[each.name] for each in Beginning])
"""The cause of a wait that nothing but its beginning explains, by Beginning."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One slow wait decoded; `None`: written by a later version."""

    began: Beginning | None
    cause: Cause | None
    evidence: Evidence | None
    domain: Domain | None
    distance: Distance | None = Distance.NONE


def reason(row: np.void) -> Reason:
    """The Reason of a row of SLOW_WAIT_DTYPE."""
    return Reason(
        Beginning.known(row["kind"]),
        Cause.known(row["cause"]),
        Evidence.known(row["evidence"]),
        Domain.known(row["domain"]),
        Distance.known(row["idle_distance"]),
    )


class Explanation(Labeled):
    """Cause and evidence together: what slow waits are weighed by."""

    QUEUEING = 0, "queueing"  # began with a wakeup, a fork or a preemption, and nothing else explains it
    YIELD = 1, "yield"
    THROTTLED = 2, "throttled"
    STOLEN = 3, "stolen"
    PINNED = 4, "pinned"
    NOT_BALANCED = 5, "not balanced"
    IDLE_CPU = 6, "idle-cpu"  # whether the task could have run there is not known
    UNKNOWN = 7, "unknown"  # a cause that this version does not know
    SCHED_EXT = 8, "sched_ext"  # a scheduler of that class decides when tasks run, and where
    INTERRUPTS = 9, "interrupts"
    BEHIND_RT = 10, "behind rt"
    BEHIND_DEADLINE = 11, "behind deadline"
    LOWER_WEIGHT = 12, "lower weight"
    DEADLINE_RUNTIME = 13, "deadline runtime"
    RT_RUNTIME = 14, "rt runtime"


def _explanations() -> Integers:
    """By cause and evidence; the last row and column are of what a later version may write."""
    table = np.full((len(Cause) + 1, len(Evidence) + 1), Explanation.UNKNOWN)
    for cause in Cause:
        table[cause] = Explanation.__members__.get(cause.name, Explanation.QUEUEING)
    for cause in (Cause.WAKEUP, Cause.PREEMPTION, Cause.YIELD, Cause.FORK):
        table[cause, Evidence.SCHED_EXT] = Explanation.SCHED_EXT
    table[Cause.THROTTLED, Evidence.DEADLINE_RUNTIME] = Explanation.DEADLINE_RUNTIME
    table[Cause.THROTTLED, Evidence.RT_RUNTIME] = Explanation.RT_RUNTIME
    table[Cause.IDLE_CPU, Evidence.PINNED] = Explanation.PINNED
    table[Cause.IDLE_CPU, Evidence.NOT_BALANCED] = Explanation.NOT_BALANCED
    return table


_EXPLANATIONS = _explanations()


def explanations(waits: Rows) -> Integers:
    """The Explanation of each row of SLOW_WAIT_DTYPE, as numbers."""
    cause, evidence = waits["cause"], waits["evidence"]
    cause = np.where((cause >= 0) & (cause < len(Cause)), cause, len(Cause))
    evidence = np.where((evidence >= 0) & (evidence < len(Evidence)), evidence, len(Evidence))
    found: Integers = _EXPLANATIONS[cause, evidence]
    return found


def for_quota_ns(waits: Rows) -> Integers:
    """How much of each row of SLOW_WAIT_DTYPE was for a quota, in nanoseconds.

    Where a quota is inferred no part of the wait is known to be another's.
    """
    throttled_ns = np.where(waits["throttled_ns"] > 0, waits["throttled_ns"], waits["wait_ns"])
    found: Integers = np.where(explanations(waits) == Explanation.THROTTLED, throttled_ns, 0)
    return found

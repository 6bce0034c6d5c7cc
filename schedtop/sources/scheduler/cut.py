"""Where one interval of a CPU ends and the next begins, for all that is counted when a wait ends.

User space hands out the new epoch first and reads a little later. A wait that ends in between has its pairs and its
slow wait in the new interval, so its sums must be there, too: at the first such wait the CPU keeps what it had counted
until then (`cuts` in bpf/scheduler/maps.h).
"""

from __future__ import annotations

import time

from schedtop.model.rows import Rows, copy_rows

OF_ENDED_WAITS = (
    "wait_sum_ns",
    "latency",
    "looked_at_ns",
    "over_budget_ns",
    "uncovered_ns",
    "blocked_idle_ns",
    "others_ns",
    "unpaired_ns",
)
"""The cumulative fields of `struct cpu_state` that the end of a wait adds to."""

TRIES = 20
"""How often a CPU is looked at again that is counting the end of a wait, which takes it microseconds."""

PAUSE_S = 50e-6


def copy_at_cut(cpus: Rows, cuts: Rows, epoch: int) -> Rows:
    """A copy of `cpus` (the kernel's memory), with the fields OF_ENDED_WAITS as at the end of the interval `epoch`.

    To be called once the next epoch is handed out. A CPU that a hypervisor stops while it counts the end of a wait is
    not waited for: its row is then as it was found.
    """
    copy = copy_rows(cpus)
    for _ in range(TRIES):
        unsettled = (copy["wait_ends"] & 1 != 0) | (copy["wait_ends"] != cpus["wait_ends"])
        if unsettled.any():
            # Of a CPU that has begun the next epoch, what it counts now does not matter.
            unsettled &= cpus["cut_epoch"] != epoch + 1
        if not unsettled.any():
            break
        time.sleep(PAUSE_S)
        copy[unsettled] = cpus[unsettled]
    begun = (cpus["cut_epoch"] == epoch + 1).nonzero()[0]
    if len(begun):
        for name in OF_ENDED_WAITS:
            copy[name][begun] = cuts[name][begun]
    return copy

"""What the kernel side added up of short-lived tasks, as rows of SHORT_LIVED_DTYPE."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.model.rows import Rows
from schedtop.model.short_lived import EXIT_UNKNOWN, SHORT_LIVED_DTYPE, SUMS, folded, merge_short_lived, no_short_lived
from schedtop.sources.scheduler.ledger import MOST_STATUS
from schedtop.sources.scheduler.programs import Programs

_AS_THEY_ARE = ("cgroup_id", "pid_namespace", "is_thread", "max_wait_ns", *SUMS)


class ShortLivedReader:
    """Reads the entries of each interval once, and takes them out of the kernel's table an interval later.

    No CPU writes to them any more by then. What a CPU that was stopped in between has added to an entry after it was
    read comes with the next interval.
    """

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._reported: dict[bytes, np.void] = {}
        self._seen = -1

    def read(self, epoch: int, breathe: Callable[[], object] = keep_on) -> Rows:
        """The short-lived tasks of the interval `epoch`, which is over; `breathe` is called in between."""
        seen = int(np.add.reduce(self._programs.cpus["short_lived"]))
        if seen == self._seen and not self._reported:
            return no_short_lived()
        self._seen = seen
        entries = self._programs.short_lived(breathe)
        ages = np.uint32(epoch & 0xFFFFFFFF) - entries["epoch"]
        # An entry that is being made has no epoch yet; one of the interval that has begun is of age -1.
        old = entries[(ages > 0) & (ages < 1 << 31) & (entries["epoch"] != 0)]
        new = entries[ages == 0]
        late = self._late(old)
        self._programs.drop_short_lived(old)
        self._reported = {self._programs.short_lived_key(entry): entry for entry in new}
        return folded(merge_short_lived([_rows(new), _rows(late)]))

    def _late(self, old: Rows) -> Rows:
        """What was added to entries since they were read."""
        late = old.copy()
        for index, entry in enumerate(old):
            before = self._reported.get(self._programs.short_lived_key(entry))
            if before is not None:
                for name in SUMS:
                    late[name][index] = entry[name] - before[name]
        return late[late["count"] > 0]


def _rows(entries: Rows) -> Rows:
    """Rows of `struct short_lived` as those of SHORT_LIVED_DTYPE."""
    rows = np.zeros(len(entries), SHORT_LIVED_DTYPE)
    for name in _AS_THEY_ARE:
        rows[name] = entries[name]
    # Some kernels leave the rest of an older, longer name behind the end of a name.
    for name, kernel_name in (("comm", "comm"), ("parent", "parent_comm")):
        rows[name] = [value.split(b"\0", 1)[0] for value in entries[kernel_name].tolist()]
    rows["parent_tgid"] = np.where(entries["several_parents"] != 0, 0, entries["parent_tgid"])
    rows["exit_code"] = np.where(
        entries["exit_code"] > MOST_STATUS, EXIT_UNKNOWN, entries["exit_code"].astype(np.int64)
    )
    return rows

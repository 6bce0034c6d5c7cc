"""Which task slots and pairs an interval may have changed, by the lists that the kernel side keeps (changes.h).

A program that had read the old epoch just before it ended may note something after its list was read, or change a slot
that was noted already. So the list of an interval is looked at again at the end of the next one. Counters are
cumulative: what is found then is exact, only later.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Integers, Rows

SHARE = 1024
"""One slot in so many is compared in each interval by turns, noted or not.

A note is lost when its CPU was stopped in the middle of a switch for a whole interval, as in a guest.
"""

SCAN_RATIO = 4
"""With more than one noted slot in so many, it is cheaper to compare them all."""

_EPOCH = 0xFFFFFFFF  # 32 bits of it are kept


class Lists(NamedTuple):
    """The lists of all CPUs, the kernel's own memory.

    `heads`: rows of `struct changes`; `slots`, `pairs`: the entries of all lists, two of each CPU, of CPU 0 first.
    """

    heads: Rows
    slots: Integers
    pairs: Integers


class Noted:
    """Reads the lists."""

    def __init__(self, lists: Lists) -> None:
        fields: Mapping[str, Any] = lists.heads.dtype.fields or {}
        self._heads: Integers = lists.heads.view(np.uint32).reshape(len(lists.heads), -1)
        self._epoch, self._slot_count, self._pair_count = (
            fields[name][1] // self._heads.itemsize for name in ("epoch", "slot_count", "pair_count")
        )
        self._slots: Integers = lists.slots.reshape(len(lists.heads), 2, -1)
        self._pairs: Integers = lists.pairs.reshape(len(lists.heads), 2, -1)

    def slots(self, epoch: int) -> Integers | None:
        """What was noted of slots in an epoch so far, in any order; `None`: more than fits in a list."""
        return self._noted(epoch, self._slot_count, self._slots)

    def pairs(self, epoch: int) -> list[bytes] | None:
        """The same for pairs: the keys of their map."""
        noted = self._noted(epoch, self._pair_count, self._pairs)
        if noted is None:
            return None
        return [struct.pack("=II", pair & 0xFFFFFFFF, pair >> 32) for pair in set(noted.tolist())]

    def _noted(self, epoch: int, count_field: int, entries: Integers) -> Integers | None:
        """`count_field`: where in the head of a list the count of its entries is, of even epochs."""
        parity = epoch & 1
        most = entries.shape[2]
        found = []
        # The counts first: the entries that they tell of are there.
        for cpu, head in enumerate(self._heads.tolist()):
            if head[self._epoch + parity] == epoch & _EPOCH and (count := head[count_field + parity]):
                if count > most:
                    return None
                found.append(entries[cpu, parity, :count])
        return np.concatenate(found) if found else np.zeros(0, entries.dtype)


class ChangedSlots:
    """Chooses the slots that are to be compared at the end of an interval."""

    def __init__(self, noted: Noted, slots: int) -> None:
        self._noted = noted
        self._count = slots
        self._late: Integers | None = None
        self._begun = False
        self._share = max(1, slots // SHARE)
        self._next_share = 0
        self.waiting: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        """Indices of those that waited at the last reading: they wait on without a further event."""

    def look_back(self, epoch: int) -> None:
        """Takes the list of the interval before `epoch`, which ends; to be called before the next one begins."""
        self._late = self._noted.slots(epoch - 1)

    def among(self, epoch: int, running_tids: Integers) -> npt.NDArray[np.int64] | None:
        """Indices of all slots that `epoch` may have changed, sorted; `None`: that may be any, as at the first call.

        `running_tids`: the tid on each CPU, which may have run all the time without a switch.
        """
        late, noted = self._late, self._noted.slots(epoch)
        begun, self._begun = self._begun, True
        if not begun or late is None or noted is None or len(late) + len(noted) > self._count // SCAN_RATIO:
            return None
        first = self._next_share
        self._next_share = (first + self._share) % self._count
        # Not np.unique: each of the few calls here comes out of a cold cache, and that one is many.
        chosen = np.zeros(self._count, bool)
        chosen[first : first + self._share] = True
        for indices in (late, noted, self.waiting, running_tids & (self._count - 1)):
            chosen[indices] = True
        return chosen.nonzero()[0]

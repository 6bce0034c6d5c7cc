"""The last seconds of the live kernel: what a capture that never ends keeps, in bounded memory."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from schedtop.base.units import NS_PER_S, format_ns
from schedtop.capture.events import Capture
from schedtop.model.rows import Integers
from schedtop.sources.capture.rings import Taken
from schedtop.sources.capture.source import LEAD_NS, CaptureSource, read_clocks
from schedtop.sources.host.topology import online_cpus

MOST_EVENTS = 2_000_000
"""So many events are kept, 64 MB; where there are more, the window is shorter, and says so."""

MOST_STACKS = 100_000
"""Likewise, 26 MB."""

MOST_NAMES = 100_000
"""Names of tasks that were told before the window; with more of them those are dropped that are not told again."""


@dataclass(slots=True)
class _Batch:
    """What one look at the rings brought: with those after it, all since `since_ns`. `lost`, `interrupting`: before."""

    since_ns: int
    lost: Integers
    interrupting: int
    taken: Taken = field(default_factory=Taken)


class Window:
    """The last `kept_ns` of an open source. `poll` must be called about every 20 ms, by the thread that opened it."""

    def __init__(self, source: CaptureSource, kept_ns: int, most_events: int = MOST_EVENTS) -> None:
        self._source = source
        self._kept_ns = kept_ns
        self._most_events = most_events
        self._batches: deque[_Batch] = deque()
        self._names = Taken()
        self._compact_at = MOST_NAMES // 10
        self._count = 0
        self._began_ns = time.monotonic_ns() + LEAD_NS
        source.rings.open(self._began_ns, (1 << 63) - 1)
        self._next = self._look(self._began_ns)

    def _look(self, time_ns: int) -> _Batch:
        rings = self._source.rings
        return _Batch(time_ns, rings.cpus["lost"].astype(np.int64), rings.interrupting())

    def poll(self) -> None:
        """Empties the rings, and drops what is too old or too much."""
        batch, now = self._next, self._look(time.monotonic_ns())
        self._next = now
        # What was written until the last time: so all of it was written before `now`.
        batch.taken.add(self._source.rings)
        self._batches.append(batch)
        self._count += batch.taken.count
        while len(self._batches) > 1 and (
            self._batches[1].since_ns < now.since_ns - self._kept_ns or self._count > self._most_events
        ):
            self._drop(self._batches.popleft())
        stacks = sum(one.taken.places.count for one in self._batches)
        for one in self._batches:
            if stacks <= MOST_STACKS:
                break
            stacks -= one.taken.places.count
            one.taken.places.forget()

    def _drop(self, batch: _Batch) -> None:
        """Names are told once: they stay."""
        self._count -= batch.taken.count
        told = batch.taken.only_names()
        self._names.extend(told)
        # Not each time: there may be many.
        if self._names.count > self._compact_at:
            self._names = self._names.only_names()
            self._names = self._names if self._names.count <= MOST_NAMES else told
            self._compact_at = max(MOST_NAMES // 10, 2 * self._names.count)

    def capture(self) -> Capture:
        """The last seconds, up to now."""
        end_ns = time.monotonic_ns()
        time.sleep(LEAD_NS / NS_PER_S)
        self.poll()
        self.poll()
        first = self._batches[0]
        start_ns = min(max(first.since_ns, end_ns - self._kept_ns), end_ns - 1)
        taken = Taken()
        taken.extend(self._names.only_names(start_ns))
        for batch in self._batches:
            taken.extend(batch.taken)
        last = self._look(end_ns)
        found = self._source.capture_of(
            taken, (start_ns, end_ns), set(online_cpus()), clocks=read_clocks(), lost=last.lost - first.lost,
            interrupting=last.interrupting - first.interrupting,
        )  # fmt: skip
        if start_ns <= max(self._began_ns, end_ns - self._kept_ns):
            return found
        length, most = format_ns(end_ns - start_ns), f"{self._most_events:,}"
        why = f"the last {length} only: {most} events are kept, and there were more"
        return replace(found, unavailable={**found.unavailable, "window": why})

"""A capture that goes on: the events of the last seconds of the live kernel, in bounded memory."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.base.units import NS_PER_S, format_ns
from schedtop.capture.events import NAME_DTYPE, SWITCH, Capture, Lost
from schedtop.model.rows import Rows, join_rows, take_rows
from schedtop.sources.capture.places import Places
from schedtop.sources.capture.rings import LossCounts, Taken, Told, joined
from schedtop.sources.capture.source import LEAD_NS, NOTHING, CaptureSource, Running, read_clocks
from schedtop.sources.host.topology import online_cpus

MOST_EVENTS = 2_000_000
"""So many events are kept, 64 MB; where there are more, the window is shorter, and says so."""

MOST_STACKS = 100_000
"""Likewise, 26 MB."""

MOST_NAMES = 100_000
"""Names of tasks that were told before the window; of more of them the latest are kept."""


@dataclass(slots=True)
class _Batch:
    """What one look at the rings brought: with those after it, all since `since_ns`. `lost`: before."""

    since_ns: int
    lost: LossCounts
    taken: Taken = field(default_factory=Taken)
    told: Told | None = None

    def switched(self, cpu: int, since_ns: int) -> bool:
        """Whether that CPU has a switch in it since then."""
        if self.told is None:
            return self.taken.switched(cpu, since_ns)
        events = self.told.events
        return bool(((events["kind"] == SWITCH) & (events["seen_on"] == cpu) & (events["time_ns"] >= since_ns)).any())


class Window:
    """What an open source told until now. `poll` must be called about every 20 ms, by the thread that opened it.

    `kept_ns`: only the last of it; `None`: all that is not forgotten.
    """

    def __init__(self, source: CaptureSource, kept_ns: int | None = None, most_events: int = MOST_EVENTS) -> None:
        self._source = source
        self._kept_ns = kept_ns
        self._most_events = most_events
        self._batches: deque[_Batch] = deque()
        self._names = _LastNames()
        self._events = self._stacks = self._lost_stacks = 0
        self._wanted_ns = self.began_ns = time.monotonic_ns() + LEAD_NS
        source.rings.open(self.began_ns, (1 << 63) - 1)
        self._next = self._look(self.began_ns)
        self._lost_before = self._next.lost

    @property
    def lost(self) -> Lost:
        """All that was lost since it was opened, also before the window."""
        return (self._source.rings.losses() - self._lost_before).all_with(self._lost_stacks)

    def poll(self) -> None:
        """Empties the rings, and drops what is too old or too much."""
        batch, now = self._next, self._look(time.monotonic_ns())
        self._next = now
        # What was written until the last time: so all of it was written before `now`.
        batch.taken.add(self._source.rings)
        self._batches.append(batch)
        self._events += batch.taken.count
        self._stacks += batch.taken.places.count
        self._lost_stacks += batch.taken.places.lost
        least_ns = self._least_ns(now.since_ns)
        while len(self._batches) > 1 and (self._batches[1].since_ns < least_ns or self._events > self._most_events):
            self._drop_first()
        for one in self._batches:
            if self._stacks <= MOST_STACKS:
                break
            self._stacks -= one.taken.places.count
            self._lost_stacks += one.taken.places.count
            one.taken.places.forget()

    def forget(self, looked_ns: int, kept_ns: int, most_events: int) -> None:
        """Of what was looked at, up to `looked_ns`, drops what is before the last `kept_ns`, and more if there are more
        events: nothing is missing then."""
        while len(self._batches) > 1 and self._batches[1].since_ns <= looked_ns:
            if self._batches[1].since_ns >= looked_ns - kept_ns and self._events <= most_events:
                break
            self._drop_first()
        if self._batches:
            self._wanted_ns = max(self._wanted_ns, self._batches[0].since_ns)

    def capture(self, breathe: Callable[[], object] = keep_on) -> Capture:
        """The last seconds, up to now; `lost`: meanwhile. `breathe` is called in between."""
        running = self._running_now()
        end_ns = time.monotonic_ns()
        # An event that began before the end is written by then.
        time.sleep(LEAD_NS / NS_PER_S)
        self.poll()
        self.poll()
        first = self._batches[0]
        start_ns = min(max(first.since_ns, self._least_ns(end_ns)), end_ns - 1)
        places = Places()
        for batch in self._batches:
            # Once: most of them are there the next time, too.
            batch.told = batch.told or self._source.told(batch.taken, breathe)
            places.extend(batch.taken.places)
            breathe()
        told = joined([batch.told for batch in self._batches if batch.told], breathe)
        breathe()
        found = self._source.capture_of(
            told, places, (start_ns, end_ns), set(online_cpus()), clocks=read_clocks(),
            lost=self._source.rings.losses() - first.lost, known=self._names.at(start_ns), running=running,
            breathe=breathe,
        )  # fmt: skip
        # Those from /proc: they are not asked for again.
        self._names.add(found.names[found.names["time_ns"] <= start_ns])
        if start_ns <= max(self._wanted_ns, self._least_ns(end_ns)):
            return found
        length, most = format_ns(end_ns - start_ns), f"{self._most_events:,}"
        why = f"the last {length} only: {most} events are kept, and there were more"
        return replace(found, unavailable={**found.unavailable, "window": why})

    def _running_now(self) -> Running:
        """What each CPU does now; that is asked for only if one of them has not switched since the beginning."""
        least_ns = self._least_ns(time.monotonic_ns())
        for cpu in online_cpus():
            if not any(batch.switched(cpu, least_ns) for batch in reversed(self._batches)):
                return self._source.rings.running()
        return NOTHING

    def _look(self, time_ns: int) -> _Batch:
        return _Batch(time_ns, self._source.rings.losses())

    def _least_ns(self, now_ns: int) -> int:
        return 0 if self._kept_ns is None else now_ns - self._kept_ns

    def _drop_first(self) -> None:
        """Names are told once: they stay."""
        taken = self._batches.popleft().taken
        self._events -= taken.count
        self._stacks -= taken.places.count
        self._names.add(taken.names())


class _LastNames:
    """The last name of each task, rows of NAME_DTYPE, in bounded memory."""

    def __init__(self) -> None:
        self._rows = np.empty(0, NAME_DTYPE)
        self._later: list[Rows] = []
        self._count = 0

    def add(self, rows: Rows) -> None:
        """Names that were told after these, in any order."""
        if not len(rows):
            return
        self._later.append(rows)
        self._count += len(rows)
        # Not each time: there may be many.
        if self._count > MOST_NAMES // 10:
            self._compact()

    def at(self, time_ns: int) -> Rows:
        """All of them, as if told at that time, which is after they were."""
        self._compact()
        rows = self._rows.copy()
        rows["time_ns"] = time_ns
        return rows

    def _compact(self) -> None:
        rows = join_rows((self._rows, *self._later))
        rows = take_rows(rows, np.argsort(rows["time_ns"], kind="stable"))
        # The last one of each: of the reversed ones the first.
        _, last = np.unique(rows["tid"][::-1], return_index=True)
        self._rows = take_rows(rows, np.sort(len(rows) - 1 - last)[-MOST_NAMES:])
        self._later, self._count = [], 0

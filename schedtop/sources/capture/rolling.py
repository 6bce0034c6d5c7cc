"""A capture that goes on: the events of the last seconds, again and again, in bounded memory."""

from __future__ import annotations

import platform
import time

import numpy as np

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture import events as model
from schedtop.capture.events import LOSS_DTYPE, NAME_DTYPE, Capture
from schedtop.model.host import Host
from schedtop.model.rows import Rows
from schedtop.sources.capture.places import KernelNames
from schedtop.sources.capture.rings import Rings, Taken, names_in
from schedtop.sources.capture.source import LEAD_NS, missing_names, read_clocks
from schedtop.sources.host.sched_ext import SchedExt, ext_queues
from schedtop.sources.host.topology import online_cpus
from schedtop.sources.kernel.syscalls import syscall_names

KEEP_NS = 10 * NS_PER_S
"""What is longer than this is seen from then on only."""

KEEP_EVENTS = 300_000
"""So many are kept of what has been looked at, 12 MB: a walk needs what was before, and preparing it costs time."""

MOST_EVENTS = 1_200_000
"""So many are held; if they come sooner than they are looked at, the oldest go, and that is told."""

MOST_NAMES = 20_000

DRAIN_NS = 50 * NS_PER_MS


class Rolling:
    """What comes out of rings, as Captures of the last seconds. Of one thread, which has the rings."""

    def __init__(self, rings: Rings, host: Host, *, reported: bool) -> None:
        """Opens the rings. `reported`: prev_state is what the kernel's tracepoint reports."""
        self._rings = rings
        self._host = host
        self._reported = reported
        self._taken = Taken()
        self._functions = KernelNames()
        self._names: Rows = np.empty(0, NAME_DTYPE)
        self._asked: set[int] = set()
        self._interrupting = rings.interrupting()
        self._sched_ext = SchedExt()
        self.start_ns = time.monotonic_ns() + LEAD_NS
        """Since when events are kept."""
        rings.open(self.start_ns, (1 << 63) - 1)

    def close(self) -> None:
        """Ends what reads the names of functions; the rings are their owner's."""
        self._functions.close()

    def drain(self) -> None:
        """Takes events out of the rings: to be called every DRAIN_NS, or they fill."""
        self._taken.add(self._rings)
        if self._taken.count > MOST_EVENTS:
            self.forget(KEEP_EVENTS, self.start_ns)

    def window(self) -> Capture:
        """All that is kept until now."""
        rings, taken = self._rings, self._taken
        end_ns = time.monotonic_ns()
        # An event that began before the end is written by then; those after may not be all written yet.
        time.sleep(LEAD_NS / NS_PER_S)
        taken.add(rings)
        taken.add(rings)
        every = {*online_cpus(), *np.flatnonzero(rings.cpus["head"]).tolist()}
        cpus = tuple(sorted(cpu for cpu in every if cpu < len(rings.cpus)))
        start_ns, held = self.start_ns, taken.held(rings)
        events, names, losses = taken.copy().sorted(cpus, rings, self._reported, start_ns, end_ns)
        places, stacks = taken.places.named(self._functions)
        ext = self._sched_ext.since_last()
        return Capture(
            host=self._host,
            start_ns=start_ns,
            end_ns=end_ns,
            clocks=read_clocks(),
            cpus=cpus,
            events=events,
            names=self._with_known(names, events),
            losses=_within(losses, start_ns, end_ns),
            lost={kind: rings.cpus["lost"][list(cpus), kind].astype(np.int64) for kind in range(model.LOST)},
            machine=platform.machine(),
            kernel_build=platform.version(),
            lost_in_interrupts=rings.interrupting() - self._interrupting,
            places=places,
            stacks=stacks,
            held=held,
            unavailable={model.BEHIND: ext_queues(ext)} if ext else {},
            calls=syscall_names(),
            lost_places=taken.places.lost + int(rings.cpus["lost"][:, model.STACK].sum()),
        )

    def forget(self, most: int, before_ns: int) -> None:
        """Drops what is older than `before_ns`, and more if more than `most` events would be left."""
        pieces = [(int(rows["time_ns"].max()), len(rows)) for some in self._taken.pieces.values() for rows in some]
        pieces.sort(reverse=True)
        kept = 0
        for last_ns, count in pieces:
            kept += count
            if kept > most:
                before_ns = max(before_ns, last_ns + 1)
                break
        if before_ns <= self.start_ns:
            return
        self.start_ns = before_ns
        dropped = self._taken.forget_before(before_ns)
        self._keep_names(names_in(np.concatenate(dropped)) if dropped else self._names[:0])

    def _keep_names(self, names: Rows) -> None:
        """The last name of each task is also that of what it does later."""
        rows = np.concatenate((self._names, names[np.argsort(names["time_ns"], kind="stable")]))
        _, last = np.unique(rows["tid"][::-1], return_index=True)
        rows = rows[np.sort(len(rows) - 1 - last)]
        self._names = rows[-MOST_NAMES:]

    def _with_known(self, names: Rows, events: Rows) -> Rows:
        """The names of all tasks of these events; those that only woke are read from /proc, each once."""
        known = np.concatenate((self._names, names))
        seen = np.unique(np.concatenate((events["tid"], events["other_tid"], known["tgid"])))
        unknown = [tid for tid in np.setdiff1d(seen, known["tid"]).tolist() if tid not in self._asked]
        if len(self._asked) > MOST_NAMES:
            self._asked.clear()
        self._asked.update(unknown)
        found = missing_names(unknown, self.start_ns)
        self._keep_names(found)
        return np.concatenate((found, known))


def _within(losses: Rows, start_ns: int, end_ns: int) -> Rows:
    """The parts of losses that lie in a time."""
    found: Rows = losses[(losses["last_ns"] >= start_ns) & (losses["first_ns"] < end_ns)].astype(LOSS_DTYPE)
    found["first_ns"] = np.maximum(found["first_ns"], start_ns)
    found["last_ns"] = np.minimum(found["last_ns"], end_ns - 1)
    return found

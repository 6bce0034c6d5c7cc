"""Captures the live kernel: a ring of events for each CPU, emptied while it lasts (bpf/capture/capture.h)."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.base.cpu_lists import cpus_text
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture import events as model
from schedtop.capture.events import (
    NAME_DTYPE,
    Capture,
    Clocks,
)
from schedtop.capture.parts import distinct
from schedtop.model.host import Host
from schedtop.model.rows import Rows, join_rows
from schedtop.sources.capture.front_end import PATH_UNKNOWN, choose_capture_front_end, tells_path
from schedtop.sources.capture.places import KernelNames, Places
from schedtop.sources.capture.rings import LossCounts, Rings, Taken, Told
from schedtop.sources.host import proc
from schedtop.sources.host.sched_ext import SchedExt, ext_queues
from schedtop.sources.host.topology import online_cpus, present_cpus
from schedtop.sources.kernel.compiler import Compiled, compile_programs
from schedtop.sources.kernel.front_end import FrontEnd
from schedtop.sources.kernel.offsets import INTERRUPTS_UNKNOWN, tells_interrupts
from schedtop.sources.kernel.pid_numbers import numbers_in, pid_numbers
from schedtop.sources.kernel.program_cache import compiled_before
from schedtop.sources.kernel.program_text import program_text, source_directory
from schedtop.sources.kernel.syscalls import syscall_names

DEFAULT_BUFFER_BYTES = 64 << 20
MOST_EVENTS = 4_000_000
"""What a capture holds: then it ends. That is 128 MB in a ring's form, and about 1 GB of Chrome's JSON on disk."""

Running = Mapping[int, tuple[int, int]]
"""What has a CPU, by that: tid and priority."""

NOTHING: Running = MappingProxyType({})

POLL_NS = 20 * NS_PER_MS
LEAD_NS = 2 * NS_PER_MS
"""How long before its start a capture is announced: no CPU may hear of it late."""


class CaptureSource:
    """The programs of a capture, attached while it is open. One thread opens it, takes captures, and closes it.

    `source`: `auto`, `btf` or `tracepoint`; `buffer_bytes`: of kernel memory, for all CPUs together. `path_ns`: with
    what the path across tasks needs, and with the stacks of sleeps that are at least so long.
    """

    def __init__(
        self,
        source: str = "auto",
        buffer_bytes: int = DEFAULT_BUFFER_BYTES,
        most_events: int = MOST_EVENTS,
        *,
        path_ns: int | None = None,
    ) -> None:
        self._wanted = source
        self._path_ns = path_ns
        self._buffer_bytes = buffer_bytes
        self._most_events = most_events
        self._sched_ext = SchedExt()
        self.host: Host

    def __enter__(self) -> Self:
        self._front_end = choose_capture_front_end(self._wanted, path=self._path_ns is not None)
        self.host = proc.identify_host(self._front_end.name, pid_numbers().note)
        cpus = max(*present_cpus(), *online_cpus()) + 1
        self.rings = Rings(self._front_end, build(self._front_end), cpus, self._buffer_bytes)
        self.rings.take_stacks_from(self._path_ns or 0)
        self._functions = KernelNames()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.rings.close()
        self._functions.close()

    def take(self, duration_ns: int, stop: threading.Event) -> Capture:
        """What happens from now on for `duration_ns`; less if `stop` is set or there is too much. Once a source."""
        rings, taken, ended_early, online = self.rings, Taken(), "", set(online_cpus())
        running: Running | None = None
        start_ns = time.monotonic_ns() + LEAD_NS
        end_ns = start_ns + duration_ns
        clocks = read_clocks()
        before = rings.losses()
        self._sched_ext.since_last()
        rings.open(start_ns, end_ns)
        while (rest := end_ns - time.monotonic_ns()) > 0 and not ended_early:
            if stop.wait(min(rest, POLL_NS) / NS_PER_S):
                ended_early = "it was interrupted"
            elif taken.count >= self._most_events:
                ended_early = f"it held {taken.count} events, and no more are kept"
            if ended_early:
                end_ns = max(start_ns + 1, min(end_ns, time.monotonic_ns()))
                rings.open(start_ns, end_ns)
            elif running is None and time.monotonic_ns() < end_ns:
                running = rings.running()
            taken.add(rings)
        # An event that began before the end is written by then.
        time.sleep(LEAD_NS / NS_PER_S)
        taken.add(rings)
        taken.add(rings)
        lost = rings.losses() - before
        return self.capture_of(
            self.told(taken), taken.places, (start_ns, end_ns), online,
            clocks=clocks, lost=lost, ended_early=ended_early, running=running or {},
        )  # fmt: skip

    def told(self, taken: Taken, breathe: Callable[[], object] = keep_on) -> Told:
        """What was taken, decoded; see Taken.told."""
        return taken.told(self._front_end.name == "tracepoint", breathe)

    def capture_of(
        self,
        told: Told,
        stacks_taken: Places,
        span: tuple[int, int],
        online: set[int],
        *,
        clocks: Clocks,
        lost: LossCounts,
        ended_early: str = "",
        known: Rows | None = None,
        running: Running = NOTHING,
        breathe: Callable[[], object] = keep_on,
    ) -> Capture:
        """What was told, and the stacks, from `span[0]` to `span[1]`; `lost`: meanwhile; `known`: names before it.

        `running`: what had each CPU at some moment of it. `breathe` is called in between.
        """
        rings, (start_ns, end_ns) = self.rings, span
        online |= {*online_cpus(), *np.flatnonzero(rings.cpus["head"]).tolist()}
        cpus = tuple(sorted(cpu for cpu in online if cpu < len(rings.cpus)))
        told = replace(told, losses=join_rows((told.losses, rings.pending_losses(cpus)))).within(
            cpus, start_ns, end_ns, breathe
        )
        events, losses = told.events, told.losses
        breathe()
        names = told.names if known is None else join_rows((known, told.names))
        places, stacks = stacks_taken.named(self._functions, breathe)
        switches = np.bincount(events["seen_on"][events["kind"] == model.SWITCH], minlength=1)
        moved = {*np.flatnonzero(switches).tolist(), *losses["cpu"].tolist()}
        unswitched = {cpu: had for cpu, had in running.items() if cpu in cpus and cpu not in moved}
        return Capture(
            host=self.host,
            start_ns=start_ns,
            end_ns=end_ns,
            clocks=clocks,
            cpus=cpus,
            events=events,
            names=with_missing_names(
                names, events, start_ns, more=[tid for tid, _ in unswitched.values()], breathe=breathe
            ),
            losses=losses,
            lost={kind: lost.by_kind[list(cpus), kind] for kind in range(model.LOST)},
            machine=platform.machine(),
            kernel_build=platform.version(),
            ended_early=ended_early,
            lost_in_interrupts=lost.interrupting,
            missing=self._front_end.missing,
            unavailable={
                **self.unavailable,
                **_without_rings(sorted(online - set(cpus))),
                **self._without_queues(),
                **({"functions": trouble} if (trouble := self._functions.trouble) else {}),
            },
            places=places,
            stacks=stacks,
            held=told.held,
            calls=syscall_names() if self._path_ns is not None else {},
            lost_places=stacks_taken.lost + lost.stacks,
            refused_places=lost.refused,
            unswitched=unswitched,
        )

    @property
    def unavailable(self) -> dict[str, str]:
        """What every capture lacks here, and why."""
        found = {} if tells_interrupts(self._front_end.flags) else {"woken_by": INTERRUPTS_UNKNOWN}
        if self._path_ns is not None and not tells_path(self._front_end):
            found["places"] = PATH_UNKNOWN
        return found

    def _without_queues(self) -> dict[str, str]:
        ext = self._sched_ext.since_last()
        return {model.BEHIND: ext_queues(ext)} if ext else {}

    def drop(self, stop: threading.Event) -> None:
        """Takes events out and keeps none until `stop` is set: to measure what a capture costs."""
        self.rings.open(time.monotonic_ns(), (1 << 63) - 1)
        while not stop.wait(POLL_NS / NS_PER_S):
            Taken().add(self.rings)


def read_clocks() -> Clocks:
    """Now, on three clocks: the quickest of a few readings."""
    readings = []
    for _ in range(5):
        before = time.monotonic_ns()
        boottime, realtime = time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.time_ns()
        after = time.monotonic_ns()
        readings.append((after - before, Clocks((before + after) // 2, boottime, realtime)))
    return min(readings, key=lambda reading: reading[0])[1]


def with_missing_names(
    names: Rows,
    events: Rows,
    time_ns: int,
    root: Path = Path("/proc"),
    more: Sequence[int] = (),
    breathe: Callable[[], object] = keep_on,
) -> Rows:
    """`names` and, from /proc, those of tasks that only woke, of the leaders of processes that did nothing, and of
    `more` tasks. `breathe` is called in between."""
    told = np.unique(names["tid"])
    seen = distinct((events["tid"], events["other_tid"], names["tgid"], np.array(more, "<u4")), breathe)
    return join_rows((missing_names(np.setdiff1d(seen, told).tolist(), time_ns, root), names))


def missing_names(tids: Iterable[int], time_ns: int, root: Path = Path("/proc")) -> Rows:
    """Rows of NAME_DTYPE from /proc, of those tasks that are there."""
    numbers = numbers_in(root)
    rows = []
    for tid in tids:
        directory = root / str(numbers.inside(tid))  # there is no task 0
        with suppress(OSError, ValueError, StopIteration):
            # As bytes: a name may hold what ends a line of text, and say `Tgid:` after it.
            lines = (directory / "status").read_bytes().split(b"\n")
            tgid = numbers.of_host(next(int(line[5:]) for line in lines if line.startswith(b"Tgid:")))
            rows.append((time_ns, tid, tgid, (directory / "comm").read_bytes().rstrip(b"\n")))
    return np.array(rows, NAME_DTYPE)


def _without_rings(cpus: list[int]) -> dict[str, str]:
    """Why of these CPUs nothing is known."""
    why = f"CPU {cpus_text(cpus)} was added to this host after the programs were loaded"
    return {"cpus": why} if cpus else {}


def build(front_end: FrontEnd) -> Compiled:
    """The programs for a front end, compiled now or before. Raises SourceError."""
    directory = source_directory()
    text = program_text(directory, f"capture/{front_end.name}.c")
    return compiled_before(text, front_end.flags, lambda: compile_programs(text, front_end.flags, directory))

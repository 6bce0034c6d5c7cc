"""One tick of the live source at full tables: its CPU time, and how long it keeps the interpreter to itself."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from schedtop.model.rows import Rows
from schedtop.model.source import SourceError
from schedtop.sources.host import proc
from schedtop.sources.kernel.compiler import Compiled
from schedtop.sources.kernel.front_end import FrontEnd, choose_front_end
from schedtop.sources.scheduler import source as live
from schedtop.sources.scheduler.noted import Lists
from schedtop.sources.scheduler.programs import Programs, build
from schedtop.sources.scheduler.reading import difference
from schedtop.sources.scheduler.source import LiveSource
from tests.bench.batches import Batches, alternating
from tests.bench.report import Goal, Options, Table, Topic, number, share

CPUS = 512
TICKS, QUICK_TICKS = 40, 10
NAP_S = 0.0005
THREADS_PER_PROCESS = 4
SLOW_WAITS = 2000


@dataclass(frozen=True, slots=True)
class Tables:
    """How full the tables are: tasks that move, rows of the overflow map, slow waits of a tick, pairs.

    `active`: how many tasks move and are noted; `None`: all of them, more than the lists of changes hold.
    """

    name: str
    words: str
    overflow: int = 0
    slow_waits: int = 0
    active: int | None = None
    cpus: int = CPUS


QUIET = Tables("few_active", "20 of 65,536 tasks active, 2 CPUs", active=20, cpus=2)
CASES = (
    QUIET,
    Tables("full_slots", f"all task slots changed and all pairs, {CPUS} CPUs"),
    Tables("full_slots_and_overflow", "the same, and the overflow map full", overflow=8192),
    Tables("full_slots_and_slow_waits", f"the first, and {SLOW_WAITS:,} slow waits", slow_waits=SLOW_WAITS),
)


class FilledPrograms(Programs):
    """The real maps' layouts in ordinary memory, every task of which moves between two ticks."""

    def __init__(self, compiled: Compiled, case: Tables) -> None:
        self._fds, self._hooks, self._attached, self.refused, self._missed = {}, {}, {}, {}, {}
        self.sampled_cpus = ()
        specs = compiled.maps
        self.tasks = np.zeros(specs["tasks"].entries, specs["tasks"].dtype)
        self.cpus = np.zeros(specs["cpus"].entries, specs["cpus"].dtype)
        self.timelines = np.zeros(specs["timelines"].entries, specs["timelines"].dtype)
        self.queues = np.zeros(specs["queues"].entries, specs["queues"].dtype)
        entries = (np.zeros(specs[name].entries, np.uint64) for name in ("changed_slots", "changed_pairs"))
        self.changes = Lists(np.zeros(specs["changes"].entries, specs["changes"].dtype), *entries)
        self._short_lived: Rows = np.zeros(0, specs["short_lived"].dtype)
        self.domains = np.zeros(specs["domains"].entries, specs["domains"].dtype)
        self.config = np.zeros(1, specs["config"].dtype)
        self._slow_waits: Rows = np.zeros(case.slow_waits, specs["slow_waits"].dtype)
        self._pairs: Rows = np.zeros(specs["pairs"].entries, specs["pairs"].dtype)
        self._overflow: Rows = np.zeros(case.overflow, specs["overflow"].dtype)
        _fill(self.tasks, 1 << 16)
        _fill(self._overflow, 1 << 20)
        for rows, names in ((self._slow_waits, ("tid", "waker_tid")), (self._pairs, ("victim_tid", "other_tid"))):
            for name in names:
                rows[name] = np.random.default_rng(1).choice(self.tasks["tid"], len(rows))
        self._slow_waits["blocker_tid"] = self._slow_waits["tid"][:, None] + np.arange(8)
        self._slow_waits["wait_ns"], self._slow_waits["cpu"] = 10**7, np.arange(len(self._slow_waits)) % CPUS
        self.cpus["current_tid"] = self.tasks["tid"][: len(self.cpus)]
        self._active = case.active

    def move(self) -> None:
        """Lets every active task run once, for a microsecond after one of waiting."""
        for rows in (self.tasks[: self._active], self._overflow):
            for name in ("timeslices", "voluntary"):
                rows[name] += 1
            for name in ("run_ns", "run_delay_ns"):
                rows[name] += 1000
        self._note()
        self.cpus["switches"] += 100
        self.cpus["latency"] += 1
        now = time.monotonic_ns()
        self.cpus["slice_start_ns"] = now - 1000
        self._slow_waits["end_ns"] = now - np.arange(len(self._slow_waits)) * 1000
        places = self.timelines["idle_start_ns"].shape[1]
        self.timelines["idle_count"] += places
        self.timelines["idle_start_ns"] = now - 2_000_000 * np.arange(places, 0, -1)
        self.timelines["idle_end_ns"] = self.timelines["idle_start_ns"] + 1_500_000

    @property
    def active(self) -> int:
        """How many tasks move."""
        return len(self.tasks) if self._active is None else self._active

    def _note(self) -> None:
        epoch = int(self.config["epoch"][0])
        parity, noted = epoch & 1, self.changes.heads[0]
        noted["epoch"][parity] = epoch
        room = len(self.changes.slots) // len(self.changes.heads) // 2
        noted["slot_count"][parity] = room + 1 if self._active is None else self._active
        self.changes.slots[parity * room : parity * room + (self._active or 0)] = np.arange(self._active or 0)

    def close(self) -> None:
        """Holds nothing."""

    def drain(self) -> None:
        """The slow waits are in ordinary memory."""

    def slow_waits(self) -> Rows:
        """As many as the kernel side lets through in half a second."""
        return self._slow_waits

    def pairs(self, keys: list[bytes] | None) -> Rows:
        """A full table of pairs, all of this interval; none where few tasks are active."""
        if self._active is not None:
            return self._pairs[:0]
        epoch = int(self.config["epoch"][0]) - 1
        self._pairs["epoch"], self._pairs["blocked_ns"] = epoch, np.arange(len(self._pairs))[:, None]
        return self._pairs

    def short_lived(self) -> Rows:
        """No task is short-lived."""
        return self._short_lived

    def drop_short_lived(self, entries: Rows) -> None:
        """There are none."""

    def overflow(self) -> Rows:
        """The rows of the overflow map."""
        return self._overflow.copy()


def _fill(rows: Rows, first_tid: int) -> None:
    index = np.arange(len(rows))
    rows["tid"] = first_tid + index
    rows["tgid"] = first_tid + index // THREADS_PER_PROCESS * THREADS_PER_PROCESS
    rows["start_ns"] = 1 + index
    rows["comm"] = b"full-table"
    rows["last_cpu"] = index % CPUS


@dataclass(slots=True)
class Cost:
    """Milliseconds. `stretch_ms`: by how much a nap of another thread was too long during a tick, at the most."""

    cpu_ms: Batches = field(default_factory=Batches)
    stretch_ms: Batches = field(default_factory=Batches)
    eager_stretch_ms: Batches = field(default_factory=Batches)

    def to_data(self) -> dict[str, Any]:
        """All of it for the JSON file."""
        return {name: getattr(self, name).to_data() for name in ("cpu_ms", "stretch_ms", "eager_stretch_ms")}


def measure(options: Options) -> Topic:
    """Ticks of each case in turn, and naps with no tick beside them as the control."""
    front_end = choose_front_end()
    try:
        compiled = {cpus: build(front_end, cpus) for cpus in {case.cpus for case in CASES}}
    except SourceError as error:
        return Topic([Table("Reading path", ("",), notes=[str(error)])], {"unavailable": str(error)})
    costs = {case.name: Cost() for case in CASES} | {"control": Cost()}
    ticks = QUICK_TICKS if options.quick else TICKS
    for case in alternating((*CASES, None), 1 if options.quick else 2):
        if case is None:
            _control(costs["control"], ticks)
        else:
            with opened(front_end, compiled[case.cpus], case) as (source, programs):
                _tick(source, programs, costs[case.name], ticks)
    return _topic(costs)


@contextmanager
def opened(front_end: FrontEnd, compiled: Compiled, case: Tables) -> Iterator[tuple[LiveSource, FilledPrograms]]:
    """A live source over filled tables instead of the kernel's."""
    programs = FilledPrograms(compiled, case)
    with ExitStack() as stack:
        stack.enter_context(patch.object(live, "choose_front_end", lambda *_: front_end))
        stack.enter_context(patch.object(live, "build", lambda *_: compiled))
        stack.enter_context(patch.object(live, "Programs", lambda *_: programs))
        stack.enter_context(patch.object(proc, "possible_cpus", lambda *_: case.cpus))
        yield stack.enter_context(LiveSource(10**9, 5_000_000)), programs


def _tick(source: LiveSource, programs: FilledPrograms, cost: Cost, ticks: int) -> None:
    """Ticks with the usual switch interval, and with one so short that only single calls are longer."""
    earlier = source._read()
    for place in range(2 * ticks):
        programs.move()
        with switch_interval(1e-4 if place % 2 else None), Naps() as naps:
            begin = time.thread_time_ns()
            later = source._read()
            difference(earlier, later)
            spent_ms = (time.thread_time_ns() - begin) / 1e6
        earlier = later
        assert len(later.since_last.tasks) >= programs.active
        (cost.eager_stretch_ms if place % 2 else cost.stretch_ms).add(naps.longest_ms)
        cost.cpu_ms.add(spent_ms)


def _control(cost: Cost, ticks: int) -> None:
    for place in range(2 * ticks):
        with Naps() as naps:
            time.sleep(0.02)
        (cost.eager_stretch_ms if place % 2 else cost.stretch_ms).add(naps.longest_ms)


@contextmanager
def switch_interval(seconds: float | None) -> Iterator[None]:
    """Another switch interval of the interpreter; `None`: the usual one."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(seconds or usual)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


class Naps:
    """A thread that takes short naps during the block; `longest_ms` is by how much one was too long."""

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self._stop = False
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Naps:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop = True
        self._thread.join()

    def _run(self) -> None:
        self._started.set()
        while not self._stop:
            begin = time.perf_counter()
            time.sleep(NAP_S)
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - begin - NAP_S) * 1e3)


def _topic(costs: dict[str, Cost]) -> Topic:
    usual_ms = sys.getswitchinterval() * 1e3
    table = Table(
        "Reading path: one tick, reading and difference (ms)",
        ("tables", "CPU, best", "median", "GIL stretch, best", "median", "longest call, best", "median"),
        notes=[
            f"stretch: by how much a nap of {NAP_S * 1e3:.1f} ms beside the tick was too long, at the most;",
            f"the interpreter lets others wait for {usual_ms:.0f} ms; the last columns are with 0.1 ms instead",
        ],
    )
    words = {case.name: case.words for case in CASES} | {"control": "no tick (control)"}
    for name, cost in costs.items():
        cells = [
            cell
            for figure in (cost.cpu_ms, cost.stretch_ms, cost.eager_stretch_ms)
            for cell in (number(figure.best, 2), share(figure.spread_ratio))
        ]
        table.rows.append((words[name], *cells))
    full, quiet = costs["full_slots"], costs[QUIET.name]
    goals = [
        Goal("one tick with 20 of 65,536 tasks active, in a loop", quiet.cpu_ms.best, 1.5, "ms of CPU"),
        Goal("one tick at 65,536 task slots and 512 CPUs", full.cpu_ms.best, 20.0, "ms of CPU"),
        Goal("the GIL is not held longer during that tick", full.stretch_ms.best, 5.0, "ms"),
    ]
    return Topic([table], {name: cost.to_data() for name, cost in costs.items()}, goals)

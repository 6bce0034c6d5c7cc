"""The kernel programs: loaded, attached, and their maps as numpy arrays."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from schedtop.base.breath import keep_on
from schedtop.base.units import NS_PER_S
from schedtop.model.rows import Rows
from schedtop.sources.host.pid_numbers import highest_tid
from schedtop.sources.host.topology import present_cpus
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.btf import KERNEL_BTF, BtfError
from schedtop.sources.kernel.compiler import Compiled, compile_programs
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.kernel.front_end import SAMPLER, FrontEnd
from schedtop.sources.kernel.hash_reader import HashReader
from schedtop.sources.kernel.kept_btf import with_kept_btf
from schedtop.sources.kernel.loader import Loader
from schedtop.sources.kernel.mapped_rows import MappedRows
from schedtop.sources.kernel.program_cache import compiled_before
from schedtop.sources.kernel.program_text import program_text, source_directory
from schedtop.sources.kernel.ring import EventQueue, Ring, record_bytes
from schedtop.sources.scheduler.noted import Lists
from schedtop.sources.scheduler.overflow import OverflowReader

LRU_SPARE = 256
"""Entries for each CPU that an LRU map needs before kernel 6.16: there a CPU takes 128 free ones at a time, and what is
new is forgotten once none are left. Since then it takes no more than its share (bpf_lru.target_free).
"""

QUICK = ("-O1",)
"""Spares the compiler half of clang's optimiser, which has another machine than BPF in mind.

bcc runs LLVM's once more over what it gives, with -O3 for BPF: the programs are as quick, and no more is verified.
"""

FEW_CPUS = 4
"""Up to so many a host is small."""

MOST_SLOTS = 1 << 16
"""How many tasks the table holds at most, without the overflow map."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the kernel side holds. The defaults serve every host; tests make them small to reach them.

    `task_slots` (0: by the highest tid), `event_pages` and `changed_slots` (of each CPU; 0 of both: by how many CPUs
    there are) are powers of two. Of `changed_pairs` (of each CPU) more make a reading look at all of the map.
    `slow_waits_per_s` is for all CPUs together; each gets its share, but never less than 8 in a window of 134 ms.
    """

    task_slots: int = 0
    overflow_tasks: int = 8192
    event_pages: int = 0
    slow_waits_per_s: int = 4000
    pairs: int = 16384
    latency_groups: int = 4096
    short_lived: int = 8192
    changed_slots: int = 0
    changed_pairs: int = 256


def task_slots(highest_tid: int | None) -> int:
    """How many slots leave no two tasks with the same one, if MOST_SLOTS are enough for that; a power of two."""
    return MOST_SLOTS if highest_tid is None else min(MOST_SLOTS, 1 << max(10, (highest_tid - 1).bit_length()))


def changed_slots(cpus: int) -> int:
    """How many slots a CPU may note in an interval: a power of two, with more of them on a host with few CPUs."""
    return max(1 << 10, min(1 << 13, (1 << 14) >> (cpus - 1).bit_length()))


def event_pages(cpus: int) -> int:
    """How many pages the ring of slow waits has. Its mapping counts as our memory, which stands out on small hosts."""
    return 512 if cpus <= FEW_CPUS else 1024


def lru_spare() -> int:
    """How many entries the CPUs that are there, not all possible ones, want of an LRU map: see LRU_SPARE."""
    try:
        shared = with_kept_btf(lambda btf: btf.has_field("bpf_lru", "target_free"), KERNEL_BTF)
    except BtfError:
        shared = False
    return 0 if shared else LRU_SPARE * len(present_cpus())


def latency_groups(limits: Limits = Limits()) -> int:
    """How many groups keep a histogram at a time; a new one takes the place of that which was used least lately."""
    return min(1 << 14, max(limits.latency_groups, lru_spare()))


def build(front_end: FrontEnd, cpus: int, limits: Limits = Limits(), scope: tuple[str, ...] = ()) -> Compiled:
    """The kernel programs for this kernel and number of possible CPUs; `scope`: a Scope's flags. Raises SourceError."""
    directory = source_directory()
    spare = lru_spare()
    flags = (
        f"-DCPUS={cpus}",
        f"-DTASK_SLOTS={limits.task_slots or task_slots(highest_tid())}",
        f"-DOVERFLOW_TASKS={limits.overflow_tasks}",
        f"-DEVENT_PAGES={limits.event_pages or event_pages(cpus)}",
        f"-DPAIRS={max(limits.pairs, spare)}",
        f"-DLATENCY_GROUPS={latency_groups(limits)}",
        f"-DSHORT_LIVED={limits.short_lived}",
        f"-DCHANGED_SLOTS={limits.changed_slots or changed_slots(cpus)}",
        f"-DCHANGED_PAIRS={limits.changed_pairs}",
        f"-DMOVED_WAITS={min(1 << 14, max(1024, spare))}",
        f"-DSLOW_WAITS_PER_WINDOW={_slow_waits_per_window(cpus, limits)}",
        *front_end.flags,
        *scope,
        *QUICK,
    )
    text = program_text(directory, f"scheduler/{front_end.name}.c")
    return compiled_before(text, flags, lambda: compile_programs(text, flags, directory))


def _slow_waits_per_window(cpus: int, limits: Limits) -> int:
    """How many slow waits a CPU may report in a window."""
    return max(8, (limits.slow_waits_per_s << SCHEDULER.SLOW_WINDOW_SHIFT) // NS_PER_S // cpus)


def ring_lasts_ns(compiled: Compiled, cpus: int, limits: Limits) -> int:
    """How long the ring of slow waits takes what all CPUs may report, with a quarter of it to spare."""
    ring = compiled.maps["slow_waits"]
    windows = ring.entries // record_bytes(ring.dtype.itemsize) / (_slow_waits_per_window(cpus, limits) * cpus)
    return int(windows * (1 << SCHEDULER.SLOW_WINDOW_SHIFT)) * 3 // 4


class Programs(Loader):
    """The attached kernel programs and their maps. Made and used by one thread; `close` detaches all.

    `tasks` (task slots,), `cpus`, `cuts`, `timelines` and `queues` (possible CPUs,): structured arrays on the
    kernel's own memory, read only, with the fields of bpf/scheduler/maps.h; of `tasks` what is read is mapped.
    `config` (1,) and `domains` (possible CPUs,): written by us. `sampled_cpus`: those of sampled run queues.
    `selected_flag`: the bit in a task's `flags` that says that it is within the scope.
    """

    tasks: MappedRows
    cpus: Rows
    cuts: Rows
    timelines: Rows
    changes: Lists
    queues: Rows
    config: Rows
    domains: Rows
    selected_flag = SCHEDULER.TASK_SELECTED

    def __init__(self, front_end: FrontEnd, compiled: Compiled, threshold_ns: int, groups: bool = True) -> None:
        """Loads and attaches what was compiled for the front end; without `groups` there is no room for their latency.

        Raises SourceError.
        """
        super().__init__(compiled, front_end.hooks, optional=(SAMPLER,))
        self._hashes: dict[str, HashReader] = {}
        self.sampled_cpus: tuple[int, ...] = ()
        with self._opening():
            self._create_maps({} if groups else {"groups": 1})
            self._map()
            self.config["threshold_ns"] = threshold_ns
            self._start(later=(SAMPLER,))

    def sample(self, online: tuple[int, ...]) -> tuple[int, ...]:
        """Has the run queues of the CPUs that are online sampled, or none; the CPUs on which they are. Raises OSError.

        A CPU that has come online since is taken in.
        """
        if self.sampled_cpus != online:
            self._detach(SAMPLER)
            self.sampled_cpus = ()
            if online and SAMPLER in self._hooks:
                self._attach(SAMPLER)
                self.sampled_cpus = online
        return self.sampled_cpus

    @property
    def interrupting_fd(self) -> int:
        """The map that tells which interrupt each CPU handles; what times interrupts fills it in."""
        return self._fds["interrupting"]

    def slow_waits(self) -> Rows:
        """The slow waits since the last call, as rows of `struct slow_wait`."""
        return self._events.all()

    def drain(self) -> None:
        """Empties the ring buffer into our memory, so that a long interval cannot overrun it."""
        self._events.drain()

    def overflow(self, breathe: Callable[[], object] = keep_on) -> Rows:
        """The tasks that had to move into the overflow map, with the fields of `tasks`.

        One that is over and was returned by the call before is taken out of the map: nothing else ever is.
        """
        inserted, epoch = int(np.add.reduce(self.cpus["overflowed"])), int(self.config["epoch"][0])
        return self._overflow.read(inserted, epoch, self.cpus["current_tid"], breathe)

    def pairs(self, keys: list[bytes] | None, breathe: Callable[[], object] = keep_on) -> Rows:
        """The pairs of victim and other task of those keys that are there still, as rows of `struct pair`.

        `None`: all of the last intervals; then, as below, `breathe` is called in between.
        """
        return self._hash("pairs").all(breathe) if keys is None else self._hash("pairs").some(keys)

    def group_latency(self) -> Rows:
        """The latency of groups so far, as rows of `struct group_latency`."""
        return self._hash("groups").all()

    def short_lived(self, breathe: Callable[[], object] = keep_on) -> Rows:
        """What was added up of tasks that came and went, as rows of `struct short_lived`."""
        return self._hash("short_lived").all(breathe)

    def short_lived_key(self, entry: np.void) -> bytes:
        """The key of such a row: its beginning."""
        return entry.tobytes()[: self._compiled.maps["short_lived"].key_bytes]

    def drop_short_lived(self, entries: Rows) -> None:
        """Takes entries out of the table, of intervals that are over."""
        keys = b"".join(map(self.short_lived_key, entries))
        calls.delete_elements(self._fds["short_lived"], keys, self._compiled.maps["short_lived"].key_bytes)

    def measure(self, on: bool) -> None:
        """Has the kernel time every BPF program, or no longer: that makes each of them a little slower."""
        if on and "stats" not in self._fds:
            self._fds["stats"] = calls.enable_stats()
        elif not on and "stats" in self._fds:
            os.close(self._fds.pop("stats"))

    def run_ns(self) -> int | None:
        """The time our programs have run while it was measured, `None` while it is not."""
        if "stats" not in self._fds:
            return None
        return sum(self._info(name).run_ns() for name in self._hooks)

    def _hash(self, name: str) -> HashReader:
        if name not in self._hashes:
            spec = self._compiled.maps[name]
            self._hashes[name] = HashReader(self._fds[name], spec.key_bytes, spec.entries, spec.dtype)
        return self._hashes[name]

    def _map(self) -> None:
        self.config = self._view("config", writable=True)
        self.domains = self._view("domains", writable=True)
        self.timelines = self._view("timelines")
        slots, pairs = (self._view(name)["value"] for name in ("changed_slots", "changed_pairs"))
        self.changes = Lists(self._view("changes"), slots, pairs)
        self.queues = self._view("queues")
        tasks = self._compiled.maps["tasks"]
        self.tasks = MappedRows(self._fds["tasks"], tasks.dtype, tasks.entries)
        self.cpus, self.cuts = self._view("cpus"), self._view("cuts")
        ring = self._compiled.maps["slow_waits"]
        self._events = EventQueue(Ring(self._fds["slow_waits"], ring.entries, ring.dtype.itemsize), ring.dtype)
        self._overflow = OverflowReader(self._fds["overflow"], self._hash("overflow"), self.tasks)

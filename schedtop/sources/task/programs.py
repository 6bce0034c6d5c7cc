"""The task view's kernel programs and what they have counted, as readings that can be subtracted (bpf/task/task.h)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from schedtop.model.rows import Rows
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.compiler import compile_programs
from schedtop.sources.kernel.constants import TASK
from schedtop.sources.kernel.loader import Loader
from schedtop.sources.kernel.program_cache import compiled_before
from schedtop.sources.kernel.program_text import program_text, source_directory
from schedtop.sources.kernel.syscalls import READS, WRITES, syscall_names
from schedtop.sources.task.front_end import MANDATORY, UNDER_WAY, TaskFrontEnd
from schedtop.sources.task.held import noted, split
from schedtop.sources.task.under_way import CallUnderWay

SLOW_NS = 10_000
"""Calls from here on may be among the slowest, at first."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskReading:
    """What the kernel side holds at one moment (`time_ns`, CLOCK_MONOTONIC), cumulative; rows as in bpf/task/task.h."""

    time_ns: int
    totals: Rows
    cpus: Rows
    calls: Rows
    errors: Rows
    peers: Rows
    io: Rows
    traffic: Rows
    threads: Rows
    misses: int


class TaskPrograms(Loader):
    """The attached programs. No task is measured before `aim`. Made and used by one thread; `close` detaches all."""

    def __init__(self, front_end: TaskFrontEnd, cpus: int) -> None:
        """Loads and attaches, for CPU ids below `cpus`. Raises SourceError."""
        directory = source_directory()
        text = program_text(directory, f"task/{front_end.name}.c")
        compiled = compiled_before(text, front_end.flags, lambda: compile_programs(text, front_end.flags, directory))
        mandatory = {f"{front_end.name}_{event}" for event in MANDATORY}
        super().__init__(compiled, front_end.hooks, front_end.hooks.keys() - mandatory)
        with self._opening():
            self._create_maps({"cpus": cpus, "slow_calls": cpus * TASK.SLOW_CALLS, "changes": cpus * TASK.CHANGES})
            self._config = self._view("config", writable=True)
            self._totals = self._view("totals")
            self._cpus = self._view("cpus")
            self._calls = self._view("calls", writable=True)
            self._io = self._view("io")
            self._traffic = self._view("traffic")
            self._slow_calls = self._view("slow_calls")
            self._changes = self._view("changes")
            self._held_dtype = compiled.maps["held"].dtype
            self._taken = {"slow_calls": np.zeros(cpus, np.int64), "changes": np.zeros(cpus, np.int64)}
            self._mark_descriptors()
            self._start()

    def aim(self, tgid: int, tid: int, now_ns: int) -> None:
        """Has it look at a thread, or with a `tid` of 0 at all threads of the process."""
        self._config["slow_ns"] = SLOW_NS
        self._config["epoch"] = 1
        self._config["start_ns"] = now_ns
        self._config["tid"] = tid
        self._config["tgid"] = tgid
        if UNDER_WAY in self._attached:
            # Before 6.1 it goes through all tasks.
            with suppress(OSError):
                self._attached[UNDER_WAY].append(calls.attach_iterator(self._fds[UNDER_WAY], tgid=tgid))
                os.close(self._attached[UNDER_WAY].pop(0))

    def next_interval(self) -> int:
        """Starts the next interval for what is the longest of one; the number of the one that ends."""
        ended = int(self._config["epoch"][0])
        self._config["epoch"] = ended + 1
        return ended

    def keep_from(self, slow_ns: int) -> None:
        """From how long on a call is kept one by one."""
        self._config["slow_ns"] = max(SLOW_NS, slow_ns)

    def seed_thread(self, tid: int, state: int, since_ns: int, call: CallUnderWay) -> None:
        """Tells what a thread is doing that has not changed since the beginning; what it knows itself goes first."""
        row = np.zeros(1, self._compiled.maps["threads"].dtype)
        row["tid"], row["state"], row["since_ns"], row["call"] = tid, state, since_ns, call.number
        row["read_kind_and_one"], row["write_kind_and_one"] = call.read_kind + 1, call.write_kind + 1
        calls.add_element(self._fds["threads"], tid.to_bytes(4, "little"), row.tobytes())

    def seed_sockets(self, inodes: Iterable[int], listening: Iterable[int]) -> None:
        """Tells the sockets that the process has open, and the ports at which it listens."""
        one = (1).to_bytes(4, "little")
        for inode in inodes:
            calls.add_element(self._fds["inodes"], inode.to_bytes(8, "little"), one)
        for port in listening:
            calls.add_element(self._fds["listening"], port.to_bytes(4, "little"), one)

    def threads(self) -> Rows:
        """All threads so far, those that have ended among them. A wait under way is split as if it ended now."""
        rows = self._values("threads")
        if UNDER_WAY not in self._attached or not noted(rows).any():
            return rows
        held = self._held()
        # Again: what was told is about the rows of that moment.
        return split(self._values("threads"), held)

    def note_first_waits(self) -> None:
        """Has it note the waits that seeded threads are in."""
        self._held()

    def _held(self) -> Rows:
        told = b"".join(calls.read_iterator(link) for link in self._attached.get(UNDER_WAY, ()))
        return np.frombuffer(told, self._held_dtype)

    def forget(self, tids: Iterable[int]) -> None:
        """Makes room: these threads have ended, and nothing more is wanted of them."""
        for tid in tids:
            calls.delete_element(self._fds["threads"], tid.to_bytes(4, "little"))

    def read(self) -> TaskReading:
        """All that it has counted by now."""
        return TaskReading(
            totals=self._totals.copy(),
            cpus=self._cpus.copy(),
            calls=self._calls.copy(),
            errors=self._values("errors"),
            peers=self._values("peers"),
            io=self._io.copy(),
            traffic=self._traffic.copy(),
            misses=self.misses(),
            threads=self.threads(),
            # Last: nothing that a thread did is later, so that states add up to the interval.
            time_ns=time.monotonic_ns(),
        )

    def take_slow_calls(self) -> tuple[Rows, int]:
        """Slow calls since the last time, and how many were overwritten before they were taken."""
        return self._take("slow_calls", self._slow_calls)

    def take_changes(self) -> tuple[Rows, int]:
        """Connection changes since the last time, in order of time, and how many were overwritten."""
        rows, lost = self._take("changes", self._changes)
        return rows[np.argsort(rows["time_ns"], kind="stable")], lost

    def _take(self, name: str, ring: Rows) -> tuple[Rows, int]:
        before, heads = self._taken[name], self._cpus[name].astype(np.int64)
        self._taken[name] = heads
        # On a host with many CPUs the task was on few.
        active = np.flatnonzero(heads != before)
        by_cpu = ring.reshape(len(heads), -1)
        rows = by_cpu[active].ravel()
        cpu = np.repeat(active, by_cpu.shape[1])
        position = rows["position"].astype(np.int64)
        fresh = (position > before[cpu]) & (position <= heads[cpu])
        return rows[fresh], int((heads - before).sum()) - int(fresh.sum())

    def _values(self, name: str) -> Rows:
        spec = self._compiled.maps[name]
        return np.frombuffer(
            calls.all_values(self._fds[name], spec.key_bytes, spec.value_bytes, spec.entries), spec.dtype
        )

    def _mark_descriptors(self) -> None:
        for number, name in syscall_names().items():
            self._calls["read_argument"][number] = READS.get(name, 0)
            self._calls["write_argument"][number] = WRITES.get(name, 0)


def beginning(reading: TaskReading, start_ns: int) -> TaskReading:
    """A first reading as it was when the task view began to look: with nothing counted."""

    def nothing(rows: Rows) -> Rows:
        return np.zeros(len(rows), rows.dtype)

    return TaskReading(
        start_ns,
        nothing(reading.totals),
        nothing(reading.cpus),
        nothing(reading.calls),
        nothing(reading.errors)[:0],
        nothing(reading.peers)[:0],
        nothing(reading.io),
        nothing(reading.traffic),
        nothing(reading.threads)[:0],
        reading.misses,
    )

"""The kernel programs that count activity, loaded and attached, and their maps (bpf/activity/activity.h)."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Rows
from schedtop.sources.activity.front_end import ALL_TASKS, OPEN_FILES, SEGMENTS, ActivityFrontEnd
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.compiler import Compiled, compile_programs
from schedtop.sources.kernel.constants import ACTIVITY
from schedtop.sources.kernel.hash_reader import HashReader
from schedtop.sources.kernel.loader import Loader
from schedtop.sources.kernel.program_cache import compiled_before
from schedtop.sources.kernel.program_text import program_text, source_directory
from schedtop.sources.kernel.syscalls import ACCEPTS, OPENS, READS, SYNCS, WRITES, syscall_names
from schedtop.sources.scope import Scope


class ActivityPrograms(Loader):
    """Attached; nothing is counted before `begin`. Made and used by one thread; `close` detaches all.

    `tasks`, `touched`, `calls`, `transitions`, `changes`, `change_counts`: rows as in bpf/activity/activity.h, as they
    are at any moment. `calls`: shape (CPUs, 2, MOST_CALLS), of all and of the selected process; `changes`: (CPUs,
    CHANGES).
    """

    def __init__(self, front_end: ActivityFrontEnd, scope: Scope, only: Collection[str], cpus: int) -> None:
        """Loads and attaches, for CPU ids below `cpus`. Raises SourceError."""
        needed = {f"{front_end.name}_{event}" for event in ("sys_enter", "sys_exit")}
        super().__init__(_build(front_end, scope), front_end.hooks, front_end.hooks.keys() - needed)
        with self._opening():
            changes = {"changes": cpus * ACTIVITY.CHANGES, "change_counts": cpus}
            self._create_maps({"calls": cpus * ACTIVITY.CALLS_OF_CPU, **changes})
            self._config = self._view("config", writable=True)
            self.tasks = self._view("tasks")
            self.touched = self._view("touched")
            self.calls = self._view("calls").reshape(cpus, 2, -1)
            self.transitions = self._view("transitions")
            self.changes = self._view("changes").reshape(cpus, -1)
            self.change_counts = self._view("change_counts")
            self.loss = self._view("loss")
            self._hashes = {name: self._reader(name) for name in ("overflow", "errors", "owners", "flows", "devices")}
            parts = {"syscalls": ACTIVITY.PART_SYSCALLS, "files": ACTIVITY.PART_FILES}
            self._config["parts"] = sum(parts.get(part, 0) for part in only)
            self._config["traits"][0] = _traits(only)
            self._start()

    def begin(self) -> None:
        """From now on it counts."""
        self._config["begin_ns"] = time.monotonic_ns()
        self._config["epoch"] = 1
        self.look_through_tasks()

    def look_through_tasks(self) -> None:
        """Has it note what the kernel itself has counted of each task and of each connection."""
        for program in (ALL_TASKS, SEGMENTS):
            for link in self._attached.get(program, ()):
                calls.read_iterator(link)

    def tell_open_connections(self) -> None:
        """Has it look through all open files for the connections that tasks have."""
        for link in self._attached.get(OPEN_FILES, ()):
            calls.read_iterator(link)
        self._detach(OPEN_FILES)

    def next_interval(self) -> int:
        """Starts the next interval; the number of the one that ends."""
        ended = int(self._config["epoch"][0])
        self._config["epoch"] = ended + 1
        return ended

    def select(self, tgid: int) -> None:
        """From now on the calls of this process are counted by themselves as well; 0: of none."""
        self._config["selected_tgid"] = tgid

    def values(self, name: str) -> Rows:
        """The rows of `overflow`, `errors`, `owners`, `flows` or `devices`."""
        return self._hashes[name].all()

    def room(self, name: str) -> int:
        """How many rows one of these holds."""
        return self._compiled.maps[name].entries

    def take(self, name: str, rows: Rows) -> Rows:
        """Takes rows out of `overflow`, `flows` or `devices`, to make room; gives them as they were at the end.

        Their key is what they begin with.
        """
        spec, taken = self._compiled.maps[name], []
        for row in rows:
            with suppress(OSError):
                key = row.tobytes()[: spec.key_bytes]
                taken.append(calls.take_element(self._fds[name], key, spec.value_bytes) or b"")
        return np.frombuffer(b"".join(taken), spec.dtype)

    def _reader(self, name: str) -> HashReader:
        spec = self._compiled.maps[name]
        return HashReader(self._fds[name], spec.key_bytes, spec.entries, spec.dtype)


def _build(front_end: ActivityFrontEnd, scope: Scope) -> Compiled:
    directory = source_directory()
    text = program_text(directory, f"activity/{front_end.name}.c")
    if scope:
        return compile_programs(text, (*front_end.flags, *scope.flags(front_end)), directory)
    return compiled_before(text, front_end.flags, lambda: compile_programs(text, front_end.flags, directory))


def _traits(only: Collection[str]) -> npt.NDArray[np.uint8]:
    """What a call does with files and connections, by its number."""
    traits = np.zeros(ACTIVITY.MOST_CALLS, np.uint8)
    for number, name in syscall_names().items():
        if "files" in only:
            traits[number] = READS.get(name, 0) | WRITES.get(name, 0) << ACTIVITY.TRAIT_WRITES_SHIFT
            traits[number] |= ACTIVITY.TRAIT_OPENS * (name in OPENS) | ACTIVITY.TRAIT_SYNCS * (name in SYNCS)
        if "network" in only:
            traits[number] |= ACTIVITY.TRAIT_ACCEPTS * (name in ACCEPTS)
    return traits

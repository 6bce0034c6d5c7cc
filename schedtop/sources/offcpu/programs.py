"""The programs that measure waits, loaded and attached, and their maps (bpf/offcpu/offcpu.h)."""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from schedtop.model.rows import Rows
from schedtop.model.source import SourceError
from schedtop.offcpu.measurement import Wakers
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.compiler import Compiled, compile_programs
from schedtop.sources.kernel.constants import OFFCPU
from schedtop.sources.kernel.front_end import FrontEnd
from schedtop.sources.kernel.loader import Loader
from schedtop.sources.kernel.program_cache import compiled_before
from schedtop.sources.kernel.program_text import program_text, source_directory
from schedtop.sources.scope import Scope

_DEEPEST = 127
_MAX_STACK = Path("/proc/sys/kernel/perf_event_max_stack")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the kernel side holds: threads, distinct keys of waits, and distinct stacks (about 1 KB each), and a
    quarter as many again for those that meet another one in the table of stacks."""

    tasks: int = 1 << 15
    rows: int = 1 << 16
    stacks: int = 1 << 15


class OffCpuPrograms(Loader):
    """Attached, and counting between `open` and `finish`; all of it used by one thread.

    `tasks()` and `rows()` give `struct off_task` and `struct off_row`, `cpus` is `struct off_cpu` of each CPU.
    """

    def __init__(self, front_end: FrontEnd, scope: Scope, cpus: int, limits: Limits, wakers: Wakers) -> None:
        """Loads and attaches. Raises SourceError."""
        super().__init__(_build(front_end, scope), front_end.hooks)
        with self._opening():
            sizes = {"tasks": limits.tasks, "rows": limits.rows, "stacks": limits.stacks}
            self._create_maps({**sizes, "more_stacks": max(1, limits.stacks // 4), "cpus": cpus})
            self.cpus = self._view("cpus")
            self._config = self._view("config", writable=True)
            for ids, places, flag in ((scope.tgids, "tgids", "by_tgid"), (scope.tids, "tids", "by_tid")):
                if ids:
                    self._config[places][0] = [*ids, *[ids[0]] * (OFFCPU.WANTED_IDS - len(ids))]
                    self._config[flag] = 1
            self._config["wakers"] = wakers
            self._start()

    def open(self, start_ns: int, end_ns: int, min_ns: int) -> None:
        """From now on what lies between two times of CLOCK_MONOTONIC is counted; waits below `min_ns` aside."""
        self._config["min_ns"] = min_ns
        self._config["end_ns"] = end_ns
        self._config["start_ns"] = start_ns

    def finish(self, end_ns: int) -> int:
        """Nothing after this time is counted, and the programs are detached; how many events they missed."""
        self._config["end_ns"] = end_ns
        missed = self.misses()
        for name in self._hooks:
            self._detach(name)
        return missed

    def tasks(self) -> Rows:
        """The threads that were seen."""
        return self._values("tasks")

    def rows(self) -> Rows:
        """The waits so far."""
        return self._values("rows")

    def add_task(self, tid: int, tgid: int, comm: bytes, state: int, user_stack: int, since_ns: int) -> bool:
        """Tells of a thread that is off the CPU since before our time; false: it is known, or there is no room."""
        task = np.zeros(1, self._compiled.maps["tasks"].dtype)
        task["tid"], task["tgid"], task["comm"], task["state"] = tid, tgid, comm, state
        task["user_stack"], task["kernel_stack"], task["out_ns"] = user_stack, OFFCPU.STACK_NOT_SEEN, since_ns
        task["waker_user_stack"] = task["waker_kernel_stack"] = OFFCPU.STACK_NONE
        try:
            return calls.add_element(self._fds["tasks"], tid.to_bytes(4, "little"), task.tobytes())
        except OSError as error:
            if error.errno != errno.E2BIG:
                raise
            return False

    def forget_task(self, tid: int) -> None:
        """The opposite."""
        calls.delete_element(self._fds["tasks"], tid.to_bytes(4, "little"))

    def forget_row(self, row: Any) -> None:
        """Takes a row out of the map, to make room."""
        spec = self._compiled.maps["rows"]
        # It begins with its key.
        calls.delete_element(self._fds["rows"], row.tobytes()[: spec.key_bytes])

    def addresses(self, stack: int) -> list[int]:
        """The addresses of a stack, leaf first."""
        name, place = ("stacks", stack) if stack < OFFCPU.MORE_STACKS else ("more_stacks", stack - OFFCPU.MORE_STACKS)
        spec = self._compiled.maps[name]
        value = calls.element(self._fds[name], place.to_bytes(4, "little"), spec.value_bytes)
        found = np.frombuffer(value or b"", np.uint64)
        return [int(address) for address in found[found != 0]]

    @property
    def depth(self) -> int:
        """How many addresses of a stack are kept."""
        return self._compiled.maps["stacks"].value_bytes // 8

    def _values(self, name: str) -> Rows:
        spec = self._compiled.maps[name]
        values = calls.all_values(self._fds[name], spec.key_bytes, spec.value_bytes, spec.entries)
        return np.frombuffer(values, spec.dtype)


def _build(front_end: FrontEnd, scope: Scope) -> Compiled:
    directory = source_directory()
    text = program_text(directory, f"offcpu/{front_end.name}.c")
    flags = (*front_end.flags, f"-DSTACK_DEPTH={_stack_depth()}")
    if len(scope.tgids) > OFFCPU.WANTED_IDS or len(scope.tids) > OFFCPU.WANTED_IDS:
        raise SourceError(f"--pid and --tid take at most {OFFCPU.WANTED_IDS} numbers each here")
    # Numbers are told to the programs when they run: only what is compiled in makes programs of its own.
    compiled_in = replace(scope, tids=(), tgids=())
    if compiled_in:
        return compile_programs(text, (*flags, *compiled_in.flags(front_end)), directory)
    return compiled_before(text, flags, lambda: compile_programs(text, flags, directory))


def _stack_depth() -> int:
    """As deep as the kernel lets stacks be."""
    try:
        return max(1, min(_DEEPEST, int(_MAX_STACK.read_text())))
    except (OSError, ValueError):
        return _DEEPEST

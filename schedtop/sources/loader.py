"""What a set of compiled kernel programs holds of the kernel: its maps, its programs, and where they are attached."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from schedtop.model import SourceError
from schedtop.rows import Rows
from schedtop.sources import bpf_syscall as calls
from schedtop.sources.compiler import PRIVILEGES, Compiled, keep_log
from schedtop.sources.frontend import FrontEnd

LOADERS = 2
"""How many programs the kernel verifies at a time."""

_VERIFIER_LOG_BYTES = 16 << 20


class Loader:
    """The programs of one front end, each named FRONTEND_EVENT, and their maps; `close` ends all."""

    def __init__(self, front_end: FrontEnd, compiled: Compiled) -> None:
        self._front_end = front_end
        self._compiled = compiled
        self._fds: dict[str, int] = {}

    def close(self) -> None:
        """Detaches the programs and releases what the kernel holds for them."""
        for fd in reversed(self._fds.values()):
            os.close(fd)
        self._fds.clear()

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """While it lasts maps are made and programs attached; if that fails, nothing is left. Raises SourceError."""
        try:
            yield
        except OSError as error:
            self.close()
            raise explain(error) from error
        except BaseException:
            self.close()
            raise

    def _create_maps(self, entries: Mapping[str, int] | None = None) -> None:
        """Makes the maps; `entries`: sizes of some, instead of those that were compiled in."""
        specs = {
            name: replace(spec, entries=(entries or {}).get(name, spec.entries))
            for name, spec in self._compiled.maps.items()
        }
        self._compiled = replace(self._compiled, maps=specs)
        for name, spec in specs.items():
            sizes = (spec.key_bytes, spec.value_bytes, spec.entries)
            self._fds[name] = calls.create_map(spec.kind, *sizes, spec.flags, name)

    def _view(self, name: str, writable: bool = False) -> Rows:
        """The values of a mapped array, as they are at any moment."""
        spec = self._compiled.maps[name]
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        memory = mmap.mmap(self._fds[name], spec.entries * spec.value_bytes, mmap.MAP_SHARED, protection)
        return np.frombuffer(memory, spec.dtype, spec.entries)

    def _start(self) -> None:
        """Loads all programs, then attaches them. Raises OSError."""
        # The verifier takes its time, most of it for sched_switch: the others need not wait for that one.
        with ThreadPoolExecutor(LOADERS) as pool:
            list(pool.map(self._load, self._front_end.events))
        for event, target in self._front_end.events.items():
            self._attach(event, target)

    def _load(self, event: str) -> None:
        typed = self._front_end.name == "btf"
        name = f"{self._front_end.name}_{event}"
        code = self._compiled.linked(name, self._fds)
        kind, type_id = (calls.PROG_TRACING, self._front_end.events[event]) if typed else (calls.PROG_TRACEPOINT, 0)
        try:
            program = calls.load_program(kind, event, code, type_id)
        except calls.ProgramRefused as error:
            if error.errno in (errno.EPERM, errno.ENOSYS):
                raise
            program = calls.load_program(kind, event, code, type_id, _VERIFIER_LOG_BYTES)
        self._fds[name] = program

    def _attach(self, event: str, target: int) -> None:
        name = f"{self._front_end.name}_{event}"
        program = self._fds[name]
        typed = self._front_end.name == "btf"
        attach = calls.attach_typed_tracepoint(program) if typed else calls.attach_perf_tracepoint(program, target)
        self._fds[f"{name} attached"] = attach


def explain(error: OSError) -> SourceError:
    """What the user hears when the kernel refuses."""
    log: Any = getattr(error, "verifier_log", b"")
    if log:
        return SourceError(f"the kernel refuses a program ({error.strerror}); the verifier's log is in {keep_log(log)}")
    if error.errno in (errno.EPERM, errno.EACCES):
        return SourceError(PRIVILEGES)
    return SourceError(f"the kernel programs cannot be loaded: {error.strerror}")

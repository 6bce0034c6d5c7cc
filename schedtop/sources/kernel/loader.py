"""What a set of compiled kernel programs holds of the kernel: its maps, its programs, and where they are attached."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from schedtop.base.finding import MORE
from schedtop.model.rows import Rows
from schedtop.model.source import NotPermitted, SourceError
from schedtop.sources.host.topology import online_cpus
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.compiler import Compiled, keep_log
from schedtop.sources.kernel.findings.kernel import lockdown
from schedtop.sources.kernel.findings.refusals import why_refused
from schedtop.sources.kernel.front_end import Hook

LOADERS = 2
"""How many programs the kernel verifies at a time."""

_VERIFIER_LOG_BYTES = 16 << 20

_KINDS = {
    "btf": (calls.PROG_TRACING, calls.TYPED_TRACEPOINT),
    "fentry": (calls.PROG_TRACING, calls.FUNCTION_ENTRY),
    "fexit": (calls.PROG_TRACING, calls.FUNCTION_EXIT),
    "tracepoint": (calls.PROG_TRACEPOINT, 0),
    "clock": (calls.PROG_PERF_EVENT, 0),
    "iter": (calls.PROG_TRACING, calls.ITERATOR),
}
"""Program type and attach type by the kind of a hook."""


class Loader:
    """Programs, each with a hook where it belongs, and their maps; `close` ends all.

    A program of `optional` that the kernel refuses stops nothing: `refused` then has its name and why.
    """

    def __init__(self, compiled: Compiled, hooks: Mapping[str, Hook], optional: Collection[str] = ()) -> None:
        self._compiled = compiled
        self._hooks = dict(hooks)
        self._optional = frozenset(optional)
        self.refused: dict[str, str] = {}
        self._fds: dict[str, int] = {}
        self._attached: dict[str, list[int]] = {}
        self._infos: dict[str, calls.ProgramInfo] = {}
        self._missed: dict[str, int] = {}
        self._turns: Iterator[str] = iter(())

    def close(self) -> None:
        """Detaches the programs and releases what the kernel holds for them."""
        for name in list(self._attached):
            self._detach(name)
        for fd in reversed(self._fds.values()):
            os.close(fd)
        self._fds.clear()

    def misses(self, by_turns: bool = False) -> int:
        """Events so far that the kernel kept from our programs, because one was running on that CPU already.

        `by_turns`: each call asks the next program only, and has what the others said when it was their turn.
        """
        for name in (next(self._turns),) if by_turns and self._missed else self._hooks:
            self._missed[name] = self._info(name).misses()
        return sum(self._missed.values())

    def _info(self, name: str) -> calls.ProgramInfo:
        """What the kernel knows of a loaded program."""
        if name not in self._infos:
            self._infos[name] = calls.ProgramInfo(self._fds[name])
        return self._infos[name]

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

    def _create_maps(self, entries: Mapping[str, int] | None = None, shared: Mapping[str, int] | None = None) -> None:
        """Makes the maps; `entries`: sizes of some, instead of those that were compiled in.

        `shared`: descriptors of some that other programs have made; they stay theirs.
        """
        specs = {
            name: replace(spec, entries=(entries or {}).get(name, spec.entries))
            for name, spec in self._compiled.maps.items()
        }
        self._compiled = replace(self._compiled, maps=specs)
        for name, spec in specs.items():
            if shared and name in shared:
                self._fds[name] = os.dup(shared[name])
                continue
            sizes = (spec.key_bytes, spec.value_bytes, spec.entries)
            self._fds[name] = calls.create_map(spec.kind, *sizes, spec.flags, name)

    def _view(self, name: str, writable: bool = False) -> Rows:
        """The values of a mapped array, as they are at any moment."""
        spec = self._compiled.maps[name]
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        memory = mmap.mmap(self._fds[name], spec.entries * spec.value_bytes, mmap.MAP_SHARED, protection)
        return np.frombuffer(memory, spec.dtype, spec.entries)

    def _start(self, later: Collection[str] = ()) -> None:
        """Loads all programs, then attaches them, except those that will be `later`. Raises OSError."""
        # The verifier takes its time, most of it for sched_switch: the others need not wait for that one.
        with ThreadPoolExecutor(LOADERS) as pool:
            list(pool.map(self._load_or_refuse, self._hooks))
        for name in [name for name in self._hooks if name not in self.refused and name not in later]:
            try:
                self._attach(name)
            except OSError as error:
                self._refuse(name, error)
        for name in self.refused:
            self._hooks.pop(name)
        self._turns = cycle(tuple(self._hooks))

    def _load_or_refuse(self, name: str) -> None:
        try:
            self._load(name)
        except OSError as error:
            self._refuse(name, error)

    def _refuse(self, name: str, error: OSError) -> None:
        """Notes that an optional program cannot be had; raises the error of any other."""
        if name not in self._optional:
            raise error
        self.refused[name] = f"this kernel does not take the program for it ({error.strerror})"

    def _load(self, name: str) -> None:
        """Loads a program. Raises ProgramRefused."""
        hook, code = self._hooks[name], self._compiled.linked(name, self._fds)
        kind, attach_type = _KINDS[hook.kind]
        place = (attach_type, hook.target) if attach_type else (0, 0)
        short = name.removeprefix(f"{hook.kind}_")  # the kernel keeps 15 letters
        try:
            program = calls.load_program(kind, short, code, *place)
        except calls.ProgramRefused as error:
            if error.errno in (errno.EPERM, errno.ENOSYS):
                raise
            program = calls.load_program(kind, short, code, *place, _VERIFIER_LOG_BYTES)
        self._fds[name] = program

    def _attach(self, name: str) -> None:
        """Attaches a loaded program. Raises OSError."""
        hook, program = self._hooks[name], self._fds[name]
        held = self._attached.setdefault(name, [])
        if hook.kind == "clock":
            for cpu in online_cpus():
                held.append(calls.attach_clock(program, hook.target, cpu))
        elif hook.kind == "iter":
            held.append(calls.attach_iterator(program, self._fds.get(hook.through)))
        elif hook.kind == "tracepoint":
            held.append(calls.attach_perf_tracepoint(program, hook.target))
        else:
            held.append(calls.attach_tracing(program))

    def _detach(self, name: str) -> None:
        """Detaches a program; it stays loaded. One that is not attached is no error."""
        for fd in self._attached.pop(name, ()):
            os.close(fd)


def explain(error: OSError) -> SourceError:
    """What the user hears when the kernel refuses."""
    log: Any = getattr(error, "verifier_log", b"")
    locked = lockdown()
    if log and locked.state == "ok":
        why = f"the kernel refuses a program ({error.strerror})"
        return SourceError(f"{why}: {MORE}, and the verifier's log is in {keep_log(log)}")
    # Locked down the verifier says that it does not know the function that reads memory.
    kind = NotPermitted if log or error.errno in (errno.EPERM, errno.EACCES) else SourceError
    return kind(locked.error if log else why_refused(error).error)

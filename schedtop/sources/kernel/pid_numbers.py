"""The numbers of tasks that the kernel programs tell, in the numbers of our /proc: asks the kernel in a container."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

import numpy as np

from schedtop.model.source import SourceError
from schedtop.sources.host.pid_numbers import PROC, PidNumbers, SameNumbers, UnknownNumbers, own_number, shows_host
from schedtop.sources.kernel import bpf_syscall as calls
from schedtop.sources.kernel.btf import Btf, BtfError
from schedtop.sources.kernel.compiler import Compiled, compile_programs
from schedtop.sources.kernel.findings import privileges
from schedtop.sources.kernel.front_end import Hook
from schedtop.sources.kernel.kept_btf import with_kept_btf
from schedtop.sources.kernel.loader import Loader
from schedtop.sources.kernel.program_cache import compiled_before
from schedtop.sources.kernel.program_text import program_text, source_directory

LEARN_S, KEEP_S, HURRY_S = 1.0, 2.0, 0.05
"""How often it is asked for tasks of the host that are not known, how long what is known may be old, and how often it
is asked for those of /proc, which are there."""

_FUNCTION = 12  # BTF_KIND_FUNC


class TranslatedNumbers(Loader):
    """Asks for the numbers in our pid namespace, at most once a second (bpf/pids.c; kernel 5.8 and later)."""

    note = "tids are the host's, not those of this pid namespace"
    for_calls = True

    def __init__(self, namespace: int) -> None:
        """`namespace`: the inode number of ours. Raises SourceError, BtfError."""
        flags, target = with_kept_btf(_flags)
        super().__init__(_build(flags), {"iter_task": Hook("iter", target)})
        with self._opening():
            self._create_maps()
            self._view("wanted", writable=True)[:] = namespace
            self._start()
        self._learned_s = -KEEP_S
        self._inside: dict[int, int] = {}
        self._of_host: dict[int, int] = {}
        self.own = self.of_host(os.getpid())

    def inside(self, number: int) -> int:
        self._learn(KEEP_S if number in self._inside else LEARN_S)
        return self._inside.get(number, 0)

    def of_host(self, number: int) -> int:
        self._learn(KEEP_S if number in self._of_host else HURRY_S)
        return self._of_host.get(number, 0)

    def _learn(self, oldest_s: float) -> None:
        """Asks the kernel, if what it said is older than that."""
        now_s = time.monotonic()
        if now_s - self._learned_s < oldest_s:
            return
        self._learned_s = now_s
        spec = self._compiled.maps["numbers"]
        rows = np.frombuffer(calls.read_iterator(self._attached["iter_task"][0]), spec.dtype)
        hosts, insides = rows["tid"].tolist(), rows["inside"].tolist()
        self._inside = dict(zip(hosts, insides, strict=True))
        self._of_host = dict(zip(insides, hosts, strict=True))


@lru_cache(maxsize=1)
def pid_numbers() -> PidNumbers:
    """Of this process, found out once: it never changes its namespace. It takes a kernel program in a container."""
    if shows_host():
        return SameNumbers()
    if privileges.programs().state == "missing":
        return SameNumbers()  # there is no source but /proc
    if own_number(PROC) != os.getpid():
        return UnknownNumbers()  # /proc is that of yet another namespace, or not there
    try:
        link = os.readlink(PROC / "self" / "ns" / "pid")
        return TranslatedNumbers(int(link.removeprefix("pid:[").removesuffix("]")))
    except (OSError, ValueError, BtfError, SourceError):
        return UnknownNumbers()


def numbers_in(proc: Path) -> PidNumbers:
    """`pid_numbers` of the real /proc; one that a test made up has the host's."""
    return pid_numbers() if proc == PROC else SameNumbers(proc)


def own_tgid(source: str) -> int:
    """This process as the tables of a source have it, 0 if that cannot be told. `source`: the option's value."""
    if source in ("proc", "synthetic"):
        return own_number(PROC) or os.getpid()
    return pid_numbers().own


def _flags(btf: Btf) -> tuple[tuple[str, ...], int]:
    """Flags of bpf/pids.c, and the BTF id of what is iterated. Raises BtfError where the kernel has no such thing."""
    places = {
        "TASK_THREAD_PID_OFFSET": ("task_struct", "thread_pid"),
        "TASK_TID_OFFSET": ("task_struct", "pid"),
        "PID_LEVEL_OFFSET": ("pid", "level"),
        "PID_NUMBERS_OFFSET": ("pid", "numbers"),
        "UPID_NUMBER_OFFSET": ("upid", "nr"),
        "UPID_NAMESPACE_OFFSET": ("upid", "ns"),
        "PID_NAMESPACE_ID_OFFSET": ("pid_namespace", "ns.inum"),
    }
    flags = [f"-D{name}={btf.offset(*place)}" for name, place in places.items()]
    flags.append(f"-DUPID_NEXT={btf.offset('upid', 'ns') + 8}")
    flags.append(f"-DBPF_SEQ_WRITE={btf.enumerator('bpf_func_id', 'BPF_FUNC_seq_write')}")
    return tuple(flags), btf.type_id("bpf_iter_task", _FUNCTION)


def _build(flags: tuple[str, ...]) -> Compiled:
    directory = source_directory()
    text = program_text(directory, "pids.c")
    return compiled_before(text, flags, lambda: compile_programs(text, flags, directory))

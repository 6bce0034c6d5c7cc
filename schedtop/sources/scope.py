"""Scope: which tasks' waits count at all, decided in the kernel by the task that waits.

It becomes a C expression of the task's slot `s` that is compiled into the programs: without a scope it costs nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from schedtop.model.rows import text
from schedtop.model.source import SourceError
from schedtop.sources.host.cgroups import cpu_hierarchy, find_group, read_mounts
from schedtop.sources.host.namespaces import pid_namespace
from schedtop.sources.host.pid_numbers import PidNumbers, SameNumbers
from schedtop.sources.host.task_cgroups import levels_above
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.kernel.pid_numbers import pid_numbers

_WORD = 8


class Named(Protocol):
    """A front end of any measurement."""

    @property
    def name(self) -> str:
        """`btf` or `tracepoint`."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Every part that is given must hold; within a part one value is enough.

    `comms`: parts of names, upper and lower case alike. `cgroup`: path, id and what is below it;
    `levels_above`: how far its hierarchy's mount is below the host's. `pid_namespace`: inode number.
    """

    tids: tuple[int, ...] = ()
    tgids: tuple[int, ...] = ()
    comms: tuple[str, ...] = ()
    cgroup: tuple[str, int] | None = None
    pid_namespace: int = 0
    levels_above: int = 0

    def __bool__(self) -> bool:
        return bool(self.tids or self.tgids or self.comms or self.cgroup or self.pid_namespace)

    def __str__(self) -> str:
        """In words, as a filter is typed."""
        parts = [("pid", self.tgids), ("tid", self.tids), ("comm", self.comms)]
        words = [f"{key}:{','.join(map(str, values))}" for key, values in parts if values]
        words += [f"cgroup:{text(os.fsencode(self.cgroup[0]))}"] if self.cgroup else []
        return " ".join([*words, f"pidns:{self.pid_namespace}"] if self.pid_namespace else words)

    def flags(self, front_end: Named) -> tuple[str, ...]:
        """Compiler flags. Raises SourceError where the front end cannot tell."""
        if not self:
            return ()
        for part, option in ((self.cgroup, "--cgroup"), (self.pid_namespace, "--pidns")):
            if part and front_end.name != "btf":
                raise SourceError(f"{option} needs a kernel with BTF: this one tells no task's groups at a switch")
        parts = [
            _any_of("(s)->tid", self.tids),
            _any_of("(s)->tgid", self.tgids),
            " || ".join(_has_part(comm) for comm in self.comms),
            "((s)->flags & TASK_IN_CGROUP)" if self.cgroup else "",
            f"(s)->pid_namespace == {self.pid_namespace}u" if self.pid_namespace else "",
        ]
        expression = " && ".join(f"({part})" for part in parts if part)
        namespace = ("-DSELECTED_PID_NAMESPACE",) if self.pid_namespace else ()
        return ("-DFILTERED", f"-DSELECTED(s)=({expression})", *namespace, *self._cgroup_flags())

    def _cgroup_flags(self) -> tuple[str, ...]:
        if not self.cgroup:
            return ()
        path, number = self.cgroup
        level = self.levels_above + len([name for name in path.split("/") if name])
        return (f"-DSELECTED_CGROUP={number}ULL", f"-DSELECTED_CGROUP_LEVEL={level}")


def find_scope(
    pids: tuple[int, ...],
    tids: tuple[int, ...],
    comms: tuple[str, ...],
    cgroup: str | None,
    pidns: str | None,
    source: str = "auto",
) -> Scope:
    """The Scope of the options of those names. Raises ValueError with a sentence that names the option.

    `pids` and `tids` are those of /proc here; the Scope has the host's, which is what the kernel programs see.
    """
    numbers = SameNumbers() if source == "proc" else pid_numbers()
    pids, tids = (_tasks(kind, given, numbers) for kind, given in (("pid", pids), ("tid", tids)))
    for comm in comms:
        if len(comm.encode()) >= SCHEDULER.COMM_BYTES:
            raise ValueError(f"--comm: the kernel keeps {SCHEDULER.COMM_BYTES - 1} bytes of a name, {comm!r} has more")
    group, above = (None, 0) if cgroup is None else _group(cgroup)
    try:
        namespace = 0 if pidns is None else pid_namespace(pidns)
    except ValueError as error:
        raise ValueError(f"--pidns: {error}") from error
    return Scope(tids, pids, comms, group, namespace, above)


def _tasks(kind: str, given: tuple[int, ...], numbers: PidNumbers) -> tuple[int, ...]:
    """The host's numbers of the tasks of an option. Raises ValueError."""
    for number in given:
        if not number or not Path(f"/proc/{number}").exists():
            raise ValueError(f"--{kind}: there is no task {number} {_where(numbers)}")
        if kind == "pid" and (process := _process_of(number)) != number:
            raise ValueError(f"--pid: {number} is a thread of process {process}: use --tid {number} or --pid {process}")
    return _of_host(kind, given, numbers)


def _group(name: str) -> tuple[tuple[str, int], int]:
    """The group that --cgroup names, and the levels above its mount. Raises ValueError."""
    root = cpu_hierarchy(read_mounts())
    if root is None:
        raise ValueError("--cgroup: this host has no cgroups")
    try:
        return find_group(root, name), levels_above(root)
    except ValueError as error:
        raise ValueError(f"--cgroup: {error}") from error


def _where(numbers: PidNumbers) -> str:
    return (
        "in this pid namespace (the tables show the host's numbers, this option takes those of `ps` here)"
        if numbers.note
        else "on this host"
    )


def _of_host(kind: str, found: tuple[int, ...], numbers: PidNumbers) -> tuple[int, ...]:
    """The host's numbers of tasks. Raises ValueError where they cannot be told."""
    for number in found:
        if not numbers.of_host(number):
            raise ValueError(
                f"--{kind}: the host has another number for task {number} of this pid namespace, and it cannot be found"
                " out: run schedtop with the host's pid namespace (docker run --pid=host)"
            )
    return tuple(map(numbers.of_host, found))


def _process_of(tid: int) -> int:
    """The process of a thread; its own if that cannot be told any more."""
    try:
        with open(f"/proc/{tid}/status", "rb") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(b"Tgid:"))
    except (OSError, StopIteration):
        return tid


def _any_of(field: str, values: tuple[int, ...]) -> str:
    return " || ".join(f"{field} == {value}u" for value in values)


def _has_part(comm: str) -> str:
    """Whether a name of 16 bytes has this in it: compared as words at every place where it fits."""
    wanted = comm.encode().lower()[: SCHEDULER.COMM_BYTES - 1]  # ASCII letters, as in the kernel side
    return " || ".join(_matches_at(wanted, place) for place in range(SCHEDULER.COMM_BYTES - len(wanted)))


def _matches_at(wanted: bytes, place: int) -> str:
    tests = []
    for start in range(0, len(wanted), _WORD):
        word = wanted[start : start + _WORD]
        # Bit 5 tells upper from lower case letters; it is set on both sides before they are compared.
        case = bytes(0x20 if chr(byte).isascii() and chr(byte).isalpha() else 0 for byte in word)
        case_bits, mask, value = (int.from_bytes(part, "little") for part in (case, b"\xff" * len(word), word))
        load = f"*(u64 *)((s)->comm + {place + start})"
        tests.append(f"((({load}) | {case_bits:#x}ULL) & {mask:#x}ULL) == {value:#x}ULL")
    return f"({' && '.join(tests)})"

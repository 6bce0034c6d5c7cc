"""System calls of a task: counted, the slowest one by one, and those under way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

SLOWEST = 10
"""How many slow calls a TaskFrame keeps."""


@dataclass(frozen=True, slots=True)
class Syscall:
    """Calls of one system call that ended in the interval; `total_ns` and `max_ns` from enter to exit.

    `blocked_ns`: not runnable meanwhile, of calls under way, too. `errors`: how often it returned which (`ENOENT`);
    calls that restart themselves return ERESTARTSYS and the like, as strace says, too.
    """

    number: int
    name: str
    count: int
    total_ns: int
    max_ns: int
    blocked_ns: int
    errors: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def error_count(self) -> int:
        """How many of them failed."""
        return sum(self.errors.values())

    def __add__(self, later: Syscall) -> Syscall:
        names = {*self.errors, *later.errors}
        return Syscall(
            self.number,
            self.name,
            self.count + later.count,
            self.total_ns + later.total_ns,
            max(self.max_ns, later.max_ns),
            self.blocked_ns + later.blocked_ns,
            MappingProxyType({name: self.errors.get(name, 0) + later.errors.get(name, 0) for name in sorted(names)}),
        )


@dataclass(frozen=True, slots=True)
class SlowCall:
    """One slow system call. `time_ns`: wall-clock time at its end; `error`: a name like `EAGAIN`, or empty.

    `result`: what it returned; `None`: an address, which would tell where the process is loaded (ASLR).
    """

    time_ns: int
    tid: int
    number: int
    name: str
    duration_ns: int
    blocked_ns: int
    result: int | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class OngoingCall:
    """The system call that a thread is in at the end of the interval, for `duration_ns` so far.

    `at_least`: it began before the task view was opened, when exactly is not known.
    """

    tid: int
    number: int
    name: str
    duration_ns: int
    at_least: bool = False


def slowest(calls: Iterable[SlowCall]) -> tuple[SlowCall, ...]:
    """The SLOWEST of them, the slowest first."""
    return tuple(sorted(calls, key=lambda call: -call.duration_ns)[:SLOWEST])


def syscall_order(call: Syscall) -> tuple[int, str]:
    """The most time first."""
    return (-max(call.total_ns, call.blocked_ns), call.name)

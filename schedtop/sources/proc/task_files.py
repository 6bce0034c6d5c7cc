"""One task's files in /proc, read with as few system calls as can be: what the kernel tells anybody of it.

The formats are those of Documentation/filesystems/proc.rst and Documentation/scheduler/sched-stats.rst.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

from schedtop.base.units import NS_PER_S
from schedtop.model.sched_class import Treatment
from schedtop.sources.host.task_stat import treatment_of

SCHEDSTAT_BYTES = 64
"""Three numbers of 20 digits at most."""

TICK_NS = NS_PER_S // os.sysconf("SC_CLK_TCK")
_STATUS_BYTES = 4096
_KWORKER = re.compile(rb"kworker/(?!R-)[^-+]*")
# Fields of /proc/TID/stat from the state on (man 5 proc, there numbered from 3).
_PRIORITY, _NICE, _POLICY = 15, 16, 38

_SWITCHES, _TGID, _ALLOWED = b"\nvoluntary_ctxt_switches:", b"\nTgid:", b"\nCpus_allowed:"

Schedstat = tuple[int, int, int]
"""On-CPU time and run delay in nanoseconds, and timeslices (how often it was given a CPU), since the task began."""


@dataclass(frozen=True, slots=True)
class Status:
    """What /proc/TID/status says: switches since the task began; `allowed_cpus` counts those of its affinity mask."""

    tgid: int
    voluntary: int
    involuntary: int
    allowed_cpus: int


@dataclass(frozen=True, slots=True)
class Stat:
    """What /proc/TGID/task/TID/stat says. `start_ns` is after boot, in steps of a clock tick (10 ms)."""

    comm: bytes
    start_ns: int
    last_cpu: int
    treatment: Treatment


def read_file(path: str, most: int = _STATUS_BYTES) -> bytes:
    """The beginning of a file; empty if it is not there, or may not be read: the task is gone, for us."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, most)
    except OSError:  # it ended in between (ESRCH)
        return b""
    finally:
        os.close(descriptor)


def read_all(descriptors: Sequence[int]) -> list[bytes]:
    """The schedstat of tasks with an open file, empty of those that have ended.

    An open file stays with its task: another one that gets the same tid is never read for it.
    """
    texts: list[bytes] = []
    while len(texts) < len(descriptors):
        rest = descriptors[len(texts) :]
        try:
            # extend keeps what came before the error.
            texts.extend(map(os.pread, rest, repeat(SCHEDSTAT_BYTES), repeat(0)))
        except OSError:
            texts.append(b"")
    return texts


def parse_schedstat(text: bytes) -> Schedstat:
    """The numbers of a schedstat file. Raises ValueError."""
    run_ns, run_delay_ns, timeslices = map(int, text.split())
    return run_ns, run_delay_ns, timeslices


def read_status(tid: int) -> Status | None:
    """The status of a task, `None` if it is gone."""
    path = f"/proc/{tid}/status"
    text = read_file(path)
    if len(text) == _STATUS_BYTES and _SWITCHES not in text:  # very many groups
        text = read_file(path, 1 << 20)
    return parse_status(text)


def parse_status(text: bytes) -> Status | None:
    """The status in a text, `None` where it does not have it."""
    place = text.rfind(_SWITCHES)
    if place < 0:
        return None
    try:
        voluntary, involuntary = text[place:].split(None, 4)[1:4:2]
        return Status(int(_field(text, _TGID)), int(voluntary), int(involuntary), _bits(_field(text, _ALLOWED)))
    except (ValueError, IndexError):
        return None


def read_stat(tgid: int, tid: int) -> Stat | None:
    """The stat of a thread, `None` if it is gone. That of /proc/TID would add up all threads, which takes long."""
    return parse_stat_of_task(read_file(f"/proc/{tgid}/task/{tid}/stat"))


def parse_stat_of_task(text: bytes) -> Stat | None:
    """The stat in a text, `None` where it does not have it. The name may hold anything, brackets and blanks too."""
    begin, end = text.find(b"("), text.rfind(b")")
    fields = text[end + 2 :].split()
    try:
        told = treatment_of(*(int(fields[place]) for place in (_PRIORITY, _NICE, _POLICY)))
        return Stat(_comm(text[begin + 1 : end]), int(fields[19]) * TICK_NS, int(fields[36]), told)
    except (ValueError, IndexError):
        return None


def _comm(name: bytes) -> bytes:
    """A kernel worker without what it works on just now: its own name is what other sources tell."""
    found = _KWORKER.match(name)
    return (found[0] if found else name)[:15]


def _field(text: bytes, name: bytes) -> bytes:
    place = text.index(name) + len(name)
    return text[place : text.index(b"\n", place)].strip()


def _bits(mask: bytes) -> int:
    """How many CPUs a mask like `ff,ffffffff` has."""
    return int(mask.replace(b",", b""), 16).bit_count()

"""What /proc tells of the threads of a task: what each is doing, how often it faulted, how long it ran."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from schedtop.model.rows import text
from schedtop.model.sched_class import Treatment
from schedtop.sources.host.task_stat import scheduling_of, stat_fields
from schedtop.task.states import STATES

RUNNING, RUNNABLE, SLEEPING, UNINTERRUPTIBLE, STOPPED, THROTTLED = range(len(STATES))
"""Places in STATES; the kernel side has the same numbers."""

_STATES = {"R": RUNNING, "D": UNINTERRUPTIBLE, "T": STOPPED, "t": STOPPED}

# Fields of /proc/TID/stat from the state on (man 5 proc, there numbered from 3).
_STATE, _MIN_FLT, _MAJ_FLT, _THREADS, _EXIT_CODE = 0, 7, 9, 17, 49


@dataclass(frozen=True, slots=True)
class ThreadStat:
    """Of /proc/TGID/task/TID/stat: `state` of bpf/task/task.h, faults since it began, and how it is scheduled."""

    state: int
    minor: int
    major: int
    nice: int
    rt_priority: int
    policy: str
    treatment: Treatment


def thread_ids(tgid: int, proc: Path = Path("/proc")) -> list[int]:
    """The threads of a process; none if it is gone."""
    try:
        return sorted(int(name) for name in os.listdir(proc / str(tgid) / "task"))
    except OSError:
        return []


def comm(tgid: int, tid: int, proc: Path = Path("/proc")) -> str:
    """A thread's name, empty if it is gone."""
    try:
        return text((proc / str(tgid) / "task" / str(tid) / "comm").read_bytes().rstrip(b"\n"))
    except OSError:
        return ""


def read_status(task: Path) -> dict[str, str]:
    """The fields of a task's status. Raises OSError."""
    # Not splitlines: a task may have a form feed in its name, and what looks like a field after it.
    lines = (task / "status").read_bytes().decode("utf-8", "replace").split("\n")
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def read_stat(tgid: int, tid: int, proc: Path = Path("/proc")) -> ThreadStat | None:
    """What a thread is now, `None` if it is gone."""
    fields = _stat_fields(tgid, tid, proc)
    if not fields or fields[_STATE] in "ZX":
        return None
    try:
        minor, major = int(fields[_MIN_FLT]), int(fields[_MAJ_FLT])
        how = scheduling_of(fields)
    except (ValueError, IndexError):
        return None  # cut off
    state = _STATES.get(fields[_STATE], SLEEPING)
    return ThreadStat(state, minor, major, how.nice, how.rt_priority, how.policy, how.treatment)


def thread_count(tgid: int, proc: Path = Path("/proc")) -> int:
    """How many threads a process has, 0 if it is gone."""
    fields = _stat_fields(tgid, tgid, proc)
    return int(fields[_THREADS]) if len(fields) > _THREADS and fields[_THREADS].isdecimal() else 0


def exit_code(tgid: int, tid: int, proc: Path = Path("/proc")) -> int | None:
    """How a thread ended, as wait() gives it, as long as its parent has not asked for it; `None` if it is gone."""
    fields = _stat_fields(tgid, tid, proc)
    return os.waitstatus_to_exitcode(int(fields[_EXIT_CODE])) if fields else None


def _stat_fields(tgid: int, tid: int, proc: Path) -> list[str]:
    """Of /proc/TGID/task/TID/stat, from the state on; nothing if it is gone."""
    try:
        line = (proc / str(tgid) / "task" / str(tid) / "stat").read_bytes()
    except OSError:
        return []
    return stat_fields(line)


def run_ns(tgid: int, tid: int, proc: Path = Path("/proc")) -> int:
    """How long a thread has run so far, by the kernel's count; 0 where it is not kept."""
    try:
        return int((proc / str(tgid) / "task" / str(tid) / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0

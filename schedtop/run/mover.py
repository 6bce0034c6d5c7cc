"""Where far more is runnable than there are CPUs, a process beside us that moves our starving threads to another CPU.

Under EEVDF a task that has had more than its share waits until the average of its queue has passed it. Where ever new
sessions are made (each an autogroup), they come in at the average and leave with their debts, so the average stands
still, and a thread of any nice value waits for seconds. A thread that is moved is placed anew, and runs. What was
measured: docs/decisions.md, Priority.
"""

from __future__ import annotations

import os
import select
from contextlib import suppress

CROWD = 3
"""How many tasks are runnable for each CPU."""

LOOK_S = 0.01
STARVING_LOOKS = 2
"""A thread without a slice for so many looks is moved."""

CALM_S = 1.0
"""How often it asks for a crowd while there is none."""

_STATE, _CPU = 0, 36  # fields of /proc/PID/stat behind the name (man 5 proc)

Had = tuple[bytes, bytes]
"""Run time and time slices."""


class Mover:
    """Of the threads of a process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._looks: dict[int, tuple[Had, int]] = {}

    def look(self) -> None:
        """Moves what has had nothing since the looks before."""
        seen = {}
        for task in _tasks_of(self._pid):
            with suppress(OSError):  # it has ended
                tid, had = int(task.rpartition("/")[2]), _had(task)
                before, count = self._looks.get(tid, (None, 0))
                count = count + 1 if had == before else 0
                if count >= STARVING_LOOKS:
                    _move(task, tid)
                    count = 0
                seen[tid] = had, count
        self._looks = seen


def crowded(proc: str = "/proc") -> bool:
    """Whether more than `CROWD` tasks are runnable for each CPU."""
    with open(f"{proc}/loadavg", "rb") as file:
        return int(file.read().split()[3].partition(b"/")[0]) > CROWD * (os.cpu_count() or 1)


def begin() -> int | None:
    """Starts one for this process, if there is a crowd, and gives its pid. Must come before any thread is started.

    It ends with us.
    """
    try:
        if not crowded() or os.readlink("/proc/self") != str(os.getpid()):  # a /proc of other numbers than ours
            return None
        ended, held = os.pipe()  # we hold it as long as we live
        pid, mover = os.getpid(), os.fork()
    except OSError:
        return None
    if mover:
        os.close(ended)
        return mover
    try:
        os.close(held)
        os.setsid()  # the group that starves is another one then
        for file, text in (("comm", b"schedtop-mover"), ("autogroup", b"%d" % os.getpriority(os.PRIO_PROCESS, 0))):
            with suppress(OSError), open(f"/proc/self/{file}", "wb") as out:
                out.write(text)
        _run(Mover(pid), ended)
    finally:
        os._exit(0)


def _run(mover: Mover, ended: int) -> None:
    pause_s = LOOK_S
    while not select.select([ended], [], [], pause_s)[0]:
        pause_s = LOOK_S if crowded() else CALM_S
        mover.look()


def _tasks_of(pid: int) -> list[str]:
    with suppress(OSError):
        return [f"/proc/{pid}/task/{tid}" for tid in os.listdir(f"/proc/{pid}/task")]
    return []


def _had(task: str) -> Had:
    with open(f"{task}/schedstat", "rb") as file:
        run_ns, _, slices = file.read().split()
    return run_ns, slices


def _move(task: str, tid: int) -> None:
    with open(f"{task}/stat", "rb") as file:
        stat = file.read().rpartition(b")")[2].split()
    allowed = os.sched_getaffinity(tid)
    others = allowed - {int(stat[_CPU])}
    if stat[_STATE] == b"R" and others:
        try:
            os.sched_setaffinity(tid, others)
        finally:
            os.sched_setaffinity(tid, allowed)

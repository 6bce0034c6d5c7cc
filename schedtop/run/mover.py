"""A process beside us that looks after our threads where far more is runnable than there are CPUs.

Under EEVDF a task that has had more than its share waits until the average of its queue has passed it. Where ever new
sessions are made (each an autogroup), they come in at the average and leave with their debts, so the average stands
still, and a thread of any nice value waits for seconds. A thread that is moved is placed anew, and runs. While there is
no such crowd our threads have long slices, so that whoever is woken goes first; in a crowd late deadlines never come.

It is there from the start, and asleep: a thread of ours that starves could not start it. What was measured:
docs/decisions.md, Priority.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from contextlib import suppress

from schedtop.base.helpers import HELPERS
from schedtop.base.time_slice import DEFAULT, LONG_NS, set_slice

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

    def forget(self) -> None:
        """The looks before are long ago."""
        self._looks = {}


class Slices:
    """Of the threads of a process, and our own. A new one inherits that of the one that starts it."""

    def __init__(self, pid: int, ask: Callable[[int, int], None] = set_slice) -> None:
        self._pid = pid
        self._ask = ask
        self._now = DEFAULT

    def adjust(self, is_crowded: bool) -> None:
        """Long ones, or ordinary ones in a crowd."""
        wanted = DEFAULT if is_crowded else LONG_NS
        if wanted != self._now:
            for task in {*_tasks_of(self._pid), *_tasks_of(os.getpid())}:
                self._ask(int(task.rpartition("/")[2]), wanted)
            self._now = wanted


def crowded(proc: str = "/proc") -> bool:
    """Whether more than `CROWD` tasks are runnable for each CPU."""
    with open(f"{proc}/loadavg", "rb") as file:
        return int(file.read().split()[3].partition(b"/")[0]) > CROWD * (os.cpu_count() or 1)


def begin() -> int | None:
    """Starts one for this process, and gives its pid. Must come before any thread is started.

    It ends with us. Without one, slices stay as they are: nothing would take long ones back.
    """
    try:
        if os.readlink("/proc/self") != str(os.getpid()):  # a /proc of other numbers than ours
            return None
        slices = Slices(os.getpid())
        slices.adjust(crowded())
        ended, held = os.pipe()  # we hold it as long as we live
        pid, mover = os.getpid(), os.fork()
    except OSError:
        return None
    if mover:
        os.close(ended)
        HELPERS.append(mover)
        return mover
    try:
        os.close(held)
        _stand_apart()
        _run(Mover(pid), slices, ended)
    finally:
        os._exit(0)


def _stand_apart() -> None:
    """In a session of its own: the one that starves is another group then. No stream of ours stays open for it."""
    os.setsid()
    for file, text in (("comm", b"schedtop-mover"), ("autogroup", b"%d" % os.getpriority(os.PRIO_PROCESS, 0))):
        with suppress(OSError), open(f"/proc/self/{file}", "wb") as out:
            out.write(text)
    with suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)


def _run(mover: Mover, slices: Slices, ended: int) -> None:
    """Until the process has ended."""
    pause_s = LOOK_S
    while not select.select([ended], [], [], pause_s)[0]:
        is_crowded = crowded()
        slices.adjust(is_crowded)
        if is_crowded:
            mover.look()
        else:
            mover.forget()
        pause_s = LOOK_S if is_crowded else CALM_S


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

"""The nice value of our session among the other sessions, where the kernel groups tasks by session.

With CONFIG_SCHED_AUTOGROUP, nice acts only between the tasks of one session (kernel/sched/autogroup.c); the session has
a nice value of its own in /proc/PID/autogroup. It holds for everything in the session and outlives us. So it is raised
only while the rest of the session is calm, and given back when we end, are suspended, or others begin to work in it.

It is the first thing of all that is imported, so it imports little: on a host on fire each millisecond takes fifty.
"""

from __future__ import annotations

import os
import signal
import time
from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

CALM = 0.1
"""How much of a CPU the rest of a calm session takes: shells, `sudo`, and what reads our output."""

CHECK_S = 2.0
COST_SHARE = 0.001
"""How often it is checked whether the rest is still calm, and the most of a CPU that this may take."""

WRITER_S = 0.1
"""For so long a thread is waited for that takes it at this moment."""

YOUNG_S = 1.0
"""The start of a process takes all of a CPU and says little: its time is spread over this at least."""

Process = tuple[int, float, float]
"""One of the session: its parent, its CPU time with that of its ended children, and its age, in seconds."""

_TICKS = os.sysconf("SC_CLK_TCK")
_PPID, _TIMES, _STARTED = 1, slice(11, 15), 19  # fields of /proc/PID/stat behind the name (man 5 proc)


class SessionNice:
    """Raises and gives back the nice value of this process's session.

    All that a signal's handler or another thread may see is one attribute, `_before`: it is set before the value is
    written, and reset after it is given back. `_writer` is the thread that takes it at this moment, 0: none.
    """

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._file = f"{proc}/self/autogroup"
        self._before: int | None = None
        self._ours = 0
        self._away = True
        self._newest = b""
        self._pids: list[str] = []
        self._writer = 0

    @property
    def raised(self) -> bool:
        """Whether it is raised by us now."""
        return self._before is not None

    @property
    def nice(self) -> int | None:
        """What it is raised to, `None`: it is not raised by us."""
        return self._ours if self.raised else None

    def begin(self) -> dict[int, Process]:
        """From here on it may be taken. Gives `others`; raises OSError where nothing can be raised."""
        if os.geteuid() or not os.access(self._file, os.W_OK):
            raise OSError("the kernel does not group by session, or does not let us")
        self._away = False
        return self.others()

    def end(self) -> None:
        """From here on it is not taken any more."""
        self._away = True
        self._wait_for_writer()
        self.give_back()

    def take(self, nice: int) -> None:
        """Raises it to `nice`, if it is lower, and the system lets us.

        Exactly `nice` is what a schedtop that was killed has left: it is ours then, and 0 before.
        """
        self._writer = get_ident()
        try:
            with suppress(OSError, ValueError):
                before = self._read()
                if self._before is None and not self._away and before >= nice:
                    before = before if before > nice else 0
                    self._before, self._ours = before, nice
                    self._write(nice)
                    if self._away:  # ended or suspended meanwhile, and perhaps given back before it was written
                        self._before = before
                        self.give_back()
        finally:
            self._writer = 0

    def give_back(self) -> None:
        """As it was before, unless it has been changed by others meanwhile. What is refused now is tried at the end."""
        before = self._before
        if before is None:
            return
        with suppress(OSError, ValueError):  # a handler may run while this thread has the rights of a user
            if self._read() == self._ours:
                self._write(before)
            self._before = None

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """While it lasts, it is as it was before: we are suspended."""
        was_raised, was_away, self._away = self.raised, self._away, True
        self._wait_for_writer()
        self.give_back()
        try:
            yield
        finally:
            self._away = was_away
            if was_raised:
                self.take(self._ours)

    def others(self) -> dict[int, Process]:
        """What else is in our session, without what we have started. Raises OSError where that cannot be told."""
        own, session = os.getpid(), os.getsid(0)
        if not session:
            raise OSError("the session began outside of our namespace of processes")
        if os.readlink(f"{self._proc}/self") != str(own):
            raise OSError("/proc has other numbers than system calls")
        members = {}
        now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        for name in self._candidates():
            with suppress(OSError):  # it has ended
                if os.getsid(int(name)) == session:
                    with open(f"{self._proc}/{name}/stat", "rb") as stat:
                        members[int(name)] = _process(stat.read(), now_s)
        self._pids = [str(pid) for pid in members]
        return {pid: one for pid, one in members.items() if own not in (pid, *ancestors(pid, members))}

    def _candidates(self) -> list[str]:
        """The processes that may be in our session: those that were, as long as no new one has been started at all."""
        with open(f"{self._proc}/loadavg", "rb") as file:
            newest = file.read().split()[-1]
        if newest != self._newest:
            self._pids = [name for name in os.listdir(self._proc) if name.isdecimal()]
            self._newest = newest
        return self._pids

    def _wait_for_writer(self) -> None:
        """Ours may be the process's last moment, and another thread about to write. A handler waits for its own not."""
        deadline_s = time.monotonic() + WRITER_S
        while self._writer not in (0, get_ident()) and time.monotonic() < deadline_s:
            time.sleep(0.001)

    def _read(self) -> int:
        """The value now (`/autogroup-13 nice 0`). Raises OSError, ValueError where there is none."""
        with open(self._file, "rb") as file:
            return int(file.read().rpartition(b" ")[2])

    def _write(self, nice: int) -> None:
        with open(self._file, "wb") as file:
            file.write(b"%d" % nice)


OWN = SessionNice()
"""Of this process."""


def raise_session(nice: int) -> dict[int, Process] | None:
    """From here to `OWN.end`, our session may have that nice value. Gives what else is in it; `None`: it may not."""
    try:
        others = OWN.begin()
    except OSError:
        return None
    if calm_at_first(others, os.getpid(), os.getppid()):
        OWN.take(nice)
    return others


def watch_session(nice: int, others: dict[int, Process]) -> None:
    """From here to `OWN.end`, it has that nice value whenever the rest of it is calm. For the main thread."""
    import threading  # late: what comes before must be done first, see above

    threading.Thread(target=_watch, args=(nice, others), name="schedtop-session", daemon=True).start()
    if signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
        signal.signal(signal.SIGTSTP, _suspend)


def make_ordinary() -> None:
    """Takes the raised priority from the calling thread alone, where the system lets us."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(0, os.getpriority(os.PRIO_PROCESS, 0)))


def calm_at_first(others: dict[int, Process], own: int, parent: int) -> bool:
    """Whether a session that is seen for the first time is calm, by the times that its processes have had so far.

    Those that wait for us (the shell, `sudo`) have no part in it, whatever they have done before.
    """
    waiting = {parent, *ancestors(parent, others)}
    used = [cpu_s / max(age_s, YOUNG_S) for pid, (_, cpu_s, age_s) in others.items() if pid not in waiting]
    return sum(used) < CALM


def used_between(earlier: dict[int, Process], later: dict[int, Process]) -> float:
    """CPU time in seconds that the others have had between. What has ended is in its parent's."""
    return max(0.0, sum(one[1] for one in later.values()) - sum(one[1] for one in earlier.values()))


def ancestors(pid: int, members: dict[int, Process]) -> list[int]:
    """The parent of a process, its parent and so on, as far as they are in the session."""
    found: list[int] = []
    while (one := members.get(pid)) and one[0] in members and one[0] not in found:
        pid = one[0]
        found.append(pid)
    return found


def _process(stat: bytes, now_s: float) -> Process:
    fields = stat.rpartition(b")")[2].split()
    return int(fields[_PPID]), sum(map(int, fields[_TIMES])) / _TICKS, now_s - int(fields[_STARTED]) / _TICKS


def _watch(nice: int, others: dict[int, Process]) -> None:
    """Takes and gives back as the rest of the session grows calm or begins to work. In no hurry."""
    make_ordinary()
    pause_s, since_s = CHECK_S, time.monotonic()
    while True:
        time.sleep(pause_s)
        begin_s = time.thread_time()
        with suppress(OSError):
            now, now_s = OWN.others(), time.monotonic()
            if used_between(others, now) > CALM * (now_s - since_s):
                OWN.give_back()
            else:
                OWN.take(nice)
            others, since_s = now, now_s
        pause_s = max(CHECK_S, (time.thread_time() - begin_s) / COST_SHARE)


def _suspend(number: int, _frame: FrameType | None) -> None:
    """Stops the process as it would stop without a handler."""
    with OWN.given_back():
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, _suspend)

"""One run of the program: its signals, its working thread, its source, and what the user hears of errors."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TypeVar

from schedtop.base.units import NS_PER_S, printable
from schedtop.outputs.files import OutputError, write_file

if TYPE_CHECKING:
    from schedtop.model.source import Source
    from schedtop.sources.scope import Scope

Result = TypeVar("Result")

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NICE = -15
"""Our priority as root: nearly all of a CPU against a few busy loops of ordinary priority."""

FIRST_NS = NS_PER_S // 4
"""The dashboard's first interval: who starts it on a host that is on fire wants to see something."""

GRACE_S = 2.0
"""How long a signal waits for the source to close: the compiler cannot be interrupted, and may take long."""


class Interrupted(BaseException):
    """A signal asked the program to end, with `status`."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Signals:
    """Turns SIGINT, SIGTERM and SIGHUP into a request: `stop` is set, `status` says with which exit status to end.

    Signals that were ignored at the start stay so (nohup, a shell's background jobs).
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.status = 0
        self._deadline = 0.0
        self._raises = False
        self._wanted = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]

    def install(self) -> None:
        """Takes the signals."""
        for number in self._wanted:
            signal.signal(number, self._handle)

    def check(self) -> None:
        """Raises Interrupted if a signal has come."""
        if self.status:
            raise Interrupted(self.status)

    def answered(self) -> int:
        """The status of a signal that has come, 0 without one. What it asked for is done: the next one is a new one."""
        status, self.status = self.status, 0
        self.stop.clear()
        return status

    @contextmanager
    def raising(self) -> Iterator[None]:
        """While it lasts, a signal raises Interrupted at once: for writing, which may block for ever."""
        self._raises = True
        try:
            self.check()
            yield
        finally:
            self._raises = False

    @contextmanager
    def handed_over(self) -> Iterator[None]:
        """While it lasts, somebody else is to take the signals; one that comes before is sent again until they have."""

        def again(number: int, _frame: FrameType | None) -> None:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), number))
            timer.daemon = True
            timer.start()

        self.check()
        for number in self._wanted:
            signal.signal(number, again)
        try:
            yield
        finally:
            self.install()

    @property
    def overdue(self) -> bool:
        """Whether a signal has waited for too long, or has come twice."""
        return bool(self.status) and time.monotonic() > self._deadline

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self._deadline = 0 if self.status else time.monotonic() + GRACE_S
        self.status = self.status or 128 + number
        # Safe here because the main thread never waits for this event: it would hold its lock.
        self.stop.set()
        if self._raises:
            raise Interrupted(self.status)


def in_thread(work: Callable[[], Result], signals: Signals, meanwhile: Callable[[], object] = lambda: None) -> Result:
    """What `work` gives or raises; it runs in a thread, so that signals are heard while a compiler works.

    `meanwhile` is done here while it works. Signals only ask it to end. If it does not in time, the process ends here
    and the kernel detaches the programs.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # raised again below, where it is handled
            failure.append(error)

    thread = threading.Thread(target=run, name="schedtop-work", daemon=True)
    thread.start()
    meanwhile()
    while thread.is_alive():
        thread.join(0.1)
        if signals.overdue and thread.is_alive():
            _abandon(signals.status)
    if failure:
        # Stopping early is no failure of the source.
        signals.check()
        raise failure[0]
    return outcome[0]


def raise_priority() -> None:
    """Raises the priority of this process, if it may: on a saturated host the compiler would take seconds.

    Must come before any thread is started. With four busy loops a CPU, first data came after 0.9 s instead of 4.7 s.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, min(NICE, os.getpriority(os.PRIO_PROCESS, 0)))


def make_source(
    name: str,
    interval_ns: int,
    threshold_ns: int,
    *,
    scope: Scope,
    group: str = "",
    paced: bool = True,
    measured: bool = False,
    sampled: bool = False,
    say: Callable[[str], None] = lambda words: None,
) -> Source:
    """The source of that name, not yet open.

    `scope`: whose waits count; `group`: one of GROUPS, whose histograms are kept; empty: none;
    `paced`: for the eye, so a synthetic one takes as long as a live one, and the first Frame comes soon;
    `measured`: the kernel programs are timed; `sampled`: the run queues are sampled from the beginning; `say`: is told
    when `auto` has to do without privileges.
    """
    from schedtop.model.rows import GROUPS

    grouping = GROUPS[group] if group else ""
    if name == "synthetic":
        from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

        cpus = _synthetic_cpus()
        scenario = Scenario(cpus, tasks=max(40, min(2 * cpus, 1000)), interval_ns=interval_ns, frames=1_000_000)
        source = SyntheticSource(scenario, pace_s=interval_ns / NS_PER_S if paced else 0)
        source.set_threshold(threshold_ns)
        source.set_grouping(grouping)
        source.set_sampling(sampled)
        return source
    from schedtop.sources.choice import AutoSource
    from schedtop.sources.proc.source import ProcSource
    from schedtop.sources.scheduler.source import LiveSource

    first_ns = FIRST_NS if paced else None
    proc = ProcSource(interval_ns, threshold_ns, first_ns=first_ns, scope=scope)
    if name == "proc":
        return proc
    live = LiveSource(interval_ns, threshold_ns, name, first_ns=first_ns, scope=scope)
    live.set_measuring(measured)
    live.set_sampling(sampled)
    live.set_grouping(grouping)
    return AutoSource(live, proc, say) if name == "auto" else live


def _synthetic_cpus() -> int:
    """How many CPUs the made-up host of tests and demonstrations has."""
    wanted = os.environ.get("SCHEDTOP_SYNTHETIC_CPUS", "")
    return min(max(int(wanted), 1), 4096) if wanted.isdecimal() else 2


def opening_words(name: str) -> str:
    """What takes time when the source of that name is opened; nothing if it is quick."""
    return "" if name == "synthetic" or is_proc(name) else "compiling the kernel programs"


def is_proc(name: str) -> bool:
    """Whether the source of that name is /proc alone, as far as can be told before it is opened."""
    from schedtop.sources.choice import may_load_programs

    return name == "proc" or (name == "auto" and not may_load_programs())


@contextmanager
def progress(words: str) -> Iterator[None]:
    """Shows what takes time, if anything, on standard error while it lasts, if somebody sits there."""
    shown = bool(words) and sys.stderr is not None and sys.stderr.isatty()
    if shown:
        print(f"schedtop: {printable(words)} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            blank = " " * (len(words) + len("schedtop:  ..."))
            print(f"\r{blank}\r", end="", file=sys.stderr, flush=True)


def complain(message: str) -> None:
    """One line for the user on standard error."""
    if sys.stderr is not None:
        with suppress(OSError):
            # A message may hold the name of a file or a cgroup, and that may be anything.
            print(f"schedtop: {printable(' '.join(message.split()))}", file=sys.stderr, flush=True)


def report_crash(error: BaseException) -> None:
    """One line for the user, the traceback to a file."""
    import tempfile

    what = f"internal error: {type(error).__name__}: {error}"
    path = Path(tempfile.gettempdir()) / f"schedtop-{os.getpid()}-{time.time_ns()}.log"
    try:
        write_file(path, "".join(traceback.format_exception(error)))
    except OutputError as problem:
        complain(f"{what} ({problem})")
    else:
        complain(f"{what}; please report it with {path}")


def _abandon(status: int) -> NoReturn:
    """Ends the process while a thread waits for the compiler. Programs and maps go with their descriptors."""
    os._exit(status)

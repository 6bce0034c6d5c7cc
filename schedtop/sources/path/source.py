"""The path of a task or process of the live kernel, read again and again while it is open."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from schedtop.base.breath import Breath
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture.events import BEHIND, Capture
from schedtop.model.host import Host
from schedtop.model.source import SourceError
from schedtop.path.inversion import Inversion
from schedtop.path.live import PathFrame, PathLog, ended
from schedtop.path.paths import Paths, find_paths
from schedtop.path.subject import PathSubject
from schedtop.path.targets import Targets
from schedtop.sources.capture.source import DEFAULT_BUFFER_BYTES, CaptureSource
from schedtop.sources.capture.window import Window
from schedtop.sources.host.proc import possible_cpus
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.path.interrupts import PathInterrupts
from schedtop.sources.path.traits import with_traits

STACKS_NS = NS_PER_MS
"""Sleeps that are at least so long have stacks, and so names for where they were."""

CPU_BYTES = 8 << 20
"""A ring of 262,144 events for each CPU, which is emptied each 50 ms: of the 1.5 million a second of `stress-ng
--switch 4` up to 1 % found no room, of `hackbench` none. The kernel zeroes rings without a pause, 0.2 ms for a MiB."""

KEPT_NS = 10 * NS_PER_S
"""What is longer than this is seen from then on only."""

KEPT_EVENTS = 100_000
"""So many are kept of what has been looked at, 3 MB: a walk needs what was before, and preparing it costs time."""

KEPT_INTERRUPTS = 300_000
"""Likewise, 15 MB."""

MOST_EVENTS = 1_200_000
"""So many are held; if they come sooner than they are looked at, the oldest go, and that is told."""

POLL_NS = 50 * NS_PER_MS

MOST_WALKED = 100_000
"""So many intervals all walks of one time look at: about half a second, and the rings are emptied meanwhile."""

LARGEST_SHARE = 0.2
"""Of the time, in which it walks: the busier the host is, the less often it is read."""


class LivePath:
    """A PathSource: the programs of a capture with what paths need, attached while it is open."""

    def __init__(
        self,
        subject: PathSubject,
        min_ns: int = NS_PER_MS,
        *,
        interrupts: bool = False,
        source: str = "auto",
        interval_ns: int = NS_PER_S,
        buffer_bytes: int | None = None,
    ) -> None:
        """`interrupts`: each of them is noted as well, where this kernel tells them. `buffer_bytes`: of all rings."""
        self._subject = subject
        self._min_ns = min_ns
        self._interval_ns = interval_ns
        most_bytes = min(DEFAULT_BUFFER_BYTES, CPU_BYTES * possible_cpus())
        self._opened = CaptureSource(source, buffer_bytes or most_bytes, path_ns=STACKS_NS)
        self._with_interrupts = interrupts
        self._interrupts: PathInterrupts | None = None
        self._stack = ExitStack()
        self._breath = Breath()
        self._window: Window
        self._notes: tuple[str, ...] = ()
        self.host: Host

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            source = stack.enter_context(self._opened)
            self.host = source.host
            self._notes = (*source.host.notes, *source.unavailable.values())
            self._window = Window(source, most_events=MOST_EVENTS)
            if self._with_interrupts:
                self._add_interrupts(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._stack.close()
        self._interrupts = None

    def _add_interrupts(self, stack: ExitStack) -> None:
        """Without them the path is as good as ever."""
        try:
            self._interrupts = stack.enter_context(PathInterrupts(KEPT_INTERRUPTS))
        except SourceError as problem:
            self._notes = (*self._notes, f"without interrupts: {problem}")

    def frames(self, stop: threading.Event) -> Iterator[PathFrame]:
        """All since it was opened, each interval, and once more when the task has gone: then nothing is attached."""
        window, subject = self._window, self._subject
        targets = Targets(tgids=(subject.tgid,)) if subject.is_process else Targets(tids=(subject.tid,))
        log, start_ns = PathLog(subject.words), window.began_ns
        done_ns = due = start_ns
        while not self._poll_until(due := due + self._interval_ns, stop):
            is_there, began_ns = self._is_there(), time.thread_time_ns()
            paths = self._paths(targets, done_ns)
            unseen_ns = max(0, paths.capture.start_ns - done_ns)
            done_ns = paths.capture.end_ns
            log.add(paths, unseen_ns, window.lost, self._breath.take)
            frame = log.frame(paths, start_ns, _told(log, is_there), (*self._notes, *_without_queues(paths.capture)))
            if not is_there:
                self.__exit__()
                yield ended(frame)
                stop.wait()
                return
            yield frame
            window.forget(done_ns, KEPT_NS, KEPT_EVENTS)
            spent_ns = time.thread_time_ns() - began_ns
            due = max(due, time.monotonic_ns() + round(spent_ns / LARGEST_SHARE) - spent_ns - self._interval_ns)

    def _paths(self, targets: Targets, since_ns: int) -> Paths:
        between = _at_times(self._poll, self._breath)
        self._breath.begin()
        capture = self._window.capture(self._breath.take)
        if self._interrupts:
            capture = self._interrupts.noted(capture)
        self._breath.take()
        return find_paths(capture, targets, self._min_ns, since_ns=since_ns, most_walked=MOST_WALKED, between=between)

    def _poll(self) -> None:
        self._window.poll()
        if self._interrupts:
            self._interrupts.poll()

    def _poll_until(self, end_ns: int, stop: threading.Event) -> bool:
        """Empties the rings until a time, or until `stop` is set: then it is true."""
        while (rest := end_ns - time.monotonic_ns()) > 0:
            if stop.wait(min(rest, POLL_NS) / NS_PER_S):
                return True
            self._poll()
        return stop.is_set()

    def _is_there(self) -> bool:
        number = pid_numbers().inside(self._subject.tid or self._subject.tgid)
        return bool(number) and Path("/proc", str(number)).exists()


def _without_queues(capture: Capture) -> tuple[str, ...]:
    reason = capture.unavailable.get(BEHIND)
    return (reason,) if reason else ()


def _told(log: PathLog, is_there: bool) -> Inversion | None:
    return with_traits(log.inversion) if is_there else log.inversion


def _at_times(act: Callable[[], None], breath: Breath) -> Callable[[], None]:
    """Calls `act` when the last time was POLL_NS ago, and takes breaths."""
    last_ns = time.monotonic_ns()

    def perhaps() -> None:
        nonlocal last_ns
        if time.monotonic_ns() - last_ns > POLL_NS:
            act()
            last_ns = time.monotonic_ns()
        breath.take()

    return perhaps

"""The path of a task or process of the live kernel, read again and again while it is open."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.host import Host
from schedtop.path.inversion import Inversion
from schedtop.path.live import PathFrame, PathLog, ended
from schedtop.path.paths import Paths, find_paths
from schedtop.path.subject import PathSubject
from schedtop.path.targets import Targets
from schedtop.sources.capture.front_end import PATH_UNKNOWN, choose_capture_front_end, tells_path
from schedtop.sources.capture.rings import Rings
from schedtop.sources.capture.rolling import DRAIN_NS, KEEP_EVENTS, KEEP_NS, Rolling
from schedtop.sources.capture.source import DEFAULT_BUFFER_BYTES, build
from schedtop.sources.host import proc
from schedtop.sources.host.topology import online_cpus, present_cpus
from schedtop.sources.kernel.offsets import INTERRUPTS_UNKNOWN, tells_interrupts
from schedtop.sources.kernel.pid_numbers import pid_numbers
from schedtop.sources.path.traits import with_traits

STACKS_NS = NS_PER_MS
"""Sleeps that are at least so long have stacks, and so names for where they were."""

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
        source: str = "auto",
        interval_ns: int = NS_PER_S,
        buffer_bytes: int = DEFAULT_BUFFER_BYTES,
    ) -> None:
        self._subject = subject
        self._min_ns = min_ns
        self._wanted = source
        self._interval_ns = interval_ns
        self._buffer_bytes = buffer_bytes
        self._rings: Rings | None = None
        self._rolling: Rolling
        self._notes: tuple[str, ...] = ()
        self.host: Host

    def __enter__(self) -> Self:
        front_end = choose_capture_front_end(self._wanted, path=True)
        self.host = proc.identify_host(front_end.name, pid_numbers().note)
        cpus = max(*present_cpus(), *online_cpus()) + 1
        self._rings = Rings(front_end, build(front_end), cpus, self._buffer_bytes)
        try:
            self._rings.take_stacks_from(STACKS_NS)
            self._rolling = Rolling(self._rings, self.host, reported=front_end.name == "tracepoint")
        except BaseException:
            self.__exit__()
            raise
        self._notes = (
            *self.host.notes,
            *([] if tells_path(front_end) else [PATH_UNKNOWN]),
            *([] if tells_interrupts(front_end.flags) else [INTERRUPTS_UNKNOWN]),
        )
        return self

    def __exit__(self, *exc: Any) -> None:
        rings, self._rings = self._rings, None
        if rings is not None:
            rings.close()
            if hasattr(self, "_rolling"):
                self._rolling.close()

    def frames(self, stop: threading.Event) -> Iterator[PathFrame]:
        """All since it was opened, each interval, and once more when the task has gone: then nothing is attached."""
        rolling, subject = self._rolling, self._subject
        targets = Targets(tgids=(subject.tgid,)) if subject.is_process else Targets(tids=(subject.tid,))
        log, start_ns = PathLog(subject.words), rolling.start_ns
        done_ns = due = start_ns
        while not self._drain_until(due := due + self._interval_ns, stop):
            is_there, began_ns = self._is_there(), time.thread_time_ns()
            unseen_ns = max(0, rolling.start_ns - done_ns)
            paths = self._paths(targets, done_ns)
            done_ns = paths.capture.end_ns
            log.add(paths, unseen_ns)
            notes = (*self._notes, *paths.capture.unavailable.values())
            frame = log.frame(paths, start_ns, _told(log, is_there), notes)
            if not is_there:
                self.__exit__()
                yield ended(frame)
                stop.wait()
                return
            yield frame
            rolling.forget(KEEP_EVENTS, done_ns - KEEP_NS)
            spent_ns = time.thread_time_ns() - began_ns
            due = max(due, time.monotonic_ns() + round(spent_ns / LARGEST_SHARE) - spent_ns - self._interval_ns)

    def _paths(self, targets: Targets, since_ns: int) -> Paths:
        drain = self._rolling.drain
        capture = self._rolling.window()
        return find_paths(
            capture, targets, self._min_ns, since_ns=since_ns, most_walked=MOST_WALKED, between=_at_times(drain)
        )

    def _drain_until(self, end_ns: int, stop: threading.Event) -> bool:
        """Empties the rings until a time, or until `stop` is set: then it is true."""
        while (rest := end_ns - time.monotonic_ns()) > 0:
            if stop.wait(min(rest, DRAIN_NS) / NS_PER_S):
                return True
            self._rolling.drain()
        return stop.is_set()

    def _is_there(self) -> bool:
        number = pid_numbers().inside(self._subject.tid or self._subject.tgid)
        return bool(number) and Path("/proc", str(number)).exists()


def _told(log: PathLog, is_there: bool) -> Inversion | None:
    return with_traits(log.inversion) if is_there else log.inversion


def _at_times(act: Callable[[], None]) -> Callable[[], None]:
    """Calls `act` when the last time was DRAIN_NS ago."""
    last_ns = time.monotonic_ns()

    def perhaps() -> None:
        nonlocal last_ns
        if time.monotonic_ns() - last_ns > DRAIN_NS:
            act()
            last_ns = time.monotonic_ns()

    return perhaps

"""A made-up path, for tests and for a look at the screen without root: the same numbers each time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.capture.events import EVENT_DTYPE, LOSS_DTYPE, NAME_DTYPE, Capture, Clocks
from schedtop.model.host import Host
from schedtop.path.inversion import Inversion
from schedtop.path.live import PathFrame, PathLog
from schedtop.path.paths import Paths, StillBlocked
from schedtop.path.segments import BLOCKED, INTERRUPT, QUEUED, RUNNING, Behind, Episode, Hop, Segment
from schedtop.path.subject import PathSubject
from schedtop.path.targets import Targets
from schedtop.path.traits import Traits

_START_TIME_NS = 1_790_000_000 * NS_PER_S

_HOLDER, _HOLDER_TID = "flusher", 1207
_HOG, _HOG_TID, _OTHER = "backup", 3410, 3411
_NICE_0, _NICE_10 = 120, 130

_LENGTHS_MS = (164, 38, 91, 12, 203, 57)
"""Of the episodes that take turns, three a second."""


class SyntheticPath:
    """A PathSource that shows one scene, a second more each time, every `pace_s` seconds: the holder of a lock behind
    a task that is less urgent."""

    def __init__(
        self, subject: PathSubject, min_ns: int = NS_PER_MS, pace_s: float = 1.0, *, interrupts: bool = False
    ) -> None:
        """`interrupts`: they take half of what the holder runs."""
        self.host = Host("synthetic", "6.18.0", "synthetic", virtualised=True)
        self._subject = subject
        self._min_ns = min_ns
        self._pace_s = pace_s
        self._interrupts = interrupts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

    def frames(self, stop: threading.Event) -> Iterator[PathFrame]:
        """All so far, each time."""
        log, seconds = PathLog(self._subject.words), 0
        while not stop.wait(self._pace_s):
            seconds += 1
            paths = self._paths(seconds)
            log.add(paths)
            frame = log.frame(paths, 0, _with_traits(log.inversion), ())
            yield replace(frame, end_ns=time.monotonic_ns())

    def _paths(self, seconds: int) -> Paths:
        tid, name = self._subject.tid or self._subject.tgid, self._subject.name or "postgres"
        start_ns = (seconds - 1) * NS_PER_S
        episodes = []
        for number in range(3):
            length_ms = _LENGTHS_MS[((seconds - 1) * 3 + number) % len(_LENGTHS_MS)]
            at_ns = start_ns + number * 300 * NS_PER_MS
            episodes.append(_episode(tid, self._subject.tgid, name, at_ns, length_ms, interrupts=self._interrupts))
        kept = tuple(one for one in episodes if one.length_ns >= self._min_ns)
        blocked = (StillBlocked(tid, name, "futex", 44 * NS_PER_MS, False),)
        return Paths(_capture(self.host, seconds, tid), Targets(), self._min_ns, kept, blocked)


def _episode(tid: int, tgid: int, comm: str, start_ns: int, length_ms: int, *, interrupts: bool) -> Episode:
    """It waits for a lock: its holder runs, is queued most of the time, reads from a disk, and runs again."""
    hop = Hop(tid, comm, "futex")
    tenth = length_ms * NS_PER_MS // 10
    segments, at = [], start_ns
    taken: tuple[str, dict[str, Any]] = (INTERRUPT, {"where": "softirq NET_RX"}) if interrupts else (RUNNING, {})
    for tenths, state, more in (
        (1, RUNNING, {}),
        (4, QUEUED, {"behind": (Behind(_HOG_TID, _HOG, 3 * tenth), Behind(_OTHER, "tar", tenth))}),
        (2, BLOCKED, {"where": "pread64: disk", "woken_by": "disk"}),
        (1, *taken),
        (1, QUEUED, {"behind": (Behind(_HOG_TID, _HOG, tenth),)}),
    ):
        segment = Segment(at, tenths * tenth, state, _HOLDER_TID, _HOLDER, via=(hop,))
        segments.append(replace(segment, **more))
        at += tenths * tenth
    end_ns = start_ns + length_ms * NS_PER_MS
    segments.append(Segment(at, end_ns - at, QUEUED, tid, comm, behind=(Behind(0, "idle", end_ns - at),)))
    return Episode(tid, tgid, comm, start_ns, end_ns, "futex", tuple(segments), same_chain=False)


def _capture(host: Host, seconds: int, tid: int) -> Capture:
    """What is around the episodes: a switch for each task's priority, a few lost events."""
    events = np.zeros(3, EVENT_DTYPE)
    events["tid"], events["prio"] = (tid, _HOG_TID, _OTHER), (_NICE_0, _NICE_10, _NICE_10)
    return Capture(
        host=host,
        start_ns=max(0, seconds - 10) * NS_PER_S,
        end_ns=seconds * NS_PER_S,
        clocks=Clocks(0, 0, _START_TIME_NS),
        cpus=(0, 1),
        events=events,
        names=np.empty(0, NAME_DTYPE),
        losses=np.empty(0, LOSS_DTYPE),
        lost={kind: np.array([0, 17 if not kind else 0]) for kind in range(5)},
    )


def _with_traits(found: Inversion | None) -> Inversion | None:
    return found and replace(found, traits=MappingProxyType({_HOG_TID: Traits(nice=10, cpus=(1,))}), online=(0, 1))

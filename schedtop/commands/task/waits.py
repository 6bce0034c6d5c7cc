"""What the dashboard's collector adds to the task view, beside which it runs: slow waits, and what was entitled."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.commands.entitlement import read_entitlement
from schedtop.entitlement.times import TimesSince
from schedtop.model.frame import Frame
from schedtop.model.rows import SLOW_WAIT_DTYPE, Rows
from schedtop.model.source import SourceError
from schedtop.sources.scheduler.source import LiveSource
from schedtop.task import TaskFrame, TaskLoss, longest_waits

_OPENING_S = 30.0


class SlowWaits:
    """Collects the slow waits of a thread, or of a process (`tid` of 0), in a thread of its own while it is open.

    With a threshold of `None` it does nothing.
    """

    def __init__(self, tgid: int, tid: int, threshold_ns: int | None, source: str) -> None:
        self._tgid, self._tid = tgid, tid
        self._threshold_ns = threshold_ns
        self._wanted = source
        self._times = TimesSince()
        self._stop = threading.Event()
        self._open = threading.Event()
        self._waits: Rows = np.empty(0, SLOW_WAIT_DTYPE)
        self._forgotten = 0
        self._failure = "" if threshold_ns is not None else "it was not asked for them (--no-slow-waits)"
        self._thread = threading.Thread(target=self._run, name="schedtop-waits", daemon=True)

    def __enter__(self) -> Self:
        if self._threshold_ns is not None:
            self._thread.start()
            self._open.wait(_OPENING_S)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._stop.set()
        if self._threshold_ns is not None:
            self._thread.join()

    def begin(self) -> None:
        """From here on times count for what the task is entitled to: before, there was the compiler."""
        self._times.begin(time.time_ns())

    def added_to(self, task: TaskFrame) -> TaskFrame:
        """The TaskFrame with its waits and what it was entitled to; why not, if it could not be told."""
        unavailable = dict(task.unavailable)
        if self._failure:
            why = dict.fromkeys(("slow waits", "entitlement"), self._failure)
            return replace(task, unavailable=MappingProxyType(unavailable | why))
        unavailable.pop("slow waits", None)
        unavailable.pop("entitlement", None)
        entitlement = None
        try:
            entitlement = read_entitlement(self._tgid, self._tid, self._times.best)
        except ValueError as error:
            unavailable["entitlement"] = str(error)
        end_ns = task.start_time_ns + task.interval_ns
        inside = (self._waits["time_ns"] >= task.start_time_ns) & (self._waits["time_ns"] <= end_ns)
        return replace(
            task,
            slow_waits=self._waits[inside],
            entitlement=entitlement,
            unavailable=MappingProxyType(unavailable),
            loss=task.loss + TaskLoss(slow_waits_forgotten=self._forgotten),
        )

    def _take(self, frame: Frame) -> None:
        self._times.add(frame)
        rows = frame.slow_waits
        mine = rows["tid"] == self._tid if self._tid else rows["tgid"] == self._tgid
        waits = np.concatenate((self._waits, rows[mine]))
        self._waits = longest_waits(waits)
        self._forgotten += len(waits) - len(self._waits)

    def _run(self) -> None:
        assert self._threshold_ns is not None
        try:
            with LiveSource(NS_PER_S, self._threshold_ns, self._wanted) as source:
                self._open.set()
                for frame in source.frames(self._stop):
                    self._take(frame)
        except SourceError as error:
            self._failure = str(error)
        finally:
            self._open.set()

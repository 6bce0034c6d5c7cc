"""What a task is entitled to, on this host: the times of a window, with the weights read now."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

from schedtop.base.units import NS_PER_S
from schedtop.entitlement.report import EntitlementReport, report_on
from schedtop.entitlement.times import Times
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.sources.host.competition import CompetitionReader
from schedtop.sources.task.source import LiveTaskSource
from schedtop.task import TaskFrame

WINDOW_NS = 10 * NS_PER_S
"""How much of the history the screen's answer is about."""

EVERY = 5
"""How many TaskFrames have the same answer, before weights are read anew."""


def read_entitlement(tgid: int, tid: int, times: Times) -> EntitlementReport:
    """Of a thread, or (`tid` of 0) of all threads of a process. Raises ValueError with why there is no answer."""
    if times.unavailable:
        raise ValueError(times.unavailable)
    rows = times.rows
    mine = rows["tid"] == tid if tid else rows["tgid"] == tgid
    tids = set(rows["tid"][mine].tolist())
    report = report_on(CompetitionReader().read(times, tids), tids)
    if report is None:
        raise ValueError("it has ended, and its weight with it" if tids else "it neither ran nor waited in that time")
    return report


class EntitledTask:
    """The live task view, whose TaskFrames say what the task is entitled to, by what the dashboard saw of all tasks."""

    def __init__(self, tid: int, whole_process: bool, source: str, hidden: str = "") -> None:
        """`hidden`: why the dashboard does not see its competitors; empty: it does."""
        self._source = LiveTaskSource(tid, whole_process, source=source)
        self._tid, self._whole_process, self._hidden = tid, whole_process, hidden
        self._host_frames: tuple[Frame, ...] = ()
        self.host: Host

    def __enter__(self) -> Self:
        self._source.__enter__()
        self.host = self._source.host
        return self

    def __exit__(self, *exc: Any) -> None:
        self._source.__exit__(*exc)

    def take_host(self, frames: Sequence[Frame]) -> None:
        """Takes what the dashboard saw of the whole host, oldest first. Any thread may call it."""
        kept: list[Frame] = []
        for frame in reversed(frames):
            if kept and frame.interval_ns + sum(one.interval_ns for one in kept) > WINDOW_NS:
                break
            kept.append(frame)
        self._host_frames = tuple(reversed(kept))

    def frames(self, stop: threading.Event) -> Iterator[TaskFrame]:
        """Those of the source, with the answer."""
        answer: dict[str, Any] = {}
        for number, task in enumerate(self._source.frames(stop)):
            # Of one that has ended the last answer stays: its weight is gone.
            if number % EVERY == 0 and not (task.ended and answer):
                answer = self._answer(task)
            why = {"entitlement": answer["why"]} if answer["why"] else {}
            parts = {part: reason for part, reason in task.unavailable.items() if part != "entitlement"}
            yield replace(task, entitlement=answer["report"], unavailable=MappingProxyType(parts | why))

    def _answer(self, task: TaskFrame) -> dict[str, Any]:
        if self._hidden:
            return {"report": None, "why": self._hidden}
        times = Times()
        for frame in self._host_frames:
            times.add(frame)
        try:
            report = read_entitlement(task.tgid, 0 if self._whole_process else self._tid, times)
        except ValueError as error:
            return {"report": None, "why": str(error)}
        return {"report": report, "why": ""}

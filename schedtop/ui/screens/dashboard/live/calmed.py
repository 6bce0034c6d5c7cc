"""What it has changed for others that a storm of short-lived tasks, or what runs most, has a lower priority now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median_high
from typing import NamedTuple

import numpy as np

from schedtop.base.pgrep import pgrep_words
from schedtop.base.units import NS_PER_S
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.rows import KTHREADD_TGID, Rows, rows_where, text
from schedtop.ui.screens.dashboard.live.done import CHECKING, KEPT_NS, OF_MUCH_WORK
from schedtop.ui.screens.dashboard.live.held import MUCH_LESS, TOLD_NS
from schedtop.ui.screens.dashboard.live.helped import HELPED_NS, LEVELS, less_words, rows_of
from schedtop.ui.screens.dashboard.live.undo import changes, processes_in
from schedtop.verdict.advice import LOOK
from schedtop.verdict.limits import DELAYED_SHARE
from schedtop.verdict.parts import Part, waiters
from schedtop.verdict.phrases import percent
from schedtop.verdict.verdict import Verdict

COMPARED_NS = 5 * NS_PER_S
STRETCHES = 6
"""The usual one of so many stretches before is compared: how long a task waits beside a storm is another each second,
and that the command holds is seen ten seconds later."""

MOST_OTHERS, ASKED_OTHERS = 2, 6
"""So many others that wait less are told, of so many that waited most."""

ALIKE = 0.5
"""One that waited this part of what the first one did is told beside it."""

SURE_NS = 2 * NS_PER_S
"""So much of the time since is needed."""


class _Less(NamedTuple):
    """A task, and for how much of the time it waits and did before."""

    task: Part
    now: float
    before: float


class Calmed:
    """The task that waited most, and for how much of the time; what is to help it, and since when that is in place."""

    def __init__(self) -> None:
        self._settings: ViewSettings | None = None
        self._tid, self._command = 0, ""
        self._since_ns: int | None = None
        self._before: float | None = None
        self._is_told = False
        self._others: dict[int, float] = {}

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and for a minute with it how much less that task waits since the command was typed.

        What is told once is true whatever is filtered.
        """
        settings, end_ns = view.settings.unselected, view.frame.end_ns
        was_told, self._is_told = self._is_told, False
        if settings != self._settings:
            self._settings = settings
            if self._since_ns is None:
                self._tid, self._command = 0, ""
        # What has been told to wait does so behind the one for which it was told: longer than that one is spoken of.
        against_it = self._since_ns is not None and _is_about(verdict.command, rows_of(view.series[-1], self._tid))
        is_proposed = verdict.rule in OF_MUCH_WORK and changes(verdict.command) and not against_it
        if is_proposed and self._is_to_be_typed(verdict.command, end_ns, was_told):
            # In the second in which the command is typed perhaps no task waits.
            self._tid, self._since_ns = verdict.late.tid or self._tid, None
            self._command = verdict.command
            return verdict
        is_typed = verdict.rule in OF_MUCH_WORK and (verdict.headline == CHECKING or verdict.command.startswith(LOOK))
        if self._since_ns is None and is_typed:
            self._since_ns = end_ns
            self._before = _usual(view.series, self._tid, end_ns)
            waiting = _waiting(view.series[-1], self._command)
            self._others = {tid: _usual(view.series, tid, end_ns) or 0.0 for tid in waiting}
        if self._since_ns is None or verdict.level not in (*LEVELS, "ok") or verdict.live.relieved:
            return verdict
        if not self._tid or self._before is None:
            return verdict
        if not SURE_NS <= end_ns - self._since_ns <= (KEPT_NS if against_it else HELPED_NS):
            return verdict
        most = self._less(view, self._tid, self._before, end_ns)
        if most is None:
            return verdict
        self._is_told = True
        words = less_words(*most)
        late = (one for one in self._others.items() if one[0] != self._tid and one[1] >= DELAYED_SHARE)
        others = [less for one in late if (less := self._less(view, *one, end_ns))][:MOST_OTHERS]
        if others and others[0].before >= ALIKE * self._before:
            # Of two that were late alike it is asked whether both have been helped.
            second = others.pop(0)
            words += f", {second.task.name} {percent(second.now)} ({percent(second.before)})"
        evidence = (*(less_words(*less) for less in others), *verdict.evidence)
        if against_it:
            verdict = replace(verdict, level="ok", action="", command="", alternatives=())
        return replace(verdict, evidence=evidence).beside(relieved=words)

    def _less(self, view: View, tid: int, before: float, end_ns: int) -> _Less | None:
        """How much less that task waits; `None` if it does not."""
        now = _share(view.series, tid, self._since_ns or 0, end_ns)
        task = next(iter(waiters(rows_of(view.series[-1], tid))), None)
        return _Less(task, now, before) if task and now is not None and now <= MUCH_LESS * before else None

    def _is_to_be_typed(self, command: str, end_ns: int, was_told: bool) -> bool:
        """Whether it is still to be typed, or another one long after the last, of which nothing is told any more."""
        if self._since_ns is None or command == self._command:
            return True
        return end_ns - self._since_ns > (HELPED_NS if was_told else TOLD_NS)


def _is_about(command: str, rows: Rows) -> bool:
    """Whether a command is about one of these tasks, or its process."""
    own = {*rows["tid"].tolist(), *rows["tgid"].tolist()}
    return not own.isdisjoint(_numbers_in(command))


def _numbers_in(command: str) -> list[int]:
    """The processes that a command is about."""
    return [int(number) for number in processes_in(command).split()]


def _waiting(frame: Frame, command: str) -> list[int]:
    """The tasks that wait most, but for those of the kernel, and those that the command has told to wait."""
    lowered = _numbers_in(command)
    tasks = rows_where(frame.tasks, (frame.tasks["ended"] == 0) & (frame.tasks["parent_tgid"] != KTHREADD_TGID))
    tasks = rows_where(tasks, ~np.isin(tasks["tid"], lowered) & ~np.isin(tasks["tgid"], lowered))
    names = [name for name in np.unique(tasks["comm"]) if pgrep_words(text(name)) in command]
    tasks = rows_where(tasks, ~np.isin(tasks["comm"], names))
    most = np.argsort(-tasks["run_delay_ns"], kind="stable")[:ASKED_OTHERS]
    return tasks["tid"][most].tolist()  # type: ignore[no-any-return]


def _usual(frames: Sequence[Frame], tid: int, end_ns: int) -> float | None:
    """For how much of the time a task waits in the usual one of the last stretches; `None`: nothing is known."""
    ends = [end_ns - number * COMPARED_NS for number in range(STRETCHES)]
    shares = [_share(frames, tid, end - COMPARED_NS, end) for end in ends]
    known = [share for share in shares if share is not None]
    return median_high(known) if known else None


def _share(frames: Sequence[Frame], tid: int, after_ns: int, until_ns: int) -> float | None:
    """For how much of the time a task waited in what ended between these moments; `None`: nothing did."""
    delay_ns = span_ns = 0
    for frame in reversed(frames):
        if frame.end_ns <= after_ns:
            break
        if frame.end_ns <= until_ns:
            delay_ns += int(rows_of(frame, tid)["run_delay_ns"].sum())
            span_ns += frame.interval_ns
    return delay_ns / span_ns if span_ns else None

"""Whether a command has helped the task that it was about, while something else is still an alarm."""

from __future__ import annotations

import re
from dataclasses import replace

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.rows import Rows, rows_where
from schedtop.ui.screens.dashboard.held import TOLD_NS
from schedtop.verdict.limits import WAITS_SHARE
from schedtop.verdict.parts import Part, waiters
from schedtop.verdict.phrases import percent
from schedtop.verdict.verdict import Verdict
from schedtop.verdict.words import KTHREADD_TGID

ASKED_NS = 5 * NS_PER_S
"""So long after another task took its place in the command it is asked whether it waits."""

A_LITTLE = 0.25
"""One that waits for no more than this part of what it did is told as well."""

RULES = ("pinned", "turns")
"""Of others a task is moved that does not wait itself."""

_WIDENED = re.compile(r"taskset -cp \S+ (\d+)")


class Helped:
    """The task that a verdict wanted to have run elsewhere, too."""

    def __init__(self) -> None:
        self._settings: ViewSettings | None = None
        self._tid = self._former_tid = self._told_tid = 0
        self._former_ns = self._told_ns = 0
        self._before = 0.0
        self._words = ""

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and for half a minute with it which task no longer waits."""
        settings, end_ns = replace(view.settings, selected_task=None), view.frame.end_ns
        if settings != self._settings:
            self._settings, self._tid, self._former_tid, self._told_tid = settings, 0, 0, 0
        found = _WIDENED.fullmatch(verdict.command) if verdict.rule in RULES else None
        tid = int(found[1]) if found else 0
        if tid != self._tid:
            self._tid, self._former_tid, self._former_ns = tid, self._tid, end_ns
        # The second in which the command was typed has waits from before.
        is_asked = self._former_tid and 0 <= end_ns - self._former_ns <= ASKED_NS
        if is_asked and (words := _relief_words(view.series[-1], self._former_tid, self._before)):
            self._words, self._told_ns = words, end_ns
            self._told_tid, self._former_tid = self._former_tid, 0
        if tid:
            self._before = _share(rows_of(view.series[-1], tid), view.series[-1])
            if tid == self._told_tid:
                self._told_tid = 0  # it waits again
        if verdict.level != "alarm" or not self._told_tid or not 0 <= end_ns - self._told_ns <= TOLD_NS:
            return verdict
        return replace(verdict, relieved=self._words)


def _relief_words(frame: Frame, tid: int, before: float) -> str:
    """That the task hardly waits, or how little; empty if it does not run any more, and of a kernel thread.

    `before`: for how much of the time it waited.
    """
    rows = rows_of(frame, tid)
    if len(rows) != 1 or rows["ended"][0] or rows["parent_tgid"][0] == KTHREADD_TGID:
        return ""
    (task,), now = waiters(rows), _share(rows, frame)
    if now <= WAITS_SHARE:
        return f"{task.words} no longer waits"
    return less_words(task, now, before) if now <= A_LITTLE * before else ""


def rows_of(frame: Frame, tid: int) -> Rows:
    """The rows of a task, if it is there."""
    return rows_where(frame.tasks, frame.tasks["tid"] == tid)


def less_words(task: Part, now: float, before: float) -> str:
    """For how much of the time a task waits, and did before."""
    return f"{task.words} waits {percent(now)} ({percent(before)} before)"


def _share(rows: Rows, frame: Frame) -> float:
    """For how much of the time they waited."""
    return int(rows["run_delay_ns"].sum()) / max(1, frame.interval_ns)

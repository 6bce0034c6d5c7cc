"""Whether a command has helped the task that it was about, while something else is still an alarm or a notice."""

from __future__ import annotations

import re
from collections import deque
from statistics import median_high
from typing import NamedTuple

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.rows import KTHREADD_TGID, Rows, rows_where
from schedtop.verdict.limits import WAITS_SHARE
from schedtop.verdict.parts import Part, waiters
from schedtop.verdict.phrases import percent
from schedtop.verdict.verdict import Verdict

HELPED_NS = 60 * NS_PER_S
"""So long it is told what a command has helped."""

ASKED_NS = 5 * NS_PER_S
"""So long after another task took its place in the command it is asked whether it waits."""

USUAL_OF = 10
"""Of so many seconds the usual one is told as how it was before: in the second of the command it waits less."""

A_LITTLE = 0.25
"""One that waits for no more than this part of what it did is told as well."""

NEARLY_NONE = 0.01
"""For less of the time a task does not wait, in words."""

RULES = ("pinned", "turns", "behind-rt")
"""Of others a task is moved that does not wait itself."""

_WIDENED = re.compile(r"taskset -(a?)cp \S+ (\d+)")
"""With `a` for all threads of a process."""

_ORDINARY = re.compile(r"chrt -o -p 0 \d+")


class Moved(NamedTuple):
    """Whom a command is to help: a number, the field that it is of (tid or tgid), and whether by its own affinity."""

    number: int = 0
    field: str = "tid"
    by_affinity: bool = True

    def rows(self, frame: Frame) -> Rows:
        """Those of a Frame."""
        return rows_of(frame, self.number, self.field)


_NOBODY = Moved()

LEVELS = ("alarm", "notice")
"""Those of what goes on."""


class _Asked(NamedTuple):
    """What a command was about until another one took its place, since then, and how much it waited before."""

    moved: Moved
    since_ns: int
    before: float


class Helped:
    """The task or process that a verdict wanted to have run elsewhere, too, or without a real-time task before it."""

    def __init__(self) -> None:
        self._settings: ViewSettings | None = None
        self._moved = self._told = _NOBODY
        self._asked: list[_Asked] = []
        self._before: deque[float] = deque(maxlen=USUAL_OF)
        self._told_ns, self._words, self._waited = 0, "", 0.0

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and for a minute with it which task no longer waits; that is true whatever is filtered."""
        settings, end_ns, frame = view.settings.unselected, view.frame.end_ns, view.series[-1]
        if settings != self._settings:
            self._settings, self._moved = settings, _NOBODY
            self._asked.clear()
            self._before.clear()
        moved = _helped_by(verdict)
        if moved != self._moved:
            # In the second of the command it may propose another one, which is gone with the next.
            self._asked.append(_Asked(self._moved, end_ns, median_high(self._before or [0.0])))
            self._moved = moved
            self._before.clear()
        self._asked = [one for one in self._asked if _is_asked(one, moved, end_ns)]
        for one in self._asked:
            if words := _relief_words(frame, one.moved, one.before):
                self._words, self._told_ns, self._told, self._waited = words, end_ns, one.moved, one.before
                self._asked.remove(one)
                break
        if moved != _NOBODY:
            self._before.append(_share(moved.rows(frame), frame))
            if moved == self._told:
                self._told = _NOBODY  # it waits again
        if self._told != _NOBODY and _share(self._told.rows(frame), frame) > _still_helped(self._waited):
            self._told = _NOBODY
        is_told = self._told != _NOBODY and 0 <= end_ns - self._told_ns <= HELPED_NS
        return verdict.beside(relieved=self._words) if is_told and verdict.level in (*LEVELS, "ok") else verdict


def _helped_by(verdict: Verdict) -> Moved:
    """Whom its command is to help: what it moves, or what an ordinary task will no longer keep off its CPU."""
    if verdict.rule not in RULES:
        return _NOBODY
    if found := _WIDENED.fullmatch(verdict.command):
        return Moved(int(found[2]), "tgid" if found[1] else "tid")
    is_freed = verdict.victim and _ORDINARY.fullmatch(verdict.command)
    return Moved(verdict.victim, by_affinity=False) if is_freed else _NOBODY


def _is_asked(one: _Asked, moved: Moved, end_ns: int) -> bool:
    """The second in which the command was typed has waits from before, so that it is asked for a while."""
    return one.moved not in (_NOBODY, moved) and 0 <= end_ns - one.since_ns <= ASKED_NS


def _relief_words(frame: Frame, moved: Moved, before: float) -> str:
    """That it hardly waits, or how little; empty if it does not run any more, and of a kernel thread.

    `before`: for how much of the time it waited.
    """
    rows = moved.rows(frame)
    rows = rows_where(rows, rows["ended"] == 0)
    if not len(rows) or rows["parent_tgid"][0] == KTHREADD_TGID:
        return ""
    task, now = waiters(rows)[int(np.argmax(rows["run_delay_ns"]))], _share(rows, frame)
    if now < NEARLY_NONE:
        return f"{task.words} no longer waits"
    return less_words(task, now, before) if now <= _still_helped(before) else ""


def _still_helped(before: float) -> float:
    """For how much of the time it may wait and is still helped."""
    return max(WAITS_SHARE, A_LITTLE * before)


def rows_of(frame: Frame, number: int, field: str = "tid") -> Rows:
    """The rows of a task, if it is there, or of a process: `field` is `tgid`."""
    return rows_where(frame.tasks, frame.tasks[field] == number)


def less_words(task: Part, now: float, before: float) -> str:
    """For how much of the time a task waits, and did before."""
    return f"{task.words} waits {percent(now)} of the time ({percent(before)} before)"


def _share(rows: Rows, frame: Frame) -> float:
    """For how much of the time they waited."""
    return int(rows["run_delay_ns"].sum()) / max(1, frame.interval_ns)

"""Whether a command has helped the task that it was about, while something else is still an alarm."""

from __future__ import annotations

import re
from dataclasses import replace

from schedtop.history.view import View
from schedtop.model.rows import rows_where
from schedtop.model.sched_class import treatment
from schedtop.ui.screens.dashboard.held import TOLD_NS
from schedtop.verdict.phrases import task_words
from schedtop.verdict.verdict import Verdict

LITTLE_SHARE = 0.02
"""A task that waits for less of the time waits no longer."""

_WIDENED = re.compile(r"taskset -cp \S+ (\d+)")


class Helped:
    """The task that a verdict wanted to have run elsewhere, too."""

    def __init__(self) -> None:
        self._tid = 0
        self._words = ""
        self._since_ns = 0

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and for half a minute before it which task no longer waits."""
        end_ns, found = view.frame.end_ns, _WIDENED.fullmatch(verdict.command)
        tid = int(found[1]) if found else 0
        if self._tid and tid != self._tid and (words := _without_waits(view, self._tid)):
            self._words, self._since_ns = words, end_ns
        self._tid = tid
        if verdict.level != "alarm" or not self._words or not 0 <= end_ns - self._since_ns <= TOLD_NS:
            return verdict
        return replace(verdict, headline=f"{self._words} no longer waits; now: {verdict.headline}")


def _without_waits(view: View, tid: int) -> str:
    """The task in words if it still runs, and hardly waits; else empty."""
    rows = rows_where(view.frame.tasks, view.frame.tasks["tid"] == tid)
    if len(rows) != 1 or int(rows["run_delay_ns"][0]) > LITTLE_SHARE * view.frame.interval_ns:
        return ""
    return task_words(tid, rows["comm"][0], treatment(rows[0]).words)

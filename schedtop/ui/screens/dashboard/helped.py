"""Whether a command has helped the task that it was about, while something else is still an alarm."""

from __future__ import annotations

import re
from dataclasses import replace

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View
from schedtop.model.rows import rows_where
from schedtop.model.sched_class import treatment
from schedtop.ui.screens.dashboard.held import TOLD_NS
from schedtop.verdict.phrases import task_words
from schedtop.verdict.verdict import Verdict

LITTLE_SHARE = 0.02
"""A task that waits for less of the time waits no longer."""

ASKED_NS = 5 * NS_PER_S
"""So long after another task took its place in the command it is asked whether it waits."""

_WIDENED = re.compile(r"taskset -cp \S+ (\d+)")


class Helped:
    """The task that a verdict wanted to have run elsewhere, too."""

    def __init__(self) -> None:
        self._tid = self._former_tid = 0
        self._former_ns = 0
        self._words = ""
        self._since_ns = 0

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and for half a minute before it which task no longer waits."""
        end_ns, found = view.frame.end_ns, _WIDENED.fullmatch(verdict.command)
        tid = int(found[1]) if found else 0
        if tid != self._tid:
            self._tid, self._former_tid, self._former_ns = tid, self._tid, end_ns
        # The second in which the command was typed has waits from before.
        is_asked = self._former_tid and 0 <= end_ns - self._former_ns <= ASKED_NS
        if is_asked and (words := _without_waits(view, self._former_tid)):
            self._words, self._since_ns, self._former_tid = words, end_ns, 0
        if verdict.level != "alarm" or not self._words or not 0 <= end_ns - self._since_ns <= TOLD_NS:
            return verdict
        return replace(verdict, headline=f"{self._words} no longer waits; now: {verdict.headline}")


def _without_waits(view: View, tid: int) -> str:
    """The task in words if it still runs, and hardly waits; else empty."""
    rows = rows_where(view.frame.tasks, view.frame.tasks["tid"] == tid)
    if len(rows) != 1 or int(rows["run_delay_ns"][0]) > LITTLE_SHARE * view.frame.interval_ns:
        return ""
    return task_words(tid, rows["comm"][0], treatment(rows[0]).words)

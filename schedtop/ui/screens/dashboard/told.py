"""What is told of the verdict on a screen that goes on: it does not flicker, and says what a command has changed."""

from __future__ import annotations

from dataclasses import replace

from schedtop.history.view import View
from schedtop.ui.screens.dashboard.calmed import Calmed
from schedtop.ui.screens.dashboard.done import Done
from schedtop.ui.screens.dashboard.held import Held
from schedtop.ui.screens.dashboard.helped import Helped
from schedtop.ui.screens.dashboard.raised import Raised
from schedtop.ui.screens.dashboard.undo import changes
from schedtop.verdict.slow import slow_load
from schedtop.verdict.verdict import Verdict

LEAVE_IT = "Leave it for now, and see whether it lasts"


class Told:
    """What has been told so far."""

    def __init__(self) -> None:
        self._held, self._done = Held(), Done()
        self._reliefs = (Helped(), Calmed(), Raised())

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """What to show of a View of which this is the verdict."""
        if self._done.look(view):
            self._held.release()
        load = slow_load(view.frame, view.slow_waits)
        verdict = self._done.shown(self._held.shown(verdict, view.frame.end_ns, view.settings, load), view)
        for relief in self._reliefs:
            verdict = relief.shown(verdict, view)
        return self._done.with_undo(_left_alone(verdict), view)

    def forget(self) -> None:
        """The time stands still."""
        self._held.forget()


def _left_alone(verdict: Verdict) -> Verdict:
    """A notice on what is left, beside what a command has just helped: nobody should change more at once."""
    if not verdict.relieved or verdict.level != "notice" or not changes(verdict.command):
        return verdict
    possible = f"if it stays so: {verdict.action[0].lower()}{verdict.action[1:]}"
    return replace(verdict, evidence=(*verdict.evidence, possible), action=LEAVE_IT, command="")

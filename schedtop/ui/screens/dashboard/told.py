"""What is told of the verdict on a screen that goes on: it does not flicker, and says what a command has changed."""

from __future__ import annotations

from schedtop.history.view import View
from schedtop.ui.screens.dashboard.calmed import Calmed
from schedtop.ui.screens.dashboard.done import Done
from schedtop.ui.screens.dashboard.held import Held
from schedtop.ui.screens.dashboard.helped import Helped
from schedtop.ui.screens.dashboard.raised import Raised
from schedtop.verdict.slow import slow_load
from schedtop.verdict.verdict import Verdict


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
        return verdict

    def forget(self) -> None:
        """The time stands still."""
        self._held.forget()

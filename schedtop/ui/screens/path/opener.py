"""Opens the path screen on a task or process, from whatever screen shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from textual.screen import Screen

from schedtop.model.filters import Filter
from schedtop.path.subject import PathSubject
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.dashboard.shown import Shown
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Verdict


class PathOpener:
    """It knows the dashboard's history, which the verdict on a subject is made of."""

    def __init__(self, screen: Screen[Any], shown: Shown, on_demand: OnDemand) -> None:
        self._screen = screen
        self._shown = shown
        self._on_demand = on_demand

    def open(self, subject: PathSubject) -> None:
        """Shows its path; the kernel programs come and go with the screen."""
        make, why = self._on_demand.make_path, self._on_demand.why
        if make is None:
            words = f": {why}" if why else " needs the live kernel: here there is none"
            self._screen.notify(f"the path across tasks{words}", severity="warning", markup=False)
            return
        # Late: a start need not wait for the modules of this screen, nor hold them.
        from schedtop.ui.screens.path.screen import PathScreen

        frames = self._shown.live.frames
        interrupts = bool(len(frames)) and frames[-1].interrupts is not None
        self._screen.app.push_screen(PathScreen(make, subject, self.verdict_on, interrupts=interrupts))

    def verdict_on(self, subject: PathSubject) -> Verdict | None:
        """What the newest data says of a subject alone; `None` while there is none."""
        live = self._shown.live
        if not len(live):
            return None
        wanted = Filter(tgids=(subject.tgid,)) if subject.is_process else Filter(tids=(subject.tid,))
        settings = replace(self._shown.settings, filter=wanted, selected_cpus=(), hidden_tgids=(), group="thread")
        return judge(live.view(settings))

"""What is shown of a recording: the History begins anew wherever the player goes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace

from schedtop.base.breath import keep_on
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.ui.screens.dashboard.shown import Shown
from schedtop.ui.screens.replay.player import Player
from schedtop.verdict.verdict import Verdict

MOST_LATER = 200
"""How many intervals after a place that was sought are kept, for panes over time."""


class RecordedShown(Shown):
    """Shows what a player gives, with what is known already of the time after it."""

    def __init__(self, player: Player, settings: ViewSettings, changed: Callable[[], None]) -> None:
        super().__init__(player.host, settings, changed)
        self._player = player
        self._ends = [entry.end_ns for entry in player.entries]
        self._number = -1
        self._later: tuple[Frame, ...] = ()

    def add(self, frame: Frame) -> bool:
        """Takes a Frame: the next one, or one of the past of a place that was sought."""
        number = bisect_left(self._ends, frame.end_ns)
        # Nothing is missing between the Frame before and this one, except what cannot be read.
        if not self._is_next(number, self._number):
            self._remember(self._player.sought_ns)
            self.live = History(self.live.host)
        self._number = number
        self.live.append(frame)
        return frame.end_ns >= self._player.sought_ns

    def _remember(self, after_ns: int) -> None:
        """Keeps what was shown of the time after a place that is sought: panes over time go on showing it."""
        # Not those that were merged with what comes before: that will be given anew.
        known = {
            frame.end_ns: frame
            for frame in (*self._later, *self.live.frames)
            if frame.end_ns - frame.interval_ns // 2 > after_ns
        }
        self._later = tuple(known[end_ns] for end_ns in sorted(known)[:MOST_LATER])

    def told(self, verdict: Verdict, view: View) -> Verdict:
        """As it was: what was recorded is looked at moment by moment."""
        return verdict

    def make(self, breathe: Callable[[], object] = keep_on) -> None:
        """Makes the View, with what is known of the time after it, as far as nothing is missing between."""
        super().make(breathe)
        number, latest_ns = self._number, self.live.latest_ns
        if self.view is None or latest_ns < self._player.sought_ns:
            # The past of a place that is sought is on its way.
            return
        later: list[Frame] = []
        for frame in self._later:
            if frame.end_ns <= latest_ns:
                continue
            place = bisect_left(self._ends, frame.end_ns)
            if not self._is_next(place, number):
                break
            later.append(frame)
            number = place
        self._later = tuple(later)
        self.view = replace(self.view, later=self._later)

    def _is_next(self, number: int, before: int) -> bool:
        between = range(before + 1, number)
        return number > before and all(missing in self._player.damaged for missing in between)

"""What it has changed for others that a storm of short-lived tasks, or what runs most, has a lower priority now."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_high

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.ui.screens.dashboard.live.done import CHECKING, OF_MUCH_WORK
from schedtop.ui.screens.dashboard.live.held import MUCH_LESS, TOLD_NS
from schedtop.ui.screens.dashboard.live.helped import LEVELS, less_words, rows_of
from schedtop.ui.screens.dashboard.live.undo import changes
from schedtop.verdict.advice import LOOK
from schedtop.verdict.parts import waiters
from schedtop.verdict.verdict import Verdict

COMPARED_NS = 5 * NS_PER_S
STRETCHES = 6
"""The usual one of so many stretches before is compared: how long a task waits beside a storm is another each second,
and that the command holds is seen ten seconds later."""

SURE_NS = 2 * NS_PER_S
"""So much of the time since is needed."""


class Calmed:
    """The task that waited most, and for how much of the time; what is to help it, and since when that is in place."""

    def __init__(self) -> None:
        self._settings: ViewSettings | None = None
        self._tid, self._command = 0, ""
        self._since_ns: int | None = None
        self._before: float | None = None

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and for half a minute with it how much less that task waits since the command was typed."""
        settings, end_ns = view.settings.unselected, view.frame.end_ns
        if settings != self._settings:
            self._settings, self._tid, self._command, self._since_ns = settings, 0, "", None
        if verdict.rule in OF_MUCH_WORK and changes(verdict.command) and self._is_proposed(verdict.command, end_ns):
            # In the second in which the command is typed perhaps no task waits.
            self._tid, self._since_ns = verdict.late.tid or self._tid, None
            self._command = verdict.command
            return verdict
        is_typed = verdict.rule in OF_MUCH_WORK and (verdict.headline == CHECKING or verdict.command.startswith(LOOK))
        if self._since_ns is None and is_typed:
            self._since_ns = end_ns
            ends = [end_ns - number * COMPARED_NS for number in range(STRETCHES)]
            shares = [_share(view.series, self._tid, end - COMPARED_NS, end) for end in ends]
            known = [share for share in shares if share is not None]
            self._before = median_high(known) if known else None
        if self._since_ns is None or verdict.level not in LEVELS or verdict.live.relieved:
            return verdict
        if not self._tid or self._before is None or not SURE_NS <= end_ns - self._since_ns <= TOLD_NS:
            return verdict
        now = _share(view.series, self._tid, self._since_ns, end_ns)
        task = next(iter(waiters(rows_of(view.series[-1], self._tid))), None)
        if task is None or now is None or now > MUCH_LESS * self._before:
            return verdict
        return verdict.beside(relieved=less_words(task, now, self._before))

    def _is_proposed(self, command: str, end_ns: int) -> bool:
        """Whether it is still to be typed, or another one long after the last."""
        return self._since_ns is None or command == self._command or end_ns - self._since_ns > TOLD_NS


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

"""Whether a command that was proposed has been typed: then it is not proposed again for waits from before."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View, ViewSettings
from schedtop.ui.screens.dashboard.held import TOLD_NS
from schedtop.ui.screens.dashboard.undo import task_of, undo
from schedtop.verdict.verdict import Verdict
from schedtop.verdict.words import OVER, typed

CHECKED_NS = 2 * NS_PER_S
"""In the second of the command, and the next one, another may be proposed because of waits from before."""

LEVELS = ("alarm", "notice")

CHECKING = "The command is in place; whether it helps is being checked"


@dataclass(slots=True)
class _Proposed:
    """A verdict with a command: when it was shown last, or came to be in place, and since when it has been so."""

    verdict: Verdict
    moment_ns: int
    undo: str = ""
    since_ns: int | None = None


class Done:
    """The commands that were proposed a short while ago, and whether they have been typed."""

    def __init__(self) -> None:
        self._settings: ViewSettings | None = None
        self._proposed: dict[str, _Proposed] = {}

    def look(self, view: View) -> bool:
        """Looks which commands are in place now; whether one of them is since a moment ago."""
        settings, end_ns = replace(view.settings, selected_task=None), view.frame.end_ns
        if settings != self._settings:
            self._settings, self._proposed = settings, {}
        for command, one in list(self._proposed.items()):
            if not 0 <= end_ns - one.moment_ns <= TOLD_NS:
                del self._proposed[command]
            elif undo(command) != command:
                one.since_ns = None
            elif one.since_ns is None:
                one.since_ns = one.moment_ns = end_ns
        return self._last_done(end_ns, CHECKED_NS) is not None

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and how to undo its command, or the last one; or instead of it that its command is in place."""
        if view.host.recorded_source or not view.host.boot_id:
            return verdict  # these tasks are not of this host, or are none
        end_ns, command = view.frame.end_ns, verdict.command
        now = undo(command) if verdict.level in LEVELS else ""
        if now and now != command:
            self._proposed[command] = _Proposed(verdict, end_ns, now)
        elif now:
            self._proposed.setdefault(command, _Proposed(verdict, end_ns, since_ns=end_ns))
        is_done = bool(now) and now == command
        if is_done and verdict.headline.startswith(OVER):
            verdict = replace(verdict, action="", command="")
        elif verdict.level in LEVELS and (done := self._checked(command, view)):
            before = f"before: {done.verdict.headline}"
            return replace(
                done.verdict,
                level="notice",
                headline=CHECKING,
                evidence=(*_undo_words(done.undo), before),
                action="",
                command="",
            )
        elif is_done:
            action, look = typed("It is in place, and did not help; look at the task", _look_at(command))
            verdict = replace(verdict, action=action, command=look)
        last = self._last_done(end_ns, TOLD_NS)
        back = now if now != command else ""
        back = back or (last.undo if last else "")
        return replace(verdict, evidence=(*verdict.evidence, *_undo_words(back)))

    def _checked(self, command: str, view: View) -> _Proposed | None:
        """The command whose help is being checked: the last one, or this one while the window has waits from before."""
        end_ns, own = view.frame.end_ns, self._proposed.get(command)
        if own and own.since_ns is not None and end_ns - own.since_ns <= view.settings.window_ns + NS_PER_S:
            return own
        return self._last_done(end_ns, CHECKED_NS)

    def _last_done(self, end_ns: int, span_ns: int) -> _Proposed | None:
        """What has come to be in place within so long, the last one of several."""
        done = [one for one in self._proposed.values() if one.since_ns is not None]
        return next((one for one in reversed(done) if end_ns - (one.since_ns or 0) <= span_ns), None)


def _undo_words(command: str) -> tuple[str, ...]:
    """With sudo for one who came by it."""
    if command and "SUDO_UID" in os.environ:
        command = Verdict("", "", "", command=command).with_sudo().command
    return (f"to undo it: {command}",) if command else ()


def _look_at(command: str) -> str:
    tid = task_of(command)
    return f"schedtop task {tid}" if tid else ""

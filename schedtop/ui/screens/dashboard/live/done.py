"""Whether a command that was proposed has been typed: then it is not proposed again for waits from before."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View
from schedtop.panes.pane import Command
from schedtop.ui.screens.dashboard.flags import OF_QUOTAS
from schedtop.ui.screens.dashboard.live.held import TOLD_NS
from schedtop.ui.screens.dashboard.live.helped import LEVELS
from schedtop.ui.screens.dashboard.live.undo import is_about_the_same, look_again, undo
from schedtop.verdict.limits import LOOKED_BACK
from schedtop.verdict.verdict import Verdict
from schedtop.verdict.words import OVER

TOLD_UNDONE_NS = 5 * NS_PER_S

CHECKED_NS = 2 * NS_PER_S
"""In the second of the command, and the next one, another may be proposed because of waits from before."""

OF_MUCH_WORK = ("saturated", "forks")
"""Rules about what runs most."""

SETTLED_NS = 4 * NS_PER_S
"""So long after the window it takes until it is seen whom another weight of what runs most has helped, or a quota."""

KEPT_NS = 300 * NS_PER_S
"""So long it is told how to undo what was typed."""

SEEN_NS = LOOKED_BACK * NS_PER_S
"""So long it may take until a storm is seen to have another weight."""

UNDONE = "The last command is undone"
AGAIN = f"{UNDONE}; looking again"

DONE_SIGN, UNDONE_SIGN = "✓", "×"

MOST_CHANGED = 20
"""Of so many commands it is known when they were typed."""

CHECKING = "The command is in place; checking whether it helps"


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
        self._proposed: dict[str, _Proposed] = {}
        self._undone_ns: int | None = None
        self.changed: tuple[Command, ...] = ()
        """When one of them came to be in place, or was undone, and the sign of that; the last ones."""

    def look(self, end_ns: int) -> bool:
        """Looks which commands are in place now; whether one of them is since a moment ago."""
        for command, one in list(self._proposed.items()):
            now = undo(command)
            if not now or not 0 <= end_ns - one.moment_ns <= (TOLD_NS if one.since_ns is None else KEPT_NS):
                del self._proposed[command]
            elif now != command:
                if one.since_ns is not None and now == one.undo:
                    self._undone_ns = end_ns
                    self.changed = (*self.changed, (end_ns, UNDONE_SIGN))
                one.since_ns, one.undo = None, self._first(now)
            elif one.since_ns is None:
                one.since_ns = one.moment_ns = end_ns
                self.changed = (*self.changed, (end_ns, DONE_SIGN))
        self.changed = self.changed[-MOST_CHANGED:]
        return self._last_done(end_ns, CHECKED_NS) is not None

    def is_undone(self, end_ns: int, within_ns: int = 0) -> bool:
        """Whether a command has been undone since the last look, or within so long before."""
        return self._undone_ns is not None and 0 <= end_ns - self._undone_ns <= within_ns

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict; or instead of it that a command is in place, and another look at what is left."""
        if not view.host.is_this or verdict.level not in LEVELS:
            return verdict
        end_ns = view.frame.end_ns
        if self.is_undone(end_ns, CHECKED_NS):
            # In the second of the undoing it has waits from before, of others.
            return Verdict("notice", verdict.rule, AGAIN, (f"now: {verdict.headline}",))
        own, command = self._noted(verdict, end_ns), verdict.command
        if own is None or own.since_ns is None:
            alike = next((one for one in reversed(self._done) if is_about_the_same(one.verdict.command, command)), own)
            # What is in place about a storm shows in the next slow waits behind it, and a group that gets a larger
            # quota first catches up; until then it may ask for more.
            if verdict.rule == "forks" or (verdict.rule in OF_QUOTAS and _is_settling(alike, verdict.rule, view)):
                own = alike
        since_ns = own.since_ns if own else None
        if since_ns is not None and verdict.headline.startswith(OVER):
            return replace(verdict, action="", command="")
        if done := own if _is_settling(own, verdict.rule, view) else self._last_done(end_ns, CHECKED_NS):
            was = f"before: {done.verdict.headline}"
            return Verdict("notice", done.verdict.rule, CHECKING, (was,))
        if since_ns is None:
            return verdict
        action, look = look_again(own.verdict.command if own else verdict.command)
        # The rule sees it in the waits of the next seconds.
        level = "notice" if verdict.rule == "forks" and end_ns - since_ns <= SEEN_NS else verdict.level
        return replace(verdict, level=level, action=action, command=look)

    def _noted(self, verdict: Verdict, end_ns: int) -> _Proposed | None:
        """What is known of its command; `None`: what it would change cannot be told."""
        command = verdict.command
        one = self._proposed.get(command)
        if one is None and (now := undo(command)):
            in_place = now == command
            undone_by, since_ns = ("", end_ns) if in_place else (self._first(now), None)
            one = self._proposed[command] = _Proposed(verdict, end_ns, undone_by, since_ns)
        elif one and one.since_ns is None:
            one.verdict, one.moment_ns = verdict, end_ns
        return one

    def with_undo(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict with what undoes its command, or the last one that was typed; or that this was undone."""
        if not view.host.is_this:
            return verdict
        if self.is_undone(view.frame.end_ns, TOLD_UNDONE_NS):
            return verdict.beside(kept=verdict.live.kept or ("" if verdict.headline == AGAIN else UNDONE))
        one = self._proposed.get(verdict.command)
        if one and one.since_ns is None:
            return verdict.beside(undo=f"To undo it: {_as_typed(one.undo)}")
        undos = [_as_typed(one.undo) for one in reversed(self._done) if one.undo]
        which = "last command" if len(undos) == 1 else f"last {len(undos)} commands, newest first"
        return verdict.beside(undo=f"To undo the {which}: {'; '.join(undos)}") if undos else verdict

    def _last_done(self, end_ns: int, span_ns: int) -> _Proposed | None:
        """What has come to be in place within so long, the last one of several."""
        return next((one for one in reversed(self._done) if end_ns - (one.since_ns or 0) <= span_ns), None)

    @property
    def _done(self) -> list[_Proposed]:
        """What is in place, in the order in which it came to be so."""
        return sorted(
            (one for one in self._proposed.values() if one.since_ns is not None), key=lambda one: one.since_ns or 0
        )

    def _first(self, now: str) -> str:
        """What undoes a command where `now` is what is set: if that was typed, too, what was set before it."""
        one = self._proposed.get(now)
        return one.undo if one and one.since_ns is not None and one.undo else now


def _is_settling(one: _Proposed | None, rule: str, view: View) -> bool:
    """Whether the window has waits from before what is in place, or these still go on."""
    if one is None or one.since_ns is None:
        return False
    settling_ns = SETTLED_NS if rule in (*OF_MUCH_WORK, *OF_QUOTAS) else NS_PER_S
    return view.frame.end_ns - one.since_ns <= view.settings.window_ns + settling_ns


def _as_typed(command: str) -> str:
    """For one who came by sudo, too."""
    return Verdict("", "", "", command=command).with_sudo().command if "SUDO_UID" in os.environ else command

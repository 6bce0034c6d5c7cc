"""Whether a quota that was raised is enough now."""

from __future__ import annotations

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View, ViewSettings
from schedtop.model.containers import cgroup_label
from schedtop.quota.command import quota_command
from schedtop.ui.screens.dashboard.flags import OF_QUOTAS
from schedtop.ui.screens.dashboard.live.helped import HELPED_NS
from schedtop.verdict.verdict import Verdict

ASKED_NS = 5 * NS_PER_S
"""So long after the command it is asked whether the quota still throttles."""


class Raised:
    """The command that is to raise a quota, until it has been typed, and what is told since."""

    def __init__(self) -> None:
        self._settings: ViewSettings | None = None
        self._command, self._words = "", ""
        self._since_ns = self._told_ns = 0

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and for a minute with it that the quota throttles no more; that is true whatever is filtered."""
        settings, end_ns = view.settings.unselected, view.frame.end_ns
        if settings != self._settings:
            self._settings, self._command = settings, ""
        if verdict.rule in OF_QUOTAS and verdict.command:
            self._command, self._words, self._since_ns = verdict.command, "", end_ns
        elif 0 <= end_ns - self._since_ns <= ASKED_NS and (path := _unthrottled(view, self._command)):
            self._words, self._command, self._told_ns = f"{cgroup_label(path)} is no longer throttled", "", end_ns
        is_told = self._words and not verdict.live.relieved and 0 <= end_ns - self._told_ns <= HELPED_NS
        return verdict.beside(relieved=self._words) if is_told else verdict


def _unthrottled(view: View, command: str) -> str:
    """The path of the cgroup that the command is about, if its quota was enough in each of the last periods."""
    frame, file = view.series[-1], command.partition(" > ")[2]
    enough = frame.throttling[(frame.throttling["periods"] > 0) & (frame.throttling["throttled_periods"] == 0)]
    paths = filter(None, (frame.cgroups.get(cgroup, "") for cgroup in enough["cgroup_id"].tolist()))
    return next((path for path in paths if file and file in quota_command(view.host.weight_file, path, 0)), "")

"""Whether a quota that was raised is enough now."""

from __future__ import annotations

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View, ViewSettings
from schedtop.model.containers import cgroup_label
from schedtop.quota.command import quota_command
from schedtop.quota.record import cgroups_inside
from schedtop.ui.screens.dashboard.flags import OF_QUOTAS
from schedtop.ui.screens.dashboard.live.helped import HELPED_NS
from schedtop.verdict.verdict import Verdict

Group = tuple[int, str]
"""The id and the path of a cgroup."""

NO_GROUP: Group = (0, "")

MOST_FRAMES = 10
"""How much of it is used is told of the last ones."""

ASKED_NS = 5 * NS_PER_S
"""So long after the command it is asked whether the quota still throttles."""


class Raised:
    """The command that is to raise a quota, until it has been typed, and what is told since."""

    def __init__(self) -> None:
        self._settings: ViewSettings | None = None
        self._command = ""
        self._group = NO_GROUP
        self._since_ns = self._told_ns = 0

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and for a minute with it that the quota throttles no more, and how much of it is used; that is
        true whatever is filtered."""
        settings, end_ns = view.settings.unselected, view.frame.end_ns
        if settings != self._settings:
            self._settings, self._command = settings, ""
        if verdict.rule in OF_QUOTAS and verdict.command:
            self._command, self._group, self._since_ns = verdict.command, NO_GROUP, end_ns
        elif 0 <= end_ns - self._since_ns <= ASKED_NS and (group := _unthrottled(view, self._command)) != NO_GROUP:
            self._group, self._command, self._told_ns = group, "", end_ns
        is_told = self._group != NO_GROUP and not verdict.live.relieved and 0 <= end_ns - self._told_ns <= HELPED_NS
        return verdict.beside(relieved=self._words(view)) if is_told else verdict

    def _words(self, view: View) -> str:
        (group, path), newest = self._group, view.series[-1]
        since = [frame for frame in view.series[-MOST_FRAMES:] if frame.end_ns >= self._told_ns]
        inside = cgroups_inside(newest, path, group)
        ran_ns = sum(int(frame.tasks["run_ns"][np.isin(frame.tasks["cgroup_id"], inside)].sum()) for frame in since)
        used = ran_ns / max(1, sum(frame.interval_ns for frame in since))
        limits = newest.throttling[newest.throttling["cgroup_id"] == group]
        allowed = float((limits["quota_ns"] / np.maximum(1, limits["period_ns"])).sum())
        usage = f": it uses {used:.1f} of {allowed:.1f} CPUs" if used and allowed else ""
        return f"{cgroup_label(path)} is no longer throttled{usage}"


def _unthrottled(view: View, command: str) -> Group:
    """The cgroup that the command is about, if its quota was enough in each of the last periods; else NO_GROUP."""
    frame, file = view.series[-1], command.partition(" > ")[2]
    enough = frame.throttling[(frame.throttling["periods"] > 0) & (frame.throttling["throttled_periods"] == 0)]
    groups = ((group, frame.cgroups.get(group, "")) for group in enough["cgroup_id"].tolist())
    named = (each for each in groups if each[1] and file and file in quota_command(view.host.weight_file, each[1], 0))
    return next(named, NO_GROUP)

"""Whether a quota that was raised is enough now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.history.view import View, ViewSettings
from schedtop.model.containers import cgroup_label, is_within
from schedtop.model.frame import Frame
from schedtop.quota.command import quota_command
from schedtop.ui.screens.dashboard.flags import OF_QUOTAS
from schedtop.ui.screens.dashboard.live.helped import HELPED_NS
from schedtop.verdict.verdict import Verdict

MOST_FRAMES = 10
"""How much of it is used is told of the last ones."""

ASKED_NS = 5 * NS_PER_S
"""So long after the command it is asked whether the quota still throttles."""


class Raised:
    """The command that is to raise a quota, until it has been typed, and what is told since."""

    def __init__(self) -> None:
        self._settings: ViewSettings | None = None
        self._command, self._path = "", ""
        self._since_ns = self._told_ns = 0

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """The verdict, and for a minute with it that the quota throttles no more, and how much of it is used; that is
        true whatever is filtered."""
        settings, end_ns = view.settings.unselected, view.frame.end_ns
        if settings != self._settings:
            self._settings, self._command = settings, ""
        if verdict.rule in OF_QUOTAS and verdict.command:
            self._command, self._path, self._since_ns = verdict.command, "", end_ns
        elif 0 <= end_ns - self._since_ns <= ASKED_NS and (path := _unthrottled(view, self._command)):
            self._path, self._command, self._told_ns = path, "", end_ns
        is_told = self._path and not verdict.live.relieved and 0 <= end_ns - self._told_ns <= HELPED_NS
        return verdict.beside(relieved=self._words(view)) if is_told else verdict

    def _words(self, view: View) -> str:
        since = [frame for frame in view.series[-MOST_FRAMES:] if frame.end_ns >= self._told_ns]
        used, allowed = _used(since, self._path), _allowed(view.series[-1], self._path)
        usage = f": it uses {used:.1f} of {allowed:.1f} CPUs" if used and allowed else ""
        return f"{cgroup_label(self._path)} is no longer throttled{usage}"


def _used(frames: Sequence[Frame], path: str) -> float:
    """How many CPUs the tasks of a cgroup, and of those below it, had on average."""
    ran_ns = 0
    for frame in frames:
        within = [cgroup for cgroup, name in frame.cgroups.items() if is_within(name, path)]
        ran_ns += int(frame.tasks["run_ns"][np.isin(frame.tasks["cgroup_id"], within)].sum())
    return ran_ns / max(1, sum(frame.interval_ns for frame in frames))


def _allowed(frame: Frame, path: str) -> float:
    """How many CPUs the quota of a cgroup is; 0: it has none any more."""
    rows = [row for row in frame.throttling if frame.cgroups.get(int(row["cgroup_id"])) == path]
    return float(rows[0]["quota_ns"] / max(1, rows[0]["period_ns"])) if rows else 0.0


def _unthrottled(view: View, command: str) -> str:
    """The path of the cgroup that the command is about, if its quota was enough in each of the last periods."""
    frame, file = view.series[-1], command.partition(" > ")[2]
    enough = frame.throttling[(frame.throttling["periods"] > 0) & (frame.throttling["throttled_periods"] == 0)]
    paths = filter(None, (frame.cgroups.get(cgroup, "") for cgroup in enough["cgroup_id"].tolist()))
    return next((path for path in paths if file and file in quota_command(view.host.weight_file, path, 0)), "")

"""A quota that was raised, and throttles no more, is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.ui.screens.dashboard.live.raised import Raised
from schedtop.verdict.verdict import Verdict
from tests.unit.verdict.frames import GROUPS, HOST, MS, frame, quota, tasks

HERE = replace(HOST, weight_file="/sys/fs/cgroup{}/cpu.weight")
COMMAND = f"echo 50000 > /sys/fs/cgroup{GROUPS[7]}/cpu.max"
RAISE = Verdict("alarm", "throttled", "web.service is throttled", (), f"Raise it: {COMMAND}", COMMAND)
OTHER = Verdict("notice", "queueing", "tasks wait")
RAISED = "web.service is no longer throttled"


def view(second: int, throttled: int, group: int = 7, settings: ViewSettings | None = None) -> View:
    made = frame(throttling=quota(group, throttled), cgroups=GROUPS, end_ns=second * NS_PER_S)
    return History(HERE, [made]).view(settings or ViewSettings())


def relieved(*seconds: tuple[Verdict, int]) -> list[str]:
    raised = Raised()
    return [
        raised.shown(verdict, view(second, throttled)).live.relieved
        for second, (verdict, throttled) in enumerate(seconds)
    ]


def test_it_is_told_once_no_period_is_throttled() -> None:
    assert relieved((RAISE, 4), (OTHER, 2), (OTHER, 0), (OTHER, 0)) == ["", "", RAISED, RAISED]


def test_once_it_throttles_again_nothing_is_told() -> None:
    assert relieved((RAISE, 4), (OTHER, 0), (RAISE, 1), (OTHER, 3)) == ["", RAISED, "", ""]


def test_only_the_group_of_the_command_counts() -> None:
    raised = Raised()
    raised.shown(RAISE, view(1, 4))
    assert raised.shown(OTHER, view(2, 0, group=8)).live.relieved == ""
    assert raised.shown(OTHER, view(2, 0, group=9)).live.relieved == ""


def test_it_is_asked_and_told_for_a_while() -> None:
    raised = Raised()
    raised.shown(RAISE, view(1, 4))
    assert raised.shown(OTHER, view(7, 0)).live.relieved == ""
    raised.shown(RAISE, view(10, 4))
    assert raised.shown(OTHER, view(11, 0)).live.relieved == RAISED
    assert raised.shown(OTHER, view(70, 0)).live.relieved == RAISED
    filtered = ViewSettings(filter=Filter.parse("comm:web"))
    assert raised.shown(OTHER, view(71, 0, settings=filtered)).live.relieved == RAISED, "whatever is filtered"
    assert raised.shown(OTHER, view(72, 0)).live.relieved == ""


def test_with_another_filter_nothing_is_told() -> None:
    raised = Raised()
    raised.shown(RAISE, view(1, 4))
    assert raised.shown(OTHER, view(2, 0, settings=ViewSettings(filter=Filter.parse("comm:web")))).live.relieved == ""


def test_how_much_of_it_is_used_is_told_as_well() -> None:
    """`0.31 to 1.60 CPUs would have been enough`: after the command one wants to know how many it takes."""
    raised, frames = Raised(), []
    for second, (ran_ms, throttled) in enumerate(((300, 4), (1500, 0), (700, 0))):
        own = tasks(cgroup_id=7, run_ns=ran_ms * MS)
        both = np.concatenate((own, tasks(tid=901, cgroup_id=9, run_ns=400 * MS)))
        limits = quota(7, throttled)
        limits["quota_ns"], limits["period_ns"] = 160 * MS, 100 * MS
        frames.append(frame(tasks=both, throttling=limits, cgroups=GROUPS, end_ns=(second + 1) * NS_PER_S))
        told = raised.shown(OTHER if second else RAISE, History(HERE, frames).view(ViewSettings())).live.relieved
    assert told == f"{RAISED}: it uses 1.1 of 1.6 CPUs", "on average since"

"""A command that has helped is told, while something else is an alarm."""

from __future__ import annotations

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.ui.screens.dashboard.helped import Helped
from schedtop.verdict.verdict import Verdict
from tests.unit.verdict.frames import HOST, MS, frame, tasks


def pinned(tid: int, level: str = "alarm") -> Verdict:
    command = f"taskset -cp 0-1 {tid}"
    return Verdict(level, "pinned", "hogs take turns", (), f"Widen the affinity: {command}", command)


def view(second: int, delay_ms: int) -> View:
    api = tasks(tid=7, comm=b"api", run_delay_ns=delay_ms * MS)
    made = frame(tasks=np.concatenate((api, tasks(tid=8))), end_ns=second * NS_PER_S)
    return History(HOST, [made]).view(ViewSettings())


def headlines(*seconds: tuple[Verdict, int]) -> list[str]:
    helped = Helped()
    return [helped.shown(one, view(number, delay)).headline for number, (one, delay) in enumerate(seconds, 1)]


def test_a_task_that_was_to_be_moved_and_waits_no_longer() -> None:
    found = headlines((pinned(7), 300), *[(pinned(8), 3)] * 32)
    told = "api (7) no longer waits; now: hogs take turns"
    assert found == ["hogs take turns", *[told] * 31, "hogs take turns"]
    # The second in which the command was typed has some waits.
    assert headlines((pinned(7), 300), (pinned(8), 90), (pinned(8), 3)) == ["hogs take turns", "hogs take turns", told]


def test_a_command_for_another_task_alone_says_nothing() -> None:
    assert headlines((pinned(7), 300), *[(pinned(8), 300)] * 6, (pinned(8), 3)) == ["hogs take turns"] * 8
    assert headlines((pinned(7), 3), (pinned(7), 3)) == ["hogs take turns"] * 2
    assert headlines((pinned(9), 3), (pinned(8), 3)) == ["hogs take turns"] * 2, "it is gone"
    assert headlines((pinned(7), 300), (pinned(8, "notice"), 3))[-1] == "hogs take turns", (
        "the end of the alarm is told"
    )

"""How much less a task waits since what starts a storm has a lower priority."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.ui.screens.dashboard.live.calmed import Calmed
from schedtop.verdict.verdict import Late, Verdict
from tests.unit.verdict.frames import HOST, MS, frame, tasks

CURE, LOOK = "echo 19 > /proc/9/autogroup", "ps -o pid,ppid,args 9"


def storm(command: str, rule: str = "forks") -> Verdict:
    headline = "monitor.sh (9) starts 900 processes/s (cat): 73 % of CPU time; web (7) waits 21 % of the time"
    return Verdict("alarm", rule, headline, (), f"Do: {command}", command, late=Late(7))


def relieved(seconds: list[tuple[str, int]], rule: str = "forks", settings: ViewSettings | None = None) -> list[str]:
    """What is told each second of a command and of what task 7 then waited, in ms; `settings`: of the last."""
    calmed, frames, told = Calmed(), [], []
    for second, (command, delay_ms) in enumerate(seconds, 1):
        web = tasks(tid=7, comm=b"web", run_delay_ns=delay_ms * MS)
        rows = np.concatenate((web, tasks(tid=8, run_delay_ns=500 * MS)))
        frames.append(replace(frame(tasks=rows), end_ns=second * NS_PER_S))
        view = History(HOST, frames).view(settings if settings and second == len(seconds) else ViewSettings())
        told.append(calmed.shown(storm(command, rule), view).live.relieved)
    return told


BEFORE = [(CURE, 200), (CURE, 240), (CURE, 220), (CURE, 220), (CURE, 220), *[(CURE, 60)] * 4]


def test_a_task_that_waits_less_since_the_command_is_told_for_a_minute() -> None:
    """It is seen some seconds later that what starts the storm waits."""
    found = relieved([*BEFORE, (LOOK, 60), *[(LOOK, 50)] * 61])
    told = "web (7) waits 5 % of the time (22 % before)"
    assert found == [*[""] * 11, *[told] * 59, ""]


def test_another_command_does_not_end_what_is_told_of_the_last_one() -> None:
    """After half a minute the next step was proposed, and what the first one had helped was forgotten."""
    found = relieved([*BEFORE, (LOOK, 60), *[(LOOK, 50)] * 30, *[("echo 20 > /proc/9/autogroup", 50)] * 31])
    assert found == [*[""] * 11, *["web (7) waits 5 % of the time (22 % before)"] * 59, ""]


@pytest.mark.parametrize("rule", ["blocker", "saturated"])
@pytest.mark.parametrize("command", ["echo 10 > /proc/7/autogroup", "renice -n 10 -p 7", "renice -n 10 -p 8"])
def test_the_one_that_was_helped_is_not_to_be_lowered_for_those_that_now_wait(command: str, rule: str) -> None:
    """Of a storm whose children are sessions of their own the rules do not know that it has been told to wait."""
    calmed, frames = Calmed(), []
    for second, (typed, delay_ms) in enumerate([*BEFORE, *[(LOOK, 50)] * 6], 1):
        rows = tasks(tid=7, tgid=7, comm=b"web", run_delay_ns=delay_ms * MS)
        frames.append(replace(frame(tasks=rows), end_ns=second * NS_PER_S))
        calmed.shown(storm(typed), History(HOST, frames).view(ViewSettings()))
    found = storm(command, rule)
    later = []
    for seconds in (1, 100, 320):
        frames.append(replace(frames[-1], end_ns=frames[-1].end_ns + seconds * NS_PER_S))
        later.append(calmed.shown(found, History(HOST, frames).view(ViewSettings())))
    told = later[0]
    against_it = not command.endswith(" 8")
    assert [bool(one.live.relieved) for one in later] == [True, against_it, False], "not for ever"
    assert told.live.relieved == "web (7) waits 5 % of the time (22 % before)"
    if command.endswith(" 8"):
        assert (told.level, told.command) == (found.level, found.command), "another one"
    else:
        assert (told.level, told.action, told.command) == ("ok", "", "")


@pytest.mark.parametrize("after_ms", [180, 400])
def test_a_command_that_did_not_help_is_not_told(after_ms: int) -> None:
    assert not any(relieved([*BEFORE, *[(LOOK, after_ms)] * 8]))


def test_without_a_command_before_nothing_is_told() -> None:
    assert not any(relieved([(LOOK, 220), *[(LOOK, 50)] * 8]))
    assert not any(relieved([*BEFORE, *[(CURE, 50)] * 8])), "it has not been typed"
    assert not any(relieved([*BEFORE, *[(LOOK, 50)] * 8], rule="blocker"))


def test_what_was_told_is_true_under_another_filter() -> None:
    """One filters by the service that was helped, and the screen had forgotten it."""
    filtered = ViewSettings(filter=Filter.parse("comm:cat"))
    assert (
        relieved([*BEFORE, *[(LOOK, 50)] * 8], settings=filtered)[-1] == "web (7) waits 5 % of the time (22 % before)"
    )
    assert relieved([*BEFORE, (LOOK, 50)], settings=filtered)[-1] == "", "what was not asked before is of other tasks"


def test_others_that_wait_less_are_told_beside_it() -> None:
    """The alarm had named web, and then api alone: did it help web?"""
    calmed, frames, found = Calmed(), [], ()
    commands = [*[(CURE, 1.0)] * 6, *[(LOOK, 0.2)] * 4]
    for second, (command, part) in enumerate(commands, 1):
        delays = {7: 200 * part, 8: 300 * part, 9: 150, 10: 60 * part}
        rows = [tasks(tid=tid, comm=b"t%d" % tid, run_delay_ns=round(ms * MS)) for tid, ms in delays.items()]
        frames.append(replace(frame(tasks=np.concatenate(rows)), end_ns=second * NS_PER_S))
        shown = calmed.shown(storm(command), History(HOST, frames).view(ViewSettings()))
        found = (shown.live.relieved, *shown.evidence)
    assert found == ("t7 (7) waits 4 % of the time (20 % before), t8 6 % (30 %)",), "they were late alike"


@pytest.mark.parametrize(
    "command",
    ["for p in 5 6; do echo 10 > /proc/$p/autogroup; done", "renice -n 10 -p $(pgrep -wx crunch)"],
)
def test_what_was_told_to_wait_is_not_told_as_helped(command: str) -> None:
    """`api waits 4 % (20 % before), crunch 42 % (57 %)`: crunch was what the command lowered."""
    calmed, frames = Calmed(), []
    for second in range(1, 20):
        share = 220 if second < 10 else 50
        own = {7: (b"api", share), 8: (b"web", share), 5: (b"crunch", 2 * share), 6: (b"crunch", 2 * share)}
        rows = [tasks(tid=tid, tgid=tid, comm=comm, run_delay_ns=ms * MS) for tid, (comm, ms) in own.items()]
        frames.append(replace(frame(tasks=np.concatenate(rows)), end_ns=second * NS_PER_S))
        view = History(HOST, frames).view(ViewSettings())
        told = calmed.shown(storm(command if second < 10 else LOOK, "saturated"), view)
    assert told.live.relieved == "api (7) waits 5 % of the time (22 % before), web 5 % (22 %)"
    assert not any("crunch" in words for words in told.evidence)


def test_that_nobody_waits_in_the_second_of_the_command_is_no_other_task() -> None:
    calmed, frames, told = Calmed(), [], []
    calm = "monitor.sh (9) starts 900 processes/s (cat): 73 % of CPU time; no other task waits"
    for second, (command, delay_ms) in enumerate([*BEFORE[:5], (CURE, 0), *[(LOOK, 20)] * 4], 1):
        frames.append(
            replace(frame(tasks=tasks(tid=7, comm=b"web", run_delay_ns=delay_ms * MS)), end_ns=second * NS_PER_S)
        )
        verdict = storm(command) if delay_ms else replace(storm(command), headline=calm, late=Late())
        told.append(calmed.shown(verdict, History(HOST, frames).view(ViewSettings())).live.relieved)
    assert told[-1] == "web (7) waits 2 % of the time (22 % before)"

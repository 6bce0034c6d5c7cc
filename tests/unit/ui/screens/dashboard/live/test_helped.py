"""A command that has helped is told, while something else is an alarm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.ui.screens.dashboard.live.helped import Helped
from schedtop.verdict.verdict import Verdict
from tests.unit.verdict.frames import HOST, MS, frame, tasks


def pinned(tid: int, level: str = "alarm") -> Verdict:
    command = f"taskset -cp 0-1 {tid}"
    return Verdict(level, "pinned", "hogs take turns", (), f"Widen the affinity: {command}", command)


def view(second: int, delay_ms: int) -> View:
    api = tasks(tid=7, comm=b"api", run_delay_ns=delay_ms * MS)
    made = frame(tasks=np.concatenate((api, tasks(tid=8, run_delay_ns=500 * MS))), end_ns=second * NS_PER_S)
    return History(HOST, [made]).view(ViewSettings())


def test_under_another_filter_it_is_told_and_once_it_waits_again_not() -> None:
    helped = Helped()
    helped.shown(pinned(7), view(1, 300))
    assert helped.shown(pinned(8), view(2, 3)).live.relieved == "api (7) no longer waits"
    other = replace(view(3, 3), settings=ViewSettings(filter=Filter.parse("comm:web")))
    assert helped.shown(pinned(8), other).live.relieved == "api (7) no longer waits", "true whatever is filtered"
    helped = Helped()
    helped.shown(pinned(7), view(1, 300))
    assert helped.shown(pinned(8), other).live.relieved == "", "what another filter proposes is another matter"
    helped = Helped()
    helped.shown(pinned(7), view(1, 300))
    helped.shown(pinned(8), view(2, 3))
    assert helped.shown(pinned(7), view(3, 300)).live.relieved == ""
    helped = Helped()
    helped.shown(replace(pinned(7), rule="interrupts"), view(1, 3))
    assert helped.shown(pinned(8), view(2, 3)).live.relieved == "", "it did not wait"


def test_the_task_is_told_that_a_real_time_task_no_longer_keeps_waiting() -> None:
    command = "chrt -o -p 0 9"
    behind = Verdict("alarm", "behind-rt", "audio-mix keeps api off", (), f"Make it: {command}", command, victim=7)
    helped = Helped()
    assert helped.shown(behind, view(1, 900)).live.relieved == ""
    told = "api (7) waits 6 % of the time (90 % before)"
    assert helped.shown(pinned(8, "notice"), view(2, 60)).live.relieved == told
    helped = Helped()
    helped.shown(behind, view(1, 900))
    for second in (2, 3):
        relieved = helped.shown(pinned(7, "notice"), view(second, 60)).live.relieved
        assert relieved == told, "now it is to be moved itself, for the little that is left"
    helped = Helped()
    helped.shown(replace(behind, victim=0), view(1, 900))
    assert helped.shown(pinned(8), view(2, 60)).live.relieved == "", "it is not known who was helped"


@pytest.mark.parametrize(("field", "value"), [("ended", 1), ("parent_tgid", 2)])
def test_a_task_that_has_ended_or_is_of_the_kernel_was_not_helped(field: str, value: int) -> None:
    helped = Helped()
    helped.shown(pinned(7), view(1, 300))
    later = view(2, 3)
    later.series[-1].tasks[field] = value
    assert helped.shown(pinned(8), later).live.relieved == ""


def relieved(*seconds: tuple[Verdict, int]) -> list[str]:
    helped = Helped()
    return [helped.shown(one, view(number, delay)).live.relieved for number, (one, delay) in enumerate(seconds, 1)]


def test_a_task_that_was_to_be_moved_and_waits_no_longer() -> None:
    found = relieved((pinned(7), 300), *[(pinned(8), 3)] * 62)
    told = "api (7) no longer waits"
    assert found == ["", *[told] * 61, ""]
    # The second in which the command was typed has some waits.
    assert relieved((pinned(7), 300), (pinned(8), 90), (pinned(8), 3)) == ["", "", told]


def test_a_task_that_waits_little_of_what_it_did_is_told_as_well() -> None:
    found = relieved((pinned(7), 840), (pinned(8), 110), (pinned(8), 90))
    assert found == ["", *["api (7) waits 11 % of the time (84 % before)"] * 2]


def test_a_command_for_another_task_alone_says_nothing() -> None:
    assert relieved((pinned(7), 300), *[(pinned(8), 300)] * 6, (pinned(8), 3)) == [""] * 8
    assert relieved((pinned(7), 3), (pinned(7), 3)) == [""] * 2
    assert relieved((pinned(9), 3), (pinned(8), 3)) == [""] * 2, "it is gone"
    assert relieved((pinned(7), 300), (pinned(8, "notice"), 3))[-1] == "api (7) no longer waits"


def test_what_waits_again_is_told_no_longer() -> None:
    """`✓ web waits 1 % of the time` stood there for a minute, whatever came."""
    assert relieved((pinned(7), 400), *[(pinned(8), 8)] * 2, (pinned(8), 90))[-1] == "api (7) no longer waits"
    assert relieved((pinned(7), 400), *[(pinned(8), 8)] * 2, (pinned(8), 110), (pinned(8), 8))[-2:] == ["", ""]


def test_what_is_proposed_for_one_second_in_between_hides_nothing() -> None:
    """orders was helped; in the second of the command a hog was to be moved, and then nothing any more."""
    nothing = Verdict("notice", "pinned", "hogs take turns", (), "Leave it: schedtop task 8", "schedtop task 8")
    assert relieved((pinned(7), 300), (pinned(8), 120), (nothing, 3))[-1] == "api (7) no longer waits"


def test_a_process_whose_threads_were_to_be_moved_and_wait_no_longer() -> None:
    def of_process(second: int, *delays_ms: int) -> View:
        threads = [
            tasks(tid=7 + number, tgid=6, comm=b"api", run_delay_ns=delay * MS)
            for number, delay in enumerate(delays_ms)
        ]
        return History(HOST, [frame(tasks=np.concatenate(threads), end_ns=second * NS_PER_S)]).view(ViewSettings())

    command = "taskset -acp 0-1 6"
    both = Verdict("alarm", "pinned", "hogs take turns", (), f"Widen the affinity: {command}", command)
    helped = Helped()
    helped.shown(both, of_process(1, 200, 250))
    assert helped.shown(pinned(8), of_process(2, 200, 3)).live.relieved == "", "one of them still waits"
    assert helped.shown(pinned(8), of_process(3, 30, 60)).live.relieved == "api (8) waits 9 % of the time (45 % before)"
    helped = Helped()
    helped.shown(both, of_process(1, 200, 250))
    assert helped.shown(pinned(8), of_process(2, 2, 3)).live.relieved == "api (8) no longer waits"


def test_what_is_compared_is_before_the_second_of_the_command() -> None:
    """It may still be proposed in that second, of which the task waited a part."""
    told = relieved((pinned(7), 300), (pinned(7), 100), (pinned(8), 30))
    assert told[-1] == "api (7) waits 3 % of the time (30 % before)"

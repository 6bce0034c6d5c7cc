"""A verdict that gets milder only when it has been so for a while."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from schedtop.base.units import NS_PER_S
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.ui.screens.dashboard.live.held import HELD_NS, LASTING_NS, Held
from schedtop.ui.screens.dashboard.shown import Shown
from schedtop.verdict.verdict import Verdict
from schedtop.verdict.words import OVER

OK, NOTICE, ALARM, UNKNOWN = (
    Verdict(level, rule, headline, ("evidence",))
    for level, rule, headline in (
        ("ok", "calm", "Nothing waits"),
        ("notice", "pinned", "It waits a little"),
        ("alarm", "pinned", "It waits"),
        ("unknown", "few", "Too few waits"),
    )
)
SETTINGS = ViewSettings()

LEFT = "slow waits take 250 ms a second (490 ms before)"


def shown(*verdicts: Verdict, settings: ViewSettings = SETTINGS) -> list[Verdict]:
    """What is shown of one verdict a second."""
    held = Held()
    return [held.shown(one, number * NS_PER_S, settings) for number, one in enumerate(verdicts)]


def test_what_is_worse_is_shown_at_once() -> None:
    assert shown(OK, NOTICE, ALARM) == [OK, NOTICE, ALARM]
    assert shown(UNKNOWN, OK, UNKNOWN, OK) == [UNKNOWN, OK, UNKNOWN, OK]


def test_what_is_milder_is_shown_when_it_stays() -> None:
    seconds = HELD_NS // NS_PER_S
    found = shown(ALARM, *[NOTICE] * (seconds + 2))
    assert [one.level for one in found] == ["alarm"] * (seconds + 1) + ["notice", "notice"]
    assert [one.headline for one in found[: seconds + 1]] == [ALARM.headline] * (seconds + 1)
    assert found[2] == ALARM.beside(kept="As of 2 s ago; now: It waits a little")
    assert found[-1] == NOTICE.beside(ended="The alarm ended 5 s ago")


def test_the_end_of_an_alarm_is_told_for_half_a_minute() -> None:
    found = shown(ALARM, *[OK] * 33)
    assert found[4] == OK.beside(ended="The alarm ended 4 s ago")
    assert found[5] == OK.beside(ended="The alarm ended 5 s ago")
    assert found[30:32] == [OK.beside(ended="The alarm ended 30 s ago"), OK]
    assert shown(NOTICE, *[OK] * 5)[-1] == OK, "there was no alarm"
    assert shown(ALARM, *[UNKNOWN] * 5)[-1] == UNKNOWN, "it is not known whether it ended"
    # While the time stood still it was not seen.
    held = Held()
    held.shown(ALARM, 0, SETTINGS)
    held.forget()
    assert held.shown(OK, 25 * NS_PER_S, SETTINGS) == OK
    # With another filter it is not known.
    held = Held()
    held.shown(ALARM, 0, SETTINGS)
    assert held.shown(OK, NS_PER_S, replace(SETTINGS, filter=Filter.parse("comm:web"))) == OK


def test_what_says_itself_that_it_is_over_has_no_end_before_it() -> None:
    over = replace(NOTICE, headline=f"{OVER} for 9 s; before: It waits")
    assert shown(ALARM, *[over] * 5)[-1] == over


def test_the_end_of_a_notice_that_lasted_is_told() -> None:
    lasting = LASTING_NS // NS_PER_S + 1
    found = shown(*[NOTICE] * lasting, *[OK] * 32)
    assert found[lasting + 2].headline == NOTICE.headline, "it is held"
    assert found[lasting + 3] == OK.beside(ended="The notice ended 4 s ago")
    assert found[lasting + 29 : lasting + 31] == [OK.beside(ended="The notice ended 30 s ago"), OK]
    assert shown(*[NOTICE] * (lasting - 1), *[OK] * 5)[-1] == OK, "it came and went by itself"
    assert shown(*[NOTICE] * lasting, ALARM, *[OK] * 5)[-1].live.end == "The alarm ended 5 s ago"
    assert shown(*[NOTICE] * lasting, *[UNKNOWN] * 5)[-1] == UNKNOWN


def test_the_end_of_an_alarm_tells_what_is_left_of_the_slow_waits() -> None:
    held = Held()
    found = [
        held.shown(one, number * NS_PER_S, SETTINGS, load)
        for number, (one, load) in enumerate([(ALARM, 1.38), (ALARM, 0.2), *[(NOTICE, 0.0121)] * 4, (OK, 0.0)])
    ]
    assert found[1] == ALARM
    assert found[5].headline == "It waits a little"
    assert found[5].live.end == "The alarm ended 4 s ago: slow waits take 12.1 ms a second (1.38 s before)"
    behind = held.shown(replace(NOTICE, rule="forks"), 7 * NS_PER_S, SETTINGS, 1.3)
    assert behind.live.end == "The alarm ended 6 s ago", "a storm goes on behind all others"
    # An alarm much later is another one.
    held.shown(ALARM, 60 * NS_PER_S, SETTINGS, 0.5)
    told = held.shown(OK, 64 * NS_PER_S, SETTINGS, 0.0)
    assert told == OK.beside(ended="The alarm ended 4 s ago", left="no slow waits (500 ms before)")


def test_one_that_is_just_large_enough_stays() -> None:
    """Waits of half a second in each second were an alarm, and `The alarm ended 3 s ago`, and an alarm again."""
    held = Held()

    def found(start: int, verdict: Verdict, load: float) -> list[Verdict]:
        return [held.shown(verdict, second * NS_PER_S, SETTINGS, load) for second in range(start, start + 40)]

    assert held.shown(ALARM, 0, SETTINGS, 0.52) == ALARM
    assert found(1, NOTICE, 0.49) == [replace(NOTICE, level="alarm")] * 40
    assert found(41, NOTICE, 0.25)[5] == NOTICE.beside(ended="The alarm ended 6 s ago", left=LEFT)
    # Another command, or cause, is about something else.
    held.shown(ALARM, 100 * NS_PER_S, SETTINGS, 0.52)
    assert found(101, replace(NOTICE, command="renice 1"), 0.49)[5].level == "notice"
    held.shown(ALARM, 200 * NS_PER_S, SETTINGS, 0.52)
    assert found(201, replace(NOTICE, rule="turns"), 0.49)[5].level == "notice"
    # What waits behind all others goes on waiting, and is no alarm.
    look = replace(ALARM, command="ps -o pid,ppid,args 1")
    held.shown(look, 250 * NS_PER_S, SETTINGS, 0.52)
    assert found(251, replace(look, level="notice"), 0.49)[5].level == "notice"
    held.shown(ALARM, 300 * NS_PER_S, SETTINGS, 0.52)
    filtered = replace(SETTINGS, filter=Filter.parse("web"))
    assert held.shown(NOTICE, 301 * NS_PER_S, filtered, 0.49) == NOTICE


def test_one_that_comes_and_goes_stays() -> None:
    found = shown(ALARM, OK, ALARM, OK, UNKNOWN, ALARM)
    assert {one.level for one in found} == {"alarm"}
    assert found[-1] == ALARM


@pytest.mark.parametrize("rule", ["mixed", "queueing"])
def test_a_main_cause_that_is_just_strong_enough_stays(rule: str) -> None:
    mixed = replace(ALARM, rule=rule, headline="Mixed causes")
    found = shown(mixed, ALARM, mixed, ALARM, mixed)
    assert found[:2] == [mixed, ALARM], "a cause is shown at once"
    assert [one.headline for one in found[2:]] == [ALARM.headline] * 3
    assert shown(ALARM, *[mixed] * 5)[-1] == mixed
    assert shown(NOTICE, mixed)[1] == mixed, "it is worse"


def test_a_quota_to_be_typed_stays_while_it_is_about_the_same() -> None:
    def throttled(quota: int, group: str = "web") -> Verdict:
        command = f"echo {quota} > /sys/fs/cgroup/{group}/cpu.max"
        return Verdict("alarm", "throttled", f"{group} is throttled", (), f"It would do: {command}", command)

    found = shown(throttled(144_000), throttled(147_000), throttled(142_000), throttled(170_000), throttled(168_000))
    assert [one.command.split()[1] for one in found] == ["144000", "144000", "144000", "170000", "170000"]
    assert all(one.action == f"It would do: {one.command}" for one in found)
    lower = shown(throttled(149_000), throttled(125_000), throttled(148_000), throttled(70_000))
    assert [one.command.split()[1] for one in lower] == ["149000", "149000", "149000", "70000"]
    assert shown(throttled(144_000), throttled(143_000, "db"))[1] == throttled(143_000, "db")
    assert shown(NOTICE, throttled(143_000), ALARM)[2] == ALARM
    moved = [
        Verdict("alarm", "interrupts", "It is busy", (), command, command)
        for command in (f"echo {cpu} > /proc/irq/9/smp_affinity_list" for cpu in (100, 101))
    ]
    assert shown(*moved) == moved, "another CPU is not about the same"


def test_another_question_has_its_own_answer() -> None:
    held = Held()
    assert held.shown(ALARM, 0, SETTINGS) == ALARM
    selected = replace(SETTINGS, selected_task=(1, 2))
    assert held.shown(OK, NS_PER_S, selected).level == "alarm", "which row is selected changes nothing"
    filtered = replace(SETTINGS, filter=Filter.parse("web"))
    assert held.shown(OK, NS_PER_S, filtered) == OK
    assert held.shown(ALARM, NS_PER_S, filtered) == ALARM
    assert held.shown(OK, 0, filtered) == OK, "an earlier moment"


def test_commands_begin_with_sudo_where_it_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SyntheticSource(Scenario(frames=2, tasks=2))
    (frame, *_) = source.frames(threading.Event())
    worse = replace(ALARM, action="Let it wait: renice -n 10 -p 12", command="renice -n 10 -p 12")
    commands = []
    for by_sudo in (False, True):
        monkeypatch.setenv("SUDO_UID", "1000") if by_sudo else monkeypatch.delenv("SUDO_UID", raising=False)
        shown = Shown(source.host, SETTINGS, lambda: None)
        shown.add(frame)
        shown.make()
        assert shown.view is not None
        commands.append(shown.told(worse, shown.view).command)
    assert commands == ["renice -n 10 -p 12", "sudo renice -n 10 -p 12"]


def test_another_threshold_is_a_key_on_a_live_screen() -> None:
    source = SyntheticSource(Scenario(frames=2, tasks=2))
    (frame, *_) = source.frames(threading.Event())

    def told(rule: str, recorded: str = "") -> Verdict:
        shown = Shown(replace(source.host, recorded_source=recorded), SETTINGS, lambda: None)
        shown.add(frame)
        shown.make()
        assert shown.view is not None
        command = "sudo schedtop --threshold 500us"
        return shown.told(Verdict("notice", rule, "It waits", (), f"See each wait: {command}", command), shown.view)

    assert (told("waiting").action, told("waiting").command) == ("See each wait (key -)", "")
    assert told("incomplete").action == "See each wait (key +)"
    assert told("waiting", "bpf").command, "a recording has the threshold that it was made with"

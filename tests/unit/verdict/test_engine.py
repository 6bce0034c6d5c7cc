"""The verdict as a whole: one for any View, ids, documentation."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.latency import LatencyTable
from schedtop.model.waits import CAUSES
from schedtop.sources.synthetic.scheduler import Scenario, make_frame
from schedtop.verdict.engine import RULES, judge, verdict_on, with_end
from schedtop.verdict.facts import gather
from schedtop.verdict.verdict import Verdict
from tests import ROOT
from tests.unit.verdict.frames import HOST, MS, START, blocked, frame, judged, pinned, quota, waits

SAY_NOTHING_OF_WAITS = {"too-short", "nothing-passes", "undecided"}
"""Rules that apply to any source."""


def test_verdicts_do_not_hide_each_other() -> None:
    verdict = judged(frame(pinned(), steal=0.07, throttling=quota(), busy=(0.06, 0.9)))
    assert {"steal is 7 %", "web.service is throttled in 40 % of its periods"} <= set(verdict.evidence)


def test_a_quota_beside_another_cause_is_told_in_the_first_line() -> None:
    """It has an end of its own."""
    made = frame(pinned(), throttling=quota(), busy=(0.06, 0.9))
    assert judged(made).headline.endswith("; also, web.service is throttled in 40 % of its periods")
    assert "besides" not in judged(replace(made, throttling=quota(throttled=0))).headline
    throttled = judged(frame(waits(50, "throttled"), throttling=quota(), busy=(0.06, 0.5)))
    assert throttled.rule == "throttled" and "besides" not in throttled.headline


def test_commands_for_one_who_came_by_sudo() -> None:
    def typed(command: str) -> tuple[str, str]:
        found = Verdict("alarm", "blocker", "It waits", (), f"Do it: {command} (and 2 others)", command).with_sudo()
        assert found.action == f"Do it: {found.command} (and 2 others)"
        return command, found.command

    for command, by_sudo in (
        typed("renice -n 10 -p 12"),
        typed("renice -n 10 -p $(pgrep -wx sh)"),
    ):
        assert by_sudo == f"sudo {command}"
    of_each = "for p in $(pgrep -wx sh); do echo 19 > /proc/$p/autogroup; done"
    assert typed(of_each)[1] == f"sudo sh -c '{of_each}'"
    assert typed("sudo schedtop path")[1] == "sudo schedtop path"
    assert typed("echo 1 > /proc/irq/9/smp_affinity_list")[1] == "echo 1 | sudo tee /proc/irq/9/smp_affinity_list"
    assert Verdict("ok", "calm", "Nothing waits", (), "Look elsewhere").with_sudo().action == "Look elsewhere"


def test_sentences() -> None:
    verdict = Verdict("ok", "calm", "Nothing waits", ("p99 is 40 µs", "no steal"), "Look elsewhere")
    assert verdict.sentences() == "Nothing waits. Evidence: p99 is 40 µs; no steal. Look elsewhere."
    assert Verdict("ok", "calm", "Nothing waits").sentences() == "Nothing waits."


def test_names_cannot_steer_the_terminal() -> None:
    rows = blocked(waits(comm=b"\x1b[2J"), (66, b"\x1b[2J\n", 0.9))
    assert judged(frame(rows)).sentences().isprintable()


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 5), st.integers(0, 40), st.integers(0, 200), st.floats(0, 1), st.integers(0, 2**32),
    st.sampled_from(["", "nginx", "cpu:0", "cpu:7", "cgroup:docker", "java cpu:1"]),
    st.sets(st.sampled_from(["latency", "slow_waits", "tasks", "steal", "busy", "pressure", "switches"]), max_size=2),
    st.sampled_from([0, 1, MS, 5 * MS, NS_PER_S]), st.booleans(),
)  # fmt: skip
def test_verdict_always_exists(
    cpus: int, count: int, slow: int, steal: float, seed: int, words: str, gone: set[str], threshold: int, fits: bool
) -> None:
    rng = np.random.default_rng(seed)
    scenario = Scenario(cpus=cpus + 1, tasks=count, slow_waits=slow if count else 0, steal_ratio=steal, seed=seed)
    made = [make_frame(scenario, number, rng, threshold) for number in range(2)]
    for each in made:
        for field, most in (("cause", 7), ("evidence", 5), ("kind", 4)):
            each.slow_waits[field] = rng.integers(most, size=len(each.slow_waits))
        each.tasks["waiting_ns"] *= int(rng.integers(1, 300))
    if fits:
        made = [replace(each, latency=LatencyTable.empty(cpus + 1)) for each in made]
    made = [replace(each, unavailable=dict.fromkeys(gone, "gone")) for each in made]
    verdict = judge(History(HOST, made).view(ViewSettings(window_ns=2 * NS_PER_S, filter=Filter.parse(words))))
    assert verdict.headline
    assert verdict.rule
    assert verdict.level in ("ok", "notice", "alarm", "unknown")
    assert verdict.sentences().isprintable()


def test_ids_of_rules_are_unique() -> None:
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)


def test_the_documentation_has_each_rule_in_its_order() -> None:
    text = (ROOT / "docs/verdict-rules.md").read_text(encoding="utf-8")
    table = text.partition("| rule | level |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == [rule.id for rule in RULES]
    sums = text.partition("With the source `proc`")[2].replace("\n", " ").partition(" can be told")[0]
    assert {rule.id for rule in RULES if rule.by_sums} == set(re.findall(r"`([\w-]+)`", sums)) | SAY_NOTHING_OF_WAITS
    blame = (ROOT / "docs/blame.md").read_text(encoding="utf-8")
    assert [name for name in CAUSES if f"`{name}`" not in blame] == []


def test_what_a_long_window_tells_is_said_to_be_over() -> None:
    """Twenty seconds after the command had helped, a window of a minute still told to type it."""

    def told(calm_s: int, window_s: int = 60) -> Verdict:
        frames = []
        for second in range(1, 31):
            start = START + second * NS_PER_S
            rows = pinned() if second <= 30 - calm_s else waits(0)
            rows["time_ns"] = start + NS_PER_S
            frames.append(replace(frame(rows), start_time_ns=start, end_ns=second * NS_PER_S))
        facts = gather(History(HOST, frames).view(ViewSettings(window_ns=window_s * NS_PER_S)))
        return with_end(verdict_on(facts), facts)

    def headline(calm_s: int, window_s: int = 60) -> str:
        return told(calm_s, window_s).headline

    assert headline(0).startswith("CPU 1: app (101) and app (102) are pinned to it and compete")
    assert headline(4) == headline(0)
    assert headline(20) == f"No such wait for 20 s; before: {headline(0)}"
    assert "pinned" not in headline(20, 1)
    assert told(20).level == "notice"


@pytest.mark.parametrize(
    ("ms", "tids", "level"), [(400, 1, "alarm"), (390, 1, "notice"), (490, 2, "notice"), (500, 2, "alarm")]
)
def test_one_task_that_is_late_for_two_fifths_of_the_time_is_an_alarm(ms: int, tids: int, level: str) -> None:
    """A service beside a real-time task waited 44 % of the time: a notice, and an alarm, and a notice again."""
    rows = waits(10, wait_ns=ms * MS // 10)
    if tids == 1:
        rows["tid"] = 101
    assert judged(frame(rows)).level == level

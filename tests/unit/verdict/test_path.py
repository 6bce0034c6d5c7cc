"""The verdict while a path is open."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from schedtop.base.units import NS_PER_S
from schedtop.verdict.path import MOST_SHARE, NO_SINGLE_CAUSE, NOTHING_WAITS, RULE, with_path
from schedtop.verdict.verdict import Verdict
from tests import ROOT
from tests.unit.path.test_walk import LATE, held_lock

CALM = Verdict("ok", "calm", "Waits are short: p99 is 20 µs")


def inversion():  # type: ignore[no-untyped-def]
    return held_lock().paths(LATE).inversion


@pytest.mark.parametrize("rule", NOTHING_WAITS)
def test_where_nothing_waits_an_inversion_is_the_verdict(rule: str) -> None:
    found = with_path(Verdict("ok", rule, "Nothing waits"), inversion(), NS_PER_S)
    assert (found.level, found.rule) == ("notice", "inversion")
    assert found.headline == (
        "Priority inversion: flusher holds what rpc-worker waits for, and is itself queued behind backup"
    )
    assert "it does not wait for a CPU itself: Nothing waits" in found.evidence
    assert "300 µs a second were lost so, over 1.00 s" in found.evidence
    assert found.command == "renice -n 10 -p $(pgrep -wx backup)"
    assert found.action == f"Give backup less weight, or use a lock with priority inheritance: {found.command}"


def test_half_of_the_time_is_an_alarm() -> None:
    assert with_path(CALM, inversion(), 500_000).level == "alarm"


@pytest.mark.parametrize("rule", NO_SINGLE_CAUSE)
def test_on_a_full_host_an_inversion_names_the_holder_and_the_host_comes_after_it(rule: str) -> None:
    found = with_path(Verdict("alarm", rule, "2 CPUs are 100 % busy"), inversion(), NS_PER_S)
    assert (found.level, found.rule) == ("alarm", "inversion")
    assert found.headline.startswith("Priority inversion: flusher holds what rpc-worker waits for")
    assert found.evidence[-1] == "besides: 2 CPUs are 100 % busy"


def test_a_verdict_that_has_a_cause_stays_unless_the_inversion_takes_most_of_the_time() -> None:
    blocked, found = Verdict("alarm", "blocker", "backup has its CPU"), inversion()
    less = replace(found, time_ns=int(0.4 * found.late_ns))
    assert found.share >= MOST_SHARE
    assert with_path(blocked, less, NS_PER_S) is blocked
    assert with_path(blocked, found, NS_PER_S).rule == RULE


def test_without_an_inversion_it_stays() -> None:
    assert with_path(CALM, None, NS_PER_S) is CALM


def test_the_documentation_has_it_with_its_levels() -> None:
    text = (ROOT / "docs/verdict-rules.md").read_text(encoding="utf-8")
    assert f"| `{RULE}` | notice, alarm |" in text
    told = text.partition("in place of ")[2].partition(":")[0]
    assert set(re.findall(r"`([\w-]+)`", told)) == {*NOTHING_WAITS, *NO_SINGLE_CAUSE} - {"measuring"}

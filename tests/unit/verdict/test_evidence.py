"""What cannot be judged, and what must not be guessed."""

from dataclasses import replace

import pytest

from schedtop.model.counts import Loss, Pressure
from tests.unit.verdict.frames import MS, START, frame, judged, pinned, quota, tasks, waits


def test_a_short_window_is_not_judged() -> None:
    assert judged(frame(pinned(), interval_ns=99 * MS)).rule == "too-short"
    assert judged(frame(pinned(), interval_ns=100 * MS)).rule != "too-short"


@pytest.mark.parametrize("part", ["latency", "slow_waits", "switches"])
def test_verdict_names_unavailable_parts_with_the_reason(part: str) -> None:
    lost = {"latency": ("latency", "run_delay")}.get(part, (part,))
    verdict = judged(frame(pinned(), steal=0.12, unavailable=dict.fromkeys(lost, "no tracepoint")))
    assert (verdict.level, verdict.rule) == ("unknown", "unavailable")
    assert verdict.headline.endswith("no tracepoint")
    assert "steal is 12 %" in verdict.evidence
    assert judged(frame(unavailable={"migrations": "no tracepoint"})).rule == "calm"


@pytest.mark.parametrize("loss", [Loss(ring_dropped=51), Loss(slow_waits_suppressed=51), Loss(slow_waits_forgotten=51)])
def test_verdict_names_no_cause_with_most_slow_waits_lost(loss: Loss) -> None:
    verdict = judged(frame(pinned(), loss=loss))
    assert (verdict.level, verdict.rule) == ("unknown", "incomplete")
    assert "50 % of the slow waits" in verdict.headline


def test_verdict_names_cause_and_loss_with_some_slow_waits_lost() -> None:
    verdict = judged(frame(pinned(), loss=Loss(ring_dropped=40)))
    assert verdict.rule == "pinned"
    assert "44 % of the slow waits were not seen" in verdict.evidence
    assert judged(frame(loss=Loss(ring_dropped=4))).rule == "calm"


def test_slow_waits_that_only_the_histogram_has_are_missing() -> None:
    made = frame(pinned())
    verdict = judged(replace(made, slow_waits=made.slow_waits[:10]))
    assert (verdict.level, verdict.rule) == ("unknown", "incomplete")
    assert judged(replace(made, slow_waits=made.slow_waits[:30])).rule == "pinned"


def test_more_steal_in_one_wait_than_in_all_is_a_contradiction() -> None:
    rows = waits(20, "stolen", wait_ns=100 * MS)
    verdict = judged(frame(rows, steal=0.01))
    assert (verdict.level, verdict.rule) == ("unknown", "contradiction")
    assert "75.0 ms of one wait were stolen, but 20.0 ms in all" in verdict.evidence
    assert judged(frame(rows, steal=0.03)).rule == "stolen"
    rows["time_ns"] = START + MS  # They began before the window.
    assert judged(frame(rows, steal=0.01)).rule == "stolen"


def test_a_cpu_that_was_idle_in_one_wait_only_is_a_contradiction() -> None:
    rows = pinned(20, wait_ns=200 * MS)
    assert judged(frame(rows, busy=(0.83, 0.98))).rule == "contradiction"
    assert judged(frame(rows, busy=(0.81, 0.98))).rule == "pinned"


@pytest.mark.parametrize(("field", "rule"), [("cause", "undecided"), ("evidence", "idle-cpu")])
def test_verdict_does_not_guess_at_causes_of_a_later_version(field: str, rule: str) -> None:
    rows = pinned()
    rows[field] = 99
    verdict = judged(frame(rows))
    assert (verdict.level, verdict.rule) == ("unknown", rule)


def test_verdict_under_a_filter_without_tasks_ignores_the_host() -> None:
    made = frame(steal=0.12, throttling=quota(), tasks=tasks(), pressure=Pressure(300 * MS, 0))
    for words in ("nginx", "tid:4711", "nginx cpu:1"):
        verdict = judged(made, words, seconds=10)
        assert (verdict.level, verdict.rule) == ("unknown", "nothing-passes")
        assert verdict.headline == "Nothing passes the filter: no task to judge"
    assert "steal is 12 %" in judged(made, "nginx").evidence
    assert judged(frame(waits(300), busy=(0.98, 0.98), tasks=tasks()), "nginx").rule == "nothing-passes"
    assert judged(made, "ffmpeg").rule == judged(made, "cpu:1").rule == "quota"
    unknown = judged(frame(unavailable={"tasks": "no room"}), "nginx")
    assert (unknown.rule, unknown.headline.endswith("tasks are not known: no room")) == ("nothing-passes", True)
    # A slow wait may be of a task that has ended.
    assert judged(frame(pinned()), "app").rule == "pinned"


@pytest.mark.parametrize(("count", "rule"), [(0, "few"), (19, "few"), (20, "calm")])
def test_a_few_waits_are_too_few(count: int, rule: str) -> None:
    verdict = judged(frame(short=count))
    assert (verdict.rule, verdict.level) == (rule, "unknown" if rule == "few" else "ok")

"""Steal, with slow waits and without."""

from tests.unit.verdict.frames import MS, frame, judged, waits


def test_slow_waits_that_were_stolen() -> None:
    verdict = judged(frame(waits(cause="stolen"), steal=0.12, busy=(0.5, 0.5)))
    assert verdict.rule == "stolen"
    assert verdict.headline == "Steal is 12 %: the host is oversubscribed or limits this VM"
    little = judged(frame(waits(cause="stolen"), steal=0.02))
    assert little.headline == "The hypervisor had the CPU for at least 75 % of the slow waits"
    unknown = judged(frame(waits(cause="stolen"), unavailable={"steal": "no /proc/stat"}))
    assert "steal is not available" in unknown.evidence


def test_steal_comes_before_a_queue_only_if_it_is_in_the_waits() -> None:
    assert judged(frame(waits(stolen_ns=2 * MS), steal=0.12)).rule == "stolen"
    for other in (frame(waits(stolen_ns=1 * MS), steal=0.12), frame(waits(stolen_ns=2 * MS), steal=0.09)):
        verdict = judged(other)
        assert verdict.rule == "queueing"
        assert any(part.startswith("steal is") for part in verdict.evidence)


def test_steal_without_slow_waits() -> None:
    assert judged(frame(steal=0.049)).rule == "calm"
    assert (judged(frame(steal=0.05)).rule, judged(frame(steal=0.05)).level) == ("steal", "notice")
    assert judged(frame(steal=0.12)).level == "alarm"
    assert judged(frame(steal=0.12, unavailable={"steal": "?"})).rule == "calm"

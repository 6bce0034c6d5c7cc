"""Few slow waits, or none."""

from tests.unit.verdict.frames import MS, frame, judged, pinned, tasks


def test_verdict_without_waits_is_quiet() -> None:
    verdict = judged(frame(short_ns=40_000))
    assert (verdict.level, verdict.rule) == ("ok", "calm")
    assert verdict.headline.startswith("Nothing waits: p99 is ")
    assert judged(frame(short_ns=2 * MS)).headline.startswith("No wait is slow: p99 is ")
    assert judged(frame(short_ns=2 * MS)).headline.endswith("slow is 5 ms")


def test_a_filter_by_task_says_nothing_of_all_tasks() -> None:
    made = frame(tasks=tasks(max_wait_ns=3 * MS))
    assert judged(made, "ffmpeg").headline == "No slow wait of what the filter shows; its longest is 3.00 ms"
    assert judged(made, "nginx").rule == "nothing-passes"
    assert "p99" in judged(made, "cpu:1").headline


def test_the_filter_holds_for_slow_waits() -> None:
    assert judged(frame(pinned(), tasks=tasks()), "ffmpeg").rule == "calm"


def test_a_few_slow_waits_have_no_common_cause() -> None:
    verdict = judged(frame(pinned(4)))
    assert verdict.rule == "rare"
    assert verdict.headline == "4 slow waits, the longest 8.00 ms: too few for a common cause"
    assert "the affinity mask" in verdict.evidence[0]
    assert judged(frame(pinned(5))).rule == "pinned"
    assert judged(frame(pinned(2, wait_ns=60 * MS))).rule == "pinned"

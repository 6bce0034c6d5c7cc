"""The advice on a group: what spends its quota, how long it lasts, and when there is none."""

from dataclasses import replace

import numpy as np
import pytest

from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.quota.advice import FEW_PERIODS, UNKNOWN_QUOTA, advise, cpus_words, step_words
from schedtop.quota.record import records_of
from schedtop.verdict.engine import judge
from tests.unit.quota.simulation import Thread, simulate
from tests.unit.verdict.frames import HOST, MS, judged


def test_spenders_are_the_threads_that_ran_the_largest_first() -> None:
    (record,) = records_of(simulate([Thread(1, 99), Thread(1000), Thread(1, 9999, first_ms=999_999)], 20).frame)
    spenders = advise(record).spenders
    assert spenders["tid"].tolist() == [101, 100]
    assert spenders["run_ns"].sum() == record.run_ns


def test_how_long_the_quota_lasts_is_until_the_first_thread_waits() -> None:
    (record,) = records_of(simulate([Thread(1000)] * 2, 40).frame)
    lasting = advise(record).lasting
    assert lasting and lasting.median_ns == lasting.worst_ns == 20 * MS


def test_too_few_throttled_periods_are_no_base() -> None:
    made = simulate([Thread(30, 430, first_ms=40)], 20, seconds=2)
    assert 0 < made.throttled_periods < FEW_PERIODS
    advice = advise(records_of(made.frame)[0])
    assert "only" in advice.why_not and not advice.steps and advice.prediction is None


def test_without_the_quota_there_is_no_advice() -> None:
    made = simulate([Thread(30, 430, first_ms=40)], 20).frame
    made.throttling["quota_ns"] = 0
    assert advise(records_of(made)[0]).why_not == UNKNOWN_QUOTA


def test_without_single_waits_the_range_is_wide() -> None:
    made = simulate([Thread(1000)] * 4, 20).frame
    advice = advise(records_of(replace(made, slow_waits=made.slow_waits[:0]))[0])
    assert advice.prediction and advice.prediction.by_sums and advice.lasting is None
    wide, exact = advice.steps[1].quota_ns, advise(records_of(made)[0]).steps[1].quota_ns
    assert wide.low <= exact.low and wide.high >= 0.99 * exact.high


def test_waits_that_are_not_known_are_like_the_rest() -> None:
    made = simulate([Thread(1000)] * 4, 20).frame
    half = advise(records_of(replace(made, slow_waits=made.slow_waits[: len(made.slow_waits) // 2]))[0])
    whole = advise(records_of(made)[0])
    assert half.prediction and half.prediction.known_ratio == pytest.approx(0.5, abs=0.02)
    assert half.steps[1].quota_ns.high == pytest.approx(whole.steps[1].quota_ns.high, rel=0.01)


@pytest.mark.parametrize(
    ("ratio", "words"), [(0.2, "0.20"), (0.201, "0.21"), (0.0151, "0.016"), (1.999, "2.00"), (12.41, "12.5")]
)
def test_quotas_are_rounded_up(ratio: float, words: str) -> None:
    assert cpus_words(ratio) == words


def test_verdict_carries_the_advice() -> None:
    made = simulate([Thread(1000)], 20, seconds=3).frame
    (record,) = records_of(made)
    advice = advise(record)
    words = step_words(advice, advice.steps[1])
    assert words.startswith("quota 0.20 → 0.7") and words.endswith(" to 0.93 CPUs would have removed 90 %")
    verdict = judged(replace(made, interval_ns=3_000 * MS))
    assert verdict.rule == "throttled"
    assert verdict.action.startswith("Q" + words[1:])
    assert verdict.command == "sudo schedtop advise --duration 30s"  # where its file is was not told


@pytest.mark.parametrize(("weight_file", "quota_file"), [("cpu.shares", "cpu.cfs_quota_us"), ("cpu.weight", "cpu.max")])
def test_command_of_the_verdict_sets_the_quota_that_is_enough(weight_file: str, quota_file: str) -> None:
    made = replace(simulate([Thread(1000)], 20, seconds=3).frame, interval_ns=3_000 * MS)
    host = replace(HOST, weight_file=f"/sys/fs/cgroup{{}}/{weight_file}")
    verdict = judge(History(host, [made]).view(ViewSettings()))
    assert verdict.command == f"echo 93000 > /sys/fs/cgroup/system.slice/web.service/{quota_file}"
    assert verdict.action == f"Raise the quota from 0.20 to 0.93 CPUs: {verdict.command}"
    assert verdict.evidence[0].startswith("90 % less throttling takes 0.7")
    needed = " CPUs (the same work) to 0.93 (all it can run)"
    assert verdict.evidence[0].endswith(f"{needed}; the command sets the larger, 46 % of all CPUs")


def test_no_command_beyond_the_quota_around() -> None:
    made = replace(simulate([Thread(1000)], 20, seconds=3).frame, interval_ns=3_000 * MS)
    made.throttling["cgroup_id"] = 8
    around = made.throttling.copy()
    around["cgroup_id"], around["quota_ns"], around["throttled_periods"] = 7, 50 * MS, 0
    made = replace(made, throttling=np.concatenate((made.throttling, around)))
    made.slow_waits["cgroup_id"] = made.tasks["cgroup_id"] = 8
    host = replace(HOST, weight_file="/sys/fs/cgroup{}/cpu.shares")
    verdict = judge(History(host, [made]).view(ViewSettings()))
    assert verdict.rule == "throttled" and "would have removed" in verdict.action
    assert verdict.command == "sudo schedtop advise --duration 30s"


def test_verdict_without_the_quota_names_none() -> None:
    made = simulate([Thread(1000)], 20, seconds=3).frame
    made.throttling["quota_ns"] = 0
    assert judged(made).command == "sudo schedtop advise --duration 30s"

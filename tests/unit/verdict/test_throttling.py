"""Quotas, with slow waits and without."""

import pytest

from schedtop.model.waits import BEGINNINGS
from tests.unit.verdict.frames import MS, frame, judged, quota, waits


@pytest.mark.parametrize("group", [7, 8])
def test_a_group_throttled_by_its_own_quota_or_one_around_it(group: int) -> None:
    verdict = judged(frame(waits(cause="throttled", cgroup_id=group), throttling=quota()))
    assert verdict.rule == "throttled"
    assert verdict.headline == "web.service is throttled by its quota in 40 % of its periods, up to 8.00 ms"
    assert any(part.startswith("other waits are fine: p99 ") for part in verdict.evidence)


def test_the_quota_of_a_group_with_a_similar_name_is_not_its_own() -> None:
    verdict = judged(frame(waits(cause="throttled", cgroup_id=9), throttling=quota()))
    assert verdict.headline == "web.service-2.service is throttled by its quota, up to 8.00 ms"
    assert verdict.evidence[0] == "how often is not known yet"


def test_verdict_names_the_most_throttled_group() -> None:
    rows = waits(cause="throttled", cgroup_id=7)
    rows["tid"][:5], rows["comm"][:5], rows["cgroup_id"][:5], rows["wait_ns"][:5] = 33, b"other", 9, 20 * MS
    rows["tid"][5:40] = 101
    verdict = judged(frame(rows, throttling=quota()))
    assert verdict.headline.startswith("web.service is throttled")
    assert verdict.evidence[0] == "app (101) waited most: 320 ms for its quota"


def test_throttling_that_is_inferred_says_so() -> None:
    rows = waits(cause="throttled", evidence="inferred", cgroup_id=7)
    rows["kind"] = BEGINNINGS.index("preemption")
    verdict = judged(frame(rows, throttling=quota()))
    assert verdict.evidence[0] == "inferred from cpu.stat"
    assert not any("fine" in part for part in verdict.evidence)
    assert judged(frame(waits(cause="throttled"))).headline == "app (101) is throttled by its quota, up to 8.00 ms"


def test_a_quota_without_slow_waits() -> None:
    assert judged(frame(throttling=quota())).headline == "web.service is throttled by its quota in 40 % of its periods"
    held = quota()
    held["throttled_ns"] = 180 * MS
    assert judged(frame(throttling=held)).headline.endswith(" in 40 % of its periods, 180 ms in 1.00 s")
    assert judged(frame(throttling=quota(throttled=1, periods=11))).rule == "calm"
    assert judged(frame(throttling=quota(group=4711))).headline.startswith("A cgroup is throttled")

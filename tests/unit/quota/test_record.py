"""What is added up of each throttled group: settings, threads, and the waits for its quota."""

from dataclasses import replace

import numpy as np
import pytest

from schedtop.model.frame import Frame
from schedtop.model.rows import THROTTLING_DTYPE, Rows
from schedtop.quota.periods import periods_of
from schedtop.quota.record import QuotaRecords, records_of
from tests.unit.quota.simulation import GROUP, Thread, simulate
from tests.unit.verdict.frames import MS, frame, quota, tasks, waits

HOG = [Thread(1000)]


def group_rows(*items: dict[str, int]) -> Rows:
    rows = np.zeros(len(items), THROTTLING_DTYPE)
    for row, item in zip(rows, items, strict=True):
        row["periods"], row["period_ns"] = 10, 100 * MS
        for name, value in item.items():
            row[name] = value
    return rows


def test_nothing_throttled_is_no_record() -> None:
    assert not records_of(frame())
    assert not records_of(frame(throttling=quota(throttled=0)))


def test_frames_add_up_to_what_one_of_all_says() -> None:
    whole = simulate(HOG, 20, seconds=4).frame
    records = QuotaRecords()
    for _ in range(3):
        records.add(whole)
    (record,) = records.records()
    (single,) = records_of(whole)
    assert record.path == "/system.slice/web.service" and record.cgroup_id == GROUP
    assert record.throttled_ns == 3 * single.throttled_ns == 3 * int(whole.throttling["throttled_ns"][0])
    assert record.run_ns == 3 * single.run_ns
    assert (record.quota_ns, record.period_ns, record.inferred) == (20 * MS, 100 * MS, False)
    assert len(record.held) == 3 * len(single.held) == 3 * single.throttled_periods


def test_a_wait_is_for_the_nearest_throttled_quota_around_the_thread() -> None:
    rows = group_rows(
        {"cgroup_id": 7, "throttled_periods": 5, "throttled_ns": 100},
        {"cgroup_id": 8, "throttled_periods": 5, "throttled_ns": 200},
    )
    slow = np.concatenate((waits(3, "throttled", cgroup_id=8), waits(2, "throttled", cgroup_id=7)))
    running = np.concatenate((tasks(cgroup_id=8, tid=1, run_ns=10), tasks(cgroup_id=7, tid=2, run_ns=30)))
    inner, outer = records_of(frame(slow, throttling=rows, tasks=running))
    assert (inner.path, len(inner.held), inner.run_ns) == ("/system.slice/web.service/worker", 3, 10)
    assert (outer.path, len(outer.held), outer.run_ns) == ("/system.slice/web.service", 2, 40)


def test_a_quota_below_that_was_never_spent_takes_no_waits() -> None:
    rows = group_rows(
        {"cgroup_id": 7, "throttled_periods": 5, "throttled_ns": 100, "quota_ns": 20 * MS},
        {"cgroup_id": 8, "quota_ns": 10 * MS},
    )
    (record,) = records_of(frame(waits(3, "throttled", cgroup_id=8), throttling=rows))
    assert (record.path, len(record.held)) == ("/system.slice/web.service", 3)
    assert not record.enclosing


def test_quotas_around_a_group_are_told() -> None:
    rows = group_rows(
        {"cgroup_id": 7, "quota_ns": 60 * MS},
        {"cgroup_id": 8, "throttled_periods": 5, "throttled_ns": 100, "quota_ns": 20 * MS},
        {"cgroup_id": 9, "quota_ns": 30 * MS},
    )
    (record,) = records_of(frame(throttling=rows))
    assert dict(record.enclosing) == {"/system.slice/web.service": 0.6}


def test_a_changed_quota_begins_anew() -> None:
    records = QuotaRecords()
    records.add(simulate(HOG, 20, seconds=2).frame)
    later = simulate(HOG, 50, seconds=3).frame
    records.add(later)
    (record,) = records.records()
    assert record.quota_ns == 50 * MS and record.interval_ns == later.interval_ns
    assert records.changed == {GROUP}


def without_settings(made: Frame) -> Frame:
    """As an older schedtop recorded it."""
    rows = made.throttling.copy()
    rows["quota_ns"] = rows["period_ns"] = 0
    return replace(made, throttling=rows)


@pytest.mark.parametrize("quota_ms", [20, 55])
def test_an_old_recording_of_a_group_that_always_runs_out_tells_its_quota(quota_ms: int) -> None:
    (record,) = records_of(without_settings(simulate(HOG, quota_ms).frame))
    assert record.inferred and record.period_ns == 100 * MS
    assert record.quota_ns == pytest.approx(quota_ms * MS, rel=0.03)


def test_an_old_recording_of_a_group_that_runs_out_now_and_then_does_not() -> None:
    (record,) = records_of(without_settings(simulate([Thread(30, 430, first_ms=40)], 20).frame))
    assert record.inferred and not record.quota_ns


def test_a_period_is_known_by_when_its_quota_comes_back() -> None:
    outcome = simulate([Thread(1000)] * 4, 20, seconds=3)
    (record,) = records_of(outcome.frame)
    each = periods_of(record)
    assert len(each) == outcome.throttled_periods
    assert each.held_ns == pytest.approx(np.full(len(each), 90 * MS))
    assert each.throttled_ns.sum() == outcome.throttled_ns
    # Four wait, two at a time could run.
    assert each.hidden_ns == pytest.approx(np.full(len(each), 180 * MS))


def test_threads_bound_to_one_cpu_could_not_have_run_at_the_same_time() -> None:
    made = simulate([Thread(1000)] * 4, 20, seconds=3).frame
    made.slow_waits["allowed_cpus"] = 1
    made.slow_waits["cpu"] = made.slow_waits["enqueue_cpu"] = 0
    (record,) = records_of(made)
    each = periods_of(record)
    assert each.hidden_ns == pytest.approx(each.held_ns)
    assert each.throttled_ns == pytest.approx(each.held_ns)


def test_a_wait_that_is_inferred_is_for_the_quota_as_a_whole() -> None:
    slow = waits(4, "throttled", "inferred", cgroup_id=7, wait_ns=60 * MS)
    rows = group_rows({"cgroup_id": 7, "throttled_periods": 4, "throttled_ns": 240 * MS, "quota_ns": 40 * MS})
    (record,) = records_of(frame(slow, throttling=rows))
    assert record.held["held_ns"].tolist() == [60 * MS] * 4

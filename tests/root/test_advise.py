"""`schedtop advise`: the quota that it advises, applied to the same load again, leaves what was predicted.

The truth is the kernel's cpu.stat. The group outweighs what else runs here, and what others still have of its CPUs
(`blocked_ns`, steal) is told apart: time in which a thread is queued behind them is no throttled time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from loads import load_share
from scenarios import HOG, Cast, Role, cgroup

from schedtop.model.frame import Frame
from schedtop.quota.advice import FEW_PERIODS, Advice, advise
from schedtop.quota.prediction import Prediction
from schedtop.quota.record import QuotaRecord, QuotaRecords
from schedtop.sources.host.throttling import read_statistics

NS_PER_MS = 1_000_000
PERIOD_US = 100_000

TOLERANCE = 0.1
"""Of the throttled time, and of all periods: the kernel hands out a quota in slices of 5 ms and charges it at ticks of
4 ms, and a take is 50 periods long."""

SHORT = "four threads"

SECONDS, TRIES = 5, 3

STARVED = 0.1
"""Loads that run less of the time than half of their quota have no CPU."""

HEAVIEST = {"cpu.shares": "262144", "cpu.weight": "10000"}
"""The largest weight, of v1 and v2."""

BOTH_CPUS = "os.sched_setaffinity(0, {0, 1})\n"
BURSTS = "while True:\n    burn(30)\n    time.sleep(0.07)"
# After a wait for the quota it sleeps until 40 ms of a period are over, and so runs out in that one, too.
RARE_BURSTS = "while True:\n    burn(30)\n    time.sleep(0.43)"

pytestmark = pytest.mark.skipif(load_share() < 1, reason="an emulated CPU is no place for shares of periods")


@dataclass(frozen=True, slots=True)
class Take:
    """What the kernel counted in `duration_ns`, what others had of it, and the Frames."""

    duration_ns: int
    run_ns: int
    periods: int
    throttled_periods: int
    throttled_ns: int
    others_ns: int
    frames: list[Frame]

    def record(self, group: Path) -> QuotaRecord:
        """What schedtop says of a group."""
        records = QuotaRecords()
        for frame in self.frames:
            records.add(frame)
        found = [record for record in records.records() if record.cgroup_id == group.stat().st_ino]
        assert found, [record.path for record in records.records()]
        return found[0]


def is_unified(group: Path) -> bool:
    return (group / "cpu.max").exists()


def set_quota(group: Path, quota_us: int, burst_us: int = 0) -> None:
    if is_unified(group):
        (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
    else:
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    if burst_us:
        (group / ("cpu.max.burst" if is_unified(group) else "cpu.cfs_burst_us")).write_text(str(burst_us))


@contextmanager
def heavy_group(name: str, quota: float | None, parent: Path | None = None) -> Iterator[Path]:
    with cgroup(name, quota=quota, parent=parent) as directory:
        for file, weight in HEAVIEST.items():
            with suppress(OSError):
                if (directory / file).exists():
                    (directory / file).write_text(weight)
        yield directory


def take_of(collect: Callable[..., object], roles: list[Role], group: Path) -> Take:
    """These roles for a while; the kernel's numbers from their start until they stand still."""
    with Cast(roles) as cast, collect(interval_ns=500 * NS_PER_MS, threshold_ns=NS_PER_MS) as collector:  # type: ignore[attr-defined]
        deadline = time.monotonic() + 30
        while not collector.frames and time.monotonic() < deadline:
            time.sleep(0.05)  # a busy host may let us wait for the first reading
        before = read_statistics(str(group), is_unified(group))
        cast.play(SECONDS)
        time.sleep(2 * PERIOD_US / 1e6)  # what is throttled is counted when the quota comes back
        after = read_statistics(str(group), is_unified(group))
    mine = list(cast.tids.values())
    pairs = collector.frame.pairs
    others = pairs[[one in mine and other not in mine for one, other in pairs[["victim_tid", "other_tid"]].tolist()]]
    stolen_ns = int(collector.frame.cpus.column("steal_ns").sum())
    return Take(
        cast.duration_ns,
        sum(numbers.run_ns for numbers in cast.kernel.values()),
        *(b - a for a, b in zip(before[:3], after[:3], strict=True)),
        int(others["blocked_ns"].sum()) + stolen_ns,
        collector.frames,
    )


def first_take(collect: Callable[..., object], roles: list[Role], group: Path) -> Take:
    """Under the quota that is to be advised on. Where others (real-time tasks) leave no CPU, nothing is throttled."""
    for _ in range(TRIES):
        take = take_of(collect, roles, group)
        if take.throttled_periods >= 2 * FEW_PERIODS:
            return take
    starved = take.run_ns < STARVED * take.duration_ns or take.others_ns > take.duration_ns // 4
    assert starved, take
    pytest.skip(f"others had the CPUs: the group ran {take.run_ns} ns of {take.duration_ns}, others {take.others_ns}")


def check(before: Take, again: Take, found: Prediction, quota_ns: float) -> None:
    """What is left lies in the predicted range, as a share of what was there.

    It is predicted for the same load of others. Where they had more, less is throttled, and where they had less, more.
    """
    scale = before.duration_ns / again.duration_ns
    left, others = (ns * scale / before.throttled_ns for ns in (again.throttled_ns, again.others_ns))
    others_before = before.others_ns / before.throttled_ns
    time_range, periods_range = found.throttled_ns(quota_ns), found.throttled_periods(quota_ns)
    said = (quota_ns, time_range, before, again)
    assert left <= time_range.high / found.record.throttled_ns + others_before + TOLERANCE, said
    assert left + others >= time_range.low / found.record.throttled_ns - TOLERANCE, said
    # So many periods they may have kept from being throttled: a tenth of each is enough.
    spared_before, spared = (take.others_ns / (found.record.period_ns / 10) for take in (before, again))
    slack = TOLERANCE * before.duration_ns / found.record.period_ns
    # The record begins with the first throttled Frame, the kernel's numbers with the start.
    whole = before.throttled_periods / found.record.throttled_periods
    assert again.throttled_periods <= periods_range.high * whole + spared_before + slack, said
    assert again.throttled_periods + spared >= periods_range.low * whole - slack, said


LOADS = {
    "four threads": [Role(f"hog-{number}", BOTH_CPUS + HOG, cpu=0) for number in range(4)],
    "one hog": [Role("hog", HOG)],
    "bursts": [Role("bursts", BURSTS)],
}


def in_group(roles: list[Role], group: Path) -> list[Role]:
    return [Role(role.name, role.does, role.cpu, group=group) for role in roles]


def advice_on(record: QuotaRecord) -> tuple[Advice, Prediction]:
    advice = advise(record)
    assert advice.prediction, advice.why_not
    return advice, advice.prediction


@pytest.mark.flaky(reruns=1, reruns_delay=3)
# In the long version as well: each takes twenty seconds.
@pytest.mark.parametrize(
    "name", [SHORT, *(pytest.param(name, marks=pytest.mark.stress) for name in LOADS if name != SHORT)]
)
def test_the_advised_quota_leaves_what_was_predicted(collect, name: str) -> None:
    with heavy_group("advise", 0.2) as group:
        roles = in_group(LOADS[name], group)
        before = first_take(collect, roles, group)
        record = before.record(group)
        assert record.quota_ns == 20 * NS_PER_MS and record.period_ns == 100 * NS_PER_MS and not record.inferred
        assert record.throttled_ns == pytest.approx(before.throttled_ns, rel=0.1)
        advice, found = advice_on(record)
        assert not found.by_sums and found.known_ratio > 0.9
        assert set(advice.spenders["comm"].tolist()) >= {role.name.encode() for role in roles}
        quota = found.quota_ns(0.9)
        for quota_ns in (quota.low, quota.high) if name != SHORT else (quota.high,):
            set_quota(group, round(quota_ns / 1000))
            check(before, take_of(collect, roles, group), found, quota_ns)


@pytest.mark.flaky(reruns=1, reruns_delay=3)
@pytest.mark.stress
def test_the_quota_of_a_group_around_the_threads_is_the_one_advised_on(collect) -> None:
    with ExitStack() as stack:
        outer = stack.enter_context(heavy_group("outer", 0.3))
        inner = [stack.enter_context(cgroup(name, parent=outer)) for name in ("a", "b")]
        limited = stack.enter_context(cgroup("limited", quota=0.25, parent=inner[0]))
        roles = [Role("hog-a", HOG, cpu=0, group=limited), Role("hog-b", HOG, cpu=1, group=inner[1])]
        before = first_take(collect, roles, outer)
        record = before.record(outer)
        assert set(record.tasks["comm"].tolist()) >= {b"hog-a", b"hog-b"}
        _, found = advice_on(record)
        quota_ns = found.quota_ns(0.5).high
        set_quota(limited, 25_000)
        set_quota(outer, round(quota_ns / 1000))
        check(before, take_of(collect, roles, outer), found, quota_ns)


@pytest.mark.flaky(reruns=1, reruns_delay=3)
@pytest.mark.stress
def test_the_advised_burst_removes_what_it_says(collect) -> None:
    with heavy_group("burst", 0.2) as group:
        if not any((group / name).exists() for name in ("cpu.cfs_burst_us", "cpu.max.burst")):
            pytest.skip("this kernel has no bursts (before 5.14)")
        roles = in_group([Role("bursts", RARE_BURSTS)], group)
        before = first_take(collect, roles, group)
        _, found = advice_on(before.record(group))
        burst = found.burst_ns(0.9)
        assert burst.low is not None, found.record
        set_quota(group, 20_000, burst_us=round(burst.low / 1000) + 5_000)  # and the slice that another CPU keeps
        again = take_of(collect, roles, group)
        # Its work is the same each time, so the smaller bound is the true one.
        left_ns = again.throttled_ns * before.duration_ns / again.duration_ns
        assert left_ns <= (0.1 + TOLERANCE) * before.throttled_ns + before.others_ns, (burst, before, again)

"""Quotas: a wait is throttled until its group's quota comes back, and queueing from then on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from loads import kernel_numbers, load_share
from scenarios import HOG, Cast, Role, cgroup

from schedtop.model.rows import Rows
from schedtop.model.waits import CAUSES, EVIDENCE, Beginning
from schedtop.sources.kernel.front_end import choose_front_end
from schedtop.sources.kernel.quotas import QUOTAS_UNKNOWN, tells_quotas

NS_PER_MS = 1_000_000
QUOTA = 0.1
"""Of a CPU, in periods of 100 ms."""

SMALL_QUOTA = QUOTA if load_share() == 1 else 0.02
"""The same for a task beside two others: an emulated CPU gives it next to nothing."""

SLEEPER = "while True:\n    time.sleep(0.005)"
"""Wakes all the time, and uses next to nothing of the quota that a hog beside it uses up."""


def throttles_whole_queues() -> bool:
    """Before 6.18, where what is woken into a throttled group waits with it."""
    return not any(flag.startswith("-DTASK_THROTTLED_OFFSET") for flag in choose_front_end("btf").flags)


def waits_of(collector, cast: Cast, name: str) -> Rows:
    rows = collector.frame.slow_waits
    return rows[rows["tid"] == cast.tids[name]]


@pytest.fixture
def group() -> Iterator[Path]:
    with cgroup("quota", quota=QUOTA) as directory:
        yield directory


@pytest.fixture
def small_group() -> Iterator[Path]:
    with cgroup("small", quota=SMALL_QUOTA) as directory:
        yield directory


def test_a_wakeup_into_a_throttled_group_is_throttled(collect, any_front_end: str, group: Path) -> None:
    """It was `idle CPU, not balanced` before 6.18, whenever its CPU and another one were idle."""
    roles = [Role("hog", HOG, group=group), Role("sleeper", SLEEPER, group=group)]
    with Cast(roles) as cast, collect(any_front_end) as collector:
        cast.go()
        time.sleep(4)
        cast.stop()
    rows = waits_of(collector, cast, "sleeper")
    rows = rows[rows["wait_ns"] > 30 * NS_PER_MS]
    if not throttles_whole_queues():
        # Since 6.18 a sleeper that is woken runs until it comes back to user space: only there it is throttled.
        rows = rows[rows["kind"] != Beginning.WAKEUP]
    assert len(rows) >= 5
    if any_front_end == "tracepoint":
        # It is inferred from an idle CPU, and other tasks of this host may be on it.
        rows = rows[rows["cpu_idle_ns"] >= 0.5 * rows["wait_ns"]]
    causes = [(CAUSES[row["cause"]], EVIDENCE[row["evidence"]]) for row in rows]
    expected = ("throttled", "inferred" if any_front_end == "tracepoint" else "")
    assert causes.count(expected) >= 0.8 * len(rows), causes
    assert not [cause for cause in causes if cause[1] == "not balanced"]


@pytest.mark.parametrize("front_end", ["btf", pytest.param("btf-clock", marks=pytest.mark.stress)])
def test_what_follows_the_return_of_the_quota_is_queueing(collect, front_end: str, small_group: Path) -> None:
    """Two rivals without a quota are on the CPU when it comes back."""
    roles = [Role("limited", HOG, group=small_group), Role("rival-0", HOG), Role("rival-1", HOG)]
    with Cast(roles) as cast, collect(front_end) as collector:
        cast.go()
        time.sleep(4 if load_share() == 1 else 15)
        before = kernel_numbers(cast.tids["limited"])
        cast.stop()
    rows = waits_of(collector, cast, "limited")
    every = rows[["wait_ns", "throttled_ns", "kind", "cause"]].tolist()
    rows = rows[rows["throttled_ns"] > 0]
    said = dict(line.split() for line in (small_group / "cpu.stat").read_text().splitlines())
    if int(said["nr_throttled"]) < 10:  # its rivals may have left it less than its quota
        pytest.skip(f"the kernel has throttled the group {said['nr_throttled']} times in {said['nr_periods']} periods")
    assert len(rows) >= (5 if load_share() == 1 else 1), (every, (small_group / "cpu.stat").read_text())
    assert np.all(rows["throttled_ns"] <= rows["wait_ns"])
    queued = rows["wait_ns"] - rows["throttled_ns"]
    # How long the rivals keep the CPU then is the scheduler's choice; they are blamed for no more than that.
    assert np.any(queued > 0)
    assert np.all(rows["blocker_ns"].sum(axis=1) + rows["others_ns"] + rows["cpu_idle_ns"] <= queued + NS_PER_MS)
    mine = collector.frame.tasks[collector.frame.tasks["tid"] == cast.tids["limited"]]
    # What the kernel accounts for is all of it: the quota's part, too.
    throttled = int(rows["throttled_ns"].sum())
    assert int(mine["run_delay_ns"].sum()) + throttled == pytest.approx(before.run_delay_ns, rel=0.1)


def test_a_kernel_that_does_not_split_waits_says_so(collect, any_front_end: str) -> None:
    with collect(any_front_end) as collector:
        pass
    said = collector.frame.unavailable.get("throttled_ns")
    assert said == (None if tells_quotas(choose_front_end(any_front_end).flags) else QUOTAS_UNKNOWN)
    assert (said is not None) == (any_front_end == "tracepoint")


def test_the_kernel_counts_throttled_time_as_run_delay(group: Path) -> None:
    """So texts must not say that it leaves it out. Nothing else runs on that CPU."""
    with ExitStack() as stack:
        cast = stack.enter_context(Cast([Role("limited", HOG, group=group)]))
        before = kernel_numbers(cast.tids["limited"])
        started = time.monotonic_ns()
        cast.go()
        time.sleep(2)
        after = kernel_numbers(cast.tids["limited"])
        lasted = time.monotonic_ns() - started
    assert after.run_delay_ns - before.run_delay_ns > (1 - QUOTA) / 2 * lasted

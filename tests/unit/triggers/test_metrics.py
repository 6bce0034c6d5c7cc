"""Each metric, on hand-made Frames."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from schedtop.activity.recorded import table_of
from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.counts import Loss, Pressure
from schedtop.model.frame import Frame
from schedtop.model.waits import Cause
from schedtop.triggers.grammar import parse
from schedtop.triggers.measured import Measured
from schedtop.triggers.metrics import METRICS
from tests.unit.activity.made import activity
from tests.unit.triggers.frames import cpus, frame, latency, slow_waits, tasks, throttling

WAITS = [("wakeup", 0, 1 * NS_PER_MS)] * 98 + [("preemption", 1, 40 * NS_PER_MS)] * 2

TASKS = tasks(
    {"tid": 10, "tgid": 10, "comm": b"nginx", "cgroup_id": 7, "run_delay_ns": 300, "max_wait_ns": 90,
     "voluntary_switches": 5, "involuntary_switches": 2},
    {"tid": 11, "tgid": 10, "comm": b"nginx-worker", "cgroup_id": 8, "run_delay_ns": 500, "max_wait_ns": 200,
     "voluntary_switches": 1, "involuntary_switches": 1},
    {"tid": 12, "tgid": 12, "comm": b"cc1", "cgroup_id": 9, "run_delay_ns": 1000, "max_wait_ns": 700,
     "voluntary_switches": 0, "involuntary_switches": 30},
)  # fmt: skip


def busy_frame(**parts: Any) -> Frame:
    return frame(
        cpus=cpus(
            (3, 1),
            busy_ns=(NS_PER_S // 2, NS_PER_S),
            steal_ns=(NS_PER_S // 5, 0),
            switches=(100, 50),
            involuntary_switches=(10, 30),
        ),
        latency=latency(WAITS),
        tasks=TASKS,
        slow_waits=slow_waits(
            {"cpu": 0, "comm": b"nginx", "wait_ns": 95 * NS_PER_MS},
            {"cpu": 1, "comm": b"nginx", "cause": Cause.THROTTLED, "cgroup_id": 8, "wait_ns": 60 * NS_PER_MS},
            {"cpu": 1, "comm": b"cc1", "cause": Cause.THROTTLED, "cgroup_id": 9, "wait_ns": 90 * NS_PER_MS},
        ),
        throttling=throttling(
            {"cgroup_id": 7, "periods": 10, "throttled_periods": 2},
            {"cgroup_id": 8, "periods": 10, "throttled_periods": 4},
            {"cgroup_id": 9, "periods": 10, "throttled_periods": 9},
        ),
        loss=Loss(ring_dropped=4, late_ticks=1, switches_unseen=1000),
        **parts,
    )


def measured(subject: str, *frames: Frame) -> Measured:
    name = subject.partition("(")[0]
    part = parse(f"{subject} > {METRICS[name].unit.example}").comparisons[0]
    return part.metric.measure(frames, part.argument)


@pytest.mark.parametrize(
    ("subject", "value"),
    [
        ("max", 40 * NS_PER_MS),
        ("max(wakeup)", 1 * NS_PER_MS),
        ("max(cpu:0)", 1 * NS_PER_MS),
        ("max(comm:nginx)", 200),
        ("max(tid:12)", 700),
        ("slow_waits", 3),
        ("slow_waits(cpu:1)", 2),
        ("slow_waits(nginx)", 2),
        ("run_delay", 1800),
        ("run_delay(comm:nginx)", 800),
        ("run_delay(comm:NGINX,cc1)", 1800),
        ("run_delay(tid:11)", 500),
        ("run_delay(pid:10)", 800),
        ("run_delay(10)", 800),
        ("run_delay(cgroup:web.service)", 800),
        ("run_delay(cgroup:user.slice)", 1000),
        ("run_delay(pid:10 comm:worker)", 500),
        ("queue_length", 4),
        ("queue_length(cpu:1)", 1),
        ("switches", 150),
        ("switches(cpu:1)", 50),
        ("switches(pid:10)", 9),
        ("involuntary_switches", 40),
        ("involuntary_switches(cpu:1)", 30),
        ("involuntary_switches(comm:cc1)", 30),
        ("busy", 0.75),
        ("busy(cpu:0)", 0.5),
        ("steal", 0.1),
        ("steal(cpu:0)", 0.2),
        ("throttled", 0.9),
        ("throttled(web.service)", 0.4),
        ("throttled(worker)", 0.4),
        ("throttled_p99", 90 * NS_PER_MS),
        ("throttled_p99(web.service)", 60 * NS_PER_MS),
        ("lost", 5),
    ],
)
def test_metric_measures_the_frame(subject: str, value: float) -> None:
    found = measured(subject, busy_frame())
    assert found.value == pytest.approx(value)
    assert found.matched
    assert not found.why


@pytest.mark.parametrize(
    ("subject", "ms"), [("p50", 1), ("p90", 1), ("p99", 40), ("p99.9", 40), ("p99(wakeup)", 1), ("p50(cpu:1)", 40)]
)
def test_percentiles_are_those_of_the_histogram(subject: str, ms: int) -> None:
    assert measured(subject, busy_frame()).value == pytest.approx(ms * NS_PER_MS, rel=0.06)


def test_rates_are_per_second() -> None:
    half = replace(busy_frame(), interval_ns=NS_PER_S // 2)
    for subject in ("slow_waits", "switches", "lost", "run_delay", "involuntary_switches(nginx)"):
        assert measured(subject, half).value == 2 * (measured(subject, busy_frame()).value or 0) != 0


def test_pressure_is_that_of_ten_seconds() -> None:
    # As the kernel has it: every other second knows of two.
    frames = [frame(number, pressure=Pressure(number % 2 * NS_PER_S, 0)) for number in range(10)]
    assert measured("pressure", *frames).value == 0.5
    assert measured("pressure", *frames[1:]) == Measured(None)
    assert measured("pressure", frame(pressure=None)).why


@pytest.mark.parametrize("name", METRICS)
def test_a_quiet_host_has_values_or_nothing_but_no_reason(name: str) -> None:
    result = measured(name, *(frame(number, activity=table_of(activity())) for number in range(10)))
    assert not result.why
    assert result.value == (None if name in ("p50", "p90", "p99", "p99.9", "max", "throttled_p99") else 0)


@pytest.mark.parametrize(
    ("subject", "part"),
    [
        ("p99", "latency"), ("max", "latency"), ("max(nginx)", "tasks"), ("run_delay", "tasks"), ("steal", "steal"),
        ("busy(cpu:1)", "busy"), ("pressure", "pressure"), ("throttled", "throttling"), ("switches", "switches"),
    ],
)  # fmt: skip
def test_unavailable_metric_has_a_reason(subject: str, part: str) -> None:
    assert measured(subject, busy_frame(unavailable={part: "not here"})) == Measured(None, "not here")


@pytest.mark.parametrize("name", ["p99", "max", "busy", "queue_length", "switches", "slow_waits"])
def test_a_cpu_that_is_not_there_has_a_reason(name: str) -> None:
    assert measured(f"{name}(cpu:7)", busy_frame()) == Measured(None, "there is no CPU 7, or it is offline")


@pytest.mark.parametrize("subject", ["max(redis)", "run_delay(redis)", "throttled(redis)", "switches(redis)"])
def test_metric_without_a_match_says_so(subject: str) -> None:
    assert not measured(subject, busy_frame()).matched

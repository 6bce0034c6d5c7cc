"""What a trigger can ask about: one number of each interval, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal

from schedtop.base.units import exact_duration, format_count, format_ns, format_rate, format_ratio, rate
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.rows import Rows
from schedtop.model.waits import Cause
from schedtop.triggers.activity import activity_rate
from schedtop.triggers.measured import PRESSURE_SPAN_NS, Argument, Measure, Measured


@dataclass(frozen=True, slots=True)
class Unit:
    """What a metric is in. `example` is how a value of it is written, `units` what may stand after the number."""

    name: str
    example: str
    units: str
    show: Callable[[float], str]
    write: Callable[[Decimal], str]


TIME = Unit("time", "10ms", "ns, us, ms or s", format_ns, lambda value: exact_duration(int(value)))
SHARE = Unit("share", "5%", "%", format_ratio, lambda value: f"{(value * 100).normalize():f}%")
RATE = Unit("rate", "10/s", "/s", lambda value: f"{format_rate(value)}/s", lambda value: f"{value.normalize():f}/s")
TIME_RATE = Unit(
    "time a second",
    "200ms/s",
    "us/s, ms/s or s/s",
    lambda value: f"{format_ns(value)}/s",
    lambda value: f"{exact_duration(int(value))}/s",
)
COUNT = Unit("count", "4", "", format_count, lambda value: f"{value.normalize():f}")


@dataclass(frozen=True, slots=True)
class Metric:
    """One of METRICS. `takes`: which arguments it has, of `kind`, `cpu`, `tasks`, `cgroup`."""

    name: str
    unit: Unit
    takes: tuple[str, ...]
    meaning: str
    measure: Measure


def _part(frame: Frame, *parts: str) -> Measured | None:
    """Says that a part of the Frame is missing, if one is."""
    missing = next((part for part in parts if part in frame.unavailable), None)
    return Measured(None, frame.unavailable[missing]) if missing else None


def _percentile(ratio: float) -> Measure:
    def measure(recent: Sequence[Frame], argument: Argument) -> Measured:
        frame = recent[-1]
        if missing := _part(frame, "latency") or _cpu_missing(frame, argument):
            return missing
        return Measured(frame.latency.histogram(argument.kind, argument.cpu).percentile_ns(ratio))

    return measure


def _longest(recent: Sequence[Frame], argument: Argument) -> Measured:
    frame = recent[-1]
    if argument.tasks:
        if missing := _part(frame, "tasks", "latency"):
            return missing
        rows = _tasks(frame, argument)
        return Measured(int(rows["max_wait_ns"].max()) if len(rows) else None, matched=bool(len(rows)))
    if missing := _part(frame, "latency") or _cpu_missing(frame, argument):
        return missing
    return Measured(frame.latency.histogram(argument.kind, argument.cpu).max_ns or None)


def _share(counter: str) -> Measure:
    def measure(recent: Sequence[Frame], argument: Argument) -> Measured:
        frame = recent[-1]
        if missing := _part(frame, counter.removesuffix("_ns")) or _cpu_missing(frame, argument):
            return missing
        return Measured(frame.ratio(counter, argument.cpu))

    return measure


def _cpu_rate(*counters: str) -> Measure:
    """Events a second, of all CPUs, one, or some tasks (their switches are the sum of both kinds)."""

    def measure(recent: Sequence[Frame], argument: Argument) -> Measured:
        frame = recent[-1]
        if argument.tasks:
            if missing := _part(frame, "tasks", "task_switches"):
                return missing
            rows = _tasks(frame, argument)
            count = sum(int(rows[counter].sum()) for counter in counters)
            return Measured(rate(count, frame.interval_ns), matched=bool(len(rows)))
        # Switches of the idle task count on a CPU, but on no task.
        name = "switches" if len(counters) > 1 else counters[0]
        kernel = frame.kernel_switches if name == "switches" and argument.cpu is None else None
        if "switches" in frame.unavailable and kernel is not None:
            return Measured(rate(kernel, frame.interval_ns))
        if missing := _part(frame, "switches") or _cpu_missing(frame, argument):
            return missing
        column = frame.cpus.column(name)
        return Measured(rate(int(column.sum() if argument.cpu is None else column[argument.cpu]), frame.interval_ns))

    return measure


def _queue_length(recent: Sequence[Frame], argument: Argument) -> Measured:
    frame = recent[-1]
    if missing := _part(frame, "latency", "queue_length") or _cpu_missing(frame, argument):
        return missing
    lengths = frame.cpus.queue_length
    return Measured(int(lengths.sum() if argument.cpu is None else lengths[argument.cpu]))


def _slow_waits(recent: Sequence[Frame], argument: Argument) -> Measured:
    frame = recent[-1]
    if missing := _part(frame, "slow_waits") or _cpu_missing(frame, argument):
        return missing
    waits = frame.slow_waits
    if argument.cpu is not None:
        waits = waits[waits["cpu"] == argument.cpu]
    return Measured(rate(len(argument.tasks.rows(waits, "", frame.cgroups)), frame.interval_ns))


def _run_delay(recent: Sequence[Frame], argument: Argument) -> Measured:
    frame = recent[-1]
    if missing := _part(frame, "tasks", "run_delay"):
        return missing
    rows = _tasks(frame, argument)
    return Measured(rate(int(rows["run_delay_ns"].sum()), frame.interval_ns), matched=bool(len(rows)))


def _throttled(recent: Sequence[Frame], argument: Argument) -> Measured:
    frame = recent[-1]
    if missing := _part(frame, "throttling"):
        return missing
    rows = frame.throttling
    if argument.cgroup:
        rows = Filter(cgroups=(argument.cgroup,)).rows(rows, "", frame.cgroups)
    matched = bool(len(rows))
    rows = rows[rows["periods"] > 0]
    share = (rows["throttled_periods"] / rows["periods"]).max() if len(rows) else 0.0
    return Measured(min(1.0, float(share)), matched=matched)


def _throttled_p99(recent: Sequence[Frame], argument: Argument) -> Measured:
    frame = recent[-1]
    if missing := _part(frame, "slow_waits"):
        return missing
    rows = frame.slow_waits
    rows = rows[rows["cause"] == Cause.THROTTLED]
    if argument.cgroup:
        rows = Filter(cgroups=(argument.cgroup,)).rows(rows, "", frame.cgroups)
    waits = sorted(rows["wait_ns"].tolist())
    return Measured(
        waits[math.ceil(0.99 * len(waits)) - 1] if waits else None, matched=bool(waits) or not argument.cgroup
    )


def _pressure(recent: Sequence[Frame], _argument: Argument) -> Measured:
    if missing := _part(recent[-1], "pressure"):
        return missing
    if recent[-1].pressure is None:
        return Measured(None, "this kernel keeps no /proc/pressure/cpu")
    span_ns = some_ns = 0
    for frame in reversed(recent):
        if frame.pressure is None:
            break
        span_ns, some_ns = span_ns + frame.interval_ns, some_ns + frame.pressure.some_ns
        if span_ns >= PRESSURE_SPAN_NS:
            return Measured(min(1.0, some_ns / span_ns))
    return Measured(None)


def _lost(recent: Sequence[Frame], _argument: Argument) -> Measured:
    frame = recent[-1]
    lost = sum(asdict(frame.loss.serious).values())
    return Measured(rate(lost, frame.interval_ns))


def _cpu_missing(frame: Frame, argument: Argument) -> Measured | None:
    cpu = argument.cpu
    if cpu is None or (cpu < len(frame.cpus.online) and frame.cpus.online[cpu]):
        return None
    return Measured(None, f"there is no CPU {cpu}, or it is offline")


def _tasks(frame: Frame, argument: Argument) -> Rows:
    return argument.tasks.rows(frame.tasks, "", frame.cgroups)


_LATENCY = ("kind", "cpu")

_ALL = (
    *(
        Metric(
            name,
            TIME,
            _LATENCY,
            f"runqueue latency: {share} of the waits that ended in the interval were no longer",
            _percentile(ratio),
        )
        for name, share, ratio in (
            ("p50", "50 %", 0.5),
            ("p90", "90 %", 0.9),
            ("p99", "99 %", 0.99),
            ("p99.9", "99.9 %", 0.999),
        )
    ),
    Metric("max", TIME, ("kind", "cpu", "tasks"), "the longest wait", _longest),
    Metric("slow_waits", RATE, ("cpu", "tasks"), "waits over `--threshold`", _slow_waits),
    Metric("run_delay", TIME_RATE, ("tasks",), "time that tasks waited for a CPU, added up", _run_delay),
    Metric("queue_length", COUNT, ("cpu",), "tasks that wait for a CPU at the end of the interval", _queue_length),
    Metric(
        "switches",
        RATE,
        ("cpu", "tasks"),
        "context switches",
        _cpu_rate("voluntary_switches", "involuntary_switches"),
    ),
    Metric(
        "involuntary_switches",
        RATE,
        ("cpu", "tasks"),
        "switches away from a task that could have run on",
        _cpu_rate("involuntary_switches"),
    ),
    Metric("busy", SHARE, ("cpu",), "time in which the CPUs ran tasks, by the kernel's /proc/stat", _share("busy_ns")),
    Metric("steal", SHARE, ("cpu",), "time in which the hypervisor had the CPUs", _share("steal_ns")),
    Metric(
        "throttled",
        SHARE,
        ("cgroup",),
        "enforcement periods in which a cgroup used up its quota; of several cgroups the largest share",
        _throttled,
    ),
    Metric(
        "throttled_p99",
        TIME,
        ("cgroup",),
        "how long tasks waited for a quota: 99 % of such waits over `--threshold` were no longer; `p99` lacks them",
        _throttled_p99,
    ),
    Metric(
        "pressure",
        SHARE,
        (),
        "time in which some task waited, of the last 10 s: the kernel brings it up to date every 2 s only",
        _pressure,
    ),
    *(
        Metric(name, RATE, ("tasks",), meaning, activity_rate(name))
        for name, meaning in (
            ("syscalls", "system calls of processes"),
            ("syscall_errors", "system calls of processes that failed, whatever the error"),
            ("major_faults", "page faults of processes that read from the disk"),
            ("tcp_failures", "connects of processes that came to nothing after their first packet"),
            ("retransmits", "TCP segments that were sent again"),
        )
    ),
    Metric("lost", RATE, (), "what schedtop itself lost: dropped, untracked, evicted, late", _lost),
)

METRICS = {metric.name: metric for metric in _ALL}
"""Every metric by the name that conditions use."""

ALIASES = {"p999": "p99.9", "queue": "queue_length", "involuntary": "involuntary_switches", "loss": "lost"}
"""Other names that are understood; the text of a condition has the names of METRICS."""

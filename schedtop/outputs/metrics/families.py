"""What was counted as metric families of the Prometheus client library, described in docs/metrics-names.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from schedtop import __version__
from schedtop.base.histogram import BUCKETS, HIGH_NS, SUB_BUCKETS
from schedtop.base.units import NS_PER_S, NS_PER_US, printable
from schedtop.model.cpus import CPU_COUNTERS
from schedtop.model.queue_lengths import QUEUE_KINDS
from schedtop.model.rows import WAIT_KINDS, Integers
from schedtop.model.waits import CAUSES
from schedtop.outputs.metrics.activity import activity_families
from schedtop.outputs.metrics.groups import GroupCounts
from schedtop.outputs.metrics.totals import COMMAND_COUNTERS, ENDINGS, GROUP_COUNTERS, QUOTA_COUNTERS, Published
from schedtop.outputs.scheduler.snapshot import is_available, is_known_of_tasks

FIRST_EDGE_NS, LAST_EDGE_NS = NS_PER_US, 20 * NS_PER_S

_EDGES = tuple(
    index
    for index in range(BUCKETS - 1)
    if index % (SUB_BUCKETS // 2) == 0 and FIRST_EDGE_NS <= HIGH_NS[index] <= LAST_EDGE_NS
)
EDGES_NS = tuple(int(HIGH_NS[index]) for index in _EDGES)
"""Upper edges of the buckets that are served: two an octave, all of them our own edges, so that no count is split."""

_LENGTH_EDGES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256)
"""Upper edges of the lengths of run queues, inclusive; beyond MOST_QUEUED they would not be exact."""

go_number: Any = floatToGoString
"""As the client library writes numbers, and Prometheus keeps edges: `1.024e-06`. The library has no types for it."""

_CPU_METRICS = {
    "switches": ("schedtop_context_switches", "Context switches, idle included."),
    "voluntary_switches": ("schedtop_voluntary_switches", "Switches in which a task gave up its CPU to sleep."),
    "involuntary_switches": ("schedtop_involuntary_switches", "Switches in which a task could have gone on."),
    "wakeups": ("schedtop_wakeups", "Wakeups, on the CPU of the waker."),
    "migrations_in": ("schedtop_migrations_in", "Tasks that came from another CPU."),
    "migrations_out": ("schedtop_migrations_out", "Tasks that left for another CPU."),
    "cache_migrations": ("schedtop_cache_migrations", "Of those that came, from another last-level cache."),
    "numa_migrations": ("schedtop_numa_migrations", "Of those that came, from another NUMA node."),
    "idle_ns": ("schedtop_cpu_idle_seconds", "Time in the idle task, as seen at the switches."),
    "busy_ns": ("schedtop_cpu_busy_seconds", "Time the CPU was busy, from /proc/stat."),
    "steal_ns": ("schedtop_cpu_steal_seconds", "Time the hypervisor ran other guests, from /proc/stat."),
    "accounted_ns": (
        "schedtop_cpu_accounted_seconds",
        "All time that /proc/stat accounts: the whole of busy and steal.",
    ),
}
_GROUP_METRICS = {
    "run_delay_ns": ("schedtop_group_run_delay_seconds", "Time that tasks of the group waited for a CPU."),
    "run_ns": ("schedtop_group_run_seconds", "Time that tasks of the group had a CPU."),
    "involuntary_switches": ("schedtop_group_involuntary_switches", "Switches in which a task could have gone on."),
}
_COMMAND_METRICS = {
    "count": ("schedtop_command_short_lived_processes", "Short-lived processes of the command."),
    "run_ns": ("schedtop_command_short_lived_run_seconds", "Time that these had a CPU."),
    "run_delay_ns": ("schedtop_command_short_lived_run_delay_seconds", "Time that these waited for a CPU."),
}
_SHORT_LIVED_METRICS = {
    "count": ("schedtop_short_lived", "Processes and threads that started and ended within the length of an interval."),
    "run_ns": ("schedtop_short_lived_run_seconds", "Time that these had a CPU."),
    "run_delay_ns": ("schedtop_short_lived_run_delay_seconds", "Time that these waited for a CPU."),
}
_QUOTA_METRICS = {
    "periods": ("schedtop_cgroup_periods", "Enforcement periods of the cgroup's CPU quota."),
    "throttled_periods": ("schedtop_cgroup_throttled_periods", "Periods in which the cgroup was throttled."),
    "throttled_ns": ("schedtop_cgroup_throttled_seconds", "Time for which the cgroup was throttled, over CPUs."),
    "pressure_ns": ("schedtop_cgroup_pressure_seconds", "Time in which some task of the cgroup waited for a CPU."),
}


class SchedtopCollector(Collector):
    """Gives the client library what `latest` gives; nothing before there is anything. Any thread may ask."""

    def __init__(self, latest: Callable[[], Published | None], *, per_cpu: bool) -> None:
        """`per_cpu`: one series a CPU; without, their sum, under the same names and without the label."""
        self._latest, self._per_cpu = latest, per_cpu

    def collect(self) -> Iterator[Metric]:
        """All families."""
        data = self._latest()
        if data is None:
            return
        yield from _about(data)
        yield from _cpus(data, per_cpu=self._per_cpu)
        yield from _queues(data, per_cpu=self._per_cpu)
        yield from _interrupts(data, per_cpu=self._per_cpu)
        yield from _waits(data)
        yield from _groups("group", ("by", "group"), (data.by,), GROUP_COUNTERS, data.groups, _GROUP_METRICS, data)
        yield from _groups("cgroup", ("cgroup",), (), QUOTA_COUNTERS, data.quotas, _QUOTA_METRICS, data)
        yield from _short_lived(data)
        yield from _groups("command", ("command",), (), COMMAND_COUNTERS, data.commands, _COMMAND_METRICS, data)
        if data.activity:
            yield from activity_families(data.activity)
        yield from _honesty(data)


def filter_words(data: Published) -> str:
    """What is left out, in words; empty: nothing."""
    hidden = "hides schedtop" if data.settings.hidden_tgids else ""
    return "; ".join(part for part in (data.host.scope, str(data.settings.filter), hidden) if part)


def _about(data: Published) -> Iterator[Metric]:
    host = data.host
    words = {"version": __version__, "host": host.name, "kernel": host.kernel, "source": host.source}
    words = {name: printable(word) for name, word in (words | {"filters": filter_words(data)}).items()}
    yield InfoMetricFamily("schedtop", "What serves these metrics, and what it leaves out.", words)
    yield _gauge("schedtop_start_time_seconds", "When counting began, Unix time.", data.start_time_ns / NS_PER_S)
    updated_ns = data.last.start_time_ns + data.last.interval_ns
    yield _gauge("schedtop_last_update_time_seconds", "Up to when these metrics count.", updated_ns / NS_PER_S)
    yield _counter("schedtop_observed_seconds", "Time that was counted.", data.observed_ns / NS_PER_S)
    yield _counter("schedtop_intervals", "Intervals that were counted.", data.intervals)
    threshold_s = data.last.threshold_ns / NS_PER_S
    yield _gauge("schedtop_slow_wait_threshold_seconds", "Waits at least this long are slow.", threshold_s)


def _cpus(data: Published, *, per_cpu: bool) -> Iterator[Metric]:
    labels = ["cpu"] if per_cpu else []
    online = data.settings.filter.cpu_ids(data.last.cpus.ids)
    yield _gauge("schedtop_cpus", "CPUs that are online.", len(online))
    for column, (name, words) in _CPU_METRICS.items():
        if not is_available(data.last, column) or not is_available(data.last, column.removesuffix("_ns")):
            continue
        family = CounterMetricFamily(name, words, labels=labels)
        values = _in_base_unit(data.counters[data.cpus, CPU_COUNTERS.index(column)], column)
        _add_cpu_samples(family, data.cpus, values, per_cpu=per_cpu)
        yield family
    if is_available(data.last, "queue_length"):
        gauge = GaugeMetricFamily("schedtop_runqueue_length", "Tasks that wait at this moment.", labels=labels)
        _add_cpu_samples(gauge, online, data.last.cpus.queue_length[online].tolist(), per_cpu=per_cpu)
        yield gauge
    if data.kernel_switches is not None:
        words = "Context switches by the kernel's own count (ctxt), of the whole host."
        yield _counter("schedtop_kernel_context_switches", words, data.kernel_switches)


def _add_cpu_samples(
    family: CounterMetricFamily | GaugeMetricFamily, cpus: list[int], values: list[float], *, per_cpu: bool
) -> None:
    if not per_cpu:
        family.add_metric([], sum(values))
        return
    for cpu, value in zip(cpus, values, strict=True):
        family.add_metric([str(cpu)], value)


def _queues(data: Published, *, per_cpu: bool) -> Iterator[Metric]:
    """What the samples of the run queues add up to: a histogram by class, and counters by CPU."""
    queue = data.queue
    if queue is None:
        return
    cpus = [cpu for cpu in data.cpus if cpu < len(queue.samples)]
    words = "Sampled lengths of the CPUs' run queues: tasks that wait, the running one not counted."
    histogram = HistogramMetricFamily("schedtop_queue_length", words, labels=["class"])
    for kind in QUEUE_KINDS:
        lengths = queue.lengths(kind, cpus)
        cumulative = np.cumsum(lengths.counts, dtype=np.int64)
        edges = [(go_number(edge), float(cumulative[min(edge, len(cumulative) - 1)])) for edge in _LENGTH_EDGES]
        histogram.add_metric([kind], [*edges, ("+Inf", float(cumulative[-1]))], lengths.total)
    yield histogram
    labels = ["cpu"] if per_cpu else []
    for name, words, values in (
        ("schedtop_queue_length_samples", "Samples of the run queue.", queue.samples),
        ("schedtop_queue_length_samples_expected", "Samples, if none were missing.", queue.expected),
        ("schedtop_queue_length_tasks", "Tasks that waited, added up over the samples.", queue.sums[0]),
    ):
        family = CounterMetricFamily(name, words, labels=labels)
        _add_cpu_samples(family, cpus, values[cpus].tolist(), per_cpu=per_cpu)
        yield family


def _interrupts(data: Published, *, per_cpu: bool) -> Iterator[Metric]:
    """Counts and times by source, and by CPU; nothing while they were never timed."""
    if data.interrupts is None:
        return
    ids = [cpu for cpu in data.cpus if cpu < data.interrupts.cpus]
    table = data.interrupts.chosen(ids)
    labels = [*(["cpu"] if per_cpu else []), "kind", "source"]
    count = CounterMetricFamily("schedtop_interrupts", "Interrupts that were timed, by source.", labels=labels)
    words = "Time of interrupts by source; a softirq's is without those that came meanwhile."
    seconds = CounterMetricFamily("schedtop_interrupt_seconds", words, labels=labels)
    for index, (kind, name) in enumerate(table.sources):
        cells = table.cells[table.cells["source"] == index]
        for cpu, some in zip(cells["cpu"].tolist(), cells, strict=True) if per_cpu else [(None, cells)]:
            values = [kind, name] if cpu is None else [str(ids[cpu]), kind, name]
            if cells.size:
                count.add_metric(values, int(some["count"].sum()))
                seconds.add_metric(values, int(some["total_ns"].sum()) / NS_PER_S)
    yield from (count, seconds)


def _waits(data: Published) -> Iterator[Metric]:
    if "latency" not in data.last.unavailable:
        words = "How long tasks that could run waited for a CPU; a wait as long as an edge is in the next bucket."
        histogram = HistogramMetricFamily("schedtop_runqueue_latency_seconds", words, labels=["kind"])
        for index, kind in enumerate(WAIT_KINDS):
            histogram.add_metric([kind], buckets(data.latency[index]), int(data.wait_sum_ns[index]) / NS_PER_S)
        yield histogram
    if "slow_waits" not in data.last.unavailable:
        count = CounterMetricFamily("schedtop_slow_waits", "Waits over the threshold, by cause.", labels=["cause"])
        words = "Waits over the threshold, summed, by cause."
        length = CounterMetricFamily("schedtop_slow_wait_seconds", words, labels=["cause"])
        for index, cause in enumerate(CAUSES):
            count.add_metric([cause], int(data.slow_waits[index]))
            length.add_metric([cause], int(data.slow_wait_ns[index]) / NS_PER_S)
        yield from (count, length)
    if data.pressure is not None and "pressure" not in data.last.unavailable:
        words = "Time in which some task, or all, waited for a CPU, from /proc/pressure/cpu."
        pressure = CounterMetricFamily("schedtop_cpu_pressure_seconds", words, labels=["kind"])
        pressure.add_metric(["some"], data.pressure.some_ns / NS_PER_S)
        pressure.add_metric(["full"], data.pressure.full_ns / NS_PER_S)
        yield pressure


def buckets(counts: Integers) -> list[tuple[str, float]]:
    """Cumulative counts by upper edge in seconds, from the counts of all our buckets, shape (BUCKETS,)."""
    cumulative = np.cumsum(counts, dtype=np.int64).tolist()
    edges: list[tuple[str, float]] = [(go_number(HIGH_NS[index] / NS_PER_S), cumulative[index]) for index in _EDGES]
    return [*edges, ("+Inf", cumulative[-1])]


def _short_lived(data: Published) -> Iterator[Metric]:
    if "short_lived" in data.last.unavailable:
        return
    for index, counter in enumerate(COMMAND_COUNTERS):
        if not is_available(data.last, counter):
            continue
        name, words = _SHORT_LIVED_METRICS[counter]
        family = CounterMetricFamily(name, words, labels=["kind"])
        for kind, row in zip(("process", "thread"), data.short_lived, strict=True):
            family.add_metric([kind], _in_base_unit(row[index : index + 1], counter)[0])
        yield family
    if "exit_codes" not in data.last.unavailable:
        words = "How short-lived processes ended: exit status 0, another one, by a signal, or not known."
        ended = CounterMetricFamily("schedtop_short_lived_ended", words, labels=["how"])
        for how, count in zip(ENDINGS, data.endings.tolist(), strict=True):
            ended.add_metric([how], count)
        yield ended


def _groups(
    subject: str,
    labels: tuple[str, ...],
    first_values: tuple[str, ...],
    counters: tuple[str, ...],
    counts: GroupCounts,
    metrics: dict[str, tuple[str, str]],
    data: Published,
) -> Iterator[Metric]:
    """The counters of groups of tasks, of cgroups with a quota, or of commands with short-lived processes."""
    part = {"cgroup": "throttling", "command": "short_lived"}.get(subject, "tasks")
    if part in data.last.unavailable:
        return
    is_known = is_known_of_tasks if part == "tasks" else is_available
    for index, counter in enumerate(counters):
        if not is_known(data.last, counter):
            continue
        name, words = metrics[counter]
        family = CounterMetricFamily(name, words, labels=labels)
        for label, row in counts.counts.items():
            family.add_metric([*first_values, label], _in_base_unit(row[index : index + 1], counter)[0])
        yield family
    name = f"schedtop_{subject}_series_replaced"
    yield _counter(name, "Series that ended because others needed their place.", counts.replaced)


def _honesty(data: Published) -> Iterator[Metric]:
    lost = CounterMetricFamily("schedtop_lost", "What was not seen or not kept, by kind.", labels=["kind"])
    for kind, count in asdict(data.loss).items():
        lost.add_metric([kind], count)
    yield lost
    missing = GaugeMetricFamily(
        "schedtop_unavailable", "What this host cannot tell, and why.", labels=["part", "reason"]
    )
    for part, reason in data.last.unavailable.items():
        missing.add_metric([part, printable(reason)], 1)
    yield missing
    own = data.overhead
    yield _counter("schedtop_own_cpu_seconds", "CPU time of schedtop itself.", own.cpu_ns / NS_PER_S)
    yield _gauge("schedtop_own_resident_memory_bytes", "Resident memory of schedtop itself.", own.rss_bytes)
    if (caused_ns := data.last.overhead.longest_caused_wait_ns) is not None:
        words = "At most so long schedtop had a CPU while another task waited for it, in the last interval."
        yield _gauge("schedtop_own_longest_caused_wait_seconds", words, caused_ns / NS_PER_S)
    if own.bpf_ns is not None and own.bpf_switches is not None:
        words = "Time in the kernel programs (--measure-overhead)."
        yield _counter("schedtop_own_bpf_seconds", words, own.bpf_ns / NS_PER_S)
        words = "Context switches while the kernel programs were timed."
        yield _counter("schedtop_own_bpf_switches", words, own.bpf_switches)


def _in_base_unit(values: Integers, counter: str) -> list[float]:
    """Seconds of what its name says is in nanoseconds."""
    numbers: list[float] = (values / NS_PER_S).tolist() if counter.endswith("_ns") else values.tolist()
    return numbers


def _counter(name: str, words: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, words, value=value)


def _gauge(name: str, words: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, value=value)

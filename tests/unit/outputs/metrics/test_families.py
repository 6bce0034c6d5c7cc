"""The metrics: exact sums of the Frames, bounded series, and an exposition that its own parsers take."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from schedtop.base.histogram import BUCKETS, HIGH_NS, Histogram
from schedtop.base.units import NS_PER_S
from schedtop.history.view import ViewSettings
from schedtop.model.counts import Loss, Pressure
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame, merge
from schedtop.model.host import Host
from schedtop.model.interrupts import SourceName
from schedtop.model.rows import TASK_DTYPE, WAIT_KINDS
from schedtop.model.waits import CAUSES
from schedtop.outputs.metrics.families import EDGES_NS, SchedtopCollector, buckets
from schedtop.outputs.metrics.groups import MOST_CANDIDATES, OTHER, QUIET_NS, GroupTotals
from schedtop.outputs.metrics.totals import Published, Totals, sums_by_label
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
PLAIN = "text/plain"


def frames_of(**scenario: object) -> list[Frame]:
    source = SyntheticSource(Scenario(**({"frames": 6} | scenario)))  # type: ignore[arg-type]
    source.set_sampling(True)
    return list(source.frames(threading.Event()))


def served(frames: list[Frame], *, by: str = "cgroup", most: int = 50, **settings: object) -> Published:
    """What is published after these Frames."""
    source = SyntheticSource()
    totals = Totals(source.host, ViewSettings(**settings), by, most)  # type: ignore[arg-type]
    return [totals.add(frame) for frame in frames][-1]


def exposed(data: Published, accept: str = PLAIN, *, per_cpu: bool = True) -> str:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(SchedtopCollector(lambda: data, per_cpu=per_cpu))
    encoder, content_type = choose_encoder(accept)
    assert content_type.startswith(accept.split(";")[0])
    return encoder(registry).decode()


def families(data: Published, *, per_cpu: bool = True) -> dict[str, Metric]:
    return {metric.name: metric for metric in SchedtopCollector(lambda: data, per_cpu=per_cpu).collect()}


def value(data: Published, sample: str, **labels: str) -> float:
    """The one sample of that name and these labels."""
    found = [
        each.value
        for metric in families(data).values()
        for each in metric.samples
        if each.name == sample and labels.items() <= each.labels.items()
    ]
    assert len(found) == 1, (sample, labels, found)
    return found[0]


def test_interrupts_add_up_by_cpu_and_source_once_they_are_timed() -> None:
    source = SyntheticSource(Scenario(frames=3, cpus=3))
    source.set_interrupts(True)
    frames = [*frames_of(frames=1, cpus=3), *source.frames(threading.Event())]
    data, whole = served(frames), merge(frames).interrupts
    assert whole is not None
    disk = whole.sources.index(SourceName("hardirq", "nvme0q1"))
    labels = {"kind": "hardirq", "source": "nvme0q1"}
    assert value(data, "schedtop_interrupts_total", cpu="2", **labels) == whole.counts[2, disk]
    assert value(data, "schedtop_interrupt_seconds_total", cpu="2", **labels) == whole.total_ns[2, disk] / NS_PER_S
    assert total(data, "schedtop_interrupts_total") == whole.counts.sum()
    summed = families(data, per_cpu=False)["schedtop_interrupts"].samples
    assert {sample.labels["source"]: sample.value for sample in summed}["nvme0q1"] == whole.counts[:, disk].sum()
    only = served(frames, filter=Filter(cpus=(1,)))
    assert total(only, "schedtop_interrupts_total") == whole.counts[1].sum()
    assert {each.labels["cpu"] for each in families(only)["schedtop_interrupts"].samples} == {"1"}
    assert "schedtop_interrupts" not in families(served(frames_of())), "they were not timed"


def test_what_raises_softirqs_does_not_pile_up() -> None:
    source = SyntheticSource(Scenario(frames=2, cpus=2))
    source.set_interrupts(True)
    data = served(list(source.frames(threading.Event())))
    assert data.interrupts is not None and not len(data.interrupts.raised)


def total(data: Published, sample: str) -> float:
    return sum(each.value for metric in families(data).values() for each in metric.samples if each.name == sample)


def test_counters_are_the_sums_of_the_frames() -> None:
    frames = frames_of(cpus=3)
    data, whole = served(frames), merge(frames)
    for column, name in (("switches", "context_switches"), ("wakeups", "wakeups"), ("migrations_in", "migrations_in")):
        for cpu in range(3):
            expected = whole.cpus.column(column)[cpu]
            assert value(data, f"schedtop_{name}_total", cpu=str(cpu)) == expected
    for column, name in (
        ("busy_ns", "busy"),
        ("steal_ns", "steal"),
        ("idle_ns", "idle"),
        ("accounted_ns", "accounted"),
    ):
        assert total(data, f"schedtop_cpu_{name}_seconds_total") == pytest.approx(whole.total(column) / NS_PER_S)
    assert value(data, "schedtop_kernel_context_switches_total") == whole.kernel_switches
    assert value(data, "schedtop_intervals_total") == len(frames)
    assert value(data, "schedtop_observed_seconds_total") == pytest.approx(whole.duration_s)
    assert whole.pressure is not None
    assert value(data, "schedtop_cpu_pressure_seconds_total", kind="some") == whole.pressure.some_ns / NS_PER_S
    assert value(data, "schedtop_own_cpu_seconds_total") == whole.overhead.cpu_ns / NS_PER_S
    for index, cause in enumerate(CAUSES):
        rows = whole.slow_waits[whole.slow_waits["cause"] == index]
        assert value(data, "schedtop_slow_waits_total", cause=cause) == len(rows)
        assert value(data, "schedtop_slow_wait_seconds_total", cause=cause) == rows["wait_ns"].sum() / NS_PER_S


def test_samples_of_the_run_queues_add_up() -> None:
    frames = frames_of(cpus=3)
    data, whole = served(frames), merge(frames).queue
    assert whole is not None
    for kind in ("all", "fair"):
        lengths = whole.lengths(kind)
        labels = {"class": kind}
        assert value(data, "schedtop_queue_length_count", **labels) == lengths.samples
        assert value(data, "schedtop_queue_length_sum", **labels) == lengths.total
        for edge in (0, 3, 256):
            below = int(lengths.counts[: edge + 1].sum())
            assert value(data, "schedtop_queue_length_bucket", le=f"{edge}.0", **labels) == below
    for cpu in range(3):
        assert value(data, "schedtop_queue_length_samples_total", cpu=str(cpu)) == whole.samples[cpu]
        assert value(data, "schedtop_queue_length_samples_expected_total", cpu=str(cpu)) == whole.expected[cpu]
        assert value(data, "schedtop_queue_length_tasks_total", cpu=str(cpu)) == whole.sums[0, cpu]
    assert total(data, "schedtop_queue_length_tasks_total") == whole.sums[0].sum()
    bare = families(served([replace(frame, queue=None) for frame in frames]))
    assert not [name for name in bare if name.startswith("schedtop_queue")]


@pytest.mark.parametrize("by", ["cgroup", "process", "container"])
@pytest.mark.parametrize("most", [0, 2, 50])
def test_groups_and_the_others_add_up_to_all_tasks(by: str, most: int) -> None:
    frames = frames_of(tasks=300)
    data = served(frames, by=by, most=most)
    assert 1 <= len(data.groups.counts) <= most + 1
    for column, name in (("run_delay_ns", "run_delay_seconds"), ("run_ns", "run_seconds")):
        expected = sum(int(frame.tasks[column].sum()) for frame in frames)
        assert sum(int(row[0 if "delay" in column else 1]) for row in data.groups.counts.values()) == expected
        assert total(data, f"schedtop_group_{name}_total") == pytest.approx(expected / NS_PER_S)
    throttled = sum(int(frame.throttling["throttled_ns"].sum()) for frame in frames)
    assert throttled
    assert total(data, "schedtop_cgroup_throttled_seconds_total") == pytest.approx(throttled / NS_PER_S)


def test_short_lived_tasks_are_counted_by_kind_ending_and_command() -> None:
    frames = frames_of(frames=5)
    data, whole = served(frames), merge(frames).short_lived
    for kind, index in (("process", 0), ("thread", 1)):
        own = whole[whole["is_thread"] == index]
        assert value(data, "schedtop_short_lived_total", kind=kind) == own["count"].sum()
        run_s = own["run_ns"].sum() / NS_PER_S
        assert value(data, "schedtop_short_lived_run_seconds_total", kind=kind) == pytest.approx(run_s)
    ended = {how: value(data, "schedtop_short_lived_ended_total", how=how) for how in ("succeeded", "failed", "killed")}
    assert ended["failed"] == whole["count"][whole["exit_code"] == 256].sum() > 0
    assert sum(ended.values()) == value(data, "schedtop_short_lived_total", kind="process")
    by_command = families(data)["schedtop_command_short_lived_processes"].samples
    assert sum(sample.value for sample in by_command) == value(data, "schedtop_short_lived_total", kind="process")
    # Nobody can tell: no series, never a zero.
    missing = {"exit_codes": "no", "short_lived": "no"}
    without = families(served([replace(frame, unavailable=missing) for frame in frames]))
    assert not [name for name in without if "short_lived" in name]


def test_a_storm_of_other_names_each_time_has_few_series() -> None:
    frames = frames_of(frames=4)
    for number, frame in enumerate(frames):
        rows = np.repeat(frame.short_lived[:1], 300)
        rows["comm"] = [f"job-{number}-{index}".encode() for index in range(300)]
        rows["run_ns"] = NS_PER_S
        frames[number] = replace(frame, short_lived=rows)
    found = families(served(frames, most=20))["schedtop_command_short_lived_processes"].samples
    assert len(found) == 21
    assert sum(sample.value for sample in found) == merge(frames).short_lived["count"].sum()


def test_loss_is_told_by_kind() -> None:
    frames = [replace(frame, loss=Loss(ring_dropped=2, late_ticks=1)) for frame in frames_of(frames=3)]
    data = served(frames)
    assert value(data, "schedtop_lost_total", kind="ring_dropped") == 6
    assert value(data, "schedtop_lost_total", kind="late_ticks") == 3
    assert value(data, "schedtop_lost_total", kind="tasks_untracked") == 0


def test_counters_never_run_backwards() -> None:
    """Not with CPUs that come and go, not with an interval that a source got wrong."""
    totals = Totals(Host("h", "k", "synthetic"), ViewSettings(), "process", 3)
    frames = frames_of(cpus=2, frames=4) + frames_of(cpus=5, frames=4) + frames_of(cpus=2, frames=4, seed=3)
    broken = frames[5]
    broken.cpus.counters[0, 3] = -100
    frames[5] = replace(broken, pressure=Pressure(-5, -5), kernel_switches=-3)
    frames[6].cpus.online[1] = False
    before: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for frame in frames:
        now = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for metric in families(totals.add(frame)).values()
            if metric.type in ("counter", "histogram")
            for sample in metric.samples
        }
        assert before.keys() <= now.keys()
        assert all(now[key] >= number for key, number in before.items())
        before = now
    assert ("schedtop_wakeups_total", (("cpu", "4"),)) in before


def test_published_metrics_never_change() -> None:
    totals = Totals(Host("h", "k", "synthetic"), ViewSettings(), "cgroup", 3)
    frames = frames_of()
    early = totals.add(frames[0])
    before = exposed(early)
    for frame in frames[1:]:
        totals.add(frame)
    assert exposed(early) == before


def test_every_edge_is_one_of_ours_and_splits_no_count() -> None:
    assert set(EDGES_NS) <= set(HIGH_NS.tolist())
    assert 1000 <= EDGES_NS[0] <= 1100 and 10 * NS_PER_S < EDGES_NS[-1] < 20 * NS_PER_S
    ratios = np.diff(EDGES_NS) / np.array(EDGES_NS[:-1])
    assert ratios.max() <= 0.5 + 1e-9, "a bucket is at most half as wide as it begins"
    rng = np.random.default_rng(7)
    waits = np.concatenate((rng.lognormal(12, 3, 5000).astype(np.int64), EDGES_NS, np.array(EDGES_NS) - 1))
    pairs = buckets(Histogram.of(waits).counts)
    assert [label for label, _ in pairs][-1] == "+Inf" and pairs[-1][1] == len(waits)
    for edge_ns, (label, count) in zip(EDGES_NS, pairs, strict=False):
        assert round(float(label) * NS_PER_S) == edge_ns
        assert count == (waits < edge_ns).sum()


def test_the_histogram_of_waits_by_kind() -> None:
    frames = frames_of(cpus=4)
    data, whole = served(frames), merge(frames)
    for kind in WAIT_KINDS:
        histogram = whole.latency.histogram(kind)
        assert value(data, "schedtop_runqueue_latency_seconds_count", kind=kind) == histogram.count
        assert value(data, "schedtop_runqueue_latency_seconds_sum", kind=kind) == histogram.sum_ns / NS_PER_S
    assert data.latency.shape == (len(WAIT_KINDS), BUCKETS)


def test_the_cpu_filter_holds_for_cpus_and_waits() -> None:
    frames = frames_of(cpus=4)
    data, whole = served(frames, filter=Filter(cpus=(1, 3))), merge(frames)
    cpus = {sample.labels["cpu"] for sample in families(data)["schedtop_context_switches"].samples}
    assert cpus == {"1", "3"}
    expected = whole.latency.histogram("wakeup", 1).count + whole.latency.histogram("wakeup", 3).count
    assert value(data, "schedtop_runqueue_latency_seconds_count", kind="wakeup") == expected
    assert value(data, "schedtop_cpus") == 2
    assert "cpu:1,3" in families(data)["schedtop"].samples[0].labels["filters"]


def test_names_and_sums_stay_without_a_series_per_cpu() -> None:
    data = served(frames_of(cpus=8))
    one, many = families(data, per_cpu=False), families(data)
    assert one.keys() == many.keys()
    for name in ("schedtop_context_switches", "schedtop_cpu_busy_seconds", "schedtop_runqueue_length"):
        (sample,) = one[name].samples
        assert sample.labels == {}
        assert sample.value == pytest.approx(sum(each.value for each in many[name].samples))


def test_unavailable_metric_is_absent_not_zero() -> None:
    missing = {
        "latency": "no events",
        "run_delay": "no events",
        "steal": "no such line",
        "migrations": "no tracepoint",
        "pressure": "psi=0",
    }
    data = served([replace(frame, unavailable=missing, pressure=None) for frame in frames_of()])
    names = families(data).keys()
    for name in ("runqueue_latency_seconds", "cpu_steal_seconds", "migrations_in", "cpu_pressure_seconds", "wakeups"):
        assert f"schedtop_{name}" not in names
    assert "schedtop_group_run_seconds" in names and "schedtop_group_run_delay_seconds" not in names
    assert value(data, "schedtop_unavailable", part="steal", reason="no such line") == 1


@pytest.mark.parametrize("accept", [PLAIN, OPENMETRICS])
def test_the_parsers_of_the_client_library_take_it(accept: str) -> None:
    rows = frames_of(tasks=10)
    for frame in rows:
        frame.tasks["process"][:4] = b'q"\\x\n\xff\x1b[0m'
    data = served(rows, by="process")
    text = exposed(data, accept)
    parsed = list((parse_openmetrics if accept == OPENMETRICS else parse_text)(text))
    names = {family.name for family in parsed}
    assert {"schedtop_context_switches", "schedtop_runqueue_latency_seconds", "schedtop_lost"} <= names
    assert "\x1b" not in text
    assert all(line.endswith("}") or " " in line for line in text.splitlines())
    assert text.endswith("# EOF\n") == (accept == OPENMETRICS)


def test_names_follow_the_conventions() -> None:
    for name, metric in families(served(frames_of())).items():
        assert name.startswith("schedtop")
        assert metric.documentation.endswith(".")
        assert not name.endswith(("_ns", "_total", "_ms"))
        if metric.type == "counter":
            assert all(sample.name.endswith("_total") for sample in metric.samples)


def test_labels_outlive_a_restart() -> None:
    """A cgroup made anew has another id, a process another number; the counter goes on."""
    rows = np.zeros(4, TASK_DTYPE)
    rows["cgroup_id"], rows["tgid"], rows["tid"] = [7, 8, 8, 9], [1, 2, 2, 3], [1, 2, 3, 4]
    rows["process"], rows["comm"] = [b"nginx", b"nginx", b"nginx", b""], [b"a", b"b", b"c", b"kworker"]
    rows["run_delay_ns"] = [1, 10, 100, 1000]
    labels, counts = sums_by_label(rows, "process", {})
    assert dict(zip(labels, counts[:, 0].tolist(), strict=True)) == {"nginx": 111, "kworker": 1000}
    labels, counts = sums_by_label(rows, "cgroup", {7: "/a.service", 8: "/a.service"})
    assert sorted(zip(labels, counts[:, 0].tolist(), strict=True)) == [
        ("", 1000),
        ("/a.service", 1),
        ("/a.service", 110),
    ]


ENTRY_NS = 600_000_000


def add(groups: GroupTotals, seconds: float = 1, **weights_ns: int) -> dict[str, int]:
    """One interval; the counters then."""
    weights = np.array(list(weights_ns.values()), np.int64)
    groups.add(int(seconds * NS_PER_S), list(weights_ns), weights[:, None], weights)
    return {label: int(row[0]) for label, row in groups.counts().counts.items()}


def test_a_group_gets_a_series_when_it_is_heavy_and_keeps_it() -> None:
    groups = GroupTotals(1, 10, ENTRY_NS)
    assert add(groups, small=1000, large=ENTRY_NS) == {OTHER: 1000, "large": ENTRY_NS}
    assert add(groups, small=ENTRY_NS, large=1) == {OTHER: 1000, "large": ENTRY_NS + 1, "small": ENTRY_NS}
    for _ in range(100):
        counts = add(groups, 60)
    assert counts == {OTHER: 1000, "large": ENTRY_NS + 1, "small": ENTRY_NS}, "nothing is forgotten in an hour"


def test_a_weight_fades() -> None:
    groups = GroupTotals(1, 10, ENTRY_NS)
    for _ in range(50):
        counts = add(groups, 60, slow=ENTRY_NS // 3)
    assert counts.keys() == {OTHER}


def test_a_full_table_sends_the_rest_to_other_and_replaces_only_the_quiet() -> None:
    groups = GroupTotals(1, 2, ENTRY_NS)
    add(groups, a=2 * ENTRY_NS, b=3 * ENTRY_NS)
    counts = add(groups, c=9 * ENTRY_NS)
    assert counts == {"a": 2 * ENTRY_NS, "b": 3 * ENTRY_NS, OTHER: 9 * ENTRY_NS}
    minutes = QUIET_NS // NS_PER_S // 60 + 3
    for _ in range(minutes):
        counts = add(groups, 60, a=2 * ENTRY_NS, c=ENTRY_NS // 4)
    assert counts.keys() == {"a", "b", OTHER}, "c is not heavy"
    counts = add(groups, 60, a=2 * ENTRY_NS, c=3 * ENTRY_NS)
    assert counts.keys() == {"a", "c", OTHER} and counts["c"] == 3 * ENTRY_NS, "b was quiet, a was not"
    assert groups.counts().replaced == 1
    assert add(groups, b=9 * ENTRY_NS).keys() == {"a", "c", OTHER}


def test_a_storm_of_names_stays_bounded() -> None:
    groups = GroupTotals(1, 5, ENTRY_NS)
    rng = np.random.default_rng(1)
    sums = 0
    for number in range(40):
        names = [f"job-{number}-{index}" for index in range(1000)]
        weights = rng.integers(1, 2 * ENTRY_NS, 1000)
        groups.add(NS_PER_S, names, weights[:, None], weights)
        sums += int(weights.sum())
    counts = groups.counts()
    assert len(counts.counts) == 6 and counts.replaced == 0
    assert sum(int(row[0]) for row in counts.counts.values()) == sums
    assert len(groups._weights) <= MOST_CANDIDATES


def test_group_cannot_take_the_name_of_the_others() -> None:
    groups = GroupTotals(1, 5, ENTRY_NS)
    assert add(groups, other=5 * ENTRY_NS) == {OTHER: 5 * ENTRY_NS}
    groups.add(NS_PER_S, [""], np.array([[7]]), np.array([9 * ENTRY_NS]))
    assert groups.counts().counts.keys() == {OTHER}

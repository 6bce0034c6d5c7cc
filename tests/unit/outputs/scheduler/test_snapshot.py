"""The snapshot contract: its fields, units, and what is null."""

import csv
import io
import json
import re
import threading
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.counts import Loss, Overhead, Pressure
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.latency import LatencyTable
from schedtop.model.rows import PAIR_DTYPE, SLOW_WAIT_DTYPE, THROTTLING_DTYPE, WAIT_KINDS
from schedtop.model.sched_class import Policy, SchedClass
from schedtop.outputs.scheduler.csv import to_csv
from schedtop.outputs.scheduler.snapshot import snapshot, to_json
from schedtop.outputs.scheduler.text import to_text
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.verdict.engine import judge
from tests import ROOT

SCENARIO = Scenario(cpus=3, tasks=60, slow_waits=30, frames=2)


def view(chosen: Filter | None = None, **changes: Any) -> View:
    """The View of two synthetic Frames, the last of them changed."""
    source = SyntheticSource(SCENARIO)
    source.set_sampling(True)
    source.set_interrupts(True)
    frames = list(source.frames(threading.Event()))
    frames[-1] = replace(frames[-1], **changes)
    settings = ViewSettings(window_ns=2 * SCENARIO.interval_ns, filter=chosen or Filter())
    return History(source.host, frames).view(settings)


def with_latency(table: LatencyTable) -> View:
    shown = view()
    return replace(shown, frame=replace(shown.frame, latency=table))


def without(*parts: str) -> View:
    return view(unavailable=MappingProxyType(dict.fromkeys(parts, "this kernel cannot")))


def slow_waits(*rows: dict[str, Any]) -> Any:
    table = np.zeros(len(rows), SLOW_WAIT_DTYPE)
    for index, row in enumerate(rows):
        for name, value in row.items():
            table[name][index] = value
    return table


def frame_of(shown: View) -> Frame:
    return shown.frame


def test_every_field_of_the_contract_in_its_order() -> None:
    data = snapshot(view())
    assert list(data) == [
        *("schema", "tool_version", "host", "kernel", "source", "recorded_source", "notes", "start_time"),
        *("interval_ns", "threshold_ns", "filters", "loss", "sched_ext", "verdict", "cpus", "totals"),
        *("runqueue_latency", "queue_length", "interrupts", "tasks", "short_lived", "slow_waits"),
        *("preemptions", "blockings", "attribution", "groups", "pressure", "throttling", "overhead"),
    ]
    counters = ["switches", "voluntary_switches", "involuntary_switches", "wakeups", "migrations_in", "migrations_out"]
    assert list(data["totals"]) == [
        *counters,
        "cache_migrations",
        "numa_migrations",
        "busy_ratio",
        "steal_ratio",
        "queue_length",
    ]
    assert list(data["cpus"][0]) == ["cpu", *data["totals"]]
    assert list(data["runqueue_latency"]) == ["wakeup", "preemption", "fork", "all"]
    percentiles = ["p50_ns", "p90_ns", "p99_ns", "p999_ns"]
    assert list(data["runqueue_latency"]["all"]) == ["count", "sum_ns", "max_ns", *percentiles, "buckets"]
    parts = ["samples", "expected_samples", "slept_samples", "all", "fair"]
    assert list(data["queue_length"]) == ["hz", *parts, "cpus"]
    assert list(data["queue_length"]["cpus"][0]) == ["cpu", *parts]
    lengths = ["count", "mean", "p50", "p90", "p99", "max", "waiting_ratio", "buckets"]
    assert list(data["queue_length"]["fair"]) == lengths
    assert list(data["interrupts"]) == ["by_cpu", "by_source", "unmatched", "unattributed_ns", "overwritten"]
    assert list(data["interrupts"]["by_cpu"][0]) == ["cpu", "hardirq_ns", "softirq_ns", "vector_ns", "count"]
    assert list(data["interrupts"]["by_source"][0]) == ["name", "kind", "count", "total_ns", "max_ns", "raised_by"]
    assert list(data["tasks"][0]) == [
        *("tid", "tgid", "comm", "process", "cgroup", "pid_namespace", "run_ns", "interrupted_ns"),
        *(
            "run_delay_ns",
            "max_wait_ns",
            "timeslices",
            "switches",
            "voluntary_switches",
            "involuntary_switches",
            "migrations",
            "cache_migrations",
        ),
        *("numa_migrations", "last_cpu", "allowed_cpus", "parent_tgid", "parent", "ended"),
        *("exit_status", "exit_signal"),
        *("sched_class", "policy", "priority", "nice", "weight", "cgroup_weight"),
    ]
    assert list(data["short_lived"]) == ["processes", "threads", "run_ns", "run_delay_ns", "commands"]
    assert list(data["short_lived"]["commands"][0]) == [
        *("comm", "kind", "count", "run_ns", "run_delay_ns", "max_wait_ns", "lived_ns", "switches"),
        *("succeeded", "failed", "killed", "exit_codes", "parents"),
    ]
    assert list(data["slow_waits"][0]) == [
        *("time", "tid", "tgid", "comm", "cgroup", "pid_namespace"),
        *("sched_class", "policy", "priority", "nice", "weight", "slice_ns", "deadline"),
        *("cpu", "enqueue_cpu", "crossed", "allowed_cpus"),
        *("wait_ns", "began", "cause", "evidence", "idle_cpu", "idle_cpu_ns", "idle_distance", "stolen_ns"),
        "throttled_ns",
        *("preemptor", "previous", "waker", "woken_by", "waker_interrupt", "waker_raised_by"),
        *("blockers", "other_blockers_ns"),
        *("own_cpu_idle_ns", "interrupted_ns", "switches"),
        *("queue_length", "fair_queue_length", "blockers_cover_ratio"),
    ]
    assert list(data["preemptions"][0]) == ["victim", "preemptor", "count", "wait_ns"]
    assert list(data["blockings"][0]) == ["victim", "blocker", "count", "blocked_ns"]
    assert list(data["loss"]) == [field.name for field in fields(Loss)]
    assert list(data["overhead"]) == [
        *("bpf_ns_per_switch", "cpu_ratio", "rss_bytes", "nice", "longest_caused_wait_ns", "session_nice", "slice_ns"),
        "certain_caused_wait_ns",
    ]
    assert data["schema"] == "schedtop.snapshot/1"
    assert data["groups"] is None


def test_every_field_is_documented() -> None:
    page = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("snapshot*.md")))
    prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", prose))))

    def names(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value) | {name for inner in value.values() for name in names(inner)}
        return {name for inner in value for name in names(inner)} if isinstance(value, list) else set()

    grouped = replace(view(), settings=replace(view().settings, group="cgroup"))
    assert names(snapshot(grouped)) - words == set()


def test_snapshot_json_has_integers_where_the_name_has_a_unit() -> None:
    text = to_json(view())
    assert text.endswith("}\n")

    def check(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                check(key, inner)
        elif isinstance(value, list):
            for inner in value:
                check(name, inner)
        elif name.endswith("_ns") or name in ("count", "tid", "cpu", "switches"):
            assert value is None or type(value) is int, name
        elif name.endswith("_ratio"):
            assert value is None or 0 <= value <= 1, name

    check("", json.loads(text))


def test_numbers_are_those_of_the_frame() -> None:
    shown = view()
    frame, data = shown.frame, snapshot(shown)
    assert data["interval_ns"] == frame.interval_ns == 2 * SCENARIO.interval_ns
    assert data["totals"]["switches"] == frame.total("switches") == sum(cpu["switches"] for cpu in data["cpus"])
    assert data["totals"]["steal_ratio"] == pytest.approx(frame.ratio("steal_ns"), abs=1e-6)
    assert data["cpus"][1]["busy_ratio"] == pytest.approx(frame.ratio("busy_ns", 1), abs=1e-6)
    assert data["totals"]["queue_length"] == int(frame.cpus.queue_length.sum())
    latency = data["runqueue_latency"]
    assert latency["all"]["count"] == sum(latency[kind]["count"] for kind in WAIT_KINDS) > latency["fork"]["count"] > 0
    assert latency["all"]["p99_ns"] == shown.latency().percentile_ns(0.99)
    assert latency["all"]["max_ns"] == shown.latency().max_ns
    assert data["overhead"]["cpu_ratio"] == pytest.approx(1 / 90, abs=1e-4)


def test_snapshot_lists_only_buckets_with_counts() -> None:
    histogram = snapshot(view())["runqueue_latency"]["preemption"]
    assert sum(bucket["count"] for bucket in histogram["buckets"]) == histogram["count"]
    assert all(bucket["count"] > 0 for bucket in histogram["buckets"])
    assert all(bucket["low_ns"] < bucket["high_ns"] for bucket in histogram["buckets"])


def test_the_last_bucket_has_no_upper_edge() -> None:
    table = LatencyTable.empty(SCENARIO.cpus)
    table.counts[0, 0, -1] = 1
    assert snapshot(with_latency(table))["runqueue_latency"]["wakeup"]["buckets"][-1] == {
        "low_ns": 2**40,
        "high_ns": None,
        "count": 1,
    }


def test_snapshot_without_waits_has_no_percentiles() -> None:
    assert snapshot(with_latency(LatencyTable.empty(SCENARIO.cpus)))["runqueue_latency"]["all"] == {
        "count": 0,
        "sum_ns": 0,
        **dict.fromkeys(("max_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns")),
        "buckets": [],
    }


def test_unavailable_field_is_null_not_zero() -> None:
    data = snapshot(without("latency", "tasks", "slow_waits", "steal", "busy", "pressure", "migrations", "switches"))
    assert data["runqueue_latency"] == {"wakeup": None, "preemption": None, "fork": None, "all": None}
    assert [data[name] for name in ("tasks", "slow_waits", "preemptions", "pressure")] == [None] * 4
    totals = data["totals"]
    assert totals.pop("switches") == view().frame.kernel_switches, "by the kernel's own count"
    assert set(totals.values()) == {None}
    assert set(data["cpus"][0].values()) == {0, None}


def test_missing_part_takes_no_other_away() -> None:
    data = snapshot(without("migrations"))
    assert data["totals"]["migrations_in"] is None
    assert data["tasks"][0]["migrations"] is None
    assert data["totals"]["switches"] is not None
    assert data["tasks"][0]["run_delay_ns"] is not None
    assert snapshot(without("steal"))["totals"]["busy_ratio"] is not None


def test_run_delay_without_wakeup_events_is_null() -> None:
    task = snapshot(without("latency", "run_delay"))["tasks"][0]
    assert (task["run_delay_ns"], task["max_wait_ns"]) == (None, None)
    assert task["run_ns"] is not None


def test_pressure_and_what_was_measured_of_our_own_cost() -> None:
    overhead = Overhead(cpu_ns=10, rss_bytes=7, bpf_ns=150, bpf_switches=2, nice=0, longest_caused_wait_ns=5)
    data = snapshot(view(pressure=Pressure(5, 3), overhead=overhead))
    assert data["pressure"]["full_ns"] == 3
    assert data["overhead"]["bpf_ns_per_switch"] == 75.0
    assert data["overhead"]["rss_bytes"] == 7
    assert data["overhead"]["nice"] == 0
    assert data["overhead"]["longest_caused_wait_ns"] is None, "it is not known of the first Frame"
    shown = view()
    shown = replace(shown, frame=replace(shown.frame, overhead=overhead))
    assert snapshot(shown)["overhead"]["longest_caused_wait_ns"] == 5
    assert snapshot(view())["overhead"]["bpf_ns_per_switch"] is None
    assert snapshot(view(pressure=None))["pressure"] is None


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (7, 7), (50, 50), (None, 60), (500, 60)])
def test_tasks_are_limited_and_lead_with_the_largest_run_delay(limit: int | None, count: int) -> None:
    tasks = snapshot(view(), limit)["tasks"]
    assert len(tasks) == count
    delays = [task["run_delay_ns"] for task in tasks]
    assert delays == sorted(delays, reverse=True)
    assert all(task["switches"] == task["voluntary_switches"] + task["involuntary_switches"] for task in tasks)


def test_names_and_groups_are_fit_for_a_terminal_and_for_json() -> None:
    shown = view()
    shown.tasks["comm"][0], shown.tasks["process"][0] = b"\x1b[2J\xff", b""
    shown.tasks["cgroup_id"][:2] = 11, 12
    shown = replace(shown, frame=replace(frame_of(shown), cgroups={11: "/a\udcff\n"}))
    first, second = json.loads(to_json(shown))["tasks"][:2]
    assert (first["comm"], first["process"], first["cgroup"]) == ("?[2J\ufffd", None, "/a\ufffd?")
    assert second["cgroup"] is None


def test_a_filter_is_named_and_holds() -> None:
    chosen = Filter(comms=("java",), cpus=(1,))
    data = snapshot(view(chosen))
    rest = {"cgroup": [], "pid_namespace": [], "class": [], "not_tgid": [], "scope": ""}
    assert data["filters"] == {"comm": ["java"], "tid": [], "tgid": [], "cpu": [1], "tid_or_tgid": [], **rest}
    assert {task["comm"] for task in data["tasks"]} == {"java"}
    assert [cpu["cpu"] for cpu in data["cpus"]] == [1]
    assert {name: data["cpus"][0][name] for name in data["totals"]} == data["totals"]
    assert snapshot(view(Filter(cpus=(99,))))["cpus"] == []


def test_an_offline_cpu_has_no_entry_but_its_switches_count() -> None:
    shown = view()
    shown.frame.cpus.online[2] = False
    data = snapshot(shown)
    assert [cpu["cpu"] for cpu in data["cpus"]] == [0, 1]
    assert data["totals"]["switches"] == shown.frame.total("switches")


def test_causes_and_the_tasks_around_a_slow_wait() -> None:
    rows = slow_waits(
        {"wait_ns": 30, "kind": 1, "cause": 1, "preemptor_tid": 8, "preemptor_comm": b"hog", "time_ns": 10**18},
        {"wait_ns": 20, "waker_tid": 9, "waker_comm": b"irq", "previous_tid": 8, "previous_comm": b"hog"},
        {"wait_ns": 10, "kind": 2, "cause": 3, "evidence": 1, "idle_cpu": -1},
        {"wait_ns": 5, "kind": 3, "cause": 5, "evidence": 2, "idle_cpu": 0, "idle_cpu_ns": 4, "domain": 2},
    )
    waits = snapshot(replace(view(), slow_waits=rows))["slow_waits"]
    assert [wait["began"] for wait in waits] == ["preemption", "wakeup", "throttled", "yield"]
    assert [wait["cause"] for wait in waits] == ["preemption", "wakeup", "throttled", "idle-cpu"]
    assert [wait["evidence"] for wait in waits] == [None, None, "inferred", "pinned"]
    assert [wait["crossed"] for wait in waits] == [None, None, None, "numa"]
    assert [wait["idle_cpu"] for wait in waits][2:] == [None, 0]
    assert [wait["preemptor"] for wait in waits] == [{"tid": 8, "comm": "hog"}, None, None, None]
    assert [wait["waker"] for wait in waits] == [None, {"tid": 9, "comm": "irq"}, None, None]
    assert [wait["previous"] for wait in waits] == [None, {"tid": 8, "comm": "hog"}, None, None]
    assert waits[0]["time"] == "2001-09-09T01:46:40.000000Z"
    assert (waits[0]["blockers"], waits[0]["blockers_cover_ratio"]) == ([], 0)


def test_blockers_are_those_that_ran_and_how_much_of_the_wait_they_cover() -> None:
    rows = slow_waits({"wait_ns": 100, "covered_ns": 90, "others_ns": 5, "cpu_idle_ns": 15, "switches": 7})
    rows["blocker_tid"], rows["blocker_ns"], rows["blocker_comm"] = (
        [[1, 2, 0, 0]],
        [[40, 30, 0, 0]],
        [[b"a", b"b", b"", b""]],
    )
    wait = snapshot(replace(view(), slow_waits=rows))["slow_waits"][0]
    first, second = wait["blockers"]
    treated = ("sched_class", "policy", "priority", "nice", "weight")
    there = ("weight_level", "weight_there", "victim_weight_level", "victim_weight_there")
    untold = dict.fromkeys((*treated, "slice_ns", *there))
    assert first == {"tid": 1, "comm": "a", "run_ns": 40} | untold
    assert second == {"tid": 2, "comm": "b", "run_ns": 30} | untold
    assert (wait["other_blockers_ns"], wait["own_cpu_idle_ns"], wait["switches"]) == (5, 15, 7)
    assert wait["blockers_cover_ratio"] == 0.9


def test_weight_of_its_cgroup_is_told_with_a_task() -> None:
    tasks = view().frame.tasks.copy()
    tasks["cgroup_weight"] = [256, *[0] * (len(tasks) - 1)]
    shown = replace(view(), frame=replace(view().frame, tasks=tasks), tasks=tasks)
    assert [task["cgroup_weight"] for task in snapshot(shown)["tasks"]][:2] == [256, None]


UNTREATED = dict.fromkeys(("sched_class", "policy", "priority", "nice", "weight"))


def test_pairs_are_listed_by_preemptor_and_by_blocker() -> None:
    pairs = np.zeros(3, PAIR_DTYPE)
    pairs["victim_tid"], pairs["other_tid"], pairs["other_comm"] = [1, 1, 3], [2, 4, 2], [b"b", b"d", b"b"]
    pairs["preemptions"], pairs["preempted_ns"] = [2, 0, 1], [12, 0, 90]
    pairs["waits"], pairs["blocked_ns"] = [3, 1, 0], [11, 50, 0]
    data = snapshot(replace(view(), pairs=pairs))
    victim, other = {"tid": 1, "comm": ""} | UNTREATED, {"tid": 2, "comm": "b"} | UNTREATED
    assert data["preemptions"] == [
        {"victim": {"tid": 3, "comm": ""} | UNTREATED, "preemptor": other, "count": 1, "wait_ns": 90},
        {"victim": victim, "preemptor": other, "count": 2, "wait_ns": 12},
    ]
    assert data["blockings"] == [
        {"victim": victim, "blocker": {"tid": 4, "comm": "d"} | UNTREATED, "count": 1, "blocked_ns": 50},
        {"victim": victim, "blocker": other, "count": 3, "blocked_ns": 11},
    ]


def test_pairs_tell_the_classes_of_both() -> None:
    pairs = np.zeros(1, PAIR_DTYPE)
    pairs["victim_tid"], pairs["other_tid"], pairs["waits"], pairs["blocked_ns"] = 1, 2, 3, 11
    pairs["victim_sched_class"], pairs["victim_policy"], pairs["victim_nice"] = SchedClass.FAIR, Policy.BATCH, 5
    pairs["other_sched_class"], pairs["other_policy"], pairs["other_priority"] = SchedClass.RT, Policy.FIFO, 50
    (pair,) = snapshot(replace(view(), pairs=pairs))["blockings"]
    fair = {"sched_class": "fair", "policy": "batch", "priority": None, "nice": 5, "weight": 335}
    fifo = {"sched_class": "rt", "policy": "fifo", "priority": 50, "nice": None, "weight": None}
    assert pair["victim"] == {"tid": 1, "comm": ""} | fair
    assert pair["blocker"] == {"tid": 2, "comm": ""} | fifo


def test_an_interrupt_that_blocked_has_a_name_and_no_tid() -> None:
    pairs = np.zeros(1, PAIR_DTYPE)
    pairs["victim_tid"], pairs["waits"], pairs["blocked_ns"], pairs["other_interrupt"] = 1, 3, 11, b"softirq NET_RX"
    data = snapshot(replace(view(), pairs=pairs))
    blocker = {"tid": None, "comm": "softirq NET_RX"}
    victim = {"tid": 1, "comm": ""} | UNTREATED
    assert data["blockings"] == [{"victim": victim, "blocker": blocker, "count": 3, "blocked_ns": 11}]
    assert not data["preemptions"]


def test_the_verdict_is_that_of_the_view() -> None:
    shown = view()
    verdict = snapshot(shown)["verdict"]
    assert list(verdict) == ["level", "rule", "headline", "evidence", "action", "command", "alternatives"]
    assert verdict["headline"] == judge(shown).headline
    assert verdict["headline"] in to_text(shown)


def test_the_attribution_adds_up() -> None:
    shown = view()
    parts = snapshot(shown)["attribution"]
    whole = parts.pop("ended_wait_ns")
    assert whole == sum(parts.values()) == shown.frame.ended_wait_ns
    assert min(parts.values()) >= 0
    assert parts["attributed_ns"] == int(shown.pairs["blocked_ns"].sum())


def test_groups_add_up_to_the_tasks_and_have_their_own_latency() -> None:
    source = SyntheticSource(SCENARIO)
    source.set_grouping("cgroup_id")
    settings = ViewSettings(window_ns=2 * SCENARIO.interval_ns, group="cgroup")
    shown = History(source.host, source.frames(threading.Event())).view(settings)
    groups = snapshot(shown, 3)["groups"]
    assert {group["by"] for group in groups} == {"cgroup"}
    assert sum(group["tasks"] for group in groups) == len(shown.tasks)
    assert sum(group["run_delay_ns"] for group in groups) == int(shown.tasks["run_delay_ns"].sum())
    assert shown.frame.groups is not None
    assert sum(group["runqueue_latency"]["count"] for group in groups) == int(shown.frame.groups.counts.sum())
    assert "By cgroup: " in to_text(shown)


def test_threads_are_groups_too_if_their_latency_was_kept() -> None:
    source = SyntheticSource(SCENARIO)
    source.set_grouping("tid")
    shown = History(source.host, source.frames(threading.Event())).view(ViewSettings(window_ns=SCENARIO.interval_ns))
    groups = snapshot(shown)["groups"]
    assert {group["by"] for group in groups} == {"thread"}
    assert {group["id"] for group in groups} == set(shown.tasks["tid"].tolist())
    assert snapshot(view())["groups"] is None


def test_quotas_are_listed_with_the_most_throttled_first() -> None:
    rows = np.zeros(2, THROTTLING_DTYPE)
    rows["cgroup_id"], rows["throttled_ns"], rows["periods"] = [5, 6], [10, 20], [3, 4]
    shown = view()
    shown = replace(shown, frame=replace(shown.frame, throttling=rows, cgroups={5: "/five", 6: "/six"}))
    listed = snapshot(shown)["throttling"]
    assert [row["cgroup"] for row in listed] == ["/six", "/five"]
    assert "Quotas\ncgroup" in to_text(shown)
    assert snapshot(view(unavailable={"throttling": "no cgroups"}))["throttling"] is None


def test_csv_is_the_task_table_of_the_contract() -> None:
    shown = view()
    rows = csv_rows(to_csv(shown, 5))
    tasks = snapshot(shown, 5)["tasks"]
    assert [list(row) for row in rows] == [list(task) for task in tasks]
    assert [row["run_ns"] for row in rows] == [str(task["run_ns"]) for task in tasks]
    assert [row["cgroup"] for row in rows] == [task["cgroup"] for task in tasks]


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))


def test_csv_says_first_where_it_comes_from() -> None:
    shown = view(Filter(comms=("a\nb",), cpus=(1,)), loss=Loss(ring_dropped=3))
    lines = to_csv(shown).splitlines()
    said = dict(line.removeprefix("# ").split(": ", 1) for line in lines[: [x[:1] for x in lines].index("t")])
    data = snapshot(shown)
    assert said.pop("filters") == "comm:a b cpu:1"
    assert said.pop("loss") == "ring_dropped: 3"
    assert said.pop("schedtop") == data["tool_version"]
    assert said == {name: str(data[name]) for name in said}
    assert {"host", "kernel", "source", "start_time", "interval_ns", "threshold_ns"} == set(said)
    assert "# loss: none\n" in to_csv(view())


def test_csv_without_tasks_is_a_header_and_says_why() -> None:
    text = to_csv(without("tasks"))
    assert csv_rows(text) == []
    assert "# not_available: tasks: this kernel cannot\n" in text


def test_a_name_cannot_add_a_csv_field() -> None:
    shown = view()
    shown.tasks["comm"][0] = b'a,"b'
    assert csv_rows(to_csv(shown))[0]["comm"] == 'a,"b'


def test_the_report_has_every_part_and_its_columns_are_aligned() -> None:
    report = to_text(view(), 5)
    blocks = report.split("\n\n")
    titles = [block.splitlines()[0] for block in blocks]
    assert titles[0].startswith("schedtop ")
    words = [title.split()[0] for title in titles[1:]]
    before = ["Verdict:", "CPUs", "Runqueue", "Waits", "Run", "Interrupts:"]
    assert words == [*before, "Tasks", "Short-lived:", "Slow", "Blame,", "Quotas"]
    assert titles[7] == "Tasks by run delay: 5 of 60"
    header, *rows = blocks[2].splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["0", "1", "2", "all"]
    assert {len(row) for row in rows} == {len(header)}
    assert len(set(header.split())) == len(header.split())


def test_the_report_says_what_is_missing_and_lost() -> None:
    shown = without("steal", "slow_waits", "tasks", "latency")
    shown = replace(shown, frame=replace(shown.frame, loss=Loss(ring_dropped=3)))
    report = to_text(shown)
    assert "not available: steal, slow_waits, tasks, latency: this kernel cannot" in report
    assert "lost: ring dropped: 3" in report
    assert "Tasks: not available" in report


def test_the_report_names_its_filter() -> None:
    assert "only comm:java cpu:1" in to_text(view(Filter(comms=("java",), cpus=(1,))))


def test_the_report_stays_a_report_without_anything_to_list() -> None:
    assert "Slow waits over 5 ms: 0 of 0" in to_text(view(Filter(comms=("nobody",))))


def test_a_loaded_sched_ext_scheduler_has_its_name_and_state() -> None:
    assert snapshot(view())["sched_ext"] is None
    shown = view(sched_ext=ExtScheduler("rusty", "disabling", True))
    assert snapshot(shown)["sched_ext"] == {"name": "rusty", "state": "disabling", "takes_all": True}
    assert "  sched_ext rusty (disabling)" in to_text(shown).splitlines()[0]

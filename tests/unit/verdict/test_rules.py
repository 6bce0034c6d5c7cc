"""The verdict: each rule on a Frame made for it, its near misses, and what must not be guessed."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedtop
from schedtop.base.histogram import BUCKETS, bucket_index
from schedtop.base.units import NS_PER_S
from schedtop.history.history import History, ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame, Host, Loss, Pressure
from schedtop.model.rows import PAIR_DTYPE, SLOW_WAIT_DTYPE, TASK_DTYPE, THROTTLING_DTYPE, Rows
from schedtop.model.short_lived import SHORT_LIVED_DTYPE
from schedtop.model.tables import CPU_COUNTERS, CpuTable, LatencyTable
from schedtop.model.waits import BEGINNINGS, CAUSES, EVIDENCE
from schedtop.sources.synthetic.scheduler import Scenario, make_frame
from schedtop.verdict.engine import RULES, judge
from schedtop.verdict.verdict import Verdict

MS = 1_000_000
HOST = Host("test", "6.18.0", "synthetic")
START = 1_000 * NS_PER_S
GROUPS = {
    7: "/system.slice/web.service",
    8: "/system.slice/web.service/worker",
    9: "/system.slice/web.service-2.service",
}


def waits(count: int = 50, cause: str = "preemption", evidence: str = "", wait_ns: int = 8 * MS, **fields: Any) -> Rows:
    """Slow waits on CPU 1, of `app (101)` and `app (102)` in turn, spread over the second."""
    rows = np.zeros(count, SLOW_WAIT_DTYPE)
    rows["tid"], rows["comm"] = 101 + np.arange(count) % 2, b"app"
    rows["wait_ns"], rows["time_ns"] = wait_ns, START + wait_ns + np.arange(count)
    rows["cpu"] = rows["enqueue_cpu"] = 1
    rows["idle_cpu"] = -1
    rows["kind"] = BEGINNINGS.index(cause if cause in BEGINNINGS else "preemption")
    rows["cause"], rows["evidence"] = CAUSES.index(cause), EVIDENCE.index(evidence)
    if cause == "idle-cpu":
        rows["idle_cpu"], rows["idle_cpu_ns"] = 0, wait_ns
        rows["allowed_cpus"] = 1 if evidence == "pinned" else 2
    if cause == "stolen":
        rows["stolen_ns"] = wait_ns * 3 // 4
    for name, value in fields.items():
        rows[name] = value
    return rows


def blocked(rows: Rows, *blockers: tuple[int, bytes, float]) -> Rows:
    """With blockers by share; a tid of 0 is the other one of the two tasks."""
    for place, (tid, comm, share) in enumerate(blockers):
        rows["blocker_tid"][:, place] = tid or np.where(rows["tid"] == 101, 102, 101)
        rows["blocker_comm"][:, place] = comm
        rows["blocker_ns"][:, place] = rows["wait_ns"] * share
        rows["covered_ns"] += (rows["wait_ns"] * share).astype(np.int64)
    return rows


def frame(
    slow: Rows | None = None,
    short: int = 500,
    short_ns: int = 40_000,
    busy: tuple[float, ...] = (0.06, 0.98),
    steal: float = 0.0,
    **parts: Any,
) -> Frame:
    """One second of CPUs with these busy ratios; the histogram fits the slow waits, unless they are throttled."""
    rows = waits(0) if slow is None else slow
    cpus, latency = CpuTable.empty(len(busy)), LatencyTable.empty(len(busy))
    column = {name: cpus.counters[:, index] for index, name in enumerate(CPU_COUNTERS)}
    column["accounted_ns"][:] = NS_PER_S
    column["busy_ns"][:] = np.array(busy) * NS_PER_S
    column["steal_ns"][:] = steal * NS_PER_S
    column["idle_ns"][:] = np.maximum(0, NS_PER_S - column["busy_ns"] - column["steal_ns"])
    queued = rows[rows["kind"] != BEGINNINGS.index("throttled")]
    every = np.concatenate((queued["wait_ns"], np.full(short, short_ns)))
    latency.counts[0, -1] = np.bincount(bucket_index(every), minlength=BUCKETS)
    latency.sum_ns[0, -1], latency.max_ns[0, -1] = every.sum(), every.max(initial=0)
    whole: dict[str, Any] = {
        "start_time_ns": START, "end_ns": NS_PER_S, "interval_ns": NS_PER_S, "cpus": cpus, "latency": latency,
        "tasks": np.zeros(0, TASK_DTYPE), "slow_waits": rows, "threshold_ns": 5 * MS, "cgroups": GROUPS,
    }  # fmt: skip
    return Frame(**(whole | parts))


def judged(made: Frame, words: str = "", seconds: int = 1) -> Verdict:
    """The verdict on the last of `seconds` such Frames."""
    frames = [replace(made, end_ns=second * NS_PER_S) for second in range(1, seconds + 1)]
    return judge(History(HOST, frames).view(ViewSettings(filter=Filter.parse(words))))


def quota(group: int = 7, throttled: int = 4, periods: int = 10) -> Rows:
    rows = np.zeros(1, THROTTLING_DTYPE)
    rows["cgroup_id"], rows["periods"], rows["throttled_periods"] = group, periods, throttled
    return rows


def tasks(**fields: Any) -> Rows:
    rows = np.zeros(1, TASK_DTYPE)
    rows["tid"], rows["comm"], rows["start_ns"] = 900, b"ffmpeg", 1
    for name, value in fields.items():
        rows[name] = value
    return rows


def pinned(count: int = 50, **fields: Any) -> Rows:
    return blocked(waits(count, "idle-cpu", "pinned", **fields), (0, b"app", 1.0))


def short_lived(count: int, run_ns: int, comm: bytes = b"sh", parent: bytes = b"make", tgid: int = 12) -> Rows:
    rows = np.zeros(1, SHORT_LIVED_DTYPE)
    rows["comm"], rows["parent"], rows["parent_tgid"] = comm, parent, tgid
    rows["count"], rows["run_ns"], rows["run_delay_ns"] = count, count * run_ns, count * MS
    return rows


# --- What cannot be judged -------------------------------------------------------------------------------------------


def test_a_short_window_is_not_judged() -> None:
    assert judged(frame(pinned(), interval_ns=99 * MS)).rule == "too-short"
    assert judged(frame(pinned(), interval_ns=100 * MS)).rule != "too-short"


@pytest.mark.parametrize("part", ["latency", "slow_waits", "switches"])
def test_verdict_names_unavailable_parts_with_the_reason(part: str) -> None:
    lost = {"latency": ("latency", "run_delay")}.get(part, (part,))
    verdict = judged(frame(pinned(), steal=0.12, unavailable=dict.fromkeys(lost, "no tracepoint")))
    assert (verdict.level, verdict.rule) == ("unknown", "unavailable")
    assert verdict.headline.endswith("no tracepoint")
    assert "steal is 12 %" in verdict.evidence
    assert judged(frame(unavailable={"migrations": "no tracepoint"})).rule == "calm"


@pytest.mark.parametrize("loss", [Loss(ring_dropped=51), Loss(slow_waits_suppressed=51), Loss(slow_waits_forgotten=51)])
def test_verdict_names_no_cause_with_most_slow_waits_lost(loss: Loss) -> None:
    verdict = judged(frame(pinned(), loss=loss))
    assert (verdict.level, verdict.rule) == ("unknown", "incomplete")
    assert "50 % of the slow waits" in verdict.headline


def test_verdict_names_cause_and_loss_with_some_slow_waits_lost() -> None:
    verdict = judged(frame(pinned(), loss=Loss(ring_dropped=40)))
    assert verdict.rule == "pinned"
    assert "44 % of the slow waits were not seen" in verdict.evidence
    assert judged(frame(loss=Loss(ring_dropped=4))).rule == "calm"


def test_slow_waits_that_only_the_histogram_has_are_missing() -> None:
    made = frame(pinned())
    verdict = judged(replace(made, slow_waits=made.slow_waits[:10]))
    assert (verdict.level, verdict.rule) == ("unknown", "incomplete")
    assert judged(replace(made, slow_waits=made.slow_waits[:30])).rule == "pinned"


def test_more_steal_in_one_wait_than_in_all_is_a_contradiction() -> None:
    rows = waits(20, "stolen", wait_ns=100 * MS)
    verdict = judged(frame(rows, steal=0.01))
    assert (verdict.level, verdict.rule) == ("unknown", "contradiction")
    assert "75.0 ms of one wait were stolen, but 20.0 ms in all" in verdict.evidence
    assert judged(frame(rows, steal=0.03)).rule == "stolen"
    rows["time_ns"] = START + MS  # They began before the window.
    assert judged(frame(rows, steal=0.01)).rule == "stolen"


def test_a_cpu_that_was_idle_in_one_wait_only_is_a_contradiction() -> None:
    rows = pinned(20, wait_ns=200 * MS)
    assert judged(frame(rows, busy=(0.83, 0.98))).rule == "contradiction"
    assert judged(frame(rows, busy=(0.81, 0.98))).rule == "pinned"


def test_two_causes_of_similar_weight_are_both_named() -> None:
    both = np.concatenate((pinned(25), waits(25, "throttled", wait_ns=7 * MS)))
    verdict = judged(frame(both))
    assert verdict.rule == "mixed"
    assert verdict.headline == "Mixed causes: affinity beside an idle CPU 53 %, quotas 47 % of the slow waits"
    assert judged(frame(np.concatenate((pinned(25), waits(16, "throttled", wait_ns=8 * MS))))).rule == "pinned"


def test_causes_weigh_by_time_and_not_by_number() -> None:
    few_but_long = waits(3, "throttled", wait_ns=300 * MS)
    assert judged(frame(np.concatenate((pinned(50, wait_ns=6 * MS), few_but_long)))).rule == "throttled"


@pytest.mark.parametrize(("field", "rule"), [("cause", "undecided"), ("evidence", "idle-cpu")])
def test_verdict_does_not_guess_at_causes_of_a_later_version(field: str, rule: str) -> None:
    rows = pinned()
    rows[field] = 99
    verdict = judged(frame(rows))
    assert (verdict.level, verdict.rule) == ("unknown", rule)


# --- One main cause --------------------------------------------------------------------------------------------------


def test_pinned_tasks_that_take_turns() -> None:
    verdict = judged(frame(pinned()))
    assert (verdict.level, verdict.rule) == ("notice", "pinned")
    assert verdict.headline == (
        "CPU 1: app (101) and app (102) are pinned to it and take turns (p99 8.00 ms); CPU 0 is 94 % idle"
    )
    assert verdict.action == "Widen the affinity: taskset -cp 0-1 101"
    assert verdict.evidence[-1] == "app (101) had the CPU for 50 % of these waits"
    assert judged(frame(pinned(70))).level == "alarm"


def test_pinned_tasks_that_another_one_blocks_do_not_take_turns() -> None:
    rows = blocked(waits(50, "idle-cpu", "pinned"), (0, b"app", 0.5), (55, b"cc1", 0.5))
    assert "take turns" not in judged(frame(rows)).headline
    alone = waits(50, "idle-cpu", "pinned", tid=101)
    assert "CPU 1: app (101) is pinned to it (p99" in judged(frame(alone)).headline
    many = judged(frame(waits(50, "idle-cpu", "pinned", tid=np.arange(50) + 1, allowed_cpus=2)))
    assert "50 tasks (most: app (1)) are pinned to some CPUs" in many.headline
    assert many.action == "Widen the affinity"


def test_pinned_behind_one_that_is_not() -> None:
    def behind(share: float, covered: float = 1.0, **fields: Any) -> Verdict:
        rows = waits(50, "idle-cpu", "pinned", **fields)
        return judged(frame(blocked(rows, (55, b"cc1", share), (56, b"as", covered - share))))

    verdict = behind(1.0, tid=101)
    assert verdict.headline == (
        "CPU 1: app (101) is pinned behind cc1 (55), which had the CPU for 100 % of its waits; CPU 0 is 94 % idle"
    )
    assert verdict.action == "Widen the affinity, or lower the priority of cc1 (55)"
    assert not any("had the CPU" in part for part in verdict.evidence)
    assert "app (101) and app (102) are pinned behind cc1 (55), which had the CPU for 61 % of their" in (
        behind(0.61).headline
    )
    assert "pinned to it" in behind(0.59).headline
    # Of what is known: a lower bound, and nothing if that is little.
    assert "at least 52 % of their waits" in behind(0.52, 0.6).headline
    assert "pinned to it" in behind(0.4, 0.4).headline


def test_a_bystander_is_not_named_among_the_pinned() -> None:
    def judge_share(ns: int) -> str:
        rows = waits(50, "idle-cpu", "pinned", tid=101)
        rows["tid"][:5], rows["comm"][:5], rows["wait_ns"][:5] = 12, b"kworker/1:0", ns
        return judged(frame(blocked(rows, (55, b"cc1", 1.0)))).headline

    assert judge_share(7 * MS).startswith("CPU 1: app (101) is pinned behind cc1 (55)")
    assert judge_share(9 * MS).startswith("CPU 1: app (101) and kworker/1:0 (12) are pinned behind cc1 (55)")


def test_the_cpus_of_the_command_are_those_online() -> None:
    made = frame(pinned(), busy=(0.06, 0.98, *[0.5] * 10))
    made.cpus.online[[4, 5, 6, 7]] = False
    assert judged(made).action == "Widen the affinity: taskset -cp 0-3,8-11 101"
    made.cpus.online[[0, 2, 3, 9, 10, 11]] = False
    assert judged(made).action == "Widen the affinity: taskset -cp 1,8 101"


def test_verdict_counts_only_waits_of_the_main_cause() -> None:
    verdict = judged(frame(np.concatenate((pinned(40), waits(10)))))
    assert verdict.evidence[0] == "40 slow waits of this cause, the longest 8.00 ms, 80 % of the slow waiting time"
    assert judged(frame(pinned())).evidence[0].startswith("50 slow waits, the longest")


def test_a_cpu_that_is_hardly_idle_any_more_is_only_said_to_have_been() -> None:
    assert judged(frame(pinned(), busy=(0.95, 0.98))).headline.endswith("CPU 0 was idle meanwhile")


def test_an_idle_cpu_that_is_allowed() -> None:
    verdict = judged(frame(waits(cause="idle-cpu", evidence="not balanced")))
    assert verdict.rule == "not-balanced"
    assert verdict.headline == "CPU 1: app (101) and app (102) wait, though allowed elsewhere; CPU 0 is 94 % idle"
    assert "who had the CPU is known of 0 % only" in verdict.evidence


def test_an_idle_cpu_of_which_the_affinity_is_not_known() -> None:
    verdict = judged(frame(waits(cause="idle-cpu")))
    assert (verdict.level, verdict.rule) == ("unknown", "idle-cpu")
    assert verdict.action.endswith("taskset -p 101")


@pytest.mark.parametrize("group", [7, 8])
def test_a_group_throttled_by_its_own_quota_or_one_around_it(group: int) -> None:
    verdict = judged(frame(waits(cause="throttled", cgroup_id=group), throttling=quota()))
    assert verdict.rule == "throttled"
    assert verdict.headline == "web.service is throttled by its quota in 40 % of its periods"
    assert any(part.startswith("other waits are fine: p99 ") for part in verdict.evidence)


def test_the_quota_of_a_group_with_a_similar_name_is_not_its_own() -> None:
    verdict = judged(frame(waits(cause="throttled", cgroup_id=9), throttling=quota()))
    assert verdict.headline == "web.service-2.service is throttled by its quota"
    assert verdict.evidence[0] == "how often is not known yet"


def test_verdict_names_the_most_throttled_group() -> None:
    rows = waits(cause="throttled", cgroup_id=7)
    rows["tid"][:5], rows["comm"][:5], rows["cgroup_id"][:5], rows["wait_ns"][:5] = 33, b"other", 9, 20 * MS
    rows["tid"][5:40] = 101
    verdict = judged(frame(rows, throttling=quota()))
    assert verdict.headline.startswith("web.service is throttled")
    assert verdict.evidence[0] == "most: app (101) waited 320 ms"


def test_throttling_that_is_inferred_says_so() -> None:
    rows = waits(cause="throttled", evidence="inferred", cgroup_id=7)
    rows["kind"] = BEGINNINGS.index("preemption")
    verdict = judged(frame(rows, throttling=quota()))
    assert verdict.evidence[0] == "inferred from cpu.stat"
    assert not any("fine" in part for part in verdict.evidence)
    assert judged(frame(waits(cause="throttled"))).headline == "app (101) is throttled by its quota"


def test_slow_waits_that_were_stolen() -> None:
    verdict = judged(frame(waits(cause="stolen"), steal=0.12, busy=(0.5, 0.5)))
    assert verdict.rule == "stolen"
    assert verdict.headline == "Steal is 12 %: the host is oversubscribed or limits this VM"
    little = judged(frame(waits(cause="stolen"), steal=0.02))
    assert little.headline == "The hypervisor had the CPU for at least 75 % of the slow waits"
    unknown = judged(frame(waits(cause="stolen"), unavailable={"steal": "no /proc/stat"}))
    assert "steal is not available" in unknown.evidence


def test_steal_comes_before_a_queue_only_if_it_is_in_the_waits() -> None:
    assert judged(frame(waits(stolen_ns=2 * MS), steal=0.12)).rule == "stolen"
    for other in (frame(waits(stolen_ns=1 * MS), steal=0.12), frame(waits(stolen_ns=2 * MS), steal=0.09)):
        verdict = judged(other)
        assert verdict.rule == "queueing"
        assert any(part.startswith("steal is") for part in verdict.evidence)


def test_tasks_that_yield() -> None:
    made = frame(waits(cause="yield", tid=900, comm=b"ffmpeg"), tasks=tasks(involuntary_switches=12_000))
    verdict = judged(made)
    assert verdict.rule == "yield"
    assert verdict.headline == "ffmpeg (900) gives the CPU away with sched_yield and waits 400 ms to get it back"
    assert "12.0k involuntary switches a second, yields among them" in verdict.evidence


def test_verdict_names_the_task_that_had_the_cpu() -> None:
    verdict = judged(frame(blocked(waits(), (66, b"hog", 0.83), (67, b"cc1", 0.17))))
    assert verdict.rule == "blocker"
    assert verdict.headline == "hog (66) had the CPU for 83 % of the slow waits of 2 tasks on CPU 1"
    assert judged(frame(blocked(waits(), (66, b"hog", 0.59), (67, b"cc1", 0.41)))).rule == "queueing"
    assert judged(frame(blocked(waits(), (66, b"hog", 0.83)), loss=Loss(ring_dropped=99))).rule == "incomplete"


def test_verdict_names_the_task_that_had_the_worst_of_many_cpus() -> None:
    rows = waits()
    rows["cpu"][:22] = 0
    worst, rest = blocked(rows[22:], (66, b"hog", 0.96)), blocked(rows[:22], (67, b"cc1", 0.5), (68, b"as", 0.5))
    verdict = judged(frame(np.concatenate((worst, rest))))
    assert verdict.rule == "queueing"
    assert verdict.headline == "Tasks wait for each other, 56 % of it on CPU 1, where hog (66) had the CPU for 96 %"
    assert not any("had the CPU" in part for part in verdict.evidence)
    several = judged(frame(blocked(waits(), (66, b"hog", 0.5), (67, b"cc1", 0.5))))
    assert several.headline == (
        "Tasks wait for each other, 100 % of it on CPU 1, 98 % busy; no single cause stands out"
    )
    assert "hog (66) had the CPU for 50 % of these waits" in several.evidence


def test_two_tasks_that_block_each_other_are_not_to_blame_alone() -> None:
    assert judged(frame(blocked(waits(), (0, b"app", 1.0)))).rule == "queueing"


def test_a_storm_of_wakeups() -> None:
    fields = {"waker_tid": 33, "waker_comm": b"main", "tid": 200 + np.arange(50) % 8}
    verdict = judged(frame(waits(cause="wakeup", **fields)))
    assert verdict.rule == "wakeups"
    assert verdict.headline == "main (33) wakes 8 tasks that then wait for a CPU: 100 % of the slow waits"
    assert judged(frame(waits(cause="wakeup", **fields | {"tid": 200 + np.arange(50) % 7}))).rule == "queueing"
    assert judged(frame(waits(cause="wakeup", **fields | {"waker_tid": 33 + np.arange(50) % 2}))).rule == "queueing"


def test_more_work_than_cpus() -> None:
    made = frame(waits(300), busy=(0.98, 0.98), tasks=tasks(run_ns=900 * MS))
    verdict = judged(made)
    assert (verdict.level, verdict.rule) == ("alarm", "saturated")
    assert verdict.headline == "2 CPUs are 98 % busy and 2 tasks wait on average: more work than CPUs"
    assert verdict.evidence[0] == "biggest: ffmpeg (900) ran 900 ms"
    assert judged(frame(waits(300), busy=(0.89, 0.98))).rule == "queueing"
    assert judged(frame(waits(40), busy=(0.98, 0.98))).rule == "queueing"
    assert judged(frame(waits(300), busy=(0.98, 0.98), unavailable={"busy": "?"})).rule == "queueing"
    assert judged(frame(pinned(300, idle_cpu_ns=0), busy=(0.98, 0.98))).rule == "pinned"


def test_the_biggest_is_a_process_with_all_its_tasks() -> None:
    def biggest(*rows: Rows) -> str:
        return judged(frame(waits(300), busy=(0.98, 0.98), tasks=np.concatenate(rows))).evidence[0]

    many = [tasks(tid=tid, comm=b"sender", process=b"hackbench", run_ns=45 * MS) for tid in range(1, 41)]
    own, idle = tasks(comm=b"schedtop", run_ns=200 * MS), tasks(tid=41, process=b"hackbench")
    assert biggest(own, idle, *many) == "biggest: hackbench, 40 tasks, ran 1.80 s"
    assert biggest(own, *many[:4]) == "biggest: schedtop (900) ran 200 ms"
    assert biggest(own, *many[:5]) == "biggest: hackbench, 5 tasks, ran 225 ms"
    nameless = [tasks(tid=tid, comm=b"", run_ns=150 * MS) for tid in (1, 2)]
    assert biggest(own, *nameless) == "biggest: schedtop (900) ran 200 ms"
    assert biggest(*nameless[:1]) == "biggest: task 1 ran 150 ms"
    assert biggest(idle).startswith("300 slow waits")


def test_saturation_needs_only_counters() -> None:
    made = frame(waits(300), busy=(0.98,), loss=Loss(slow_waits_suppressed=10_000))
    assert judged(made).headline.startswith("1 CPU is 98 % busy and 2 tasks wait on average")


def test_verdict_names_a_task_that_still_waits() -> None:
    starved = tasks(waiting_ns=3 * NS_PER_S, tid=901, comm=b"web", last_cpu=1, cgroup_id=7)
    hog = tasks(run_ns=950 * MS, last_cpu=1, comm=b"rt")
    made = frame(tasks=np.concatenate((starved, hog)), throttling=quota())
    verdict = judged(made)
    assert (verdict.level, verdict.rule) == ("alarm", "starving")
    assert verdict.headline == "web (901) has been waiting for 3.00 s and still does not run"
    assert "rt (900) ran 950 ms and was last seen on CPU 1, too" in verdict.evidence
    assert "its group web.service is throttled" in verdict.evidence
    assert judged(replace(made, loss=Loss(tasks_untracked=1))).level == "unknown"
    assert judged(replace(made, loss=Loss(switches_unseen=1))).level == "alarm"
    assert judged(frame(tasks=tasks(waiting_ns=NS_PER_S - 1))).rule == "calm"
    assert judged(replace(made, slow_waits=pinned(63), latency=frame(pinned(63)).latency)).rule == "pinned"


def two_hogs(**fields: Any) -> Rows:
    one, other = (tasks(tid=tid, comm=b"stress", run_delay_ns=500 * MS, last_cpu=1, **fields) for tid in (7, 8))
    return np.concatenate((one, other))


def test_short_turns_on_one_cpu_are_no_good_news() -> None:
    pairs = np.zeros(1, PAIR_DTYPE)
    pairs["victim_tid"], pairs["other_tid"], pairs["blocked_ns"] = 7, 8, 499 * MS
    pairs["victim_comm"], pairs["other_comm"] = b"stress", b"stress"
    made = frame(short=250, short_ns=4 * MS, tasks=two_hogs(allowed_cpus=1), pairs=pairs)
    verdict = judged(made)
    assert (verdict.level, verdict.rule, verdict.action) == ("notice", "turns", "Widen the affinity: taskset -cp 0-1 7")
    assert verdict.headline.startswith("CPU 1: stress (7) and stress (8) are pinned to it and take turns (p99 ")
    assert verdict.headline.endswith("CPU 0 is 94 % idle")
    assert "stress (8) had the CPU for 499 ms of it while stress (7) waited" in verdict.evidence
    # Where the mask is wider, or not known, or no CPU is idle, that is not the reason.
    for allowed in (0, 2):
        assert judged(replace(made, tasks=two_hogs(allowed_cpus=allowed))).rule == "waiting"
    assert judged(frame(short_ns=4 * MS, busy=(0.6, 0.98), tasks=two_hogs(allowed_cpus=1))).rule == "waiting"
    assert judged(frame(short_ns=4 * MS, busy=(0.97, 0.98), tasks=two_hogs(allowed_cpus=1))).rule == "saturated"
    assert judged(replace(made, tasks=two_hogs(allowed_cpus=1)[:1])).headline.startswith("CPU 1: stress (7) is pinned")


def test_a_little_waiting_is_normal() -> None:
    few = tasks(tid=7, run_delay_ns=190 * MS, last_cpu=1, allowed_cpus=1)
    assert judged(frame(tasks=few)).rule == "calm"
    many = np.concatenate([tasks(tid=tid, run_delay_ns=99 * MS) for tid in range(1, 9)])
    assert judged(frame(tasks=many)).rule == "calm"


# --- Short-lived tasks -----------------------------------------------------------------------------------------------


def test_fork_storm_is_named_with_its_rate_and_parent() -> None:
    storm = short_lived(1200, MS)
    verdict = judged(frame(blocked(waits(), (0, b"app", 1.0)), busy=(1.0, 1.0), short_lived=storm))
    assert (verdict.rule, verdict.level) == ("forks", "notice")
    assert verdict.headline == "sh ×1,200/s by make (12) take 60 % of the busy CPU time"
    assert verdict.evidence[0] == "all short-lived tasks: ×1,200/s, each ran 1.00 ms and waited 1.00 ms"
    # Without slow waits it is worth a notice, unless there is another reason for waits to come.
    assert judged(frame(busy=(0.5, 0.5), short_lived=short_lived(500, MS))).rule == "forks"
    assert judged(frame(busy=(0.5, 0.5), steal=0.06, short_lived=short_lived(500, MS))).rule == "steal"


@pytest.mark.parametrize(
    ("storm", "busy"),
    [
        (short_lived(19, 40 * MS), (1.0, 1.0)),  # jobs: too few
        (short_lived(30, 51 * MS), (1.0, 1.0)),  # worth a process each
        (short_lived(700, MS), (1.0, 0.98)),  # others do more
        (short_lived(180, MS), (0.1, 0.1)),  # little work at all
    ],
)
def test_few_forks_are_no_storm(storm: Rows, busy: tuple[float, ...]) -> None:
    assert judged(frame(blocked(waits(), (0, b"app", 1.0)), busy=busy, short_lived=storm)).rule != "forks"


def test_short_lived_tasks_are_mentioned_beside_another_cause() -> None:
    verdict = judged(frame(pinned(), busy=(0.06, 0.98), short_lived=short_lived(400, MS)))
    assert verdict.rule == "pinned"
    assert "short-lived: sh ×400/s by make (12) took 38 % of the busy time" in verdict.evidence


def test_a_storm_of_many_commands_is_named_by_its_parent_and_says_that_it_fails() -> None:
    many = np.concatenate([short_lived(50, MS, f"job{number}".encode(), b"cron", 0) for number in range(20)])
    many["exit_code"] = 1 << 8
    verdict = judged(frame(busy=(0.9, 0.9), short_lived=many))
    assert verdict.headline == "20 commands ×1,000/s by cron take 56 % of the busy CPU time"
    assert "most of them do not end well: 1000 exit 1" in verdict.evidence
    many["parent"] = [f"p{number}".encode() for number in range(20)]
    assert judged(frame(busy=(0.9, 0.9), short_lived=many)).headline.startswith("20 commands ×1,000/s, most often ")


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((809, 460), " mostly by sh (64 %) "),
        ((1250, 19), " by sh (12) "),
        ((400, 390, 379), " by sh, bash, make "),
        ((300, 290, 280, 270), " by 4 parents "),
    ],
)
def test_a_storm_of_several_parents_is_not_put_down_to_one(counts: tuple[int, ...], words: str) -> None:
    starters = zip((b"sh", b"bash", b"make", b"init"), counts, strict=False)
    storm = np.concatenate([short_lived(count, MS, b"true", parent, 12) for parent, count in starters])
    verdict = judged(frame(busy=(0.9, 0.9), short_lived=np.concatenate((storm, short_lived(76, MS, b"cat")))))
    assert verdict.headline.startswith(f"true ×{sum(counts):,}/s{words}take ")
    # The headline is of these alone, the evidence of all, and says so.
    assert verdict.headline.endswith(f"take {round(sum(counts) / 18)} % of the busy CPU time")
    assert verdict.evidence[0].startswith(f"all short-lived tasks: ×{sum(counts) + 76:,}/s, ")


def test_process_per_second_is_no_storm_beside_other_load() -> None:
    python = short_lived(1, 900 * MS, b"python")
    many = np.concatenate([python, short_lived(30, MS, b"sed")])
    assert judged(frame(busy=(0.5, 0.5), short_lived=many)).rule != "forks"
    slow = np.concatenate([short_lived(19, 45 * MS, b"python"), short_lived(30, MS, b"sed")])
    assert judged(frame(busy=(0.5, 0.5), short_lived=slow)).rule != "forks"
    # Nor do they hide one.
    storm = np.concatenate([python, short_lived(800, MS, b"sed")])
    assert judged(frame(busy=(0.9, 0.9), short_lived=storm)).headline.startswith("sed ×800/s by make (12) take 44 %")


# --- Few slow waits, or none -----------------------------------------------------------------------------------------


def test_verdict_without_waits_is_quiet() -> None:
    verdict = judged(frame(short_ns=40_000))
    assert (verdict.level, verdict.rule) == ("ok", "calm")
    assert verdict.headline.startswith("Nothing waits: p99 is ")
    assert judged(frame(short_ns=2 * MS)).headline.startswith("No wait is slow: p99 is ")
    assert judged(frame(short_ns=2 * MS)).headline.endswith("slow is 5 ms")


def test_a_filter_by_task_says_nothing_of_all_tasks() -> None:
    made = frame(tasks=tasks(max_wait_ns=3 * MS))
    assert judged(made, "ffmpeg").headline == "No slow wait of what the filter shows; its longest is 3.00 ms"
    assert judged(made, "nginx").rule == "nothing-passes"
    assert "p99" in judged(made, "cpu:1").headline


def test_verdict_under_a_filter_without_tasks_ignores_the_host() -> None:
    made = frame(steal=0.12, throttling=quota(), tasks=tasks(), pressure=Pressure(300 * MS, 0))
    for words in ("nginx", "tid:4711", "nginx cpu:1"):
        verdict = judged(made, words, seconds=10)
        assert (verdict.level, verdict.rule) == ("unknown", "nothing-passes")
        assert verdict.headline == "Nothing passes the filter: no task to judge"
    assert "steal is 12 %" in judged(made, "nginx").evidence
    assert judged(frame(waits(300), busy=(0.98, 0.98), tasks=tasks()), "nginx").rule == "nothing-passes"
    assert judged(made, "ffmpeg").rule == judged(made, "cpu:1").rule == "quota"
    unknown = judged(frame(unavailable={"tasks": "no room"}), "nginx")
    assert (unknown.rule, unknown.headline.endswith("tasks are not known: no room")) == ("nothing-passes", True)
    # A slow wait may be of a task that has ended.
    assert judged(frame(pinned()), "app").rule == "pinned"


def test_the_filter_holds_for_slow_waits() -> None:
    assert judged(frame(pinned(), tasks=tasks()), "ffmpeg").rule == "calm"


@pytest.mark.parametrize(("count", "rule"), [(0, "few"), (19, "few"), (20, "calm")])
def test_a_few_waits_are_too_few(count: int, rule: str) -> None:
    verdict = judged(frame(short=count))
    assert (verdict.rule, verdict.level) == (rule, "unknown" if rule == "few" else "ok")


def test_a_few_slow_waits_have_no_common_cause() -> None:
    verdict = judged(frame(pinned(4)))
    assert verdict.rule == "rare"
    assert verdict.headline == "4 slow waits, the longest 8.00 ms: too few for a common cause"
    assert "the affinity mask" in verdict.evidence[0]
    assert judged(frame(pinned(5))).rule == "pinned"
    assert judged(frame(pinned(2, wait_ns=60 * MS))).rule == "pinned"


def test_steal_without_slow_waits() -> None:
    assert judged(frame(steal=0.049)).rule == "calm"
    assert (judged(frame(steal=0.05)).rule, judged(frame(steal=0.05)).level) == ("steal", "notice")
    assert judged(frame(steal=0.12)).level == "alarm"
    assert judged(frame(steal=0.12, unavailable={"steal": "?"})).rule == "calm"


def test_a_quota_without_slow_waits() -> None:
    assert judged(frame(throttling=quota())).headline == "web.service is throttled by its quota in 40 % of its periods"
    assert judged(frame(throttling=quota(throttled=1, periods=11))).rule == "calm"
    assert judged(frame(throttling=quota(group=4711))).headline.startswith("A cgroup is throttled")


def test_pressure_without_slow_waits_needs_a_long_span() -> None:
    pressed = frame(pressure=Pressure(300 * MS, 0))
    assert judged(pressed, seconds=10).rule == "pressure"
    assert judged(pressed, seconds=9).rule == "calm"
    assert judged(frame(pressure=Pressure(190 * MS, 0)), seconds=10).rule == "calm"
    assert judged(replace(pressed, unavailable={"pressure": "psi=0"}), seconds=10).rule == "calm"


def test_verdicts_do_not_hide_each_other() -> None:
    verdict = judged(frame(pinned(), steal=0.07, throttling=quota(), busy=(0.06, 0.9)))
    assert {"steal is 7 %", "web.service is throttled in 40 % of its periods"} <= set(verdict.evidence)


# --- As a whole ------------------------------------------------------------------------------------------------------


def test_sentences() -> None:
    verdict = Verdict("ok", "calm", "Nothing waits", ("p99 is 40 µs", "no steal"), "Look elsewhere")
    assert verdict.sentences() == "Nothing waits. Evidence: p99 is 40 µs; no steal. Look elsewhere."
    assert Verdict("ok", "calm", "Nothing waits").sentences() == "Nothing waits."


def test_names_cannot_steer_the_terminal() -> None:
    rows = blocked(waits(comm=b"\x1b[2J"), (66, b"\x1b[2J\n", 0.9))
    assert judged(frame(rows)).sentences().isprintable()


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 5), st.integers(0, 40), st.integers(0, 200), st.floats(0, 1), st.integers(0, 2**32),
    st.sampled_from(["", "nginx", "cpu:0", "cpu:7", "cgroup:docker", "java cpu:1"]),
    st.sets(st.sampled_from(["latency", "slow_waits", "tasks", "steal", "busy", "pressure", "switches"]), max_size=2),
    st.sampled_from([0, 1, MS, 5 * MS, NS_PER_S]), st.booleans(),
)  # fmt: skip
def test_verdict_always_exists(
    cpus: int, count: int, slow: int, steal: float, seed: int, words: str, gone: set[str], threshold: int, fits: bool
) -> None:
    rng = np.random.default_rng(seed)
    scenario = Scenario(cpus=cpus + 1, tasks=count, slow_waits=slow if count else 0, steal_ratio=steal, seed=seed)
    made = [make_frame(scenario, number, rng, threshold) for number in range(2)]
    for each in made:
        for field, most in (("cause", 7), ("evidence", 5), ("kind", 4)):
            each.slow_waits[field] = rng.integers(most, size=len(each.slow_waits))
        each.tasks["waiting_ns"] *= int(rng.integers(1, 300))
    if fits:
        made = [replace(each, latency=LatencyTable.empty(cpus + 1)) for each in made]
    made = [replace(each, unavailable=dict.fromkeys(gone, "gone")) for each in made]
    verdict = judge(History(HOST, made).view(ViewSettings(window_ns=2 * NS_PER_S, filter=Filter.parse(words))))
    assert verdict.headline
    assert verdict.rule
    assert verdict.level in ("ok", "notice", "alarm", "unknown")
    assert verdict.sentences().isprintable()


def test_ids_of_rules_are_unique() -> None:
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)


def test_the_documentation_has_each_rule_in_its_order() -> None:
    text = (Path(schedtop.__file__).parent.parent / "docs/blame.md").read_text(encoding="utf-8")
    table = text.partition("| rule | level |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == [rule.id for rule in RULES]
    sums = text.partition("With the source `proc`")[2].partition("can be told")[0]
    assert {rule.id for rule in RULES if rule.by_sums} == set(re.findall(r"`([\w-]+)`", sums)) | SAY_NOTHING_OF_WAITS
    assert [name for name in CAUSES if f"`{name}`" not in text] == []


SAY_NOTHING_OF_WAITS = {"too-short", "nothing-passes", "undecided"}
"""Rules that apply to any source."""

"""Who goes before whom, by the rules of the scheduler: the cause of each wait, its verdict, and what it advises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.counts import Overhead
from schedtop.model.host import Host
from schedtop.model.rows import Rows
from schedtop.model.sched_class import Level, Policy, SchedClass
from schedtop.model.waits import Cause, Evidence
from schedtop.sources.scheduler.causes import assign_causes
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Verdict
from schedtop.verdict.wait import cause_words, explain
from tests.unit.verdict.frames import HOST, MS, blocked, frame, tasks, waits

LIMITED = replace(HOST, rt_ratio=0.95, weight_file="/sys/fs/cgroup{}/cpu.weight")
FAIR = {"sched_class": SchedClass.FAIR, "policy": Policy.OTHER}
FIFO = {"sched_class": SchedClass.RT, "policy": Policy.FIFO, "priority": 50}
DEADLINE = {"sched_class": SchedClass.DEADLINE, "policy": Policy.DEADLINE}


def made(victim: dict[str, Any], blocker: dict[str, Any], share: float = 0.95, **fields: Any) -> Rows:
    """Waits of such victims behind such a blocker, with their causes."""
    rows = blocked(waits(**fields), (66, b"hog", share))
    for name, value in victim.items():
        rows[name] = value
    for name, value in blocker.items():
        rows[f"blocker_{name}"][:, 0] = value
    return rows


def lighter(level: Level, own: int, against: int, other: Level | None = None, **fields: Any) -> Rows:
    """`level`: what of the victim is compared; `other`: what of the blocker, the same if not given."""
    rows = made(FAIR | fields, FAIR)
    rows["victim_level"][:, 0], rows["blocker_level"][:, 0] = level, level if other is None else other
    rows["victim_weight"][:, 0], rows["blocker_weight"][:, 0] = own, against
    return rows


def judged(rows: Rows, host: Any = LIMITED, **parts: Any) -> Verdict:
    assign_causes(rows)
    return judge(History(host, [frame(rows, **parts)]).view(ViewSettings()))


def cause_of(rows: Rows) -> Cause:
    assign_causes(rows)
    return Cause(rows["cause"][0])


def test_real_time_task_is_named_with_what_it_leaves_to_others() -> None:
    verdict = judged(made(FAIR, FIFO), tasks=tasks(tid=66, comm=b"hog", run_ns=950 * MS))
    assert (verdict.rule, verdict.headline) == (
        "behind-rt",
        "hog (66, fifo 50), real-time, keeps app ×2 off CPU 1 for 95 % of their waits, up to 8.00 ms; others get 5 %",
    )
    assert verdict.evidence[0] == "ordinary tasks get the 5 % that the fair server keeps for them"
    assert (verdict.action, verdict.command) == ("Make it an ordinary task: chrt -o -p 0 66", "chrt -o -p 0 66")


def test_a_pinned_victim_of_a_task_that_is_real_time_on_purpose_runs_elsewhere() -> None:
    """An audio mixer with bursts of 60 ms was to be demoted, which helped less than moving the service behind it."""
    rows = made(FAIR, FIFO)
    rows["idle_cpu"], rows["idle_cpu_ns"], rows["evidence"] = 0, rows["wait_ns"], Evidence.PINNED

    def found(run_ms: int) -> Verdict:
        return judged(rows, tasks=tasks(tid=66, comm=b"mixer", run_ns=run_ms * MS))

    bursts, wild = found(600), found(950)
    assert bursts.action == "Let app run elsewhere: taskset -cp 0-1 101"
    assert "Or make hog an ordinary task: chrt -o -p 0 66" in bursts.alternatives
    assert wild.action == "Make it an ordinary task: chrt -o -p 0 66"
    assert "Or leave it, and let app run elsewhere: taskset -cp 0-1 101" in wild.alternatives
    bound = tasks(tid=66, comm=b"mixer", run_ns=600 * MS, allowed_cpus=1)
    assert judged(rows, tasks=bound).command == "taskset -cp 0 101", "not where the mixer stays"


def test_a_pinned_victim_could_run_elsewhere_instead() -> None:
    """To take its priority from a real-time task is not what one dares first."""
    rows = made(FAIR, FIFO)
    assert not any("elsewhere" in item for item in (*judged(rows).evidence, *judged(rows).alternatives))
    rows["idle_cpu"], rows["idle_cpu_ns"], rows["evidence"] = 0, rows["wait_ns"], Evidence.PINNED
    told = "Or leave it, and let app run elsewhere: taskset -cp 0-1 101"
    assert told in judged(rows).alternatives
    of_kernel = np.concatenate([tasks(tid=tid, comm=b"app", parent_tgid=2) for tid in (101, 102)])
    assert told not in judged(rows, tasks=of_kernel).alternatives


def test_a_kernel_thread_beside_a_task_is_not_told_in_one_second_and_not_in_the_next() -> None:
    thread = tasks(tid=102, comm=b"app", parent_tgid=2)
    told = judged(made(FAIR, FIFO), tasks=thread)
    assert told.headline.startswith("hog (66, fifo 50), real-time, keeps app off CPU 1 for 95 % of its waits, ")


def test_how_long_they_wait_is_that_of_those_that_are_named() -> None:
    """`keeps web off … up to 36.0 ms`: it was a kworker that had waited so long."""
    rows = made(FAIR, FIFO)
    rows["wait_ns"][rows["tid"] == 102] = 16 * MS
    rows["blocker_ns"][rows["tid"] == 102, 0] = rows["covered_ns"][rows["tid"] == 102] = 12 * MS
    both = judged(rows.copy()).headline
    told = judged(rows, tasks=tasks(tid=102, comm=b"app", parent_tgid=2)).headline
    assert "keeps app off CPU 1 for 95 % of its waits, up to 8.00 ms" in told
    assert "keeps app ×2 off CPU 1 for 82 % of their waits, up to 16.0 ms" in both


LEAVE_IT = "Leave hog there unless something else is late; to look closer"


def test_threads_of_the_kernel_may_wait_for_a_real_time_task() -> None:
    """Its pinned service was helped, and then it was to be made an ordinary task for a kworker."""
    threads = [tasks(tid=tid, comm=b"app", parent_tgid=2) for tid in (101, 102)]
    hog = tasks(tid=66, comm=b"hog", run_ns=500 * MS)
    verdict = judged(made(FAIR, FIFO), tasks=np.concatenate([*threads, hog]))
    assert (verdict.level, verdict.action) == ("notice", f"{LEAVE_IT}: schedtop task 66")
    assert verdict.headline == (
        "Only kernel threads wait for hog (66, fifo 50), real-time, on CPU 1: app ×2, up to 8.00 ms"
    )
    assert "If they wait too long, make hog an ordinary task: chrt -o -p 0 66" in verdict.alternatives
    assert judged(made(FAIR, FIFO), tasks=np.concatenate([threads[0], hog])).command == "chrt -o -p 0 66"
    hog["run_ns"] = 950 * MS
    assert judged(made(FAIR, FIFO), tasks=np.concatenate([*threads, hog])).command == "chrt -o -p 0 66"


@pytest.mark.parametrize(("ran_ms", "ratio"), [(500, 0.95), (950, None)])
def test_nothing_is_said_of_the_limit_that_is_not_reached_or_known(ran_ms: int, ratio: float | None) -> None:
    host = replace(HOST, rt_ratio=ratio)
    verdict = judged(made(FAIR, FIFO), host, tasks=tasks(tid=66, comm=b"hog", run_ns=ran_ms * MS))
    assert verdict.headline.endswith("up to 8.00 ms")


OLDER = replace(LIMITED, kernel="6.1.0-50-amd64")


@pytest.mark.parametrize(
    ("host", "why"),
    [(LIMITED, "the fair server is off"), (OLDER, "sched_rt_runtime_us is -1")],
)
def test_real_time_tasks_without_a_limit(host: Host, why: str) -> None:
    verdict = judged(made(FAIR, FIFO), replace(host, rt_ratio=1.0), tasks=tasks(tid=66, comm=b"hog", run_ns=990 * MS))
    assert verdict.headline.endswith("others get nothing")
    assert verdict.evidence[0] == f"nothing is kept for ordinary tasks ({why})"


def test_older_kernels_keep_a_share_by_the_runtime() -> None:
    verdict = judged(made(FAIR, FIFO), OLDER, tasks=tasks(tid=66, comm=b"hog", run_ns=950 * MS))
    assert verdict.evidence[0] == "ordinary tasks get the 5 % that sched_rt_runtime_us keeps for them"


def test_interrupt_thread_is_not_made_an_ordinary_task() -> None:
    rows = made(FAIR, FIFO)
    rows["blocker_comm"][:, 0] = b"irq/25-virtio0"
    assert judged(rows).action.endswith("echo 0 > /proc/irq/25/smp_affinity_list")


def test_real_time_victim_waits_behind_its_priority_and_above() -> None:
    assert cause_of(made(FIFO, FIFO)) is Cause.BEHIND_RT
    assert cause_of(made(FIFO | {"priority": 51}, FIFO)) is Cause.PREEMPTION
    assert cause_of(made({}, FIFO)) is Cause.PREEMPTION  # its class is not known
    assert cause_of(made(FAIR, FIFO, 0.4)) is Cause.PREEMPTION


def test_deadline_task_goes_before_all() -> None:
    verdict = judged(made(FIFO, DEADLINE), tasks=tasks(tid=66, comm=b"hog", run_ns=600 * MS))
    assert verdict.rule == "behind-deadline"
    assert verdict.headline.startswith("hog (66, deadline) goes first: it had CPU 1 for 95 % of the waits of 2 tasks")
    assert verdict.evidence[1] == "hog (66, deadline) ran 60 % of the time"


def test_weights_of_two_tasks() -> None:
    verdict = judged(lighter(Level.TASK, 15, 1024, nice=19))
    assert verdict.rule == "lower-weight"
    assert verdict.headline == "app (101, nice 19) waits up to 8.00 ms, as it asks to: hog (66) has 68 times its weight"
    assert verdict.evidence[0] == "weights 15 and 1024: hog (66) had CPU 1 for 95 % of the waits"
    assert verdict.action == "Give it the same weight: renice -n 0 -p 101"
    assert cause_of(lighter(Level.TASK, 820, 1024)) is Cause.PREEMPTION
    assert cause_of(lighter(Level.UNKNOWN, 0, 0)) is Cause.PREEMPTION


def test_nobody_is_given_more_weight_because_of_schedtop_itself() -> None:
    rows = lighter(Level.AUTOGROUP, 1024, 14949)
    rows["blocker_comm"][:, 0] = b"schedtop"
    own = replace(Overhead(), nice=-12)
    assert judged(rows, overhead=own).command == "sudo schedtop --no-renice"
    assert judged(rows).command.endswith("/autogroup"), "another one, with --no-renice"


def test_task_that_asked_to_wait_is_no_alarm() -> None:
    many = {"count": 90}
    asked = judged(joined(lighter(Level.TASK, 15, 1024, nice=19), lighter(Level.TASK, 15, 1024, nice=19)))
    other = judged(joined(lighter(Level.TASK, 512, 1024), lighter(Level.TASK, 512, 1024)))
    assert (asked.level, asked.rule) == ("notice", "lower-weight")
    assert (other.level, other.rule) == ("alarm", "lower-weight")
    idle = judged(lighter(Level.TASK, 3, 1024, policy=Policy.IDLE))
    assert (idle.level, ", as it asks to: " in idle.headline) == ("notice", True)
    pinned = made(FAIR | {"nice": 5}, FAIR, 0.4, **many)
    pinned["idle_cpu"], pinned["idle_cpu_ns"], pinned["evidence"] = 0, pinned["wait_ns"], Evidence.PINNED
    assert (judged(pinned).level, judged(pinned).rule) == ("notice", "pinned")


def joined(*parts: Rows) -> Rows:
    rows = np.concatenate(parts)
    rows["time_ns"] = rows["time_ns"][0] + np.arange(len(rows))
    return rows


def test_holder_behind_niced_hogs_is_what_the_headline_names() -> None:
    """The hogs wait longest, behind it and each other; it waits behind them, and did not ask to."""
    hogs = lighter(Level.TASK, 335, 1024, nice=5)
    holder = made(FAIR | {"tid": 7, "comm": b"flusher"}, FAIR, count=20)
    verdict = judged(joined(hogs, holder))
    assert (verdict.level, verdict.rule) == ("notice", "blocker")
    assert verdict.headline.startswith("hog (66) had the CPU for 95 % of the slow waits of flusher (7) on CPU 1")
    assert verdict.command == "renice -n 10 -p 66"
    assert "not counted: the waits of 2 tasks of lower priority (nice)" in verdict.evidence
    few = made(FAIR | {"tid": 7, "comm": b"flusher"}, FAIR, count=10)
    assert judged(joined(lighter(Level.TASK, 335, 1024, nice=5), few)).rule == "lower-weight"


def test_holder_that_waits_in_short_turns_goes_before_niced_hogs() -> None:
    hogs = lighter(Level.TASK, 335, 1024, nice=5)
    holder = tasks(tid=7, comm=b"flusher", run_delay_ns=300 * MS, last_cpu=1, allowed_cpus=1)
    verdict = judged(hogs, tasks=holder)
    assert (verdict.level, verdict.rule) == ("notice", "turns")
    assert verdict.headline.startswith("CPU 1: flusher (7) is pinned to it and waits 30 % of the time")
    assert judged(hogs, tasks=tasks(tid=7, run_delay_ns=MS)).rule == "lower-weight"
    # A few of its turns are slow: that is not yet what there is to tell.
    few = made(FAIR | {"tid": 7, "comm": b"flusher"}, FAIR, count=8)
    verdict = judged(joined(hogs, few), tasks=holder)
    assert verdict.headline.startswith("CPU 1: flusher (7) is pinned to it and waits 30 % of the time")
    assert verdict.evidence[0] == "0.3 tasks wait on average, 8 waits are slow"
    assert verdict.alternatives[-1].endswith("schedtop path --comm NAME")


def test_weight_of_the_policy_idle() -> None:
    assert judged(lighter(Level.TASK, 3, 1024, policy=Policy.IDLE)).command == "chrt -o -p 0 101"


def test_weights_of_two_sessions_and_two_groups() -> None:
    sessions = judged(lighter(Level.AUTOGROUP, 335, 1024, tgid=100))
    assert "the session of hog (66) has 3.1 times its weight" in sessions.headline
    assert sessions.action.endswith("echo 0 > /proc/100/autogroup")
    groups = judged(lighter(Level.CGROUP, 1024, 4096, cgroup_id=8), tasks=tasks(tid=66, comm=b"hog", cgroup_id=9))
    assert "the cgroup of hog (66) has 4 times its weight" in groups.headline
    assert groups.action.endswith("echo 400 > /sys/fs/cgroup/system.slice/web.service/cpu.weight")


def test_command_for_a_cgroup_quotes_its_path() -> None:
    rows = lighter(Level.CGROUP, 1024, 4096, cgroup_id=8)
    paths = {8: "/a\\x2d; reboot", 9: "/b"}
    verdict = judged(rows, tasks=tasks(tid=66, comm=b"hog", cgroup_id=9), cgroups=paths)
    assert verdict.command == "echo 400 > '/sys/fs/cgroup/a\\x2d; reboot/cpu.weight'"


IN_ROOT = {1: "/", 9: "/b"}


def test_victim_in_the_root_cgroup_is_raised_by_its_session() -> None:
    rows = lighter(Level.AUTOGROUP, 1024, 4096, Level.CGROUP, cgroup_id=1, tgid=100)
    verdict = judged(rows, tasks=tasks(tid=66, comm=b"hog", cgroup_id=9), cgroups=IN_ROOT)
    assert verdict.headline.endswith("up to 8.00 ms: the cgroup of hog (66) has 4 times the weight of its session")
    assert verdict.action == "nice acts only inside of its session: echo -7 > /proc/100/autogroup"
    assert "Its session has a weight of 1024 against 4096" in explain(rows[0], 2)


def test_victim_in_no_group_is_raised_itself() -> None:
    rows = lighter(Level.TASK, 1024, 4096, Level.CGROUP, cgroup_id=1)
    verdict = judged(rows, tasks=tasks(tid=66, comm=b"hog", cgroup_id=9), cgroups=IN_ROOT)
    assert verdict.headline.endswith("up to 8.00 ms: the cgroup of hog (66) has 4 times its weight")
    assert verdict.action == "Give it the same weight: renice -n -7 -p 101"
    assert "It has a weight of 1024 against 4096" in explain(rows[0], 2)
    most = judged(lighter(Level.TASK, 1024, 262144, Level.CGROUP, cgroup_id=1), cgroups=IN_ROOT)
    assert most.action == "Give it the most weight that a task can have: renice -n -20 -p 101"


def test_old_recording_does_not_tell_what_of_a_task_in_the_root_is_compared() -> None:
    rows = lighter(Level.UNKNOWN, 1024, 4096, Level.CGROUP, cgroup_id=1)
    verdict = judged(rows, tasks=tasks(tid=66, comm=b"hog", cgroup_id=9), cgroups=IN_ROOT)
    assert verdict.action == "See where it has less weight: schedtop task 101"
    in_group = lighter(Level.UNKNOWN, 1024, 4096, Level.CGROUP, cgroup_id=8)
    verdict = judged(in_group, tasks=tasks(tid=66, comm=b"hog", cgroup_id=9))
    assert verdict.command == "echo 400 > /sys/fs/cgroup/system.slice/web.service/cpu.weight"


def test_group_beside_a_task_has_its_own_weight_raised() -> None:
    rows = lighter(Level.CGROUP, 1024, 9548, Level.TASK, cgroup_id=9)
    verdict = judged(rows, tasks=tasks(tid=66, comm=b"hog", cgroup_id=1), cgroups=IN_ROOT)
    assert verdict.headline.endswith(": hog (66) has 9.3 times the weight of its cgroup")
    assert verdict.command == "echo 932 > /sys/fs/cgroup/b/cpu.weight"


def test_idle_cpu_stays_evidence_beside_a_class() -> None:
    rows = made(FAIR, FIFO)
    rows["idle_cpu"], rows["idle_cpu_ns"], rows["evidence"] = 0, rows["wait_ns"], Evidence.PINNED
    verdict = judged(rows)
    assert verdict.rule == "behind-rt"
    assert "pinned to it, while CPU 0 is 94 % idle" in verdict.evidence
    assert "Real-time tasks run before it. CPU 0 was idle for 8.00 ms of it, but the affinity" in explain(rows[0], 2)
    unused = lighter(Level.TASK, 15, 1024)
    unused["idle_cpu"], unused["idle_cpu_ns"], unused["evidence"] = 0, unused["wait_ns"], Evidence.NOT_BALANCED
    assert cause_of(unused) is Cause.IDLE_CPU


def test_that_one_is_pinned_is_said_of_those_that_are_named() -> None:
    """`bash (18763) is pinned to it` was true of a kworker, which the headline did not name."""

    def told(pinned: int) -> tuple[str, ...]:
        web, kworker = made(FAIR, FIFO), made(FAIR, FIFO)[:10]
        web["tid"], web["comm"] = 7, b"web"
        kworker["tid"], kworker["comm"] = 8, b"kworker/1:1"
        rows = np.concatenate((web, kworker))
        own = rows["tid"] == pinned
        rows["idle_cpu"][own], rows["idle_cpu_ns"][own], rows["evidence"][own] = (
            0,
            rows["wait_ns"][own],
            Evidence.PINNED,
        )
        there = [tasks(tid=7, comm=b"web"), tasks(tid=8, comm=b"kworker/1:1", parent_tgid=2)]
        verdict = judged(rows, tasks=np.concatenate(there))
        assert "keeps web off CPU 1" in verdict.headline
        return verdict.evidence

    assert "web (7) is pinned to it, while CPU 0 is 94 % idle" in told(7)
    assert not any("pinned" in words for words in told(8))


@pytest.mark.parametrize(
    ("host", "how", "limit", "words"),
    [
        (
            LIMITED,
            "taken off",
            "the fair server gives others 5 % of it",
            "the fair server gave its CPU to ordinary ones",
        ),
        (OLDER, "throttled on", "sched_rt_runtime_us allows 95 % of it", "used up what sched_rt_runtime_us lets them"),
        (
            replace(OLDER, kernel="own"),
            "throttled on",
            "the fair server, or before 6.12 sched_rt_runtime_us, allows 95 % of it",
            "used up what the fair server, or before 6.12 sched_rt_runtime_us, lets them",
        ),
    ],
)
def test_real_time_task_that_is_taken_off_for_fair_ones_is_throttled(
    host: Host, how: str, limit: str, words: str
) -> None:
    rows = made(FIFO, FAIR, wait_ns=50 * MS, count=5)
    verdict = judged(rows, host)
    assert verdict.rule == "rt-runtime"
    assert verdict.headline == f"app (101, fifo 50) is {how} CPU 1 for up to 50.0 ms: {limit}"
    assert verdict.action == "Make it an ordinary task: chrt -o -p 0 101"
    assert words in explain(rows[0], kernel=host.kernel)
    assert cause_words(rows[0]) == "throttled, rt"
    assert cause_of(made(FIFO, FAIR, cause="wakeup")) is Cause.WAKEUP  # the kernel could not be preempted


def test_limit_that_is_not_known_has_no_number() -> None:
    untold = replace(LIMITED, rt_ratio=None)
    verdict = judged(made(FIFO, FAIR, wait_ns=50 * MS, count=5), untold)
    assert verdict.headline.endswith(": the fair server gives others their share")


def test_deadline_task_that_has_used_up_its_runtime() -> None:
    rows = made(DEADLINE, FAIR, wait_ns=15 * MS, evidence="deadline runtime")
    rows["dl_runtime_ns"], rows["dl_period_ns"], rows["dl_missed_ns"][:3] = 5 * MS, 20 * MS, MS
    verdict = judged(rows)
    assert verdict.rule == "deadline-runtime"
    assert verdict.headline == "app (101, deadline) is throttled up to 15.0 ms: used up its 5 ms of each 20 ms"
    assert "deadlines were missed 3 times, by up to 1.00 ms" in verdict.evidence
    assert "there were 50 periods; by how much is not known" in verdict.evidence[0]
    command = "chrt -d -T 10000000 -D 20000000 -P 20000000 -p 0 101"
    assert verdict.action == f"Try twice the runtime; what it needs is not known: {command}"
    assert cause_words(rows[0]) == "throttled, dl"


def test_short_measurement_says_so() -> None:
    rows = made(FAIR, FIFO)
    short = frame(rows, interval_ns=300 * MS)
    assign_causes(rows)
    verdict = judge(History(LIMITED, [short]).view(ViewSettings()))
    assert verdict.evidence[-1] == "only 300 ms were measured"
    window = judge(History(LIMITED, [replace(short, interval_ns=999 * MS)]).view(ViewSettings()))
    assert not any("measured" in words for words in window.evidence)


def test_causes_are_those_of_old_recordings_without_classes() -> None:
    assert cause_of(made({}, {})) is Cause.PREEMPTION
    assert np.array_equal(made({}, {})["sched_class"], np.zeros(50))

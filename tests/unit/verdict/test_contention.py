"""Tasks queued behind others, and several causes at once."""

from dataclasses import replace

import numpy as np

from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.counts import Loss
from schedtop.model.ext_scheduler import ExtScheduler
from schedtop.model.rows import Rows
from schedtop.model.sched_class import Level
from schedtop.model.waits import WokenBy
from schedtop.sources.host.sched_ext import EXT_QUEUES, EXT_TAKES
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Late, Verdict
from tests.unit.verdict.frames import HOST, MS, blocked, frame, judged, pinned, short_lived, tasks, waits


def test_two_causes_of_similar_weight_are_both_named() -> None:
    both = np.concatenate((pinned(25), waits(25, "throttled", wait_ns=7 * MS)))
    verdict = judged(frame(both))
    assert verdict.rule == "mixed"
    assert (
        verdict.headline
        == "Mixed causes: affinity beside an idle CPU 53 %, quotas 47 % of the slow waits, up to 8.00 ms"
    )
    assert judged(frame(np.concatenate((pinned(25), waits(16, "throttled", wait_ns=8 * MS))))).rule == "pinned"


def test_causes_weigh_by_time_and_not_by_number() -> None:
    few_but_long = waits(3, "throttled", wait_ns=300 * MS)
    assert judged(frame(np.concatenate((pinned(50, wait_ns=6 * MS), few_but_long)))).rule == "throttled"


def test_nice_is_no_help_between_sessions() -> None:
    def command(level: Level, weight: int = 0) -> str:
        rows = blocked(waits(20), (66, b"make", 1.0))
        rows["blocker_level"][:, 0], rows["blocker_weight"][:, 0] = level, weight
        return judged(frame(rows, tasks=tasks(tid=66, tgid=60))).command

    assert command(Level.AUTOGROUP) == command(Level.AUTOGROUP, 1024) == "echo 10 > /proc/60/autogroup"
    assert command(Level.AUTOGROUP, 110) == command(Level.AUTOGROUP, 15) == "echo 19 > /proc/60/autogroup"
    assert command(Level.TASK) == "renice -n 10 -p 66"


def test_tasks_that_yield() -> None:
    made = frame(waits(cause="yield", tid=900, comm=b"ffmpeg"), tasks=tasks(involuntary_switches=12_000))
    verdict = judged(made)
    assert verdict.rule == "yield"
    assert verdict.headline == "ffmpeg (900) gives the CPU away with sched_yield and waits 400 ms to get it back"
    assert "12.0k involuntary switches a second, yields among them" in verdict.evidence


def test_verdict_names_the_task_that_had_the_cpu() -> None:
    verdict = judged(frame(blocked(waits(), (66, b"hog", 0.83), (67, b"cc1", 0.17))))
    assert verdict.rule == "blocker"
    assert verdict.headline == "hog (66) had the CPU for 83 % of the slow waits of 2 tasks on CPU 1, up to 8.00 ms"
    assert judged(frame(blocked(waits(), (66, b"hog", 0.59), (67, b"cc1", 0.41)))).rule == "queueing"
    assert judged(frame(blocked(waits(), (66, b"hog", 0.83)), loss=Loss(ring_dropped=99))).rule == "incomplete"


def test_verdict_names_the_task_that_had_the_worst_of_many_cpus() -> None:
    rows = waits()
    rows["cpu"][:22] = 0
    worst, rest = blocked(rows[22:], (66, b"hog", 0.96)), blocked(rows[:22], (67, b"cc1", 0.5), (68, b"as", 0.5))
    verdict = judged(frame(np.concatenate((worst, rest))))
    assert verdict.rule == "queueing"
    where = "56 % of it on CPU 1, where hog (66) had the CPU for 96 %"
    assert verdict.headline == f"Tasks wait up to 8.00 ms for each other, {where}"
    assert not any("had the CPU" in part for part in verdict.evidence)
    several = judged(frame(blocked(waits(), (66, b"hog", 0.5), (67, b"cc1", 0.5))))
    assert several.headline == (
        "Tasks wait up to 8.00 ms for each other, 100 % of it on CPU 1, 98 % busy; no single cause stands out"
    )
    assert "hog (66) had the CPU for 50 % of these waits" in several.evidence
    assert several.command == "renice -n 10 -p 66"
    many = blocked(waits(), (66, b"hog", 0.19), (67, b"cc1", 0.19), (68, b"as", 0.19))
    assert judged(frame(many)).command == "schedtop task 101", "no one of them would help"


def test_two_tasks_that_block_each_other_are_not_to_blame_alone() -> None:
    assert judged(frame(blocked(waits(), (0, b"app", 1.0)))).rule == "queueing"


def test_a_storm_of_wakeups() -> None:
    fields = {"waker_tid": 33, "waker_comm": b"main", "tid": 200 + np.arange(50) % 8}
    verdict = judged(frame(waits(cause="wakeup", **fields)))
    assert verdict.rule == "wakeups"
    wait = "then wait for a CPU: 100 % of the slow waits, up to 8.00 ms"
    assert verdict.headline == f"main (33) wakes 8 tasks that {wait}"
    assert judged(frame(waits(cause="wakeup", **fields | {"tid": 200 + np.arange(50) % 7}))).rule == "queueing"
    assert judged(frame(waits(cause="wakeup", **fields, woken_by=WokenBy.SOFTIRQ))).rule == "queueing"
    assert judged(frame(waits(cause="wakeup", **fields | {"waker_tid": 33 + np.arange(50) % 2}))).rule == "queueing"
    # What ksoftirqd has woken on behalf of others is no victim of its own.
    last = np.arange(50) >= 45
    mixed = fields | {"tid": np.where(last, 207, 200 + np.arange(50) % 7)}
    by = np.where(last, WokenBy.SOFTIRQ, WokenBy.TASK)
    assert judged(frame(waits(cause="wakeup", **mixed))).rule == "wakeups"
    assert judged(frame(waits(cause="wakeup", **mixed, woken_by=by))).rule == "queueing"


def test_tasks_that_were_started_are_not_woken() -> None:
    fields = {"waker_tid": 33, "waker_comm": b"main", "tid": 200 + np.arange(50) % 8}
    assert judged(frame(waits(cause="fork", **fields))).rule == "queueing"


def test_more_work_than_cpus() -> None:
    made = frame(waits(300), busy=(0.98, 0.98), tasks=tasks(run_ns=900 * MS))
    verdict = judged(made)
    assert (verdict.level, verdict.rule) == ("alarm", "saturated")
    work = "More work than 2 CPUs can do, 46 % of it is ffmpeg (900)"
    assert verdict.headline == f"{work}: 2 tasks wait on average, up to 8.00 ms"
    assert verdict.evidence[:2] == ("biggest: ffmpeg (900) ran 900 ms", "2 CPUs are 98 % busy")
    assert judged(frame(waits(300), busy=(0.89, 0.98))).rule == "queueing"
    assert judged(frame(waits(40), busy=(0.98, 0.98))).rule == "queueing"
    assert judged(frame(waits(300), busy=(0.98, 0.98), unavailable={"busy": "?"})).rule == "queueing"
    assert judged(frame(pinned(300, idle_cpu_ns=0), busy=(0.98, 0.98))).rule == "pinned"


def test_more_work_than_cpus_in_sessions_of_their_own() -> None:
    """Four loops in four sessions were to be reniced, which did nothing, and the service that waited had no name."""

    def found(weight: int = 1024, level: Level = Level.AUTOGROUP, sessions: int = 4, api_ms: int = 200) -> Verdict:
        rows = blocked(waits(300), (66, b"crunch", 0.5), (66 + min(1, sessions - 1), b"crunch", 0.5))
        rows["blocker_level"][:, :2], rows["blocker_weight"][:, :2] = level, weight
        loops = [
            tasks(tid=66 + one, tgid=66 + one, comm=b"crunch", run_ns=400 * MS, run_delay_ns=500 * MS)
            for one in range(sessions)
        ]
        api = tasks(tid=7, tgid=7, comm=b"api", run_ns=200 * MS, run_delay_ns=api_ms * MS)
        return judged(frame(rows, busy=(0.98, 0.98), tasks=np.concatenate([*loops, api])))

    loop = "for p in 66 67 68 69; do echo 10 > /proc/$p/autogroup; done"
    assert found().command == loop
    assert found().action == f"Lower the priority of crunch (nice alone does nothing here): {loop}"
    assert found(sessions=1).command == "echo 10 > /proc/66/autogroup"
    assert found(sessions=5).command == "for p in $(pgrep -wx crunch); do echo 10 > /proc/$p/autogroup; done"
    assert found(weight=110).command == loop.replace("echo 10", "echo 19")
    assert found(weight=15).command == "ps -eLo pcpu,tid,comm --sort -pcpu | head", "lowest already"
    assert found(level=Level.TASK).command == "renice -n 10 -p $(pgrep -wx crunch)"
    work, average = "More work than 2 CPUs can do, 82 % of it is crunch", "2 tasks wait on average, up to 8.00 ms"
    assert found().headline == f"crunch uses 82 % of 2 CPUs; api (7) waits 20 % of the time; {average}"
    assert found(api_ms=90).headline == f"{work}: {average}"
    assert (found().late, found(api_ms=90).late) == (Late(7, "api (7) waits 20 % of the time"), Late())
    assert found(api_ms=700).headline == f"{work}: {average}", "never sleeps"


def test_one_of_several_that_run_alike_is_no_culprit_while_all_cpus_are_busy() -> None:
    """Each second another one of four loops was named, with a command for that one."""
    rows = blocked(waits(300), (66, b"crunch", 0.9))

    def rule(busy: float, *ran_ms: int) -> str:
        loops = [
            tasks(tid=66 + n, comm=b"crunch", run_ns=ms * MS, run_delay_ns=500 * MS) for n, ms in enumerate(ran_ms)
        ]
        return judged(frame(rows, busy=(busy, busy), tasks=np.concatenate(loops))).rule

    assert rule(0.98, 500, 400, 450) == "saturated"
    assert rule(0.98, 500, 100) == rule(0.98, 900) == rule(0.5, 500, 400) == "blocker"


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
    assert biggest(idle) == "2 CPUs are 98 % busy"


def test_of_the_biggest_that_ended_already_the_one_is_to_wait_that_starts_them() -> None:
    """Who types the command would find none of them."""

    def command(*parents: tuple[bytes, int], ended: int = 1, level: Level = Level.UNKNOWN) -> str:
        rows = [
            tasks(tid=tid, comm=b"basename", run_ns=45 * MS, ended=ended, parent=parent, parent_tgid=tgid)
            for tid, (parent, tgid) in enumerate(parents, 1)
        ]
        slow = blocked(waits(300), (1, b"basename", 0.5), (2, b"basename", 0.5))
        slow["blocker_level"][:, :2] = level
        return judged(frame(slow, busy=(0.98, 0.98), tasks=np.concatenate(rows))).command

    in_sessions = command((b"monitor.sh", 7), (b"monitor.sh", 7), level=Level.AUTOGROUP)
    assert in_sessions == "renice -n 10 -p 7", "no session of one that has ended"
    assert command((b"monitor.sh", 7), (b"monitor.sh", 7)) == "renice -n 10 -p 7"
    assert command((b"monitor.sh", 7), (b"sh", 9), (b"monitor.sh", 8)) == "renice -n 10 -p $(pgrep -wx 'monitor\\.sh')"
    assert command((b"monitor.sh", 7), (b"monitor.sh", 7), ended=0) == "renice -n 10 -p $(pgrep -wx basename)"
    assert command((b"", 0), (b"", 0)) == "renice -n 10 -p $(pgrep -wx basename)"


def test_the_biggest_may_be_what_a_script_starts_again_and_again() -> None:
    def verdict(run_ns: int) -> Verdict:
        own = tasks(run_ns=run_ns)
        return judged(frame(waits(300), busy=(0.98, 0.98), tasks=own, short_lived=short_lived(650, MS)))

    storm, hog = verdict(500 * MS), verdict(900 * MS)
    assert (storm.rule, storm.command) == ("saturated", "renice -n 10 -p 12")
    assert storm.headline.startswith(
        "More work than 2 CPUs can do, 33 % of it is 650 processes/s (sh) by make (12): 2 tasks wait"
    )
    assert storm.evidence[0] == "biggest: 650 processes/s (sh) by make (12) took 33 % of the CPU time"
    assert storm.action.startswith("Start fewer processes")
    assert not [words for words in storm.evidence[1:] if words.startswith("short-lived")], "said already"
    assert (hog.rule, hog.evidence[0]) == ("saturated", "biggest: ffmpeg (900) ran 900 ms")
    assert hog.headline.endswith(" wait on average, up to 8.00 ms; 33 % is 650 processes/s (sh) by make (12)")
    assert not [words for words in hog.evidence if words.startswith("short-lived")], "said already"


def test_saturation_says_where_a_service_is_that_waits_for_what_waits() -> None:
    made = frame(waits(300), busy=(0.98, 0.98), tasks=tasks(run_ns=900 * MS))
    assert judged(made).alternatives[-1].endswith("schedtop path --comm NAME")
    chosen = judged(made, "comm:app")
    assert "path" not in " ".join((*chosen.evidence, *chosen.alternatives))


def test_saturation_needs_only_counters() -> None:
    made = frame(waits(300), busy=(0.98,), loss=Loss(slow_waits_suppressed=10_000))
    assert judged(made).headline.startswith("More work than 1 CPU can do: 2 tasks wait on average")


def test_of_chosen_tasks_the_headline_speaks_of_these() -> None:
    made = frame(waits(300), busy=(0.98, 0.98), tasks=tasks(run_ns=900 * MS))
    assert judged(made, "comm:app").headline == (
        "app (101) and app (102) wait up to 8.00 ms: 2 CPUs are 98 % busy, 46 % of it with ffmpeg (900)"
    )
    assert judged(made, "tid:101").headline.startswith("app (101) waits up to 8.00 ms: 2 CPUs")
    assert judged(made, "comm:ffmpeg").rule == "calm", "it does not wait itself"
    late = replace(made, tasks=tasks(run_delay_ns=300 * MS))
    assert judged(late, "comm:ffmpeg").headline.startswith("ffmpeg (900) waits 30 % of the time: 2 CPUs")
    one = frame(blocked(waits(), (66, b"hog", 0.9)))
    of_one = judged(one, "tid:101").headline
    assert of_one == "hog (66) had the CPU for 90 % of the slow waits of app (101) on CPU 1, up to 8.00 ms"


def test_a_blocker_with_a_slice_of_another_length_is_told() -> None:
    rows = blocked(waits(), (66, b"hog", 0.83), (67, b"cc1", 0.17))
    rows["slice_ns"], rows["blocker_slice_ns"][:, 0] = 3 * MS, 100 * MS
    assert "its time slice is 100 ms, of those that wait 3 ms" in judged(frame(rows)).evidence
    rows["blocker_slice_ns"][:, 0] = 4 * MS
    assert not any("time slice" in words for words in judged(frame(rows)).evidence)


def test_waits_of_a_sched_ext_scheduler_are_its_own_choice() -> None:
    made = frame(waits(cause="preemption", evidence="sched_ext"))
    verdict = judged(replace(made, sched_ext=ExtScheduler("rusty")))
    assert verdict.rule == "sched-ext"
    decides = "which decides when and on which CPU they run"
    assert verdict.headline == f"2 tasks waited up to 8.00 ms in the sched_ext scheduler rusty, {decides}"
    assert judged(made).headline == f"2 tasks waited up to 8.00 ms in a sched_ext scheduler, {decides}", (
        "of an older recording"
    )


def test_a_verdict_says_that_a_sched_ext_scheduler_is_loaded() -> None:
    why = EXT_QUEUES.format("rusty")
    loaded = replace(frame(waits(cause="yield")), unavailable=dict.fromkeys(EXT_TAKES, why))
    assert why in judged(loaded).evidence
    assert why not in judged(frame(waits(cause="yield"))).evidence


def test_with_a_scope_what_has_the_cpu_waits_and_not_the_victims() -> None:
    """Only the tasks of the scope are known: the biggest of them is what waits."""
    rows = blocked(waits(300), (66, b"transcode", 0.5), (67, b"transcode", 0.25), (0, b"app", 0.25))
    own = tasks(tid=101, comm=b"app", run_ns=900 * MS)

    def verdict(rows: Rows) -> Verdict:
        made = frame(rows, busy=(0.98, 0.98), tasks=own)
        return judge(History(replace(HOST, scope="cgroup:/shop.service"), [made]).view(ViewSettings()))

    several = verdict(rows)
    assert several.headline == (
        "app (101) and app (102) wait up to 8.00 ms: 2 CPUs are 98 % busy, more work than CPUs; "
        "transcode, 2 tasks, had them for 75 % of it"
    )
    assert several.command == "renice -n 10 -p $(pgrep -wx transcode)"
    one = verdict(blocked(waits(300), (66, b"transcode", 0.5), (0, b"app", 0.5)))
    assert one.headline.endswith("; transcode (66) had them for 50 % of it")
    assert one.command == "renice -n 10 -p 66"
    assert verdict(blocked(waits(300), (0, b"app", 1.0))).action.startswith("See what runs")

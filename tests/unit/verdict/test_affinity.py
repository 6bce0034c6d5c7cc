"""Tasks that wait beside an idle CPU."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schedtop.model.sched_class import SchedClass
from schedtop.model.waits import Distance
from schedtop.verdict.verdict import Verdict
from tests.unit.verdict.frames import MS, blocked, frame, judged, pinned, tasks, waits


def test_task_between_hogs_is_named_with_them() -> None:
    rows = pinned()
    rows["tid"][:15], rows["comm"][:15] = 7, b"flusher"
    verdict = judged(frame(rows))
    assert verdict.headline.startswith("CPU 1: app ×2 and flusher (7) are pinned to it")
    assert verdict.alternatives[-1].endswith("schedtop path --comm NAME")
    rows["comm"][15::2] = b"other"
    assert judged(frame(rows)).headline.startswith("CPU 1: app (101), flusher and other are pinned to it and compete")
    rows["tid"][16::4], rows["comm"][16::4] = 103, b"fourth"
    assert judged(frame(rows)).headline.startswith("CPU 1: other (102) and 3 others are pinned to it and compete")


def test_of_pinned_tasks_of_two_names_the_same_one_comes_first_each_second() -> None:
    """The hogs `report` and `backup` took turns in the headline and in the command as well."""

    def found(first: int, second: int) -> Verdict:
        rows = pinned()
        rows["comm"][rows["tid"] == 102] = b"other"
        rows["wait_ns"][rows["tid"] == 101], rows["wait_ns"][rows["tid"] == 102] = first * MS // 10, second * MS // 10
        return judged(frame(rows))

    for verdict in (found(80, 79), found(79, 80), found(77, 83)):
        assert verdict.headline.startswith("CPU 1: app (101) and other (102) are pinned")
        assert verdict.command == "taskset -cp 0-1 101"
    assert found(50, 80).command == "taskset -cp 0-1 102"


def test_pinned_tasks_that_take_turns() -> None:
    verdict = judged(frame(pinned()))
    assert (verdict.level, verdict.rule) == ("notice", "pinned")
    assert verdict.headline == (
        "CPU 1: app (101) and app (102) are pinned to it and compete (p99 8.00 ms); CPU 0 is 94 % idle"
    )
    assert verdict.action == "Let app run elsewhere, too: taskset -cp 0-1 101"
    assert verdict.evidence[-1] == "app ×2 had the CPU for 100 % of these waits"
    assert judged(frame(pinned(70))).level == "alarm"


def test_of_pinned_tasks_the_one_is_moved_that_runs_little() -> None:
    """A hog that is moved disturbs what runs there, and the service waits on."""

    def command(*run_ms: int) -> str:
        rows = [tasks(tid=101 + number, comm=b"app", run_ns=ms * MS) for number, ms in enumerate(run_ms)]
        return judged(frame(pinned(), tasks=np.concatenate(rows))).command

    assert command(800, 100) == "taskset -cp 0-1 102"
    assert command(100, 800) == "taskset -cp 0-1 101"
    assert command(500, 300) == command(300, 500) == "taskset -cp 0-1 101"


def test_a_service_that_runs_as_much_as_hogs_get_but_sleeps_is_moved() -> None:
    """Each second the command was about another one: it ran half as much as a hog, or a little more."""

    def command(run_ms: int, delay_ms: int, hog_delay_ms: int = 600) -> str:
        hogs = [tasks(tid=tid, comm=b"app", run_ns=390 * MS, run_delay_ns=hog_delay_ms * MS) for tid in (101, 102)]
        web = tasks(tid=7, comm=b"web", run_ns=run_ms * MS, run_delay_ns=delay_ms * MS)
        every = np.concatenate([*hogs, web])
        every["last_cpu"] = every["allowed_cpus"] = 1
        return judged(frame(pinned(), tasks=every)).command

    assert command(180, 240) == command(210, 240) == command(300, 240) == "taskset -cp 0-1 7"
    assert command(390, 600) == "taskset -cp 0-1 101"
    assert command(300, 240, hog_delay_ms=100) == "taskset -cp 0-1 101", "they sleep as well"


def test_beside_hogs_the_headline_is_about_the_one_that_is_to_be_moved() -> None:
    """`(p99 8.03 ms)` was that of the hogs: web waits for 24 % of the time, and never for 8 ms."""

    def headline(run_ms: int, **rows: int) -> str:
        hogs = [tasks(tid=tid, comm=b"app", run_ns=390 * MS, run_delay_ns=600 * MS) for tid in (101, 102)]
        every = np.concatenate([*hogs, tasks(tid=7, comm=b"web", run_ns=run_ms * MS, run_delay_ns=240 * MS)])
        every["last_cpu"] = every["allowed_cpus"] = 1
        waiting = pinned(51)
        waiting["tid"][::3], waiting["comm"][::3] = 7, b"web"
        for name, value in rows.items():
            waiting[name] = value
        return judged(frame(waiting, tasks=every)).headline

    assert headline(180).startswith("CPU 1: web (7) waits 24 % of the time, pinned to it with app ×2; CPU 0 is ")
    assert " are pinned to it" in headline(520), "it hardly sleeps"
    assert " are pinned to some CPUs" in headline(180, allowed_cpus=2)


def test_a_helper_that_asked_to_wait_is_moved_if_others_of_its_process_did_not() -> None:
    """orders was slow because its own niced thread, which holds the lock, waited behind hogs for 84 % of the time."""

    def found(delay_ms: int = 840, *, allowed: int = 1, nice: int = 5, orders_tgid: int = 6) -> Verdict:
        rows = pinned(90)
        rows["tid"][:20], rows["comm"][:20], rows["nice"][:20], rows["sched_class"] = (
            7,
            b"orders-gc",
            nice,
            SchedClass.FAIR,
        )
        hogs = [tasks(tid=tid, tgid=tid, comm=b"app", run_ns=440 * MS, run_delay_ns=560 * MS) for tid in (101, 102)]
        helper = tasks(tid=7, tgid=6, comm=b"orders-gc", nice=nice, run_ns=90 * MS, run_delay_ns=delay_ms * MS)
        known = np.concatenate((*hogs, helper, tasks(tid=6, tgid=orders_tgid, comm=b"orders", run_ns=50 * MS)))
        known["sched_class"], known["last_cpu"], known["allowed_cpus"] = SchedClass.FAIR, 1, 1
        known["allowed_cpus"][2] = allowed
        return judged(frame(rows, tasks=known))

    assert found().command == "taskset -cp 0-1 7"
    assert found().headline.startswith("CPU 1: app ×2 and orders-gc (7, nice 5) are pinned to it")
    assert found(450).command == "taskset -cp 0-1 7", "of nice 10 beside two hogs it waits for half of the time"
    elsewhere = found(allowed=2)
    assert elsewhere.command == "taskset -cp 0-1 101"
    assert elsewhere.headline.endswith("; also, orders-gc (7, nice 5) waits 84 % of the time")
    for other in (found(400), found(400, allowed=2), found(orders_tgid=4), found(orders_tgid=4, allowed=2)):
        assert "orders-gc" not in other.headline
        assert other.command == "taskset -cp 0-1 101"


def test_a_service_that_waits_a_little_among_hogs_is_moved_and_no_thread_of_a_cpu_is() -> None:
    def command(share_ms: int, parent: int = 1) -> str:
        rows = pinned()
        rows["tid"][0], rows["comm"][0], rows["wait_ns"][0] = 7, b"api", share_ms * MS
        known = [tasks(tid=101, run_ns=480 * MS), tasks(tid=102, run_ns=480 * MS)]
        known.append(tasks(tid=7, run_ns=10 * MS, parent_tgid=parent))
        found = judged(frame(rows, tasks=np.concatenate(known)))
        named = "app ×2 and api (7) are" if found.command.endswith(" 7") else "app (101) and app (102) are"
        assert found.headline.startswith(f"CPU 1: {named} pinned to it and compete")
        return found.command

    assert command(20) == "taskset -cp 0-1 7"
    assert command(2) == "taskset -cp 0-1 101", "hardly waits"
    assert command(20, parent=2) == "taskset -cp 0-1 101", "of the kernel"


def test_a_service_that_waits_in_short_turns_among_hogs_is_moved_in_each_second() -> None:
    """None of its waits was slow in this second, and the command was about a hog then."""

    def command(**api: int) -> str:
        known = [tasks(tid=tid, comm=b"app", run_ns=480 * MS, run_delay_ns=500 * MS) for tid in (101, 102)]
        known.append(tasks(tid=7, comm=b"api", run_ns=70 * MS, **{"run_delay_ns": 100 * MS, **api}))
        every = np.concatenate(known)
        every["last_cpu"] = 1
        every["allowed_cpus"][:2] = 1
        return judged(frame(pinned(), tasks=every)).command

    assert command(allowed_cpus=1) == "taskset -cp 0-1 7"
    assert command(allowed_cpus=2) == "taskset -cp 0-1 101"
    assert command(allowed_cpus=1, run_delay_ns=10 * MS) == "taskset -cp 0-1 101", "hardly waits"
    assert command(allowed_cpus=1, nice=5, sched_class=SchedClass.FAIR) == "taskset -cp 0-1 101", "asks to wait"


def test_tasks_that_wait_about_as_long_keep_their_places() -> None:
    """The headline, and what is to be typed, name the same tasks in each second."""

    def verdict(of_first: int, of_second: int) -> Verdict:
        rows = pinned()
        rows["wait_ns"] = np.where(rows["tid"] == 101, of_first, of_second)
        return judged(frame(rows))

    for first, second in ((8 * MS, 9 * MS), (9 * MS, 8 * MS), (8 * MS, 15 * MS)):
        found = verdict(first, second)
        assert found.headline.startswith("CPU 1: app (101) and app (102) are pinned to it and compete")
        assert found.command == "taskset -cp 0-1 101"
    found = verdict(7 * MS, 15 * MS)
    assert found.headline.startswith("CPU 1: app (102) and app (101) are pinned")
    assert found.command == "taskset -cp 0-1 102"


def test_pinned_tasks_that_another_one_blocks_do_not_take_turns() -> None:
    rows = blocked(waits(50, "idle-cpu", "pinned"), (0, b"app", 0.5), (55, b"cc1", 0.5))
    assert "take turns" not in judged(frame(rows)).headline
    alone = waits(50, "idle-cpu", "pinned", tid=101)
    assert "CPU 1: app (101) is pinned to it (p99" in judged(frame(alone)).headline
    many = judged(frame(waits(50, "idle-cpu", "pinned", tid=np.arange(50) + 1, allowed_cpus=2)))
    assert "50 tasks (mainly app (1)) are pinned to some CPUs" in many.headline
    assert many.action == "Let app run elsewhere, too: taskset -cp 0-1 1"


def test_pinned_behind_one_that_is_not() -> None:
    def behind(share: float, covered: float = 1.0, **fields: Any) -> Verdict:
        rows = waits(50, "idle-cpu", "pinned", **fields)
        return judged(frame(blocked(rows, (55, b"cc1", share), (56, b"as", covered - share))))

    verdict = behind(1.0, tid=101)
    assert verdict.headline == (
        "CPU 1: app (101) is pinned behind cc1 (55) for 100 % of its waits, up to 8.00 ms; CPU 0 is 94 % idle"
    )
    assert verdict.action == "Let app run elsewhere, too: taskset -cp 0-1 101"
    assert not any("had the CPU" in part for part in verdict.evidence)
    assert "app (101) and app (102) are pinned behind cc1 (55) for 61 % of their" in (behind(0.61).headline)
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
    assert judged(made).action == "Let app run elsewhere, too: taskset -cp 0-3,8-11 101"
    made.cpus.online[[0, 2, 3, 9, 10, 11]] = False
    assert judged(made).action == "Let app run elsewhere, too: taskset -cp 1,8 101"


def test_verdict_counts_only_waits_of_the_main_cause() -> None:
    verdict = judged(frame(np.concatenate((pinned(40), waits(10)))))
    assert verdict.evidence[0] == "40 slow waits of this cause, the longest 8.00 ms, 80 % of the slow waiting time"
    assert judged(frame(pinned())).evidence[0].startswith("50 slow waits, the longest")


def test_a_cpu_that_is_hardly_idle_any_more_is_only_said_to_have_been() -> None:
    assert judged(frame(pinned(), busy=(0.95, 0.98))).headline.endswith("CPU 0 was idle meanwhile")


def test_an_idle_cpu_that_is_allowed() -> None:
    verdict = judged(frame(waits(cause="idle-cpu", evidence="not balanced")))
    assert verdict.rule == "not-balanced"
    beside = "though allowed elsewhere; CPU 0 is 94 % idle"
    assert verdict.headline == f"CPU 1: app (101) and app (102) wait up to 8.00 ms, {beside}"
    assert "the tasks that had the CPU are known for 0 % only" in verdict.evidence


@pytest.mark.parametrize(
    ("distance", "words", "action"),
    [
        (Distance.SAME_CACHE, "CPU 0 is 94 % idle (same cache)", "Move one by hand: taskset -cp 0 101"),
        (
            Distance.OTHER_NODE,
            "CPU 0 is 94 % idle (other node)",
            "Tasks stay near their memory; if waiting costs more, move one by hand: ",
        ),
    ],
)
def test_an_idle_cpu_that_is_allowed_is_near_or_far(distance: Distance, words: str, action: str) -> None:
    verdict = judged(frame(waits(cause="idle-cpu", evidence="not balanced", idle_distance=distance)))
    assert verdict.headline.endswith(words)
    assert verdict.action.startswith(action)


def test_an_idle_cpu_of_which_the_affinity_is_not_known() -> None:
    verdict = judged(frame(waits(cause="idle-cpu")))
    assert verdict.headline.startswith("CPU 1: app (101) waits up to 8.00 ms while another is idle; whether it may run")
    assert (verdict.level, verdict.rule) == ("unknown", "idle-cpu")
    assert verdict.action.endswith("taskset -cp 101")


def test_threads_of_a_pinned_ones_process_may_wait_for_what_it_holds() -> None:
    rows = [tasks(tid=tid, tgid=100, process=b"orders", comm=comm) for tid, comm in ((101, b"compact"), (110, b"io"))]
    known = frame(pinned(), tasks=np.concatenate(rows))
    said = "1 other thread of orders (100) may wait for what app holds: schedtop path --pid 100"
    assert said in judged(known).alternatives
    # Both threads wait themselves, or there is no other.
    alone = np.concatenate([tasks(tid=tid, tgid=100, process=b"orders") for tid in (101, 102)])
    for rest in (alone, alone[:1], alone[:0]):
        assert "may wait" not in judged(replace(known, tasks=rest)).sentences()


def test_of_chosen_tasks_less_waiting_is_an_alarm() -> None:
    assert judged(frame(pinned(26))).level == judged(frame(pinned(24)), "comm:app").level == "notice"
    assert judged(frame(pinned(26)), "comm:app").level == "alarm"


def test_all_threads_of_a_pinned_service_are_moved_at_once() -> None:
    """Each took a command of its own; the lock holder among them none."""

    def found(*, others_cpu: int = 1, allowed: int = 1, delay_ms: int = 300) -> Verdict:
        rows = pinned(90)
        hogs = [tasks(tid=tid, tgid=tid, comm=b"app", run_ns=440 * MS, run_delay_ns=560 * MS) for tid in (101, 102)]
        api = [tasks(tid=tid, tgid=6, comm=b"api", run_ns=60 * MS, run_delay_ns=delay_ms * MS) for tid in (7, 8)]
        rows["tid"][:20], rows["comm"][:20] = 7, b"api"
        known = np.concatenate((*hogs, *api))
        known["sched_class"], known["last_cpu"], known["allowed_cpus"] = SchedClass.FAIR, 1, 1
        known["last_cpu"][-1], known["allowed_cpus"][-1] = others_cpu, allowed
        return judged(frame(rows, tasks=known))

    whole = found()
    assert whole.command == "taskset -acp 0-1 6"
    assert whole.action == "Let all threads of api run elsewhere, too: taskset -acp 0-1 6"
    # A thread on a CPU of its own is there on purpose.
    assert found(others_cpu=0).command == "taskset -cp 0-1 7"
    assert found(allowed=2).command == "taskset -cp 0-1 7"


def test_hogs_on_one_cpu_beside_a_cpu_with_room_are_pinned() -> None:
    """What was left of a trouble was a queue without a cause: the other CPU was never idle for a whole wait."""

    def found(idle: float, *, allowed: int = 1, parent: int = 1, own_idle: float = 0.0) -> Verdict:
        rows = blocked(waits(200), (0, b"app", 1.0))
        rows["allowed_cpus"] = allowed
        hogs = [tasks(tid=tid, tgid=tid, comm=b"app", run_ns=500 * MS, parent_tgid=parent) for tid in (101, 102)]
        return judged(frame(rows, tasks=np.concatenate(hogs), busy=(1 - idle, 1 - own_idle)))

    pinned_ones = found(0.5)
    assert (pinned_ones.rule, pinned_ones.command) == ("pinned", "taskset -cp 0-1 101")
    assert pinned_ones.headline.endswith("CPU 0 is 50 % idle")
    for other in (
        found(0.2),
        found(0.5, allowed=2),
        found(0.5, allowed=0),
        found(0.5, parent=2),
        found(0.5, own_idle=0.4),
    ):
        assert other.rule != "pinned"


def test_a_hog_is_not_sent_to_a_cpu_that_a_service_half_uses() -> None:
    """The command for what was left made api, which had been helped by the one before it, wait again."""

    def found(run_ms: int, busy: float, *, slept: int = 0, filtered: str = "") -> Verdict:
        hogs = [
            tasks(tid=tid, comm=b"app", run_ns=500 * MS, run_delay_ns=500 * MS, last_cpu=1, involuntary_switches=125)
            for tid in (101, 102)
        ]
        known = np.concatenate((*hogs, tasks(tid=7, comm=b"api", run_ns=run_ms * MS, last_cpu=0)))
        known["voluntary_switches"][:2] = slept
        return judged(frame(pinned(90), tasks=known, busy=(busy, 0.98)), filtered)

    crowded = found(500, 0.5)
    assert crowded.level == "notice"
    assert crowded.headline == "CPU 1: app ×2 compete (up to 8.00 ms); one of them on CPU 0 would delay api"
    assert crowded.action == "Leave app there unless it must be fast; to look closer: schedtop task 101"
    assert crowded.alternatives[-1] == "Or let app share CPU 0 with api: taskset -cp 0-1 101"
    roomy, nobody, light, asked = (
        found(200, 0.2),
        found(50, 0.5),
        found(500, 0.5, slept=125),
        found(500, 0.5, filtered="app"),
    )
    for verdict in (roomy, nobody, light, asked):
        assert (verdict.level, verdict.action) == ("alarm", "Let app run elsewhere, too: taskset -cp 0-1 101")

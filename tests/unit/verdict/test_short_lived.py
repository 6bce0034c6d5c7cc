"""Short-lived tasks that are much of the work."""

from dataclasses import replace

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.rows import PAIR_DTYPE, Rows
from schedtop.model.sched_class import Level, SchedClass
from schedtop.model.weights import nice_weight
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Late
from tests.unit.verdict.frames import HOST, MS, blocked, frame, judged, pinned, short_lived, tasks, waits


def test_fork_storm_is_named_with_its_rate_and_parent() -> None:
    storm = short_lived(1200, MS)
    verdict = judged(frame(blocked(waits(), (0, b"app", 1.0)), busy=(1.0, 1.0), short_lived=storm))
    assert (verdict.rule, verdict.level) == ("forks", "notice")
    assert verdict.headline == "make (12) starts 1,200 processes/s (sh): 60 % of CPU time"
    assert verdict.evidence[0] == "all short-lived tasks: ×1,200/s, each ran 1.00 ms and waited 1.00 ms"
    # Without slow waits it is worth a notice, unless there is another reason for waits to come.
    assert judged(frame(busy=(0.5, 0.5), short_lived=short_lived(500, MS))).rule == "forks"
    assert judged(frame(busy=(0.5, 0.5), steal=0.06, short_lived=short_lived(500, MS))).rule == "steal"


def test_fork_storm_leads_where_the_slow_waits_have_no_main_cause() -> None:
    """33 short waits behind the storm, and a long one of a task that asked to wait; or much else, but less of it."""
    storm = short_lived(1200, MS)
    queued = blocked(waits(33, wait_ns=6 * MS), (0, b"app", 1.0))
    for count, long in ((33, 190), (12, 100), (12, 190)):  # they are as long together; as long; half as long
        nice = waits(1, "lower-weight", wait_ns=long * MS, tid=900, nice=10, sched_class=SchedClass.FAIR)
        both = np.concatenate((queued[:count], blocked(nice, (66, b"sh", 0.9))))
        verdict = judged(frame(both, busy=(1.0, 1.0), short_lived=storm))
        assert (verdict.rule, verdict.level) == ("forks", "notice")
    pinned_too = np.concatenate((queued, pinned(30, wait_ns=6 * MS)))
    verdict = judged(frame(pinned_too, busy=(0.9, 0.9), short_lived=storm))
    assert verdict.headline.startswith("make (12) starts 1,200 processes/s (sh): 67 %")
    assert "of the slow waits: others on the CPU 52 %, affinity beside an idle CPU 48 %" in verdict.evidence
    more_pinned = np.concatenate((queued, pinned(36, wait_ns=6 * MS)))
    assert judged(frame(more_pinned, busy=(0.9, 0.9), short_lived=storm)).rule == "mixed"


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
    assert "short-lived: 400 processes/s (sh) by make (12) took 38 % of the CPU time" in verdict.evidence


def test_a_storm_of_many_commands_is_named_by_its_parent_and_says_that_it_fails() -> None:
    many = np.concatenate([short_lived(50, MS, f"job{number}".encode(), b"cron", 0) for number in range(20)])
    many["exit_code"] = 1 << 8
    verdict = judged(frame(busy=(0.9, 0.9), short_lived=many))
    assert verdict.headline == "cron starts 1,000 processes/s (20 commands): 56 % of CPU time"
    assert "most of them do not end well: 1000 exit 1" in verdict.evidence
    many["parent"] = [f"p{number}".encode() for number in range(20)]
    assert judged(frame(busy=(0.9, 0.9), short_lived=many)).headline.startswith(
        "1,000 processes/s (20 commands, most often "
    )


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((809, 460), "1,269 processes/s (true) mostly by sh (64 %) take "),
        ((1250, 19), "sh (12) starts 1,269 processes/s (true): "),
        ((400, 390, 379), "1,169 processes/s (true) by sh, bash, make take "),
        ((300, 290, 280, 270), "1,140 processes/s (true) by 4 parents take "),
    ],
)
def test_a_storm_of_several_parents_is_not_put_down_to_one(counts: tuple[int, ...], words: str) -> None:
    starters = zip((b"sh", b"bash", b"make", b"init"), counts, strict=False)
    storm = np.concatenate([short_lived(count, MS, b"true", parent, 12) for parent, count in starters])
    verdict = judged(frame(busy=(0.9, 0.9), short_lived=np.concatenate((storm, short_lived(76, MS, b"cat")))))
    assert verdict.headline.startswith(words)
    # The headline is of these alone, the evidence of all, and says so.
    assert verdict.headline.endswith(f" {round(sum(counts) / 18)} % of CPU time")
    assert verdict.evidence[0].startswith(f"all short-lived tasks: ×{sum(counts) + 76:,}/s, ")


def test_process_per_second_is_no_storm_beside_other_load() -> None:
    python = short_lived(1, 900 * MS, b"python")
    many = np.concatenate([python, short_lived(30, MS, b"sed")])
    assert judged(frame(busy=(0.5, 0.5), short_lived=many)).rule != "forks"
    slow = np.concatenate([short_lived(19, 45 * MS, b"python"), short_lived(30, MS, b"sed")])
    assert judged(frame(busy=(0.5, 0.5), short_lived=slow)).rule != "forks"
    # Nor do they hide one.
    storm = np.concatenate([python, short_lived(800, MS, b"sed")])
    assert judged(frame(busy=(0.9, 0.9), short_lived=storm)).headline.startswith(
        "make (12) starts 800 processes/s (sed): 44 %"
    )


def test_of_two_that_wait_about_as_long_the_same_one_is_told_each_second() -> None:
    """web and api took turns in the headline, and of the one that was helped nothing had been told."""

    def told(*seconds: tuple[int, int]) -> int:
        frames = []
        for number, (web_ms, api_ms) in enumerate(seconds, 1):
            web = tasks(tid=40, comm=b"web", run_delay_ns=web_ms * MS)
            api = tasks(tid=41, comm=b"api", run_delay_ns=api_ms * MS)
            made = frame(busy=(0.6, 0.6), short_lived=short_lived(1200, MS), tasks=np.concatenate((web, api)))
            frames.append(replace(made, end_ns=number * NS_PER_S))
        return judge(History(HOST, frames).view(ViewSettings())).late.tid

    assert told((120, 150)) == 41
    assert told((200, 150), (120, 150)) == 40
    assert told((400, 150), (120, 250)) == 41


def test_two_services_that_are_late_alike_are_both_told() -> None:
    """`api and web are slow`, said the users, and the headline named one of them."""

    def told(*late: tuple[int, bytes, int]) -> str:
        waiting = [tasks(tid=tid, comm=comm, run_delay_ns=ms * MS) for tid, comm, ms in late]
        made = frame(busy=(0.6, 0.6), short_lived=short_lived(1200, MS), tasks=np.concatenate(waiting))
        verdict = judged(made)
        assert verdict.headline.endswith(f"; {verdict.late.words}") and verdict.late.tid == late[0][0]
        return verdict.late.words

    web = (40, b"web", 140)
    assert told(web, (41, b"api", 130)) == "api and web wait up to 14 % of the time"
    assert told(web, (41, b"api", 130), (42, b"db", 120)) == "api and web wait up to 14 % of the time"
    assert told(web, (41, b"api", 90)) == "web (40) waits 14 % of the time", "few would notice"
    assert told((40, b"web", 400), (41, b"api", 130)) == "web (40) waits 40 % of the time", "it stands out"
    assert told(web, (41, b"web", 130)) == "web (40) waits 14 % of the time", "of one name one is enough"


def test_a_storm_names_its_commands_and_who_waits_meanwhile() -> None:
    three = np.concatenate(
        [short_lived(count, 500_000, comm) for count, comm in ((500, b"cat"), (400, b"date"), (400, b"w"))]
    )
    web = tasks(tid=40, comm=b"web", run_delay_ns=120 * MS)
    others = [tasks(tid=41, comm=b"w", run_delay_ns=300 * MS), tasks(tid=42, comm=b"app", run_delay_ns=19 * MS)]
    verdict = judged(frame(busy=(0.6, 0.6), short_lived=three, tasks=np.concatenate((web, *others))))
    storm = "make (12) starts 1,300 processes/s (cat, date, w): 54 % of CPU time"
    assert verdict.headline == f"{storm}; web (40) waits 12 % of the time"
    assert verdict.late == Late(40, "web (40) waits 12 % of the time")
    alone = judged(frame(busy=(0.6, 0.6), short_lived=three, tasks=others[1]))
    assert alone.headline == f"{storm}; no other task waits"
    own = np.concatenate(
        [tasks(tid=50, comm=b"schedtop", run_delay_ns=40 * MS), tasks(tid=51, run_delay_ns=40 * MS, parent_tgid=2)]
    )
    assert judged(frame(busy=(0.6, 0.6), short_lived=three, tasks=own)).headline == f"{storm}; no other task waits"


def test_a_filtered_task_is_told_to_wait_behind_a_storm_where_it_does() -> None:
    three = np.concatenate([short_lived(600, 500_000, comm) for comm in (b"cat", b"date", b"w")])
    both = np.concatenate(
        [tasks(tid=tid, comm=comm, run_delay_ns=120 * MS) for tid, comm in ((40, b"web"), (41, b"w"))]
    )
    pairs = np.zeros(4, PAIR_DTYPE)
    pairs["victim_tid"], pairs["victim_comm"] = (40, 40, 40, 41), (b"web", b"web", b"web", b"w")
    pairs["other_tid"], pairs["other_comm"] = (12, 300, 50, 50), (b"make", b"cat", b"encode", b"encode")
    pairs["blocked_ns"] = np.array([40, 40, 40, 100]) * MS
    made = frame(busy=(0.7, 0.7), short_lived=three, tasks=both, pairs=pairs)
    verdict = judged(made, "comm:web")
    storm = "make (12) starts 1,800 processes/s (cat, date, w): 64 % of CPU time"
    assert (verdict.rule, verdict.headline) == ("forks", f"web (40) waits 12 % of the time; {storm}")
    assert verdict.command == "renice -n 10 -p 12"
    pairs["blocked_ns"][2] = 60 * MS  # three fifths of it are behind the storm no more
    assert judged(replace(made, pairs=pairs), "comm:web").rule != "forks"
    assert judged(replace(made, pairs=pairs[:0]), "comm:web").rule != "forks"
    both["run_delay_ns"] = 19 * MS
    assert judged(replace(made, tasks=both), "comm:web").rule != "forks"


@pytest.mark.parametrize(
    ("nice", "command"),
    [(0, "renice -n 10 -p 12"), (10, "renice -n 19 -p 12"), (19, "ps -o pid,ppid,args 12")],
)
def test_what_starts_a_storm_is_not_told_twice_to_wait(nice: int, command: str) -> None:
    starter = tasks(tid=12, tgid=12, comm=b"make", nice=nice, sched_class=SchedClass.FAIR)
    starter = np.concatenate((starter, tasks(tid=99, tgid=99, comm=b"make")))
    assert judged(frame(busy=(0.9, 0.9), short_lived=short_lived(1200, MS), tasks=starter)).command == command


def test_where_the_victims_of_a_storm_may_be_other_sessions_the_command_is_for_both() -> None:
    storm = frame(busy=(0.9, 0.9), short_lived=short_lived(1200, MS))
    storm = replace(storm, overhead=replace(storm.overhead, session_nice=-12))
    assert judged(storm).command == "for p in 12; do renice -n 10 -p $p; echo 10 > /proc/$p/autogroup; done"
    assert not any("session" in item for item in judged(storm).evidence)
    rows = blocked(waits(20), (66, b"sh", 0.5), (67, b"sh", 0.4))
    rows["blocker_level"][:, :2] = Level.TASK
    assert judged(replace(storm, slow_waits=rows)).command == "renice -n 10 -p 12"


@pytest.mark.parametrize(
    ("session", "command"),
    [
        (-5, "for p in 12; do renice -n 10 -p $p; echo 10 > /proc/$p/autogroup; done"),
        (0, "for p in 12; do renice -n 10 -p $p; echo 10 > /proc/$p/autogroup; done"),
        (10, "for p in 12; do renice -n 19 -p $p; echo 19 > /proc/$p/autogroup; done"),
        (19, "ps -o pid,ppid,args 12"),
    ],
)
def test_a_storm_whose_session_has_a_nice_value_is_not_told_less(session: int, command: str) -> None:
    now, before = short_lived(1200, MS), short_lived(1200, MS)
    now["session_weight"], before["session_weight"] = nice_weight(session), nice_weight(-10)
    storm = frame(busy=(0.9, 0.9), short_lived=now)
    earlier = replace(storm, short_lived=before, end_ns=NS_PER_S)
    view = History(HOST, [earlier, replace(storm, end_ns=2 * NS_PER_S)]).view(ViewSettings(window_ns=NS_PER_S))
    assert judge(view).command == command
    rows = blocked(waits(20), (66, b"sh", 0.5), (67, b"sh", 0.4))
    rows["blocker_level"][:, :2] = Level.TASK
    assert judged(replace(storm, slow_waits=rows)).command == "renice -n 10 -p 12", "where they meet is known"
    rows["blocker_level"][:, :2] = Level.AUTOGROUP
    known = "ps -o pid,ppid,args 12" if session == 19 else "echo 19 > /proc/12/autogroup"
    assert judged(replace(storm, slow_waits=rows)).command == known


@pytest.mark.parametrize(
    ("tgid", "level", "command"),
    [
        (12, Level.AUTOGROUP, "echo 19 > /proc/12/autogroup"),
        (0, Level.AUTOGROUP, "for p in $(pgrep -wx make); do echo 19 > /proc/$p/autogroup; done"),
        (12, Level.TASK, "renice -n 10 -p 12"),
        (12, Level.CGROUP, "renice -n 10 -p 12"),
    ],
)
def test_a_storm_of_another_session_waits_as_a_session(tgid: int, level: Level, command: str) -> None:
    rows = blocked(waits(20), (66, b"sh", 0.5), (67, b"sh", 0.4))
    rows["blocker_level"][:, :2] = level
    storm = frame(rows, busy=(0.9, 0.9), short_lived=short_lived(1200, MS, tgid=tgid))
    verdict = judged(storm)
    assert (verdict.rule, verdict.command) == ("forks", command)
    # A second without such a wait does not tell it otherwise.
    now = replace(storm, end_ns=2 * NS_PER_S, slow_waits=rows[:0])
    view = History(HOST, [replace(storm, end_ns=NS_PER_S), now]).view(ViewSettings())
    assert judge(view).command == command
    rows["blocker_weight"][:, :2] = nice_weight(19)
    if level is Level.AUTOGROUP:
        assert judged(replace(storm, slow_waits=rows)).command.startswith("ps -o pid,ppid,args ")


@pytest.mark.parametrize(("starters", "numbered"), [(2, True), (5, True), (6, False)])
def test_few_starters_are_in_the_command_by_number(starters: int, numbered: bool) -> None:
    """By name it was also for the shells of others, which start nothing."""
    rows = blocked(waits(20), (66, b"sh", 0.5), (67, b"sh", 0.4))
    rows["blocker_level"][:, :2] = Level.AUTOGROUP
    makes = [tasks(tid=20 + one, tgid=20 + one, comm=b"make", run_ns=MS) for one in range(starters)]
    others = tasks(tid=99, tgid=99, comm=b"make", run_ns=MS)
    ended = [tasks(tid=200 + one, tgid=200 + one, comm=b"sh", ended=1, parent_tgid=20 + one) for one in range(starters)]
    storm = frame(
        rows,
        busy=(0.9, 0.9),
        short_lived=short_lived(1200, MS, tgid=0),
        tasks=np.concatenate((*makes, others, *ended)),
    )
    told = " ".join(str(20 + one) for one in range(starters)) if numbered else "$(pgrep -wx make)"
    assert judged(storm).command == f"for p in {told}; do echo 19 > /proc/$p/autogroup; done"


def test_a_storm_whose_session_was_told_to_wait_is_no_mixed_cause() -> None:
    """Its own waits are long then: some behind others of more weight, some behind one another."""
    own = blocked(waits(26, "lower-weight", comm=b"sh"), (66, b"web", 0.9))
    among = blocked(waits(24, comm=b"sh"), (67, b"sh", 0.9))
    both = np.concatenate((own, among))
    storm = short_lived(1200, MS)
    assert judged(frame(both, busy=(1.0, 1.0), short_lived=storm)).rule == "mixed"
    both["victim_level"][:, 0], both["victim_weight"][:, 0] = Level.AUTOGROUP, nice_weight(19)
    verdict = judged(frame(both, busy=(1.0, 1.0), short_lived=storm))
    assert (verdict.rule, verdict.level) == ("forks", "notice")
    both["victim_weight"][:, 0] = nice_weight(0)
    assert judged(frame(both, busy=(1.0, 1.0), short_lived=storm)).rule == "mixed"


def test_what_starts_a_small_part_of_a_storm_is_no_starter() -> None:
    """The shell in which somebody typed had the name of those that ran the script."""
    rows = blocked(waits(20), (66, b"sh", 0.5), (67, b"sh", 0.4))
    rows["blocker_level"][:, :2] = Level.AUTOGROUP
    starters = [tasks(tid=tid, tgid=tid, comm=b"make", run_ns=MS) for tid in (20, 21, 22)]
    children = [
        tasks(tid=200 + one, tgid=200 + one, comm=b"sh", ended=1, parent_tgid=22 if one == 30 else 20 + one % 2)
        for one in range(31)
    ]
    storm = frame(
        rows, busy=(0.9, 0.9), short_lived=short_lived(1200, MS, tgid=0), tasks=np.concatenate((*starters, *children))
    )
    assert judged(storm).command == "for p in 20 21; do echo 19 > /proc/$p/autogroup; done"


@pytest.mark.parametrize(("delay_ms", "level"), [(0, "notice"), (50, "notice"), (200, "alarm")])
def test_once_all_others_go_first_and_hardly_wait_a_storm_is_no_alarm(delay_ms: int, level: str) -> None:
    rows = blocked(waits(100, wait_ns=10 * MS), (66, b"sh", 0.5), (67, b"sh", 0.4))
    rows["blocker_level"][:, :2], rows["blocker_weight"][:, :2] = Level.AUTOGROUP, nice_weight(19)
    web = tasks(tid=7, tgid=7, comm=b"web", run_ns=MS, run_delay_ns=delay_ms * MS)
    verdict = judged(frame(rows, busy=(0.9, 0.9), short_lived=short_lived(1200, MS), tasks=web))
    assert (verdict.rule, verdict.level) == ("forks", level)

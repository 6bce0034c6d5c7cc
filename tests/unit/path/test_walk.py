"""The walk over recordings that are written by hand: what it finds, and that its segments always add up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedtop.capture.events import BEHIND, LEFT_IN_IOWAIT, LEFT_THROTTLED
from schedtop.model.waits import WokenBy
from schedtop.outputs.path.text import to_text
from schedtop.path import walk
from schedtop.path.paths import Paths, find_paths
from schedtop.path.profile import profile
from schedtop.path.segments import INTERRUPT_TID, STATES
from schedtop.path.targets import EVERY_TASK
from schedtop.path.timeline import Timeline
from schedtop.path.tree import tree_of
from schedtop.path.wakeups import Wakeup
from schedtop.path.words import hop_words, segment_words
from tests.unit.path.recordings import (
    EPOLL,
    FSYNC,
    FUTEX,
    NANOSLEEP,
    READ,
    START_NS,
    Recording,
    shares,
    spelled,
)

LATE, HOLDER, HOG, OTHER = 10, 20, 30, 40
DEAD = 0x10


def held_lock() -> Recording:
    """A task waits for a lock from 100 to 600. Its holder is queued behind a hog from 200 to 500, and wakes it."""
    return (
        Recording()
        .name(LATE, "rpc-worker").name(HOLDER, "flusher").name(HOG, "backup")
        .switch(50, 0, HOLDER, cpu=1)
        .switch(100, LATE, 0, call=FUTEX)
        .switch(200, HOLDER, HOG, 0, cpu=1)
        .switch(500, HOG, HOLDER, 0, cpu=1)
        .wake(600, LATE, HOLDER, cpu=1)
        .switch(610, 0, LATE)
    )  # fmt: skip


def test_a_holder_that_is_queued_is_what_its_victim_waits_for() -> None:
    episode = held_lock().episode(LATE)
    assert spelled(episode) == [
        (100, 100, "running", HOLDER),
        (200, 300, "queued", HOLDER),
        (500, 100, "running", HOLDER),
        (600, 10, "queued", LATE),
    ]
    assert (episode.comm, episode.where, episode.length_ns) == ("rpc-worker", "futex", 510_000)
    queued = episode.segments[1]
    assert shares(queued.behind) == [(HOG, 300)]
    assert [(hop.comm, hop.where) for hop in queued.via] == [("rpc-worker", "futex")]
    assert shares(episode.segments[3].behind) == [(0, 10)], "its CPU was idle"
    assert episode.same_chain is False


def test_a_queue_of_sched_ext_is_behind_no_task() -> None:
    """Nor is there an inversion: which task had the CPU that the holder wanted is not known."""
    recording = held_lock()
    assert recording.paths(LATE).inversion
    recording.unavailable[BEHIND] = "the sched_ext scheduler rusty may keep tasks in queues that are no CPU's"
    paths = recording.paths(LATE)
    queued = [segment for segment in paths.episodes[0].segments if segment.state == "queued"]
    assert [(segment.tid, segment.behind) for segment in queued] == [(HOLDER, ()), (LATE, ())]
    assert paths.inversion is None
    assert "note: the sched_ext scheduler rusty" in to_text(paths)


def test_a_chain_goes_on_where_the_waker_was_blocked_itself() -> None:
    recording = (
        Recording()
        .switch(100, LATE, 0, call=READ)
        .switch(90, HOLDER, OTHER, call=READ, cpu=1)
        .wake(400, HOLDER, OTHER, cpu=1, target=1)
        .switch(410, OTHER, HOLDER, call=READ, cpu=1)
        .wake(450, LATE, HOLDER, cpu=1)
        .switch(470, 0, LATE)
    )
    episode = recording.episode(LATE)
    assert spelled(episode) == [
        (100, 300, "running", OTHER),
        (400, 10, "queued", HOLDER),
        (410, 40, "running", HOLDER),
        (450, 20, "queued", LATE),
    ]
    assert [hop.tid for hop in episode.segments[0].via] == [LATE, HOLDER]


def test_a_queue_is_followed_from_cpu_to_cpu() -> None:
    recording = (
        Recording()
        .switch(100, LATE, HOG, 0)
        .switch(50, 0, OTHER, cpu=1)
        .move(300, LATE, 1)
        .switch(700, OTHER, LATE, 0, cpu=1)
    )
    (segment,) = recording.episode(LATE).segments
    assert shares(segment.behind) == [(OTHER, 400), (HOG, 200)]


@pytest.mark.parametrize(
    ("call", "flags", "functions", "source", "where"),
    [
        (NANOSLEEP, 0, (), "timer", "nanosleep: timer"),
        (FSYNC, LEFT_IN_IOWAIT, (), "disk", "fsync: disk"),
        (READ, 0, ("try_to_wake_up", "hrtimer_wakeup", "asm_sysvec_apic_timer_interrupt"), "timer", "read"),
    ],
)
def test_what_a_task_asked_for_itself_ends_the_walk(
    call: int, flags: int, functions: tuple[str, ...], source: str, where: str
) -> None:
    recording = (
        Recording()
        .switch(100, LATE, 0, call=call, flags=flags)
        .wake(300, LATE, 0, by=WokenBy.INTERRUPT)
        .switch(300, 0, LATE)
    )
    if functions:
        recording.woken_from(300, LATE, HOG, *functions)
    (segment,) = recording.episode(LATE).segments
    assert (segment.state, segment.woken_by, segment.where, segment.time_ns) == ("blocked", source, where, 200_000)


def test_an_interrupt_from_outside_ends_the_walk() -> None:
    recording = (
        Recording()
        .switch(100, LATE, 0, call=READ)
        .wake(300, LATE, 0, by=WokenBy.SOFTIRQ)
        .woken_from(300, LATE, HOG, "sock_def_readable", "net_rx_action", "irq_exit_rcu", "asm_common_interrupt")
        .blocked_in(300, LATE, "schedule", "sk_wait_data", "tcp_recvmsg")
        .switch(310, 0, LATE)
    )
    blocked, queued = recording.episode(LATE).segments
    assert (blocked.state, blocked.woken_by, blocked.where) == ("interrupt", "network", "read: socket")
    assert queued.state == "queued"


def test_what_woke_a_task_has_the_name_of_the_interrupt_where_that_is_known() -> None:
    assert Wakeup(1, 0, "timer", interrupt="local_timer").words == "timer (local_timer)"
    assert Wakeup(1, 0, "softirq", interrupt="softirq NET_RX raised by a (7)").words == "softirq NET_RX raised by a (7)"
    assert Wakeup(1, 0, "network").words == "network"


def test_softirqs_that_a_task_raised_itself_name_it() -> None:
    """What goes through the loopback is received by the sender, in a softirq of its own."""
    recording = (
        Recording()
        .switch(50, 0, OTHER, cpu=1)
        .switch(100, LATE, 0, call=READ)
        .wake(300, LATE, 0, by=WokenBy.SOFTIRQ, cpu=1)
        .woken_from(300, LATE, OTHER, "sock_def_readable", "net_rx_action", "do_softirq.part.0", "__local_bh_enable_ip")
        .switch(300, 0, LATE)
        .switch(400, OTHER, 0, cpu=1)
    )
    assert spelled(recording.episode(LATE)) == [(100, 200, "running", OTHER)]


def test_what_interrupts_took_from_a_running_holder_is_theirs() -> None:
    recording = (
        held_lock()
        .interrupt(120, 140, "softirq NET_RX", cpu=1, nested_us=5)
        .interrupt(130, 135, "irq eth0", cpu=1, hard=True)
        .interrupt(150, 155, "irq eth0", cpu=1, hard=True)
        .interrupt(190, 230, "softirq NET_RX", cpu=1)  # it goes on when the holder is queued
        .interrupt(110, 190, "softirq BLOCK", cpu=0)  # on another CPU
    )
    episode = recording.episode(LATE)
    assert spelled(episode)[:5] == [
        (100, 65, "running", HOLDER),
        (165, 25, "interrupt", HOLDER),
        (190, 10, "interrupt", HOLDER),
        (200, 300, "queued", HOLDER),
        (500, 100, "running", HOLDER),
    ]
    assert [segment.where for segment in episode.segments[1:3]] == ["softirq NET_RX", "irq eth0"]
    assert segment_words(episode.segments[1]) == "interrupted by softirq NET_RX"
    assert shares(episode.segments[3].behind) == [(HOG, 270), (INTERRUPT_TID, 30)]
    assert sum(segment.time_ns for segment in episode.segments) == episode.length_ns
    rows = {(row.task.comm, row.state, row.where): row.time_ns for row in profile([episode])}
    assert rows["flusher", "interrupt", "softirq NET_RX"] == 25_000


def test_an_interrupt_that_had_a_cpu_for_all_of_a_run_leaves_nothing_of_it() -> None:
    recording = held_lock().interrupt(40, 200, "softirq NET_RX", cpu=1)
    assert spelled(recording.episode(LATE))[:2] == [(100, 100, "interrupt", HOLDER), (200, 300, "queued", HOLDER)]


def test_an_idle_cpu_that_handled_an_interrupt_was_not_idle() -> None:
    episode = held_lock().interrupt(602, 608, "irq eth0", hard=True).episode(LATE)
    assert shares(episode.segments[-1].behind) == [(INTERRUPT_TID, 6), (0, 4)]


def test_a_wakeup_by_ksoftirqd_says_for_which_softirq_it_was() -> None:
    recording = held_lock().name(HOLDER, "ksoftirqd/1").waking_in(600, LATE, "softirq NET_RX raised by iperf (7)")
    episode = recording.episode(LATE)
    (hop,) = episode.segments[0].via
    assert hop.woken_in == "softirq NET_RX raised by iperf (7)"
    assert hop_words(hop) == "blocked in futex, until woken in softirq NET_RX raised by iperf (7) by"
    lines = [line.words for line in tree_of(episode, 0).lines]
    assert f"blocked in futex, until woken by ksoftirqd/1 ({HOLDER}) in softirq NET_RX raised by iperf (7)" in lines


def test_a_quota_in_the_middle_of_a_chain() -> None:
    recording = held_lock()
    recording.rows[2]["woken_by"] = LEFT_THROTTLED
    recording.held = [(500, HOLDER, 250_000)]
    assert spelled(recording.episode(LATE))[1:3] == [(200, 250, "throttled", HOLDER), (450, 50, "queued", HOLDER)]


def test_a_task_that_was_made_meanwhile_leads_to_its_parent() -> None:
    recording = (
        Recording()
        .switch(50, 0, OTHER, cpu=1)
        .switch(100, LATE, 0, call=READ)
        .wake(200, HOLDER, OTHER, cpu=1, target=1, new=True)
        .switch(300, OTHER, HOLDER, 1, cpu=1)
        .wake(400, LATE, HOLDER, cpu=1)
        .switch(400, 0, LATE)
    )
    assert spelled(recording.episode(LATE)) == [
        (100, 100, "running", OTHER),
        (200, 100, "queued", HOLDER),
        (300, 100, "running", HOLDER),
    ]
    assert recording.paths(HOLDER).episodes[0].start_ns == START_NS + 200_000, "before that there was no task"


def test_a_loss_cuts_the_path_and_says_so() -> None:
    recording = held_lock().lose(250, 350, count=40, cpu=0)
    episode = recording.episode(LATE)
    assert spelled(episode) == [
        (100, 150, "unknown", LATE),
        (250, 100, "unknown", LATE),
        (350, 149, "queued", HOLDER),  # the last lost event was in the first nanosecond
        (500, 100, "running", HOLDER),
        (600, 10, "queued", LATE),
    ]
    assert episode.segments[0].reason == "40 events were lost before its wakeup"
    assert episode.segments[1].reason == "40 events were lost"
    assert sum(segment.time_ns for segment in episode.segments) == episode.length_ns


def test_one_lost_event_hides_no_run_and_so_only_its_own_time() -> None:
    episode = held_lock().lose(250, 250, count=1, cpu=0).episode(LATE)
    unknown = [segment for segment in episode.segments if segment.state == "unknown"]
    assert [(segment.time_ns, segment.reason) for segment in unknown] == [(1, "1 event was lost")]
    assert sum(segment.time_ns for segment in episode.segments if segment.state == "running") == 200_000


def test_what_had_the_cpu_where_events_of_it_were_lost_is_unknown() -> None:
    recording = Recording().switch(100, LATE, HOG, 0).lose(200, 300, count=1).switch(500, HOG, LATE, 0)
    episode = recording.episode(LATE)
    assert [segment.state for segment in episode.segments] == ["queued", "unknown", "queued"]
    assert [shares(segment.behind) for segment in episode.segments] == [[(HOG, 100)], [], [(HOG, 199)]]


@pytest.mark.parametrize(("unswitched", "behind"), [({1: (HOG, 0)}, HOG), ({1: (0, 120)}, 0), ({}, -1)])
def test_what_had_a_cpu_that_never_switched_is_what_was_asked_for(
    unswitched: dict[int, tuple[int, int]], behind: int
) -> None:
    """The task is woken, goes to that CPU, and is queued there to the end."""
    recording = Recording(unswitched=unswitched).name(HOG, "hog").switch(50, LATE, 0).wake(100, LATE, OTHER)
    episode = recording.move(100, LATE, 1).episode(LATE)
    queued = episode.segments[-1]
    assert (queued.state, queued.tid) == ("queued", LATE)
    assert shares(queued.behind) == [(behind, 900)]
    if behind == HOG:
        assert queued.behind[0].comm == "hog"
        hog = [*Timeline(recording.capture).between(HOG, START_NS, START_NS + 1_000_000)]
        assert [(one.state, one.cpu, one.end_ns - one.start_ns) for one in hog] == [("running", 1, 1_000_000)]


def test_a_wakeup_that_was_not_seen_is_unknown() -> None:
    recording = Recording().switch(100, LATE, HOG, call=FUTEX).switch(500, HOG, LATE, 0)
    (segment,) = recording.episode(LATE).segments
    assert (segment.state, segment.reason, segment.where) == ("unknown", "its wakeup was not seen", "futex")


def test_a_chain_that_is_too_long_ends() -> None:
    recording = Recording(end_us=10_000)
    # Each is woken by the next one, a little earlier, and all were asleep before.
    tids = list(range(100, 100 + 2 * walk.MOST_DEEP))
    for place, tid in enumerate(tids):
        woken = 9000 - 100 * place
        recording.wake(woken, tid, tid + 1, cpu=1).switch(woken + 1, 0, tid).switch(woken + 98, tid, 0)
    recording.switch(10, tids[0], 0)
    found = recording.paths(tids[0]).episodes[0]
    assert max(len(segment.via) for segment in found.segments) == walk.MOST_DEEP - 1
    assert walk.TOO_DEEP in {segment.reason for segment in found.segments}
    assert sum(segment.time_ns for segment in found.segments) == found.length_ns


def test_wakers_that_wake_each_other_at_one_moment_end() -> None:
    """As clocks of two CPUs may show it."""
    recording = (
        Recording()
        .switch(100, LATE, 0).switch(100, OTHER, 0, cpu=1)
        .wake(300, LATE, OTHER).wake(300, OTHER, LATE, cpu=1)
        .switch(310, 0, LATE).switch(310, 0, OTHER, cpu=1)
    )  # fmt: skip
    episode = recording.episode(LATE)
    first = episode.segments[0]
    assert (first.state, first.reason) == ("unknown", walk.SELF_WOKEN)
    assert sum(segment.time_ns for segment in episode.segments) == episode.length_ns


def test_the_same_chain_is_told_from_a_waker_with_reasons_of_its_own() -> None:
    asked = (
        Recording()
        .switch(10, 0, LATE)
        .wake(90, HOLDER, LATE, cpu=0, target=1)
        .switch(95, 0, HOLDER, cpu=1)
        .switch(100, LATE, 0, call=READ)
        .wake(300, LATE, HOLDER, cpu=1)
        .switch(301, 0, LATE)
    )
    assert asked.episode(LATE).same_chain is True
    asked.rows[1]["other_tid"] = OTHER
    assert asked.episode(LATE).same_chain is False


def test_waits_for_work_are_counted_and_left_out_but_of_chosen_tasks() -> None:
    recording = Recording().switch(100, LATE, HOG, call=EPOLL).wake(300, LATE, HOG).switch(500, HOG, LATE, 0)
    every = find_paths(recording.capture, EVERY_TASK, 0)
    (episode,) = [one for one in every.episodes if one.tid == LATE]
    assert spelled(episode) == [(300, 200, "queued", LATE)]
    assert (every.work.count, every.work.time_ns) == (1, 200_000)
    (whole,) = recording.paths(LATE).episodes
    assert spelled(whole) == [(100, 200, "running", HOG), (300, 200, "queued", LATE)]
    assert [segment.for_work for segment in whole.segments] == [True, False]
    assert (whole.length_ns, whole.late_ns) == (400_000, 200_000)


def test_what_is_blocked_at_the_end_is_told_apart() -> None:
    paths = Recording().switch(100, LATE, 0, call=FUTEX).paths(LATE)
    assert not paths.episodes
    (blocked,) = paths.still_blocked
    assert (blocked.tid, blocked.where, blocked.time_ns) == (LATE, "futex", 900_000)


def test_a_task_that_has_ended_waits_no_more() -> None:
    recording = Recording().switch(100, LATE, 0, DEAD).wake(500, LATE, OTHER, new=True).switch(600, 0, LATE)
    assert spelled(recording.episode(LATE)) == [(500, 100, "queued", LATE)]


def test_short_episodes_are_left_out() -> None:
    assert not held_lock().paths(LATE, min_us=600).episodes


TIDS = st.integers(1, 5)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("switch"), st.integers(0, 1), st.integers(0, 5), st.sampled_from([0, 1, 2, 0x10, 0x100])),
        st.tuples(st.just("wake"), TIDS, st.integers(0, 5), st.integers(0, 2)),
        st.tuples(st.just("new"), TIDS, TIDS, st.integers(0, 1)),
        st.tuples(st.just("move"), TIDS, st.integers(0, 1), st.just(0)),
        st.tuples(st.just("lose"), st.integers(0, 1), st.integers(1, 5), st.integers(0, 30)),
        st.tuples(st.just("soft"), st.integers(0, 1), st.integers(1, 60), st.integers(0, 60)),
        st.tuples(st.just("hard"), st.integers(0, 1), st.integers(1, 60), st.integers(0, 20)),
    ),
    max_size=60,
)


def test_queued_time_before_a_switch_that_was_not_seen_has_no_reason() -> None:
    events = [("switch", 0, 0, 0), ("switch", 0, 0, 0), ("switch", 0, 1, 0), ("lose", 0, 1, 0)]
    check(find_paths(played(events, [1, 0]).capture, EVERY_TASK))


def played(events: list[tuple[Any, ...]], gaps: list[int]) -> Recording:
    """Anything: switches of whatever runs on a CPU, wakeups by anybody, losses in between; interrupts that may even
    overlap, or take longer than they last."""
    recording = Recording(end_us=4000)
    running, us = {0: 1, 1: 2}, 1
    for index, (kind, one, two, three) in enumerate(events):
        us += gaps[index % len(gaps)] if gaps else 7
        if kind == "switch":
            recording.switch(us, running[one], two, three, cpu=one)
            running[one] = two
        elif kind == "wake":
            recording.wake(us, one, two if not three else 0, by=three, cpu=us % 2)
        elif kind == "new":
            recording.wake(us, one, two, cpu=three, new=True)
        elif kind == "move":
            recording.move(us, one, two)
        elif kind == "lose":
            recording.lose(us, us + three, two, one)
        else:
            recording.interrupt(us - two // 2, us + two, kind, cpu=one, hard=kind == "hard", nested_us=min(two, three))
    return recording


def check(paths: Paths) -> None:
    """What holds of whatever was recorded."""
    for episode in paths.episodes:
        at = episode.start_ns
        for segment in episode.segments:
            assert segment.start_ns == at and segment.time_ns > 0, "segments follow each other"
            assert segment.state in STATES
            assert (segment.state == "unknown") == bool(segment.reason)
            assert len(segment.via) < walk.MOST_DEEP
            assert bool(segment.behind) == (segment.state == "queued")
            if segment.behind:
                assert sum(part.time_ns for part in segment.behind) == segment.time_ns
                assert len({(part.tid, part.comm) for part in segment.behind}) == len(segment.behind)
            at = segment.end_ns
        assert at == episode.end_ns
        assert sum(segment.time_ns for segment in episode.segments) == episode.length_ns
    rows = profile(paths.episodes)
    assert sum(row.time_ns for row in rows) == sum(episode.length_ns for episode in paths.episodes)
    assert [row.time_ns for row in rows] == sorted((row.time_ns for row in rows), reverse=True)


@settings(max_examples=400, deadline=None)
@given(EVENTS, st.lists(st.integers(0, 40), max_size=8))
def test_segments_of_anything_add_up_and_never_overlap(events: list[tuple[Any, ...]], gaps: list[int]) -> None:
    recording = played(events, gaps)
    check(find_paths(recording.capture, EVERY_TASK, 0))
    check(recording.paths(1))


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.integers(1, 20))
def test_a_walk_that_is_cut_short_adds_up(events: list[tuple[Any, ...]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "MOST_INTERVALS", most)
        check(find_paths(played(events, []).capture, EVERY_TASK, 0))


def test_a_wait_for_a_disk_is_one_whatever_its_function_is_called() -> None:
    recording = (
        Recording()
        .switch(100, LATE, HOG, 2, call=FSYNC, flags=LEFT_IN_IOWAIT)
        .blocked_in(300, LATE, "folio_wait_writeback", "file_write_and_wait_range")
        .wake(300, LATE, 0, by=WokenBy.INTERRUPT)
        .switch(310, HOG, LATE, 0)
    )
    assert recording.episode(LATE).where == "fsync: disk"


def test_spans_of_which_most_is_not_known_are_counted_where_nobody_asked_for_the_task() -> None:
    """Asleep from 100 on; from 200 to 900 a loss hides what it did."""
    recording = Recording().switch(100, LATE, HOG, call=FUTEX).lose(200, 900).wake(950, LATE, HOG)
    recording.switch(990, HOG, LATE, 0)
    assert LATE in {episode.tid for episode in recording.paths(LATE).episodes}
    every = recording.paths()
    assert LATE not in {episode.tid for episode in every.episodes}
    assert every.unclear.count >= 1

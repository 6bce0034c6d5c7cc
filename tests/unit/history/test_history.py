"""History is bounded, the window is what it says, stepping stays inside, a View is what was asked for."""

from dataclasses import replace

import numpy as np
import pytest

from schedtop.base.histogram import BUCKETS
from schedtop.base.units import NS_PER_S
from schedtop.history.history import KEEP_NS, History
from schedtop.history.sorting import sort_slow_waits, sort_tasks
from schedtop.history.thinning import thinned
from schedtop.history.view import View, ViewSettings
from schedtop.model.counts import Attribution
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame, frame_bytes, merge
from schedtop.model.group_latency import GroupLatency
from schedtop.model.host import Host
from schedtop.model.rows import PAIR_DTYPE, SLOW_WAIT_DTYPE, TASK_DTYPE
from schedtop.sources.synthetic.scheduler import Scenario, make_frame

HOST = Host("test", "6.18.0", "synthetic")


def frames(count: int, **scenario: int) -> list[Frame]:
    made = Scenario(**scenario)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    return [make_frame(made, number, rng) for number in range(count)]


def filtered(history: History, words: str) -> View:
    return history.view(ViewSettings(filter=Filter.parse(words)))


def test_history_without_frames_has_no_view() -> None:
    history = History(HOST)
    assert len(history) == history.latest_ns == 0
    with pytest.raises(ValueError, match="no data"):
        history.view(ViewSettings())


def test_breaths_are_taken_while_a_view_is_made() -> None:
    history = History(HOST, frames(12))
    breaths: list[int] = []
    history.breathe = lambda: breaths.append(1)
    whole = history.view(ViewSettings(window_ns=10 * NS_PER_S))
    assert len(breaths) > 2 * len(Frame.parts), "between the parts of each sum"
    assert len(whole.slow_waits) > len(history.frames[-1].slow_waits)
    breaths.clear()
    history.copy().view(ViewSettings())
    assert breaths, "a frozen moment, too"


def test_history_drops_frames_that_are_too_old() -> None:
    frame = frames(1)[0]
    history = History(HOST, keep_bytes=1 << 40)
    for second in range(1, 1000):
        history.append(replace(frame, end_ns=second * NS_PER_S))
    assert history.frames[-1].end_ns - history.frames[0].end_ns == KEEP_NS
    assert len(history) == KEEP_NS // NS_PER_S + 1


def test_history_of_a_large_host_reaches_back_five_minutes() -> None:
    frame = frames(1, cpus=64, tasks=500)[0]
    history = History(HOST)
    for second in range(1, 401):
        history.append(replace(frame, end_ns=second * NS_PER_S, start_time_ns=second * NS_PER_S))
    lengths = [frame.interval_ns // NS_PER_S for frame in history.frames]
    assert history.latest_ns - history.frames[0].end_ns >= 300 * NS_PER_S
    assert sum(lengths) == 400
    # The newest half minute as it came, and no step anywhere that skips half a minute.
    assert lengths[-30:] == [1] * 30
    assert max(lengths) < 30


def test_memory_is_bounded_and_the_span_stays() -> None:
    made = frames(120, slow_waits=2)
    limit = 20 * frame_bytes(made[0])
    history = History(HOST, keep_bytes=limit)
    for frame in made:
        history.append(frame)
        assert sum(map(frame_bytes, history.frames)) <= limit
    assert history.frames[-1] is made[-1]
    assert history.frames[0].start_time_ns == made[0].start_time_ns
    assert history.frames[0].interval_ns > history.frames[-1].interval_ns


def test_coarsening_loses_no_event() -> None:
    made = frames(60)
    history = History(HOST, made, keep_bytes=30 * frame_bytes(made[0]))
    assert len(history) < 60
    assert history.frames[0].start_time_ns == made[0].start_time_ns
    assert sum(frame.total("switches") for frame in history.frames) == merge(made).total("switches")
    assert sum(frame.interval_ns for frame in history.frames) == 60 * NS_PER_S


@pytest.mark.parametrize("scenario", [{"slow_waits": 1000}, {"slow_waits": 300, "cpus": 8}, {"tasks": 3000}])
def test_frames_that_do_not_merge_well_are_dropped_from_the_old_end(scenario: dict[str, int]) -> None:
    made = frames(60, **scenario)
    if "tasks" in scenario:
        for number, frame in enumerate(made):
            frame.tasks["tid"] += number * 100_000
    history = History(HOST, made, keep_bytes=10 * frame_bytes(made[0]))
    assert sum(map(frame_bytes, history.frames)) <= 10 * frame_bytes(made[0])
    assert [frame.interval_ns for frame in history.frames][-3:] == [NS_PER_S] * 3
    assert history.frames[-1] is made[-1]


def test_a_copy_stays_as_it_was() -> None:
    made = frames(10)
    history = History(HOST, made[:5])
    twin = history.copy()
    for frame in made[5:]:
        history.append(frame)
    assert (len(twin), twin.latest_ns) == (5, 5 * NS_PER_S)
    assert (len(history), history.latest_ns) == (10, 10 * NS_PER_S)


@pytest.mark.parametrize(
    ("end_s", "steps", "expected_s"),
    [(5, -1, 4), (5, 1, 6), (5, -100, 1), (5, 100, 10), (10, 1, 10), (1, -1, 1), (5, 0, 5)],
)
def test_steps_stay_within_what_is_there(end_s: int, steps: int, expected_s: int) -> None:
    history = History(HOST, frames(10))
    assert history.step(end_s * NS_PER_S, steps) == expected_s * NS_PER_S


def test_a_step_from_a_frame_that_was_dropped_lands_on_one_that_is_there() -> None:
    history = History(HOST, frames(10)[5:])
    assert history.step(2 * NS_PER_S, -1) == 6 * NS_PER_S
    assert history.step(2 * NS_PER_S, 1) == 6 * NS_PER_S


@pytest.mark.parametrize(
    ("interval_ns", "window_ns", "count"),
    [
        (NS_PER_S, NS_PER_S, 1),
        (NS_PER_S, 10 * NS_PER_S, 10),
        (NS_PER_S, 60 * NS_PER_S, 20),
        (NS_PER_S // 5, NS_PER_S, 5),
        (2 * NS_PER_S, NS_PER_S, 1),
        (3 * NS_PER_S, 10 * NS_PER_S, 3),
    ],
)
def test_the_window_is_filled_with_the_frames_that_fit_best(interval_ns: int, window_ns: int, count: int) -> None:
    made = frames(20, interval_ns=interval_ns)
    view = History(HOST, made).view(ViewSettings(window_ns=window_ns))
    assert view.frame.interval_ns == count * interval_ns
    assert view.frame.total("wakeups") == merge(made[-count:]).total("wakeups")
    assert len(view.series) == 20


@pytest.mark.parametrize("seconds", [10, 60])
@pytest.mark.parametrize("interval_ns", [NS_PER_S, NS_PER_S // 5])
def test_a_window_made_of_kept_blocks_is_that_made_of_its_frames(seconds: int, interval_ns: int) -> None:
    made = frames(150, interval_ns=interval_ns, tasks=30)
    for frame in made[::7]:
        frame.tasks["waiting_ns"][::3] = 5
    some = [replace(frame, tasks=frame.tasks[number % 3 :: 2]) for number, frame in enumerate(made)]
    history = History(HOST)
    settings = ViewSettings(window_ns=seconds * NS_PER_S)
    for number, frame in enumerate(some):
        history.append(frame)
        view = history.view(settings)
        chosen = some[max(0, number + 1 - settings.window_ns // interval_ns) : number + 1]
        expected = merge(chosen)
        for name in ("start_time_ns", "end_ns", "interval_ns", "kernel_switches", "pressure", "loss", "overhead"):
            assert getattr(view.frame, name) == getattr(expected, name), name
        assert (view.frame.tasks == expected.tasks).all()
        assert (view.frame.slow_waits == expected.slow_waits).all()
        assert (view.frame.cpus.counters == expected.cpus.counters).all()
        assert (view.frame.cpus.queue_length == expected.cpus.queue_length).all()
        assert (view.frame.latency.counts == expected.latency.counts).all()
        assert (view.frame.latency.max_ns == expected.latency.max_ns).all()
        again = history.view(replace(settings, task_sort="run_ns", filter=Filter.parse("cpu:0")))
        assert again.frame is view.frame, "another order needs no merging"
        assert set(again.tasks["last_cpu"]) <= {0}
        assert (np.diff(again.tasks["run_ns"]) <= 0).all()


def test_late_frames_make_the_window_shorter_rather_than_much_too_long() -> None:
    made = frames(3)
    late = [made[0], replace(made[1], interval_ns=30 * NS_PER_S), made[2]]
    assert History(HOST, late).view(ViewSettings(window_ns=10 * NS_PER_S)).frame.interval_ns == NS_PER_S


def test_a_live_view_ends_now_and_a_frozen_one_where_it_was_frozen() -> None:
    history = History(HOST, frames(10))
    live = history.view(ViewSettings())
    assert (live.frozen, live.frame.end_ns, live.age_ns) == (False, 10 * NS_PER_S, 0)
    frozen = history.view(ViewSettings(), end_ns=4 * NS_PER_S)
    assert (frozen.frozen, frozen.frame.end_ns, frozen.age_ns) == (True, 4 * NS_PER_S, 6 * NS_PER_S)
    assert frozen.series[-1].end_ns == 4 * NS_PER_S


def test_a_frozen_view_before_the_oldest_frame_shows_the_oldest() -> None:
    assert History(HOST, frames(10)[5:]).view(ViewSettings(), end_ns=NS_PER_S).frame.end_ns == 6 * NS_PER_S


def test_a_filtered_view_shows_only_what_was_asked_for() -> None:
    history = History(HOST, frames(1, cpus=4, slow_waits=200))
    assert {row["comm"] for row in filtered(history, "comm:NGINX").tasks} == {b"nginx"}
    assert {row["comm"] for row in filtered(history, "nginx").slow_waits} == {b"nginx"}
    assert [row["tid"] for row in filtered(history, "tid:4241").tasks] == [4241]
    assert {row["tgid"] for row in filtered(history, "pid:4244").tasks} == {4244}
    assert len(filtered(history, "4244").tasks) == 4
    by_cpu = filtered(history, "cpu:1,3")
    assert by_cpu.cpu_ids == [1, 3]
    assert set(by_cpu.tasks["last_cpu"]) == set(by_cpu.slow_waits["cpu"]) == {1, 3}
    assert not len(filtered(history, "comm:nginx tid:4240").tasks)


def test_latency_follows_the_filter_by_cpu_and_no_other() -> None:
    history = History(HOST, frames(1, cpus=3))
    frame = history.frames[-1]
    expected = frame.latency.histogram("wakeup", 0).count + frame.latency.histogram("wakeup", 2).count
    assert filtered(history, "cpu:0,2").latency("wakeup").count == expected
    assert filtered(history, "nginx").latency().count == frame.latency.histogram().count
    assert filtered(history, "cpu:99").latency().count == 0
    assert filtered(history, "cpu:99").cpu_ids == []


@pytest.mark.parametrize("key", ["run_delay_ns", "max_wait_ns", "involuntary_switches", "run_ns", "migrations"])
def test_tasks_are_sorted_largest_first_and_equals_by_tid(key: str) -> None:
    rows = np.concatenate((frames(1)[0].tasks, np.zeros(2, TASK_DTYPE)))
    rows["tid"][-2:] = (9, 8)
    ordered = sort_tasks(rows, key)
    assert (np.diff(ordered[key]) <= 0).all()
    assert list(sort_tasks(np.zeros(0, TASK_DTYPE), key)) == []
    equals = ordered["tid"][ordered[key] == 0]
    assert (np.diff(equals.astype(int)) > 0).all()


def test_switches_are_those_of_both_kinds() -> None:
    ordered = sort_tasks(frames(1)[0].tasks, "switches")
    assert (np.diff(ordered["voluntary_switches"] + ordered["involuntary_switches"]) <= 0).all()


def test_slow_waits_are_slowest_or_newest_first() -> None:
    rows = np.zeros(3, SLOW_WAIT_DTYPE)
    rows["wait_ns"], rows["time_ns"] = (5, 9, 5), (1, 2, 3)
    assert list(sort_slow_waits(rows, "wait_ns")["time_ns"]) == [2, 3, 1]
    assert list(sort_slow_waits(rows, "time_ns")["time_ns"]) == [3, 2, 1]


def test_old_floods_are_thinned_and_the_thinning_is_counted() -> None:
    """Hundreds of slow waits a second must not push five minutes of history out of memory."""
    history = History(HOST, frames(600, tasks=300, slow_waits=600), keep_bytes=8 << 20)
    assert history.frames[-1].end_ns - history.frames[0].end_ns >= 300 * NS_PER_S
    assert sum(map(frame_bytes, history.frames)) <= history.keep_bytes
    kept = sum(len(frame.slow_waits) for frame in history.frames)
    forgotten = sum(frame.loss.slow_waits_forgotten for frame in history.frames)
    assert forgotten > 0
    assert kept + forgotten == 600 * 600
    # What is kept of an old Frame is the worst of it, and counters do not care.
    assert not history.frames[-1].loss.any
    assert sum(frame.interval_ns for frame in history.frames) == 600 * NS_PER_S


def test_old_pairs_are_thinned_and_what_they_stood_for_is_not_lost() -> None:
    frame = replace(frames(1)[0], pairs=np.zeros(0, PAIR_DTYPE), attribution=Attribution())
    rows = np.zeros(1000, PAIR_DTYPE)
    rows["victim_tid"], rows["other_tid"] = np.arange(1000), 5000
    rows["blocked_ns"] = np.arange(1000) + 1
    least = thinned(replace(frame, pairs=rows))
    assert len(least.pairs) == 250
    assert least.pairs["blocked_ns"].min() == 751
    assert least.pairs["blocked_ns"].sum() + least.attribution.others_ns == rows["blocked_ns"].sum()
    assert frame_bytes(replace(frame, pairs=rows)) - frame_bytes(frame) == rows.nbytes


def test_pairs_are_shown_by_victim() -> None:
    frame = frames(1)[0]
    rows = np.zeros(3, PAIR_DTYPE)
    rows["victim_tid"], rows["victim_tgid"], rows["victim_comm"] = (1, 2, 3), (1, 1, 3), (b"java", b"cc1", b"java")
    rows["other_comm"], rows["blocked_ns"], rows["preempted_ns"] = b"java", (1, 3, 2), (9, 7, 8)
    history = History(HOST, [replace(frame, pairs=rows)])
    assert list(history.view(ViewSettings()).pairs["victim_tid"]) == [2, 3, 1]
    assert list(history.view(ViewSettings(blame="preemptor")).pairs["victim_tid"]) == [1, 3, 2]
    assert list(filtered(history, "java").pairs["victim_tid"]) == [3, 1]
    assert list(filtered(history, "cpu:0").pairs["victim_tid"]) == [2, 3, 1]
    assert list(history.view(ViewSettings(hidden_tgids=(1,))).pairs["victim_tid"]) == [3]


def test_histograms_by_group_are_kept_for_the_longest_window_only() -> None:
    frame = frames(1)[0]
    groups = GroupLatency("tgid", np.array([1]), np.ones((1, BUCKETS), np.int64), np.array([BUCKETS]), np.array([0]))
    history = History(HOST)
    for second in range(1, 100):
        history.append(replace(frame, end_ns=second * NS_PER_S, groups=groups))
    assert sum(frame.groups is not None for frame in history.frames) == 61
    assert history.frames[-1].groups is groups


def test_hidden_processes_are_in_no_table() -> None:
    history = History(HOST, frames(1, tasks=40, slow_waits=200))
    everybody, hidden = history.view(ViewSettings()), 4244
    assert hidden in everybody.tasks["tgid"]
    assert hidden in everybody.slow_waits["tgid"]
    view = history.view(ViewSettings(hidden_tgids=(hidden,)))
    assert hidden not in view.tasks["tgid"]
    assert hidden not in view.slow_waits["tgid"]
    assert len(view.tasks) == len(everybody.tasks) - 4


def seconds_of(kind: str, number: int) -> Frame:
    """One second of a flood (500 busy tasks, 4,000 slow waits) or of a storm (10,000 tasks that live once)."""
    frame, end_ns = EVERYDAY[kind], (number + 1) * NS_PER_S
    rng = np.random.default_rng(number)
    tasks = frame.tasks
    if kind != "flood":
        storm = np.zeros(10_000, TASK_DTYPE)
        storm["tid"], storm["ended"] = 10_000 + 10_000 * number + np.arange(10_000), 1
        storm["run_ns"], storm["run_delay_ns"] = rng.integers(1, 10**6, (2, 10_000))
        tasks = np.concatenate((tasks, storm))
    pairs = np.zeros(1024, PAIR_DTYPE)
    pairs["victim_tid"], pairs["other_tid"] = rng.integers(1, 10**6, (2, 1024))
    pairs["blocked_ns"] = rng.integers(1, 10**6, 1024)
    return replace(frame, tasks=tasks, pairs=pairs, end_ns=end_ns, start_time_ns=end_ns)


EVERYDAY = {
    "flood": frames(1, tasks=500, slow_waits=4000)[0],
    "storm": frames(1, tasks=60, slow_waits=1000)[0],
    "both": frames(1, tasks=500, slow_waits=4000)[0],
}


@pytest.mark.parametrize("kind", list(EVERYDAY))
def test_ten_minutes_stay_however_much_there_is_in_each_second(kind: str) -> None:
    history = History(HOST)
    for number in range(660):
        history.append(seconds_of(kind, number))
        if number % 60 == 0:
            *older, newest = map(frame_bytes, history.frames)
            assert sum(older) + min(newest, history.keep_bytes // 2) <= history.keep_bytes
    lengths = [frame.interval_ns // NS_PER_S for frame in history.frames]
    assert sum(lengths) >= 600
    assert max(lengths) <= 75
    assert lengths[-15:] == [1] * 15
    assert history.beginning == "10 minutes are kept"
    assert len(history.frames[0].tasks) <= 200, "of what is long past the heaviest tasks"
    assert len(history.frames[-10].tasks) >= 160, "of what is recent more"


def test_large_frame_takes_no_time_away_from_history() -> None:
    frame = frames(1)[0]
    storm = np.zeros(70_000, TASK_DTYPE)
    storm["ended"] = 1
    history = History(HOST)
    for second in range(1, 301):
        tasks = np.concatenate((frame.tasks, storm)) if second > 290 else frame.tasks
        history.append(replace(frame, tasks=tasks, end_ns=second * NS_PER_S, start_time_ns=second * NS_PER_S))
        assert sum(map(frame_bytes, history.frames[:-1])) <= history.keep_bytes
    assert frame_bytes(history.frames[-1]) > history.keep_bytes
    assert sum(each.interval_ns for each in history.frames) == 300 * NS_PER_S
    assert len(history) > 50


def test_history_says_why_it_begins_where_it_begins() -> None:
    made = frames(3, slow_waits=2)
    history = History(HOST, made)
    assert history.beginning == "schedtop began to collect here"
    assert history.copy().beginning == history.beginning
    history.append(replace(made[0], end_ns=700 * NS_PER_S))
    assert history.beginning == "10 minutes are kept"

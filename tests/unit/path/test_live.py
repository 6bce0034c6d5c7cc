"""Episodes added up while they come, and drawn as trees."""

from __future__ import annotations

import numpy as np
import pytest

from schedtop.path.live import KEPT_EPISODES, PathLog
from schedtop.path.paths import find_paths
from schedtop.path.profile import MOST_ROWS, OTHERS, Profile
from schedtop.path.segments import QUEUED, RUNNING, Behind, Episode, Hop, Segment
from schedtop.path.targets import Targets
from schedtop.path.tree import MOST_LINES, tree_of
from schedtop.path.words import segment_words
from tests.unit.path.recordings import FUTEX, START_NS, Recording
from tests.unit.path.test_walk import HOG, HOLDER, LATE, held_lock


def test_each_episode_is_taken_once_by_windows_that_overlap() -> None:
    """The first window ends within the second sleep."""
    recording = held_lock().switch(700, LATE, 0, call=FUTEX).wake(850, LATE, HOLDER, cpu=1).switch(860, 0, LATE)
    targets = Targets(tids=(LATE,))
    recording.end_us = 800
    early = Recording(
        end_us=800, names=recording.names, rows=[r for r in recording.rows if r["time_ns"] < START_NS + 800_000]
    )
    recording.end_us = 1000
    log = PathLog("rpc-worker")
    first = find_paths(early.capture, targets)
    log.add(first)
    frame = log.frame(first, START_NS, log.inversion, ())
    assert frame.summary.episodes == 1 and frame.inversion
    assert [(one.words, one.time_ns) for one in frame.under_way] == [("blocked in futex", 100_000)]
    second = find_paths(recording.capture, targets, since_ns=early.capture.end_ns)
    assert [episode.start_ns for episode in second.episodes] == [START_NS + 700_000]
    log.add(second, unseen_ns=5)
    frame = log.frame(second, START_NS, log.inversion, ())
    whole = find_paths(recording.capture, targets)
    assert frame.summary.episodes == 2 == len(whole.episodes)
    assert sum(row.time_ns for row in frame.summary.rows) == sum(one.length_ns for one in whole.episodes)
    assert not frame.under_way and frame.loss.unseen_ns == 5
    assert [tree.length_ns for tree in frame.worst] == [510_000, 160_000]
    assert [tree.length_ns for tree in frame.latest] == [160_000, 510_000]


def test_memory_is_bounded() -> None:
    log, paths = PathLog("late"), held_lock().paths(LATE)
    for _ in range(3 * KEPT_EPISODES):
        log.add(paths)
    frame = log.frame(paths, START_NS, log.inversion, ())
    assert len(frame.worst) == len(frame.latest) == KEPT_EPISODES
    assert frame.summary.episodes == 3 * KEPT_EPISODES
    assert frame.inversion and frame.inversion.episodes == 3 * KEPT_EPISODES
    rows = Profile()
    for number in range(MOST_ROWS + 50):
        segment = Segment(0, 10, RUNNING, number, f"task {number}", via=(Hop(LATE, "late", "futex"),))
        rows.add(Episode(LATE, LATE, "late", 0, 10, "futex", (segment,)))
    found = rows.rows()
    assert len(found) == MOST_ROWS + 1
    assert found[0].task.comm == OTHERS and found[0].time_ns == 500 and found[0].episodes == 50


def test_a_tree_has_each_task_under_what_it_woke_and_adds_up() -> None:
    tree = tree_of(held_lock().episode(LATE), 0)
    assert [(line.guide + line.words, line.time_ns // 1000) for line in tree.lines] == [
        ("├ blocked in futex, until woken by flusher (20)", 500),
        ("│ ├ running, 2 times", 200),
        ("│ └ queued behind backup", 300),
        ("└ queued, its CPU idle", 10),
    ]
    for line in tree.lines:
        for cells in (1, 7, 51, 500):
            assert line.coverage(cells).sum() / cells * tree.length_ns == pytest.approx(line.time_ns, rel=0.03)
    running = tree.lines[1].coverage(51)
    assert np.flatnonzero(running > 0.5).tolist() == [*range(10), *range(40, 50)], "100 to 200, and 500 to 600, of 510"


def test_an_episode_of_many_kinds_has_a_last_line_for_the_rest() -> None:
    segments = tuple(
        Segment(number * 10, 10, RUNNING, number, f"task {number}", via=(Hop(LATE, "late", "futex"),))
        for number in range(50)
    )
    tree = tree_of(Episode(LATE, LATE, "late", 0, 500, "futex", segments), 0)
    assert len(tree.lines) == MOST_LINES + 1
    assert sum(line.time_ns for line in tree.lines if line.state) == 500
    assert tree.lines[-1].words.startswith("in ") and tree.lines[-1].words.endswith("more lines")


def test_spans_that_go_on_are_not_counted_as_unclear_again_and_again() -> None:
    recording = Recording().switch(100, LATE, 0, call=FUTEX).lose(150, 160, count=100).switch(900, HOG, 0, cpu=1)
    assert find_paths(recording.capture, Targets(tids=(LATE,)), since_ns=1).unclear.count == 0


def test_tasks_of_one_name_are_told_together() -> None:
    behind = (Behind(1, "hog", 40), Behind(0, "idle", 30), Behind(2, "hog", 20), Behind(3, "tar", 10))
    segment = Segment(0, 100, QUEUED, LATE, "late", behind=behind)
    assert segment_words(segment) == "queued behind hog (×2) 60 %, 30 % while its CPU was idle, tar 10 %"

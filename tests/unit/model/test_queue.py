"""Samples of run queues: their statistics, their sums, and their way through a recording."""

import json
import threading
from typing import Any

import numpy as np
import pytest

from schedtop.model.frame import Frame, frame_bytes, merge
from schedtop.model.queue_lengths import MOST_QUEUED, QueueTable, length_ranges, merge_queues
from schedtop.recording.lines import RecordingError, frame_line, read_frame
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource


def frames(sampling: bool = True, **scenario: Any) -> list[Frame]:
    source = SyntheticSource(Scenario(**({"frames": 3, "cpus": 3} | scenario)))
    source.set_sampling(sampling)
    return list(source.frames(threading.Event()))


def table(*lengths: list[int], expected: int = 0) -> QueueTable:
    """The samples of some CPUs, in which all tasks are of the fair class."""
    width = 1 + max(max(one, default=0) for one in lengths)
    counts = np.array([np.bincount(one, minlength=width) for one in lengths])
    sums, longest = np.array([sum(one) for one in lengths]), np.array([max(one, default=0) for one in lengths])
    samples = np.array([len(one) for one in lengths])
    wanted = np.full(len(lengths), expected) if expected else samples
    both = (np.stack([one, one]) for one in (counts, sums, longest))
    return QueueTable(99, *both, samples, wanted, np.zeros(len(lengths), np.int64))


def equal(one: QueueTable | None, other: QueueTable | None) -> bool:
    assert one is not None and other is not None
    names = ("counts", "sums", "longest", "samples", "expected", "slept")
    return one.hz == other.hz and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_statistics_of_known_samples() -> None:
    lengths = table([0] * 50 + [1] * 30 + [4] * 19 + [9], [2]).lengths("all", [0])
    assert (lengths.samples, lengths.mean, lengths.longest) == (100, 1.15, 9)
    assert [lengths.percentile(ratio) for ratio in (0.5, 0.51, 0.8, 0.9, 0.99, 1)] == [0, 1, 1, 4, 4, 9]
    assert lengths.waiting_ratio == pytest.approx(0.5)


def test_queue_without_samples_is_unknown() -> None:
    lengths = table([], [1]).lengths("fair", [0])
    assert (lengths.samples, lengths.mean, lengths.waiting_ratio, lengths.percentile(0.99)) == (0, None, None, None)


def test_tables_add_up_whatever_their_width_and_number_of_cpus() -> None:
    whole = merge_queues([table([0, 1], expected=3), None, table([5], [2, 2], expected=2)])
    assert whole is not None
    assert whole.lengths("all", [0]).counts.tolist() == [1, 1, 0, 0, 0, 1]
    assert whole.lengths("all", [1]).counts.tolist() == [0, 0, 2, 0, 0, 0]
    assert whole.longest[0].tolist() == [5, 2]
    assert whole.expected.tolist() == [5, 2]
    assert whole.missed() == 2
    assert merge_queues([None, None]) is None


def test_a_window_has_the_samples_that_there_are() -> None:
    some = [*frames()[:2], frames(sampling=False)[2]]
    assert equal(merge(some).queue, merge_queues([frame.queue for frame in some]))


@pytest.mark.parametrize(
    ("longest", "most", "ranges"),
    [
        (0, 5, [(0, 0)]),
        (4, 5, [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]),
        (5, 5, [(0, 0), (1, 1), (2, 3), (4, 7)]),
        (MOST_QUEUED, 4, [(0, 0), (1, 7), (8, 63), (64, 511)]),
        (MOST_QUEUED, 2, [(0, 0), (1, 511)]),
        (MOST_QUEUED, 1, [(0, 511)]),
    ],
)
def test_ranges_of_lengths_fit(longest: int, most: int, ranges: list[tuple[int, int]]) -> None:
    assert length_ranges(longest, most) == ranges


def test_a_recording_keeps_every_sample() -> None:
    for frame in frames():
        again = read_frame(frame_line(frame))
        assert equal(frame.queue, again.queue)
        assert np.array_equal(frame.slow_waits, again.slow_waits)
    assert read_frame(frame_line(frames(sampling=False)[0])).queue is None


def test_recording_keeps_an_unknown_queue_apart_from_an_empty_one() -> None:
    frame = frames()[0]
    for name in ("queue_length", "fair_queue_length"):
        frame.slow_waits[name] = [-1, 0, *([3] * (len(frame.slow_waits) - 2))]
        for lengths in (frame.slow_waits[name], 0, -1):
            frame.slow_waits[name] = lengths
            assert np.array_equal(read_frame(frame_line(frame)).slow_waits[name], frame.slow_waits[name])


def test_a_recording_from_before_the_run_queues_were_sampled_is_read() -> None:
    data = json.loads(frame_line(frames()[0]))
    del data["queue"], data["slow_waits"]["queue_length"], data["slow_waits"]["fair_queue_length"]
    old = read_frame(json.dumps(data))
    assert old.queue is None
    assert (old.slow_waits["queue_length"] == -1).all()
    assert (old.slow_waits["fair_queue_length"] == -1).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lengths", 0),
        ("lengths", 1 << 40),
        ("samples", [1]),
        ("samples", [-1, 0, 0]),
        ("sums", [[1, 2, 3]]),
        ("hz", -1),
        ("counts", [[10**9], [1]]),
        ("counts", [[0], [-1]]),
        ("longest", None),
        ("slept", "x"),
    ],
)
def test_impossible_queue_in_a_recording_is_refused(name: str, value: Any) -> None:
    data = json.loads(frame_line(frames()[0]))
    data["queue"][name] = value
    with pytest.raises(RecordingError):
        read_frame(json.dumps(data))


def test_samples_count_towards_the_memory_of_the_history() -> None:
    sampled, plain = frames()[0], frames(sampling=False)[0]
    assert frame_bytes(sampled) > frame_bytes(plain)

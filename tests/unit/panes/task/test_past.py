"""What the History knows of one task: the same as looking through all Frames, whatever is kept meanwhile."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.model.frame import Frame, merge
from schedtop.panes.task.past import Past, PastReader, Subject, states_over_time
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

SUBJECTS = [Subject(4242, 4240, "postgres", 3), Subject(0, 4240, "stress")]


def frames(count: int = 150) -> list[Frame]:
    source = SyntheticSource(Scenario(frames=count, slow_waits=20))
    source.set_grouping("tid")
    return list(source.frames(threading.Event()))


def check(past: Past | None, subject: Subject, wanted: list[Frame]) -> None:
    assert past is not None
    whole = merge(wanted)
    tasks = whole.tasks[subject.mask(whole.tasks)]
    for name in ("run_ns", "run_delay_ns", "waiting_ns", "max_wait_ns"):
        assert past.threads[name].tolist() == tasks[name].tolist()
    waits = whole.slow_waits[subject.mask(whole.slow_waits)]
    assert sorted(past.slow_waits["time_ns"]) == sorted(waits["time_ns"])
    assert (np.diff(past.slow_waits["time_ns"]) <= 0).all()
    for found, role in ((past.suffered, "victim"), (past.caused, "other")):
        pairs = whole.pairs[subject.mask(whole.pairs, role)]
        assert int(found["blocked_ns"].sum()) == int(pairs["blocked_ns"].sum())
        assert len(found) == len(pairs)
        assert (np.diff(found["blocked_ns"]) <= 0).all()
    assert whole.interval_ns - past.span_ns < 1000  # its tasks began in the first nanoseconds
    groups = np.unique(tasks["cgroup_id"])
    throttled = whole.throttling[np.isin(whole.throttling["cgroup_id"], groups)]
    assert past.throttling.tolist() == throttled.tolist()
    if not subject.is_process:
        assert past.waits is not None and whole.groups is not None
        assert past.waits.count == whole.groups.histogram([subject.tid]).count


@pytest.mark.parametrize("subject", SUBJECTS, ids=["thread", "process"])
def test_task_past_sums_all_frames(subject: Subject) -> None:
    made, reader = frames(), PastReader(subject)
    check(reader.read(made[:100], None), subject, made[:100])
    check(reader.read(made[:101], None), subject, made[:101])
    # The oldest have gone, two have become one, another window, and back.
    check(reader.read(made[30:], None), subject, made[30:])
    check(reader.read([merge(made[30:32]), *made[32:]], None), subject, made[30:])
    check(reader.read(made, 10 * NS_PER_S), subject, made[-10:])
    check(reader.read(made, None), subject, made)


def test_another_user_of_the_tid_is_not_it() -> None:
    made = frames(3)
    reader = PastReader(Subject(4242, 4240, "postgres", 999))
    past = reader.read(made, None)
    assert past is not None and not len(past.threads)


@pytest.mark.parametrize("tells_start", [True, False])
def test_task_past_begins_with_the_task(tells_start: bool) -> None:
    """A task that is there for the last 15.5 s of 40 s, in a kernel that tells when it began, or does not."""
    made = frames(40)
    begin = made[24].end_ns - NS_PER_S // 2
    young = [without_rows(frame) for frame in made[:24]]
    for frame in made[24:]:
        tasks = frame.tasks.copy()
        tasks["start_ns"][tasks["tid"] == 4242] = begin if tells_start else 0
        tasks["run_ns"][tasks["tid"] == 4242] = NS_PER_S // 4
        young.append(replace(frame, tasks=tasks))
    reader = PastReader(Subject(4242, 4240, "postgres"))
    past = reader.read(young, None)
    assert past is not None
    span = 15.5 if tells_start else 16
    assert past.span_ns == span * NS_PER_S
    assert past.sum("run_ns") / past.span_ns == pytest.approx(4 / span)
    assert len(past.intervals) == 16
    times = states_over_time(past.intervals, NS_PER_S, 100, past.begin_ns)
    assert len(times) == 16
    assert int(times.sum()) == pytest.approx(past.span_ns, rel=0.02)
    # A window in which it does nothing is not before its time.
    idle = [*young, *(without_rows(frame) for frame in frames(80)[40:])]
    past = reader.read(idle, 10 * NS_PER_S)
    assert past is not None
    assert past.span_ns == 10 * NS_PER_S


def without_rows(frame: Frame) -> Frame:
    return replace(frame, tasks=frame.tasks[frame.tasks["tid"] != 4242])


def test_task_past_without_frames_is_empty() -> None:
    assert PastReader(SUBJECTS[0]).read([], None) is None


def test_states_are_those_of_the_intervals() -> None:
    made = frames(5)
    past = PastReader(SUBJECTS[0]).read(made, None)
    assert past is not None
    times = states_over_time(past.intervals, NS_PER_S // 2, 100)
    assert times.shape == (10, 3)
    capped = [min(int(one.tasks["run_ns"].sum()), one.frame.interval_ns) for one in past.intervals]
    assert abs(int(times[:, 0].sum()) - sum(capped)) < 100
    assert len(states_over_time(past.intervals, NS_PER_S // 2, 4)) == 4
    idle = replace(past.intervals[0], tasks=past.intervals[0].tasks[:0])
    assert states_over_time([idle], NS_PER_S, 9).tolist() == [[0, 0, NS_PER_S]]

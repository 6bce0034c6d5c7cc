"""What every Source must do, whatever is behind it. A test module calls `check_source` with a Source that is open."""

import threading
import time
from itertools import pairwise

import numpy as np

from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame, merge
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE
from schedtop.model.source import Source
from schedtop.outputs.scheduler.snapshot import to_json


def take(source: Source, count: int) -> list[Frame]:
    """The first Frames of an open source."""
    stop = threading.Event()
    taken: list[Frame] = []
    for frame in source.frames(stop):
        taken.append(frame)
        if len(taken) == count:
            stop.set()
    return taken


def check_frames(frames: list[Frame]) -> None:
    """That consecutive Frames are ordered, consistent in themselves, and add up."""
    for earlier, later in pairwise(frames):
        assert later.end_ns - later.interval_ns == earlier.end_ns, "an interval begins where the last one ended"
        assert later.start_time_ns >= earlier.start_time_ns
    for frame in frames:
        check_cpus(frame)
        check_latency(frame)
        check_tasks(frame)
        check_slow_waits(frame)
    whole = merge(frames)
    assert whole.total("switches") == sum(frame.total("switches") for frame in frames)
    assert whole.interval_ns == whole.end_ns - (frames[0].end_ns - frames[0].interval_ns)


def check_cpus(frame: Frame) -> None:
    cpus = len(frame.cpus.online)
    assert frame.cpus.counters.shape[0] == cpus == len(frame.cpus.queue_length)
    assert frame.interval_ns > 0
    assert frame.cpus.ids, "some CPU is online"
    assert (np.asarray(frame.cpus.counters) >= 0).all(), "counters only grow"
    assert (frame.cpus.queue_length >= 0).all()
    of_tasks = frame.cpus.column("voluntary_switches") + frame.cpus.column("involuntary_switches")
    assert (of_tasks <= frame.cpus.column("switches")).all(), "the rest are switches from idle"
    for counter in ("busy_ns", "steal_ns"):
        ratio = frame.ratio(counter)
        assert ratio is None or 0 <= ratio <= 1


def check_latency(frame: Frame) -> None:
    for kind in ("wakeup", "preemption", "fork", None):
        histogram = frame.latency.histogram(kind)
        assert (np.asarray(histogram.counts) >= 0).all()
        assert (histogram.count == 0) == (histogram.max_ns == 0)
        assert histogram.max_ns <= histogram.sum_ns <= histogram.count * histogram.max_ns


def check_tasks(frame: Frame) -> None:
    rows = frame.tasks
    assert rows.dtype == TASK_DTYPE
    assert (rows["tid"] > 0).all(), "idle is no task"
    assert len(np.unique(rows[["tid", "start_ns"]])) == len(rows), "one row a task"
    for name in ("run_ns", "run_delay_ns", "max_wait_ns", "waiting_ns", "timeslices", "migrations"):
        assert (rows[name] >= 0).all(), name
    assert (rows["last_cpu"] < len(frame.cpus.online)).all()


def check_slow_waits(frame: Frame) -> None:
    rows = frame.slow_waits
    assert rows.dtype == SLOW_WAIT_DTYPE
    assert (np.diff(rows["time_ns"]) >= 0).all(), "in order of time"
    assert (rows["wait_ns"] >= frame.threshold_ns).all()
    assert (rows["tid"] > 0).all(), "idle is never a victim"


def check_source(source: Source, count: int = 3) -> list[Frame]:
    """That an open Source keeps the contract; gives the Frames that it took for that."""
    assert source.host.name
    assert source.host.kernel
    frames = take(source, count)
    assert len(frames) == count
    check_frames(frames)
    history = History(source.host, frames)
    assert to_json(history.view(ViewSettings(window_ns=frames[0].interval_ns)), 10)
    return frames


def check_stop(source: Source, interval_s: float) -> None:
    """That an open Source ends within an interval when it is asked to, and at once when it was asked before."""
    stop = threading.Event()
    frames = source.frames(stop)
    next(frames)
    threading.Timer(interval_s / 10, stop.set).start()
    asked = time.monotonic()
    assert len(list(frames)) <= 1
    assert time.monotonic() - asked < interval_s + 2, "generous, because hosts pause"
    assert list(source.frames(stop)) == []

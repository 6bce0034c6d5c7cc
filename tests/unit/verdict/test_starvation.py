"""A task that waits and still does not run."""

from dataclasses import replace

import numpy as np

from schedtop.base.units import NS_PER_S
from schedtop.model.counts import Loss
from schedtop.model.sched_class import SchedClass
from tests.unit.verdict.frames import MS, frame, judged, pinned, quota, tasks


def test_verdict_names_a_task_that_still_waits() -> None:
    starved = tasks(waiting_ns=3 * NS_PER_S, tid=901, comm=b"web", last_cpu=1, cgroup_id=7)
    hog = tasks(run_ns=950 * MS, last_cpu=1, comm=b"rt")
    made = frame(tasks=np.concatenate((starved, hog)), throttling=quota())
    verdict = judged(made)
    assert (verdict.level, verdict.rule) == ("alarm", "starving")
    assert verdict.headline == "web (901) has been waiting for 3.00 s and still does not run"
    assert "rt (900) ran 950 ms and was last seen on CPU 1, too" in verdict.evidence
    assert "its group web.service is throttled" in verdict.evidence
    assert judged(replace(made, loss=Loss(tasks_untracked=1))).level == "unknown"
    assert judged(replace(made, loss=Loss(switches_unseen=1))).level == "alarm"
    assert judged(frame(tasks=tasks(waiting_ns=NS_PER_S - 1))).rule == "calm"
    assert judged(replace(made, slow_waits=pinned(63), latency=frame(pinned(63)).latency)).rule == "pinned"


def test_starving_task_that_asked_to_wait_is_no_alarm() -> None:
    starved = tasks(waiting_ns=3 * NS_PER_S, tid=901, comm=b"web", last_cpu=1, sched_class=SchedClass.FAIR, nice=19)
    hog = tasks(run_ns=950 * MS, last_cpu=1)
    assert judged(frame(tasks=np.concatenate((starved, hog)))).level == "notice"
    real_time = tasks(waiting_ns=3 * NS_PER_S, tid=902, last_cpu=1, sched_class=SchedClass.RT, nice=19)
    assert judged(frame(tasks=np.concatenate((starved, real_time, hog)))).level == "alarm"


def test_a_task_that_waits_in_a_queue_of_sched_ext_waits_for_no_cpu_in_particular() -> None:
    starved = tasks(waiting_ns=3 * NS_PER_S, tid=901, comm=b"web", last_cpu=1)
    hog = tasks(run_ns=950 * MS, last_cpu=1, comm=b"rt")
    made = frame(tasks=np.concatenate((starved, hog)))
    verdict = judged(replace(made, unavailable={"queue_length": "rusty has queues of its own"}))
    assert (verdict.level, verdict.rule) == ("alarm", "starving")
    assert verdict.evidence == ("rusty has queues of its own",)

"""Much waiting without a slow wait."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.counts import Pressure
from schedtop.model.rows import PAIR_DTYPE, Rows
from schedtop.model.sched_class import Policy, SchedClass
from schedtop.verdict.engine import judge
from tests.unit.verdict.frames import HOST, MS, frame, judged, tasks, waits


def two_hogs(**fields: Any) -> Rows:
    one, other = (tasks(tid=tid, comm=b"stress", run_delay_ns=500 * MS, last_cpu=1, **fields) for tid in (7, 8))
    return np.concatenate((one, other))


def test_short_turns_on_one_cpu_are_no_good_news() -> None:
    pairs = np.zeros(1, PAIR_DTYPE)
    pairs["victim_tid"], pairs["other_tid"], pairs["blocked_ns"] = 7, 8, 499 * MS
    pairs["victim_comm"], pairs["other_comm"] = b"stress", b"stress"
    made = frame(short=250, short_ns=4 * MS, tasks=two_hogs(allowed_cpus=1), pairs=pairs)
    verdict = judged(made)
    assert (verdict.level, verdict.rule, verdict.action) == (
        "notice",
        "turns",
        "Let stress run elsewhere, too: taskset -cp 0-1 7",
    )
    assert verdict.headline.startswith("CPU 1: stress (7) and stress (8) are pinned to it and compete (p99 ")
    assert verdict.headline.endswith("CPU 0 is 94 % idle")
    assert "stress (8) had the CPU for 499 ms of it while stress (7) waited" in verdict.evidence
    pairs["other_sched_class"], pairs["other_policy"] = SchedClass.FAIR, Policy.BATCH
    assert "stress (8, batch) had the CPU for 499 ms of it while stress (7) waited" in judged(made).evidence
    # Where the mask is wider, or not known, or no CPU is idle, that is not the reason.
    for allowed in (0, 2):
        assert judged(replace(made, tasks=two_hogs(allowed_cpus=allowed))).rule == "waiting"
    assert judged(frame(short_ns=4 * MS, busy=(0.6, 0.98), tasks=two_hogs(allowed_cpus=1))).rule == "waiting"
    assert judged(frame(short_ns=4 * MS, busy=(0.97, 0.98), tasks=two_hogs(allowed_cpus=1))).rule == "saturated"
    assert judged(replace(made, tasks=two_hogs(allowed_cpus=1)[:1])).headline.startswith("CPU 1: stress (7) is pinned")


def test_short_turns_name_what_most_of_the_waiting_is_behind() -> None:
    pairs = np.zeros(3, PAIR_DTYPE)
    pairs["victim_tid"], pairs["other_tid"] = (7, 8, 9), 11
    pairs["other_comm"], pairs["blocked_ns"] = b"batch", (300 * MS, 310 * MS, 900 * MS)
    made = frame(short=250, short_ns=4 * MS, busy=(0.6, 0.98), tasks=two_hogs(), pairs=pairs)
    told = "CPU 1: stress (7) and stress (8) wait 50 % of the time, in short turns"

    def headline(**fields: Any) -> str:
        for name, value in fields.items():
            pairs[name][:2] = value
        verdict = judged(replace(made, pairs=pairs))
        assert verdict.rule == "waiting"
        assert verdict.action == ("See what had the CPU (key 3), or each wait: sudo schedtop --threshold 500us")
        return verdict.headline

    assert headline() == f"{told}, most of it behind batch (11)"
    assert headline(blocked_ns=250 * MS) == told, "behind several"
    assert headline(blocked_ns=310 * MS, other_tid=(8, 7)) == told, "behind each other"
    assert headline(other_tid=0, other_interrupt=b"NET_RX") == f"{told}, most of it behind NET_RX"
    short = tasks(tid=7, comm=b"api", run_delay_ns=400 * MS, last_cpu=1)
    busy = judged(frame(short_ns=4 * MS, short=20, busy=(0.97, 0.98), tasks=short))
    assert busy.headline == "CPU 1: api (7) waits 40 % of the time, in short turns: all CPUs are busy"


def test_a_little_waiting_is_normal() -> None:
    few = tasks(tid=7, run_delay_ns=190 * MS, last_cpu=1, allowed_cpus=1)
    assert judged(frame(tasks=few)).rule == "calm"
    many = np.concatenate([tasks(tid=tid, run_delay_ns=99 * MS) for tid in range(1, 9)])
    assert judged(frame(tasks=many)).rule == "calm"


def test_pressure_without_slow_waits_needs_a_long_span() -> None:
    pressed = frame(pressure=Pressure(300 * MS, 0))
    assert judged(pressed, seconds=10).rule == "pressure"
    assert judged(pressed, seconds=9).rule == "calm"
    assert judged(frame(pressure=Pressure(190 * MS, 0)), seconds=10).rule == "calm"
    of_one_task = judged(replace(pressed, tasks=tasks()), "comm:ffmpeg", seconds=10)
    assert of_one_task.rule == "calm", "the pressure is the host's"
    assert judged(replace(pressed, unavailable={"pressure": "psi=0"}), seconds=10).rule == "calm"


@pytest.mark.parametrize("late", [{"slow_waits": waits(20)}, {"tasks": two_hogs()}])
def test_pressure_of_waits_that_are_over_is_not_told_again(late: dict[str, Rows]) -> None:
    pressed = frame(pressure=Pressure(900 * MS, 0))
    frames = [replace(pressed, **(late if second <= 4 else {}), end_ns=second * NS_PER_S) for second in range(1, 16)]
    rules = [judge(History(HOST, frames[:count]).view(ViewSettings())).rule for count in range(5, 16)]
    assert rules == ["calm"] * 9 + ["pressure"] * 2


def test_a_chosen_task_that_waits_as_long_as_it_runs_is_no_good_news() -> None:
    def rule(delay_ms: int, run_ms: int, words: str = "comm:api") -> str:
        api = tasks(tid=7, comm=b"api", run_delay_ns=delay_ms * MS, run_ns=run_ms * MS, last_cpu=1, allowed_cpus=1)
        return judged(frame(short_ns=2 * MS, tasks=api), words).rule

    assert rule(60, 60) == "turns"
    assert rule(60, 70) == "calm"
    assert rule(49, 1) == "calm"
    assert rule(120, 500) == "turns", "a tenth of the time"
    assert rule(60, 60, "") == "calm", "of the whole host it is little"

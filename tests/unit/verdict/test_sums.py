"""The verdict where only sums of waits are known: what run delay, pressure and steal tell, and that no more is said."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.counts import Pressure
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.host import HIDDEN, Host
from schedtop.model.latency import LatencyTable
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE
from schedtop.sources.proc.source import LOST, UNPRIVILEGED
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Verdict

HOST = Host("test", "6.18.0", "proc")


def frame(*delays: float, busy: tuple[float, ...] = (0.2, 1.0), steal: float = 0.0, **fields: Any) -> Frame:
    """A second of two CPUs; tasks of CPU 1 that waited for such shares of it, allowed on so many CPUs (`allowed`)."""
    cpus = CpuTable.empty(2)
    column = {name: cpus.counters[:, index] for index, name in enumerate(CPU_COUNTERS)}
    column["accounted_ns"][:] = NS_PER_S
    column["busy_ns"][:] = [int(share * NS_PER_S) for share in busy]
    column["steal_ns"][:] = int(steal * NS_PER_S)
    tasks = np.zeros(len(delays), TASK_DTYPE)
    tasks["tid"] = tasks["tgid"] = 100 + np.arange(len(delays))
    tasks["comm"] = tasks["process"] = b"app"
    tasks["run_delay_ns"] = [int(share * NS_PER_S) for share in delays]
    tasks["run_ns"] = NS_PER_S // 4
    tasks["last_cpu"] = 1
    tasks["allowed_cpus"] = fields.pop("allowed", 2)
    made = Frame(
        start_time_ns=NS_PER_S,
        end_ns=NS_PER_S,
        interval_ns=NS_PER_S,
        cpus=cpus,
        latency=LatencyTable.empty(2),
        tasks=tasks,
        slow_waits=np.zeros(0, SLOW_WAIT_DTYPE),
        threshold_ns=5_000_000,
        kernel_switches=1000,
        unavailable=MappingProxyType(dict.fromkeys(LOST, UNPRIVILEGED)),
    )
    return replace(made, **fields)


def judged(one: Frame, wanted: str = "") -> Verdict:
    settings = ViewSettings(filter=Filter.parse(wanted))
    return judge(History(HOST, [one]).view(settings))


@pytest.mark.parametrize(
    ("made", "level", "rule", "words"),
    [
        (frame(0.5, 0.5, 0.4, busy=(1, 1)), "alarm", "saturated", "More work than 2 CPUs"),
        (frame(0.5, 0.5, allowed=1), "alarm", "turns", "pinned to it and wait 50 % of the time; CPU 0 is 80 % idle"),
        (frame(0.3), "notice", "waiting", "CPU 1: app (100) waits 30 % of the time"),
        (frame(0.001, steal=0.2, busy=(0.2, 0.3)), "alarm", "steal", "Steal is 20 %"),
        (frame(0.001), "ok", "calm", "Little waiting: 1.00 ms of run delay a second, of all tasks together"),
    ],
)
def test_a_rule_applies(made: Frame, level: str, rule: str, words: str) -> None:
    verdict = judged(made)
    assert (verdict.level, verdict.rule) == (level, rule)
    assert words in verdict.headline
    assert verdict.evidence[-1] == "not known: single waits and the tasks that had the CPU (needs privileges)"
    assert "p99" not in verdict.sentences()


def test_pressure_without_delays_is_told() -> None:
    frames = [
        replace(frame(0.001, pressure=Pressure(NS_PER_S // 2, 0)), end_ns=(1 + at) * NS_PER_S) for at in range(12)
    ]
    view = History(HOST, frames).view(ViewSettings())
    assert judge(view).rule == "pressure"


def test_a_filter_that_nothing_passes_is_no_verdict() -> None:
    assert judged(frame(0.5), "comm:other").rule == "nothing-passes"
    assert "of what the filter shows" in judged(frame(0.001), "comm:app").headline


def test_verdict_without_run_delays_judges_nothing() -> None:
    lost = MappingProxyType(dict.fromkeys((*LOST, "run_delay"), "why not"))
    assert judged(frame(0.5, unavailable=lost)).rule == "unavailable"


def test_verdict_leaves_out_hidden_tasks() -> None:
    host = replace(HOST, notes=(HIDDEN,))
    verdict = judge(History(host, [frame(0.001)]).view(ViewSettings()))
    assert "of all visible tasks together" in verdict.headline
    assert HIDDEN in verdict.evidence

"""Frames made for the verdict: slow waits of one cause, CPUs, quotas, tasks; and the verdict on them."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from schedtop.base.histogram import BUCKETS, bucket_index
from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.cpus import CPU_COUNTERS, CpuTable
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.latency import LatencyTable
from schedtop.model.rows import SLOW_WAIT_DTYPE, TASK_DTYPE, THROTTLING_DTYPE, Rows
from schedtop.model.short_lived import SHORT_LIVED_DTYPE
from schedtop.model.waits import BEGINNINGS, CAUSES, EVIDENCE
from schedtop.panes.verdict_band import VERDICT_LEVELS, verdict_band
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Verdict

MS = 1_000_000
WORD_BREAK = 16
"""Cells that may stay empty where a line breaks between words."""
HOST = Host("test", "6.18.0", "synthetic")
START = 1_000 * NS_PER_S
GROUPS = {
    7: "/system.slice/web.service",
    8: "/system.slice/web.service/worker",
    9: "/system.slice/web.service-2.service",
}


def waits(count: int = 50, cause: str = "preemption", evidence: str = "", wait_ns: int = 8 * MS, **fields: Any) -> Rows:
    """Slow waits on CPU 1, of `app (101)` and `app (102)` in turn, spread over the second."""
    rows = np.zeros(count, SLOW_WAIT_DTYPE)
    rows["tid"], rows["comm"] = 101 + np.arange(count) % 2, b"app"
    rows["wait_ns"], rows["time_ns"] = wait_ns, START + wait_ns + np.arange(count)
    rows["cpu"] = rows["enqueue_cpu"] = 1
    rows["idle_cpu"] = -1
    rows["kind"] = BEGINNINGS.index(cause if cause in BEGINNINGS else "preemption")
    rows["cause"], rows["evidence"] = CAUSES.index(cause), EVIDENCE.index(evidence)
    if cause == "idle-cpu":
        rows["idle_cpu"], rows["idle_cpu_ns"] = 0, wait_ns
        rows["allowed_cpus"] = 1 if evidence == "pinned" else 2
    if cause == "stolen":
        rows["stolen_ns"] = wait_ns * 3 // 4
    for name, value in fields.items():
        rows[name] = value
    return rows


def blocked(rows: Rows, *blockers: tuple[int, bytes, float]) -> Rows:
    """With blockers by share; a tid of 0 is the other one of the two tasks."""
    for place, (tid, comm, share) in enumerate(blockers):
        rows["blocker_tid"][:, place] = tid or np.where(rows["tid"] == 101, 102, 101)
        rows["blocker_comm"][:, place] = comm
        rows["blocker_ns"][:, place] = rows["wait_ns"] * share
        rows["covered_ns"] += (rows["wait_ns"] * share).astype(np.int64)
    return rows


def frame(
    slow: Rows | None = None,
    short: int = 500,
    short_ns: int = 40_000,
    busy: tuple[float, ...] = (0.06, 0.98),
    steal: float = 0.0,
    **parts: Any,
) -> Frame:
    """One second of CPUs with these busy ratios; the histogram fits the slow waits, unless they are throttled."""
    rows = waits(0) if slow is None else slow
    cpus, latency = CpuTable.empty(len(busy)), LatencyTable.empty(len(busy))
    column = {name: cpus.counters[:, index] for index, name in enumerate(CPU_COUNTERS)}
    column["accounted_ns"][:] = NS_PER_S
    column["busy_ns"][:] = np.array(busy) * NS_PER_S
    column["steal_ns"][:] = steal * NS_PER_S
    column["idle_ns"][:] = np.maximum(0, NS_PER_S - column["busy_ns"] - column["steal_ns"])
    queued = rows[rows["kind"] != BEGINNINGS.index("throttled")]
    every = np.concatenate((queued["wait_ns"], np.full(short, short_ns)))
    latency.counts[0, -1] = np.bincount(bucket_index(every), minlength=BUCKETS)
    latency.sum_ns[0, -1], latency.max_ns[0, -1] = every.sum(), every.max(initial=0)
    whole: dict[str, Any] = {
        "start_time_ns": START, "end_ns": NS_PER_S, "interval_ns": NS_PER_S, "cpus": cpus, "latency": latency,
        "tasks": np.zeros(0, TASK_DTYPE), "slow_waits": rows, "threshold_ns": 5 * MS, "cgroups": GROUPS,
    }  # fmt: skip
    return Frame(**(whole | parts))


def judged(made: Frame, words: str = "", seconds: int = 1) -> Verdict:
    """The verdict on the last of `seconds` such Frames. Whatever needs an action has one that a person can type."""
    frames = [replace(made, end_ns=second * NS_PER_S) for second in range(1, seconds + 1)]
    verdict = judge(History(HOST, frames).view(ViewSettings(filter=Filter.parse(words))))
    assert verdict.level not in ("notice", "alarm", "unknown") or verdict.command, verdict
    assert verdict.command in verdict.action
    assert_told_whole(verdict)
    return verdict


def assert_told_whole(verdict: Verdict, width: int = 78) -> None:
    """Headline and command are whole in the two lines of 80 columns, if these have the cells for both.

    Else the headline ends behind a clause.
    """
    band = ["".join(text for text, _ in line) for line in verdict_band(verdict, width, "v")]
    shown = " ".join(" ".join(band).split())
    assert all(len(line) == width for line in band), band
    # What is to be left is told before what only looks closer.
    advice = verdict.action.removesuffix(f"; to look closer: {verdict.command}")
    assert (verdict.command if advice == verdict.action else advice) in shown, band
    level = VERDICT_LEVELS[verdict.level]
    taken = len(f" {level.sign} {level.word}  → ") + len(verdict.headline) + len(verdict.command)
    if taken + WORD_BREAK <= 2 * width:
        assert verdict.headline in shown, band
    else:
        clauses = [verdict.headline[: found.start()] for found in re.finditer(r"[,;] | \(|(?<=\))", verdict.headline)]
        assert verdict.headline in shown or any(f"{clause} …" in shown for clause in clauses), band


def quota(group: int = 7, throttled: int = 4, periods: int = 10) -> Rows:
    rows = np.zeros(1, THROTTLING_DTYPE)
    rows["cgroup_id"], rows["periods"], rows["throttled_periods"] = group, periods, throttled
    return rows


def tasks(**fields: Any) -> Rows:
    rows = np.zeros(1, TASK_DTYPE)
    rows["tid"], rows["comm"], rows["start_ns"] = 900, b"ffmpeg", 1
    for name, value in fields.items():
        rows[name] = value
    return rows


def pinned(count: int = 50, **fields: Any) -> Rows:
    return blocked(waits(count, "idle-cpu", "pinned", **fields), (0, b"app", 1.0))


def short_lived(count: int, run_ns: int, comm: bytes = b"sh", parent: bytes = b"make", tgid: int = 12) -> Rows:
    rows = np.zeros(1, SHORT_LIVED_DTYPE)
    rows["comm"], rows["parent"], rows["parent_tgid"] = comm, parent, tgid
    rows["count"], rows["run_ns"], rows["run_delay_ns"] = count, count * run_ns, count * MS
    return rows

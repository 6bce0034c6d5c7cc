"""Blame on the made-up host: slow waits, pairs, quotas and groups that fit its tasks and latency."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from schedtop.base.histogram import BUCKETS, LOW_NS
from schedtop.model.counts import Attribution
from schedtop.model.group_latency import GroupLatency
from schedtop.model.latency import LatencyTable
from schedtop.model.rows import (
    BLOCKERS,
    PAIR_DTYPE,
    SLOW_WAIT_DTYPE,
    TASK_NAME_FIELDS,
    THROTTLING_DTYPE,
    WAIT_KINDS,
    Integers,
    Rows,
)
from schedtop.model.waits import Cause, Distance, Evidence

_POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0.slice"
CGROUPS: Mapping[int, str] = MappingProxyType(
    {
        1: "/",
        2101: "/user.slice/user-1000.slice/session-3.scope",
        2102: "/system.slice/nginx.service",
        2103: "/system.slice/docker-4f5ab1c09d3e" + "7a" * 26 + ".scope",
        2104: "/system.slice/docker-c81e728d9d4c" + "2f" * 26 + ".scope",
        2105: f"{_POD}/cri-containerd-9b74c9897bac" + "77" * 26 + ".scope",
        2106: "/system.slice/postgresql@16-main.service",
        2107: "/system.slice/ssh.service",
    }
)
_OF_TASKS = tuple(CGROUPS)[1:]
_WITH_QUOTA = (2103, 2105)
_HOST_NAMESPACE = 4026531836

_PARTS = {"over_budget_ns": 0.01, "uncovered_ns": 0.02, "idle_ns": 0.03, "others_ns": 0.04, "unpaired_ns": 0.005}
_SHARES = (0.62, 0.24, 0.1, 0.04)
_VICTIMS = 100
_TYPICAL_WAIT_NS = 700_000


def place(tasks: Rows) -> None:
    """Gives every task its cgroup and pid namespace, by process."""
    groups = np.array(_OF_TASKS)[tasks["tgid"] // 4 % len(_OF_TASKS)]
    tasks["cgroup_id"] = groups
    tasks["pid_namespace"] = _HOST_NAMESPACE
    for cgroup in (2103, 2104, 2105):
        tasks["pid_namespace"][groups == cgroup] = _HOST_NAMESPACE + 500 + cgroup


def slow_waits(start: int, interval_ns: int, victims: Rows, others: list[Rows], wait_ns: Integers) -> Rows:
    """Waits of these tasks in order of time. The others are preemptors, then previous ones, then wakers."""
    rows = np.zeros(len(victims), SLOW_WAIT_DTYPE)
    rng = np.random.default_rng([start, len(rows)])
    rows["time_ns"] = start + np.sort(rng.integers(interval_ns, size=len(rows)))
    rows["wait_ns"] = wait_ns
    for name in ("tid", "tgid", "comm", "process", "cgroup_id", "pid_namespace"):
        rows[name] = victims[name]
    rows["cpu"] = rows["enqueue_cpu"] = victims["last_cpu"]
    rows["kind"] = rows["cause"] = rng.integers(2, size=len(rows))
    rows["idle_cpu"], rows["allowed_cpus"] = -1, 2
    rows["queue_length"], rows["fair_queue_length"] = 1 + rows["tid"] % 4, rows["tid"] % 4
    preempted = rows["kind"] == 1
    for name, other, wanted in zip(
        ("preemptor", "previous", "waker"), others, (preempted, np.ones(len(rows), bool), ~preempted), strict=True
    ):
        rows[f"{name}_tid"] = np.where(wanted, other["tid"], 0)
        rows[f"{name}_comm"] = np.where(wanted, other["comm"], b"")
    _block(rows, others, rng)
    _special(rows, rng)
    return rows


def _block(rows: Rows, others: list[Rows], rng: np.random.Generator) -> None:
    """The blockers: one after another of three, some of it unknown for each fourth."""
    covered = np.where(np.arange(len(rows)) % 4 == 3, 0.7, 1.0) * rows["wait_ns"]
    rows["covered_ns"] = covered
    rows["switches"] = 1 + rng.poisson(12, len(rows))
    for place, other in enumerate(others[:BLOCKERS]):
        rows["blocker_ns"][:, place] = covered * _SHARES[place]
        rows["blocker_tid"][:, place], rows["blocker_comm"][:, place] = other["tid"], other["comm"]
    rest = rows["covered_ns"] - rows["blocker_ns"].sum(axis=1)
    rows["cpu_idle_ns"] = rest // 3
    rows["others_ns"] = rest - rows["cpu_idle_ns"]


def _special(rows: Rows, rng: np.random.Generator) -> None:
    """The rarer causes."""
    chance = rng.random(len(rows))
    for cause, low, high in ((Cause.STOLEN, 0.0, 0.08), (Cause.IDLE_CPU, 0.08, 0.2)):
        rows["cause"][(chance >= low) & (chance < high)] = cause
    rows["stolen_ns"] = np.where(rows["cause"] == Cause.STOLEN, rows["wait_ns"] * 7 // 10, 0)
    idle = rows["cause"] == Cause.IDLE_CPU
    rows["idle_cpu"][idle] = rows["cpu"][idle] + 1
    rows["idle_cpu_ns"][idle] = rows["wait_ns"][idle] * 8 // 10
    rows["allowed_cpus"][idle] = np.where(chance[idle] < 0.14, 1, 2)
    rows["idle_distance"][idle] = Distance.SAME_CACHE
    rows["evidence"][idle] = np.where(chance[idle] < 0.14, Evidence.PINNED, Evidence.NOT_BALANCED)


def pairs(tasks: Rows, latency: LatencyTable) -> tuple[Rows, Attribution]:
    """Pairs and the account of all waits: looked-at waits are pairs and parts, together never more than what ended."""
    ended = int(latency.sum_ns.sum())
    looked_at = int(ended * 0.96)
    parts = {name: int(looked_at * share) for name, share in _PARTS.items()}
    in_pairs = looked_at - sum(value for name, value in parts.items() if name != "over_budget_ns")
    heavy = np.argsort(-tasks["run_ns"], kind="stable")[: len(_SHARES) + 1]
    victims = np.argsort(-tasks["run_delay_ns"], kind="stable")[:_VICTIMS]
    weight = tasks["run_delay_ns"][victims] / max(1, int(tasks["run_delay_ns"][victims].sum()))
    made = []
    for turn, share in enumerate(_SHARES):
        others = heavy[(np.arange(len(victims)) + turn) % len(heavy)]
        # No task waits for itself: the one without a turn stands in.
        others = np.where(others == victims, heavy[(np.arange(len(victims)) + len(_SHARES)) % len(heavy)], others)
        rows = np.zeros(len(victims), PAIR_DTYPE)
        for name in TASK_NAME_FIELDS:
            rows[f"victim_{name}"], rows[f"other_{name}"] = tasks[name][victims], tasks[name][others]
        rows["blocked_ns"] = in_pairs * share * weight
        rows["waits"] = 1 + rows["blocked_ns"] // _TYPICAL_WAIT_NS
        rows["preempted_ns"] = int(latency.sum_ns[1].sum()) * 0.9 * share * weight
        rows["preemptions"] = -(-rows["preempted_ns"] // _TYPICAL_WAIT_NS)
        made.append(rows[(victims != others) & (rows["blocked_ns"] > 0)])
    found = np.concatenate(made)
    lost = in_pairs - int(found["blocked_ns"].sum())
    return found, Attribution(looked_at, **{**parts, "unpaired_ns": parts["unpaired_ns"] + lost})


def throttling(number: int, interval_ns: int) -> Rows:
    """The two groups with a quota; one of them is short of it from time to time."""
    rows = np.zeros(len(_WITH_QUOTA), THROTTLING_DTYPE)
    rows["cgroup_id"] = _WITH_QUOTA
    rows["periods"] = interval_ns // 100_000_000
    wave = np.clip(np.sin(number / 15 + np.array([0.0, 2.0])), 0, 1) * (0.8, 0.3)
    rows["throttled_periods"] = np.round(rows["periods"] * wave)
    rows["throttled_ns"] = rows["throttled_periods"] * 37_000_000
    rows["pressure_ns"] = rows["throttled_ns"] + interval_ns // 50
    rows["quota_ns"], rows["period_ns"] = 50_000_000, 100_000_000
    return rows


def groups(kind: str, tasks: Rows, latency: LatencyTable) -> GroupLatency | None:
    """Latency by an id field of GROUPS: each group's share of all waits is its share of the run delay."""
    if not kind:
        return None
    ids, places = np.unique(tasks[kind].astype(np.uint64), return_inverse=True)
    delay = np.bincount(places, tasks["run_delay_ns"], len(ids))
    share = delay / max(1.0, float(delay.sum()))
    kinds = [np.rint(latency.histogram(name).counts * share[:, None]).astype(np.int64) for name in WAIT_KINDS]
    counts = np.stack(kinds, axis=1).reshape(-1, BUCKETS)
    numbers = np.tile(np.arange(len(WAIT_KINDS), dtype=np.int8), len(ids))
    used = counts.any(axis=1)
    sums = (counts * LOW_NS).sum(axis=1)
    return GroupLatency(kind, np.repeat(ids, len(WAIT_KINDS))[used], counts[used], sums[used], numbers[used])

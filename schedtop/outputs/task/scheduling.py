"""How a task came to run, in the report to read: waits, what woke and preempted it, its CPUs and attributes."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.base.units import format_count, format_counted, format_ns, format_round_ns, plural, printable
from schedtop.task import Peer, TaskFrame

PEERS = 8
"""How many of each are shown at most."""


def switches_text(task: TaskFrame) -> str:
    """How often it gave up a CPU, was taken off one, and changed to another."""
    parts = [
        f"voluntary switches {format_count(task.voluntary_switches)}",
        f"involuntary {format_count(task.involuntary_switches)}",
    ]
    if "migrations" not in task.unavailable:
        parts.append(f"migrations {format_count(task.migrations)}")
    return "  ".join(parts)


def attributes_text(task: TaskFrame) -> str:
    """How the scheduler is told to treat it."""
    attributes = task.attributes
    if not attributes:
        return "Attributes: not available"
    cpus = format_counted(attributes.allowed_cpus, "CPU")
    words = [f"affinity {attributes.affinity} ({cpus})", f"policy {attributes.policy}"]
    words += [f"priority {attributes.rt_priority}"] if attributes.rt_priority else []
    words += [f"nice {attributes.nice}"]
    words += [] if attributes.weight is None else [f"weight {attributes.weight}"]
    words += [] if attributes.slice_ns is None else [f"time slice {format_round_ns(attributes.slice_ns)}"]
    words += [f"cgroup {attributes.cgroup or '?'}"]
    words += [] if attributes.cgroup_weight is None else [f"(its weight {attributes.cgroup_weight})"]
    lines = ["  ".join(words)]
    if quota := attributes.quota:
        periods = f"{quota.throttled_periods} of {quota.periods} {plural(quota.periods, 'period')}"
        used = f"throttled in {periods}, for {format_ns(quota.throttled_ns)}"
        lines.append(
            f"quota {format_round_ns(quota.quota_ns)} in each {format_round_ns(quota.period_ns)} (cgroup "
            f"{quota.cgroup}): {used}, all of the group and its CPUs together"
        )
    return "\n".join(lines)


def waits_text(task: TaskFrame) -> str:
    """How long it waited for a CPU."""
    waits = task.waits
    if not waits.count:
        return "Waits for a CPU: none ended"
    times = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
    words = [f"{name} {format_ns(waits.percentile_ns(ratio))}" for name, ratio in times.items()]
    return f"Waits for a CPU: {format_count(waits.count)}  " + "  ".join([*words, f"max {format_ns(waits.max_ns)}"])


def wakers_text(task: TaskFrame) -> str:
    """What woke it, and what it woke."""
    if "wakers" in task.unavailable:
        return ""
    return f"Woken by: {_peers(task.wakers)}\nWakes: {_peers(task.wakees)}"


def _peers(peers: Sequence[Peer]) -> str:
    words = [f"{_name(peer)} ×{format_count(peer.count)}" for peer in peers[:PEERS]]
    words += [f"{len(peers) - PEERS} more"] if len(peers) > PEERS else []
    return ", ".join(words) or "none"


def _name(peer: Peer) -> str:
    return peer.words(printable(peer.comm) or "?")


def preemptors_text(task: TaskFrame) -> str:
    """What took its CPU."""
    peers = [
        f"{_name(peer)} ×{format_count(peer.count)}, {format_ns(peer.wait_ns)}" for peer in task.preemptors[:PEERS]
    ]
    return "Preempted by (and for how long): " + "; ".join(peers) if peers else ""


def cpus_text(task: TaskFrame) -> str:
    """Where it ran."""
    if not task.cpus:
        return "CPUs: it did not run"
    most = sorted(task.cpus, key=lambda use: -use.run_ns)
    words = [f"{use.cpu}: {format_ns(use.run_ns)} in {format_counted(use.timeslices, 'slice')}" for use in most[:PEERS]]
    words += [f"{len(most) - PEERS} more"] if len(most) > PEERS else []
    return "CPUs  " + "   ".join(words)

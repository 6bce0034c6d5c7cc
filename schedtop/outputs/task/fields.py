"""A TaskFrame as data: the JSON contract `schedtop.task/1`, described in docs/task.md."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from schedtop import __version__
from schedtop.base.units import iso_time
from schedtop.model.host import Host
from schedtop.model.rows import Rows, text
from schedtop.model.waits import BEGINNINGS, CAUSES, EVIDENCE
from schedtop.outputs.plain import json_text
from schedtop.outputs.scheduler.blame import task_ref, woken_by
from schedtop.outputs.scheduler.snapshot import histogram_fields
from schedtop.outputs.task.entitlement import entitlement_fields
from schedtop.task import (
    Attributes,
    Peer,
    StateTimes,
    TaskFrame,
    connection_counts,
    exit_words,
    waited_before_ns,
)

SCHEMA = "schedtop.task/1"


def to_json(task: TaskFrame, host: Host, threshold_ns: int | None, ended_early: str = "") -> str:
    """The report as text, ending with a newline; the arguments as in `task_report`."""
    return json_text(task_report(task, host, threshold_ns, ended_early))


def task_report(task: TaskFrame, host: Host, threshold_ns: int | None, ended_early: str = "") -> dict[str, Any]:
    """The TaskFrame as plain objects; what is not available is `None`.

    `threshold_ns`: from where on a wait is slow, `None`: none were looked for. `ended_early`: why it is shorter than it
    was to be; empty: it is not, unless the task has ended.
    """
    has = Available(task)
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "host": host.name,
        "kernel": host.kernel,
        "source": host.source,
        "start_time": iso_time(task.start_time_ns),
        "interval_ns": task.interval_ns,
        "threshold_ns": threshold_ns,
        "ended_early": early_words(task, ended_early) or None,
        "task": {
            "tid": task.tid,
            "tgid": task.tgid,
            "whole_process": task.whole_process,
            "comm": task.comm,
            "process": task.process,
            "command_line": task.command_line,
            "ended": task.ended,
            "exit_code": task.exit_code,
            "process_threads": task.process_threads or None,
            "threads_started": task.threads_started,
        },
        "states": _states(task.states, has),
        "strip": [{"duration_ns": c.duration_ns, "states": _states(c.states, has)} for c in task.strip],
        "runqueue_latency": histogram_fields(task.waits),
        "wakers": has("wakers", [_peer(peer) | {"woken_by": peer.source} for peer in task.wakers]),
        "wakees": has("wakers", [_peer(peer) | {"woken_by": peer.source} for peer in task.wakees]),
        "preemptors": [_peer(peer) for peer in task.preemptors],
        "cpus": [asdict(cpu) for cpu in task.cpus],
        "migrations": has("migrations", task.migrations),
        "voluntary_switches": task.voluntary_switches,
        "involuntary_switches": task.involuntary_switches,
        "attributes": _attributes(task.attributes),
        "entitlement": entitlement_fields(task.entitlement) if task.entitlement else None,
        "slow_waits": has("slow waits", [_slow_wait(task, row) for row in _by_length(task.slow_waits)]),
        "syscalls": has("syscalls", [asdict(call) | {"errors": dict(call.errors)} for call in _plain(task)]),
        "slow_syscalls": has(
            "syscalls", [{"time": iso_time(c.time_ns)} | _without_time(asdict(c)) for c in task.slow_calls]
        ),
        "ongoing_syscalls": has("syscalls", [asdict(call) for call in task.ongoing]),
        "page_faults": asdict(task.faults) if task.faults else None,
        "io": has("io", has("syscalls", [asdict(one) for one in task.io])),
        "network": has("network", [asdict(one) for one in task.traffic]),
        "connections": has(
            "connections", [{"time": iso_time(c.time_ns)} | _without_time(asdict(c)) for c in task.connections]
        ),
        "connection_counts": has("connections", connection_counts(task.transitions)),
        "connection_transitions": has("connections", [asdict(one) for one in task.transitions]),
        "threads": [
            {name: value for name, value in asdict(thread).items() if name != "states"}
            | {"states": _states(thread.states, has)}
            for thread in task.threads
        ],
        "unavailable": dict(task.unavailable),
        "loss": asdict(task.loss),
    }


def early_words(task: TaskFrame, otherwise: str) -> str:
    """Why it is shorter than it was to be: because the task has ended, or what else there is."""
    return f"it has ended{exit_words(task.exit_code)}" if task.ended else otherwise


class Available:
    """Values of parts that are there; of others `None`."""

    def __init__(self, task: TaskFrame) -> None:
        self._unavailable = task.unavailable

    def __call__(self, part: str, value: Any) -> Any:
        return None if part in self._unavailable else value


def _plain(task: TaskFrame) -> list[Any]:
    """Its system calls, with errors as a dict: `asdict` cannot copy a mapping proxy."""
    return [replace(call, errors=dict(call.errors)) for call in task.syscalls]


def _peer(peer: Peer) -> dict[str, Any]:
    return {"tid": peer.tid, "comm": peer.comm, "count": peer.count, "wait_ns": peer.wait_ns}


def _states(states: StateTimes, has: Available) -> dict[str, Any]:
    return asdict(states) | {"throttled_ns": has("throttled", states.throttled_ns)}


def _attributes(attributes: Attributes | None) -> dict[str, Any] | None:
    return asdict(attributes) if attributes else None


def _without_time(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "time_ns"}


def _by_length(waits: Rows) -> list[Any]:
    return sorted(waits, key=lambda row: -int(row["wait_ns"]))


def _slow_wait(task: TaskFrame, row: Any) -> dict[str, Any]:
    blockers = zip(row["blocker_tid"].tolist(), row["blocker_comm"].tolist(), row["blocker_ns"].tolist(), strict=True)
    wait_ns = int(row["wait_ns"])
    return {
        "time": iso_time(int(row["time_ns"])),
        "tid": int(row["tid"]),
        "comm": text(row["comm"]),
        "cpu": int(row["cpu"]),
        "enqueue_cpu": int(row["enqueue_cpu"]),
        "wait_ns": wait_ns,
        "before_ns": waited_before_ns(task, row),
        "began": BEGINNINGS[row["kind"]],
        "cause": CAUSES[row["cause"]],
        "evidence": EVIDENCE[row["evidence"]] or None,
        "preemptor": task_ref(int(row["preemptor_tid"]), row["preemptor_comm"]),
        "previous": task_ref(int(row["previous_tid"]), row["previous_comm"]),
        "waker": task_ref(int(row["waker_tid"]), row["waker_comm"]),
        "woken_by": woken_by(row["woken_by"], row["waker_tid"]),
        "blockers": [{"tid": tid, "comm": text(comm), "run_ns": ns} for tid, comm, ns in blockers if ns],
        "blockers_cover_ratio": round(min(1.0, int(row["covered_ns"]) / wait_ns), 6) if wait_ns else None,
    }

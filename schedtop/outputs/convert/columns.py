"""What the columns of the tables hold: their names, kinds and meanings, the same as in docs/fleet.md."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from schedtop.model.cpus import CPU_COUNTERS
from schedtop.model.rows import TASK_SUMS

Columns = Mapping[str, str]
"""The kind of each column: `int`, `text`, `time`, `day` or `flag`."""


def _integers(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "int")


def _texts(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "text")


COMMON: Columns = MappingProxyType(
    {**_texts("host", "boot_id", "kernel", "recording"), "date": "day", "start_time": "time", "interval_ns": "int"}
)
"""What each row of each table begins with."""

_TASK = _texts("comm", "process", "cgroup", "container", "service")
_PAIR_SUMS = ("preemptions", "preempted_ns", "waits", "blocked_ns")

TABLES: Mapping[str, Columns] = MappingProxyType(
    {
        "intervals": {
            **_texts("source", "tool_version"),
            "virtualised": "flag",
            **_integers("threshold_ns", "cpus", "kernel_switches", *CPU_COUNTERS, "queue_length"),
            **_integers("waits", "wait_ns", "p50_ns", "p99_ns", "max_wait_ns", "slow_waits", "slow_wait_ns"),
            **_integers("throttled_periods", "throttled_ns", "pressure_some_ns", "pressure_full_ns"),
            **_integers("short_lived", "lost"),
        },
        "cpus": _integers("cpu", *CPU_COUNTERS, "queue_length", "waits", "wait_ns", "max_wait_ns"),
        "latency": {**_texts("kind"), **_integers("low_ns", "high_ns", "waits")},
        "tasks": {
            **_integers("tid", "tgid"),
            **_TASK,
            **_integers(*TASK_SUMS, "max_wait_ns", "waiting_ns", "last_cpu"),
            **_texts("policy"),
            **_integers("nice", "priority"),
        },
        "waits": {
            "time": "time",
            **_integers("wait_ns", "tid", "tgid"),
            **_TASK,
            **_integers("cpu", "enqueue_cpu"),
            **_texts("began", "cause", "evidence"),
            **_integers("covered_ns", "stolen_ns", "throttled_ns", "interrupted_ns", "queue_length", "idle_cpu"),
            **_texts("blocker"),
            **_integers("blocker_tid", "blocker_ns"),
            **_texts("preemptor", "waker"),
        },
        "pairs": {
            **{f"victim_{name}": kind for name, kind in _TASK.items()},
            **{f"other_{name}": kind for name, kind in _TASK.items()},
            **_integers(*_PAIR_SUMS),
        },
        "throttling": {
            **_texts("cgroup", "container", "service"),
            **_integers("periods", "throttled_periods", "throttled_ns", "pressure_ns", "quota_ns", "period_ns"),
        },
    }
)
"""The tables, each with its columns after COMMON."""

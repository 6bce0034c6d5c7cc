"""Reports of many recordings added up, one after the other: memory grows with hosts and names, not with files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from itertools import count
from typing import Any

from schedtop.base.units import NS_PER_S, format_round_ns, plural
from schedtop.model.containers import cgroup_label
from schedtop.outputs.convert.service import service_name
from schedtop.outputs.diff.tasks import NUMBERED
from schedtop.outputs.fleet.hosts import HostBoot, Numbers
from schedtop.outputs.fleet.sums import Known, Sums
from schedtop.outputs.report.interrupts import timed_ns
from schedtop.outputs.words import filter_words

SERVICE_VALUES = ("run_delay_ns", "run_ns", "timeslices", "tasks", "max_wait_ns")
BLAME_VALUES = ("blocked_ns", "waits")

Blame = tuple[str, str, int, int]
"""Victim and blocker as services, for how long, and in how many waits."""

_IO_VALUES = ("io_ns", "reads", "writes", "fsyncs")


@dataclass(frozen=True, slots=True)
class TaskKey:
    """Tasks that count as one in a comparison: names of process and thread, and the short name of the cgroup."""

    process: str
    comm: str
    cgroup: str


@dataclass(slots=True)
class Activity:
    """What was measured of activity: over how long, its totals, and I/O by name."""

    measured_ns: int = 0
    totals: dict[str, Known] = field(default_factory=dict)
    rows: Sums[str] = field(default_factory=Sums)

    def add(self, found: Mapping[str, Any]) -> None:
        """Adds that of one report."""
        self.measured_ns += found["measured_ns"]
        for name, value in found["totals"].items():
            self.totals.setdefault(name, Known()).add(value, found["measured_ns"])
        for row in found["rows"]:
            if row["io_ns"] is not None and row["comm"]:
                self.rows.add(row["comm"], [row[name] or 0 for name in _IO_VALUES])


@dataclass(slots=True)
class Together:
    """The reports of several recordings. `top`: how many of the slowest waits are kept.

    `settings`: for each setting its values, and the hosts that have them; `left_out`: files that could not be read,
    and why; `complete`: whether all tasks of all recordings are known.
    """

    top: int
    numbers: Numbers = field(default_factory=Numbers)
    boots: dict[tuple[str, str | None], HostBoot] = field(default_factory=dict)
    settings: dict[str, dict[str, dict[str, None]]] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    services: Sums[str] = field(default_factory=lambda: Sums((SERVICE_VALUES.index("max_wait_ns"),)))
    tasks: Sums[TaskKey] = field(default_factory=Sums)
    blame: Sums[tuple[str, str]] = field(default_factory=Sums)
    interrupts: Sums[tuple[str, str]] = field(default_factory=Sums)
    interrupts_ns: int = 0
    activity: Activity = field(default_factory=Activity)
    unavailable: dict[str, str] = field(default_factory=dict)
    filters: Mapping[str, Any] = field(default_factory=dict)
    files: int = 0
    complete: bool = True
    _slowest: list[tuple[int, int, str, dict[str, Any]]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)
    _places: dict[str, int] = field(default_factory=dict)

    def add(self, data: Mapping[str, Any], file: str, blame: Iterable[Blame], boot_id: str | None = None) -> None:
        """Adds the report of one recording, with all its tasks. Raises what a report that lacks something does."""
        key = (data["host"], boot_id)
        host = self.boots.get(key)
        if host is None:
            place = self._places.setdefault(data["host"], len(self._places))
            host = self.boots[key] = HostBoot(place, *key, _facts(data))
        host.add(data, file)
        self.files += 1
        self.numbers.add(data)
        self.filters = self.filters or data["filters"]
        for name, value in _settings(data).items():
            self.settings.setdefault(name, {}).setdefault(value, {})[data["host"]] = None
        self.unavailable |= data["unavailable"]
        self._add_tasks(data, host)
        self._add_blame(blame, host, data["interval_ns"])
        self._add_measured(data)
        for wait in data["slow_waits"] or ():
            self._add_wait(wait, data["host"])

    def leave_out(self, file: str, reason: str) -> None:
        """Notes a file that is in none of the sums."""
        self.left_out.append((file, reason))

    @property
    def slow_waits(self) -> list[tuple[str, dict[str, Any]]]:
        """The longest waits, each with its host."""
        return [(host, wait) for _, _, host, wait in sorted(self._slowest, key=lambda item: (-item[0], -item[1]))]

    @property
    def host_names(self) -> list[str]:
        """Their names, each once."""
        return list(self._places)

    @property
    def threshold_ns(self) -> int | None:
        """That of all; `None` if they differ."""
        found = {boot.facts["threshold_ns"] for boot in self.boots.values()}
        return found.pop() if len(found) == 1 and len(self.settings["slow waits"]) == 1 else None

    def _add_tasks(self, data: Mapping[str, Any], host: HostBoot) -> None:
        tasks = data["tasks"]
        self.complete &= tasks is not None and len(tasks) == data["counts"].get("tasks")
        here: dict[str, int] = {}
        for task in tasks or ():
            comm, process = task["comm"], task["process"] or task["comm"]
            delay_ns, run_ns = task["run_delay_ns"] or 0, task["run_ns"] or 0
            service = service_name(task["cgroup"] or "", process)
            values = (delay_ns, run_ns, task["timeslices"] or 0, 1, task["max_wait_ns"] or 0)
            self.services.add(service, values).hosts |= 1 << host.place
            here[service] = here.get(service, 0) + delay_ns
            label = cgroup_label(task["cgroup"]) if task["cgroup"] else ""
            key = TaskKey(NUMBERED.sub("/*", process), NUMBERED.sub("/*", comm), label)
            self.tasks.add(key, (delay_ns, task["timeslices"] or 0))
        for service, delay_ns in here.items():
            row = self.services.add(service, (0,) * len(SERVICE_VALUES))
            row.worst = max(row.worst, (delay_ns * NS_PER_S / data["interval_ns"], data["host"]))

    def _add_blame(self, blame: Iterable[Blame], host: HostBoot, span_ns: int) -> None:
        for victim, blocker, blocked_ns, waits in blame:
            row = self.blame.add((victim, blocker), (blocked_ns, waits))
            row.hosts |= 1 << host.place
            row.worst = max(row.worst, (blocked_ns * NS_PER_S / span_ns, host.name))

    def _add_measured(self, data: Mapping[str, Any]) -> None:
        """Interrupts and activity, of the recordings that have them."""
        if data["interrupts"]:
            self.interrupts_ns += timed_ns(data)
            for row in data["interrupts"]["by_source"]:
                self.interrupts.add((row["kind"], row["name"]), (row["total_ns"], row["count"]))
        if data["activity"]:
            self.activity.add(data["activity"])

    def _add_wait(self, wait: dict[str, Any], host: str) -> None:
        # The first one among equals, so that the order of files decides.
        item = (int(wait["wait_ns"]), -next(self._order), host, wait)
        if len(self._slowest) < self.top:
            heappush(self._slowest, item)
        elif self._slowest and item > self._slowest[0]:
            heapreplace(self._slowest, item)


def _facts(data: Mapping[str, Any]) -> dict[str, Any]:
    recording = data["recording"] or {}
    return {
        "kernel": data["kernel"],
        "source": data["source"],
        "tool_version": recording.get("tool_version", data["tool_version"]),
        "cpus": len(data["cpus"]),
        "threshold_ns": data["threshold_ns"],
        "filters": filter_words(data["filters"]),
    }


def _settings(data: Mapping[str, Any]) -> dict[str, str]:
    """What should be the same on all hosts, in words."""
    facts = _facts(data)
    return {
        "slow waits": f"{format_round_ns(facts['threshold_ns'])} and longer",
        "filters": facts["filters"] or "none",
        "source": facts["source"],
        "kernel": facts["kernel"],
        "schedtop": facts["tool_version"],
        "CPUs": f"{facts['cpus']} {plural(facts['cpus'], 'CPU')}",
        "interrupts": "timed" if data["interrupts"] else "not timed",
        "activity": "measured" if data["activity"] else "not measured",
    }

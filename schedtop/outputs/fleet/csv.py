"""Tables of several recordings as CSV: hosts, services, slow waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schedtop.outputs.fleet.hosts import COUNTERS, SHARES
from schedtop.outputs.report.csv import WAIT_FIELDS, wait_cells
from schedtop.outputs.report.words import Data
from schedtop.outputs.scheduler.snapshot import PERCENTILES
from schedtop.outputs.tables import csv_facts, csv_rows

HOST_FIELDS = (
    *("host", "boot_id", "kernel", "source", "tool_version", "cpus", "threshold_ns", "filters", "files"),
    *("start_time", "end_time", "interval_ns", "level", "rule", "headline", "waits", *PERCENTILES, "max_ns"),
    *("slow_waits", *COUNTERS, *SHARES, "pressure_ratio", "throttled_periods", "throttled_ns", "lost"),
)
SERVICE_FIELDS = (
    *("service", "hosts", "tasks", "run_delay_ns", "run_ns", "timeslices", "max_wait_ns"),
    *("worst_host", "worst_ns_per_second"),
)

TABLES = ("hosts", "services", "waits")


def to_csv(data: Data, name: str) -> str:
    """One of TABLES, after lines that say what it is made of."""
    facts = {"schedtop": data["tool_version"]}
    facts |= {name: data[name] for name in ("start_time", "end_time", "host_time_ns", "threshold_ns")}
    facts |= {name: data["counts"][name] for name in ("files", "hosts", "boots")}
    warnings = {"warnings": "; ".join(data["warnings"])} if data["warnings"] else {}
    preamble = csv_facts(facts | warnings, data["loss"], {})
    if name == "services":
        return preamble + csv_rows(SERVICE_FIELDS, data["services"])
    if name == "waits":
        rows = ({"host": wait["host"], **wait_cells(wait)} for wait in data["slow_waits"])
        return preamble + csv_rows(("host", *WAIT_FIELDS), rows)
    return preamble + csv_rows(HOST_FIELDS, _hosts(data["hosts"]))


def _hosts(hosts: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    for host in hosts:
        yield {
            **host,
            **host["totals"],
            **{name: host["verdict"][name] for name in ("level", "rule", "headline")},
            "files": "; ".join(host["files"]),
            "lost": sum(host["loss"].values()),
        }

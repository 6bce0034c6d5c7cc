"""Activity added up since the start, and as metric families: docs/metrics-names.md, Activity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType

import numpy as np
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from schedtop.activity.activity import Activity
from schedtop.activity.fields import absent_fields
from schedtop.base.units import NS_PER_S, printable
from schedtop.model.activity import ActivityLoss
from schedtop.model.activity_rows import reads, writes
from schedtop.model.rows import Integers, Rows
from schedtop.outputs.metrics.groups import GroupCounts, GroupTotals
from schedtop.outputs.metrics.labels import labels_of

ENTRY_EVENTS = 600
"""A group that made 10 system calls, page faults or messages a second during the last minute gets a series."""

_EVENTS = ("syscalls", "minor_faults", "major_faults", "tcp_rx_messages", "tcp_tx_messages", "udp_rx_packets")

METRICS = {
    "syscalls": ("syscalls", "System calls."),
    "syscall_errors": ("syscall_errors", "System calls that failed."),
    "syscall_ns": ("syscall_seconds", "Time in system calls, blocked time included."),
    "reads": ("reads", "Calls that read from a descriptor."),
    "writes": ("writes", "Calls that wrote to a descriptor."),
    "read_bytes": ("read_bytes", "What they read."),
    "write_bytes": ("write_bytes", "What they wrote."),
    "opens": ("opens", "Files that were opened."),
    "fsyncs": ("fsyncs", "Calls that brought a file to its disk."),
    "fsync_ns": ("fsync_seconds", "Time in these."),
    "minor_faults": ("minor_faults", "Page faults without a disk."),
    "major_faults": ("major_faults", "Page faults that waited for a disk."),
    "fault_ns": ("fault_seconds", "Time in page faults."),
    "reclaims": ("reclaims", "Times that a task had to free memory itself."),
    "reclaim_ns": ("reclaim_seconds", "Time in that."),
    "tcp_rx_bytes": ("tcp_received_bytes", "Received over TCP."),
    "tcp_tx_bytes": ("tcp_sent_bytes", "Sent over TCP."),
    "tcp_rx_packets": ("tcp_received_segments", "TCP segments received, those without data among them."),
    "tcp_tx_packets": ("tcp_sent_segments", "TCP segments sent."),
    "tcp_connects": ("tcp_connects", "TCP connections that were opened."),
    "tcp_accepts": ("tcp_accepts", "TCP connections that were accepted."),
    "tcp_failures": ("tcp_failures", "TCP connections that could not be opened."),
    "tcp_resets": ("tcp_resets", "TCP connections that a reset, or silence of the peer, ended."),
    "tcp_retransmits": ("tcp_retransmits", "TCP segments that were sent again."),
    "udp_rx_bytes": ("udp_received_bytes", "Received over UDP."),
    "udp_tx_bytes": ("udp_sent_bytes", "Sent over UDP."),
}
"""What is kept of a group: fields of a row of `schedtop activity`; the end of the metric's name, and its meaning."""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedActivity:
    """All counters since the start; never changed afterwards. `absent`: names of METRICS that are not told."""

    by: str
    groups: GroupCounts
    transitions: Mapping[tuple[str, str], int]
    absent: frozenset[str]
    unavailable: Mapping[str, str]
    loss: ActivityLoss


class ActivityTotals:
    """Adds activity up. Only the thread that collects uses it."""

    def __init__(self, by: str, most: int, hidden_tgids: tuple[int, ...] = ()) -> None:
        """`by`: `cgroup`, `process` or `container`; `most`: how many of them have series of their own."""
        self._by, self._hidden = by, hidden_tgids
        self._groups = GroupTotals(len(METRICS), most, ENTRY_EVENTS)
        self._transitions: dict[tuple[str, str], int] = {}
        self._loss = ActivityLoss()

    def add(self, activity: Activity) -> PublishedActivity:
        """Adds the next interval; what there is then."""
        rows = activity.rows[~np.isin(activity.rows["tgid"], self._hidden)]
        labels, places = labels_of(rows, self._by, activity.cgroups)
        sums = np.zeros((len(labels), len(METRICS)), np.int64)
        for index, name in enumerate(METRICS):
            np.add.at(sums[:, index], places, np.maximum(_values(rows, name), 0))
        weights = np.zeros(len(labels), np.int64)
        for name in _EVENTS:
            np.add.at(weights, places, np.maximum(rows[name], 0))
        self._groups.add(activity.interval_ns, labels, sums, weights)
        for change, count in activity.transitions.items():
            self._transitions[change] = self._transitions.get(change, 0) + count
        self._loss += activity.loss
        return PublishedActivity(
            self._by,
            self._groups.counts(),
            MappingProxyType(dict(self._transitions)),
            frozenset(absent_fields(activity)),
            activity.unavailable,
            self._loss,
        )


def _values(rows: Rows, name: str) -> Integers:
    """A field of METRICS of each row."""
    if name in ("reads", "writes"):
        return (reads if name == "reads" else writes)(rows, "io_count")
    if name in ("read_bytes", "write_bytes"):
        return (reads if name == "read_bytes" else writes)(rows, "io_bytes")
    values: Integers = rows[name]
    return values


def activity_families(data: PublishedActivity) -> Iterator[Metric]:
    """All families."""
    for index, (name, (ending, words)) in enumerate(METRICS.items()):
        if name in data.absent:
            continue
        family = CounterMetricFamily(f"schedtop_activity_{ending}", words, labels=["by", "group"])
        for label, row in data.groups.counts.items():
            value = int(row[index])
            family.add_metric([data.by, label], value / NS_PER_S if name.endswith("_ns") else value)
        yield family
    words = "Series that ended because others needed their place."
    yield CounterMetricFamily("schedtop_activity_series_replaced", words, value=data.groups.replaced)
    if "tcp_connects" not in data.absent:
        words = "Changes of state of the TCP connections of the host."
        changes = CounterMetricFamily("schedtop_activity_tcp_transitions", words, labels=["from", "to"])
        for (old, new), count in sorted(data.transitions.items()):
            changes.add_metric([old, new], count)
        yield changes
    lost = CounterMetricFamily("schedtop_activity_lost", "What was not seen or not kept, by kind.", labels=["kind"])
    for kind, count in asdict(data.loss).items():
        lost.add_metric([kind], count)
    yield lost
    words = "What of activity this host cannot tell, and why."
    missing = GaugeMetricFamily("schedtop_activity_unavailable", words, labels=["part", "reason"])
    for part, reason in data.unavailable.items():
        missing.add_metric([part, printable(reason)], 1)
    yield missing

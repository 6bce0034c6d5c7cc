"""Activity as counters for Prometheus: exact sums, and never more series than asked for."""

from __future__ import annotations

import pytest

from schedtop.model.activity_rows import IO_KINDS
from schedtop.outputs.metrics.activity import (
    ENTRY_EVENTS,
    METRICS,
    ActivityTotals,
    PublishedActivity,
    activity_families,
)
from tests.unit.activity.made import activity, io, row

BUSY = ENTRY_EVENTS


def values(data: PublishedActivity, ending: str) -> dict[str, float]:
    """A family's samples by the label `group`."""
    (family,) = (one for one in activity_families(data) if one.name == f"schedtop_activity_{ending}")
    return {sample.labels["group"]: sample.value for sample in family.samples}


def test_groups_are_added_up_and_what_is_quiet_is_in_other() -> None:
    totals = ActivityTotals("cgroup", 10)
    busy = row(5, 5, cgroup_id=7, syscalls=BUSY, syscall_errors=3, syscall_ns=2_500_000_000,
               io_bytes=io(file_read=300, pipe_read=20, socket_write=7))  # fmt: skip
    quiet = row(6, 6, cgroup_id=8, syscalls=2, syscall_errors=1)
    totals.add(activity(busy, quiet))
    data = totals.add(activity(busy))
    assert values(data, "syscalls") == {"/system.slice/web.service": 2 * BUSY, "other": 2}
    assert values(data, "syscall_errors") == {"/system.slice/web.service": 6, "other": 1}
    assert values(data, "syscall_seconds")["/system.slice/web.service"] == 5
    assert values(data, "read_bytes")["/system.slice/web.service"] == 640
    assert values(data, "write_bytes")["/system.slice/web.service"] == 14


def test_processes_of_one_name_are_one_series_and_hidden_ones_are_none() -> None:
    totals = ActivityTotals("process", 10, (9,))
    rows = [row(tid, tid, minor_faults=BUSY, process=b"make") for tid in (5, 6)]
    data = totals.add(activity(*rows, row(9, 9, minor_faults=BUSY, process=b"schedtop")))
    assert values(data, "minor_faults") == {"make": 2 * BUSY, "other": 0}


def test_many_groups_have_no_more_series_than_asked_for_and_lose_nothing() -> None:
    totals = ActivityTotals("process", 3)
    for _ in range(3):
        rows = [row(tid, tid, syscalls=BUSY, tcp_retransmits=1, process=b"p%d" % tid) for tid in range(1, 50)]
        data = totals.add(activity(*rows))
    for ending, each in (("syscalls", BUSY), ("tcp_retransmits", 1)):
        found = values(data, ending)
        assert len(found) == 4 and sum(found.values()) == 3 * 49 * each


def test_what_is_not_told_has_no_series() -> None:
    families = {one.name for one in activity_families(ActivityTotals("cgroup", 3).add(activity(only=("memory",))))}
    assert "schedtop_activity_minor_faults" in families
    assert not {f"schedtop_activity_{name}" for name in ("syscalls", "tcp_retransmits", "tcp_transitions")} & families
    missing = activity(row(5, 5), unavailable={"retransmits": "this kernel has no tracepoint tcp_retransmit_skb"})
    found = {one.name: one for one in activity_families(ActivityTotals("cgroup", 3).add(missing))}
    assert "schedtop_activity_tcp_retransmits" not in found
    assert found["schedtop_activity_unavailable"].samples[0].labels["part"] == "retransmits"


def test_transitions_and_loss_only_grow() -> None:
    totals = ActivityTotals("cgroup", 3)
    totals.add(activity())
    families = {one.name: one for one in activity_families(totals.add(activity()))}
    changes = {
        (s.labels["from"], s.labels["to"]): s.value for s in families["schedtop_activity_tcp_transitions"].samples
    }
    assert changes == {("CLOSED", "LISTEN"): 2, ("SYN_SENT", "ESTABLISHED"): 8}
    lost = {sample.labels["kind"]: sample.value for sample in families["schedtop_activity_lost"].samples}
    assert lost["events_untracked"] == 4


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_a_number_of_a_row(name: str) -> None:
    one = row(5, 5, cgroup_id=7, syscalls=BUSY, io_count=io(**dict.fromkeys((f"{k}_read" for k in IO_KINDS), 1)))
    assert values(ActivityTotals("cgroup", 3).add(activity(one)), METRICS[name][0]).keys() >= {"other"}

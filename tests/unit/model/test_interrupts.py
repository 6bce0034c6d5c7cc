"""The time of interrupts: sums of tables, and their way through a recording."""

import json
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schedtop.model.frame import Frame, frame_bytes, merge
from schedtop.model.interrupts import INTERRUPT_KINDS, RAISED_DTYPE, InterruptTable, SourceName, merge_interrupts
from schedtop.recording.lines import RecordingError, frame_line, read_frame
from schedtop.sources.kernel.offsets import INTERRUPTS_UNKNOWN
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

RX, DISK, TIMER = SourceName("softirq", "NET_RX"), SourceName("hardirq", "virtio1-req.0"), SourceName("vector", "timer")


def frames(interrupts: bool = True) -> list[Frame]:
    source = SyntheticSource(Scenario(frames=3, cpus=3))
    source.set_interrupts(interrupts)
    return list(source.frames(threading.Event()))


def table(sources: tuple[SourceName, ...], *cpus: list[int], **more: int) -> InterruptTable:
    """So many interrupts of each source on each CPU, 10 ns each, the longest 20 ns."""
    counts = np.array(cpus)
    return InterruptTable.of(sources, counts, counts * 10, np.where(counts > 0, 20, 0), **more)


def with_raised(table: InterruptTable, *rows: tuple[int, int, int, bytes, int]) -> InterruptTable:
    """With so many of a source on a CPU raised by a tid and name, 10 ns each."""
    raised = np.zeros(len(rows), RAISED_DTYPE)
    for row, (cpu, source, tid, by, count) in zip(raised, rows, strict=True):
        row["cpu"], row["source"], row["tid"], row["by"], row["count"], row["total_ns"] = (
            *(cpu, source, tid, by, count),
            count * 10,
        )
    return replace(table, raised=raised)


def equal(one: InterruptTable | None, other: InterruptTable | None) -> bool:
    assert one is not None and other is not None
    same = (one.sources, one.unmatched, one.unattributed_ns) == (other.sources, other.unmatched, other.unattributed_ns)
    same &= one.raised.tolist() == other.raised.tolist()
    return same and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("counts", "total_ns", "max_ns")
    )


def test_tables_add_up_by_source_whatever_their_order_and_cpus() -> None:
    whole = merge_interrupts(
        [table((RX, DISK), [1, 2], unmatched=1), None, table((DISK, TIMER), [3, 4], [5, 6], unattributed_ns=7)]
    )
    assert whole is not None
    assert whole.sources == (RX, DISK, TIMER)
    assert whole.counts.tolist() == [[1, 5, 4], [0, 5, 6]]
    assert whole.total_ns.tolist() == [[10, 50, 40], [0, 50, 60]]
    assert whole.max_ns.tolist() == [[20, 20, 20], [0, 20, 20]]
    assert (whole.unmatched, whole.unattributed_ns) == (1, 7)
    assert merge_interrupts([None, None]) is None


def test_a_cpu_that_is_not_in_the_table_has_no_row() -> None:
    some = table((RX, DISK), [1, 2], [3, 4]).chosen([1, 9])
    assert some.counts.tolist() == [[3, 4]]
    assert [some.of_kind(kind) for kind in INTERRUPT_KINDS] == [[1], [0], []]


def test_what_raised_softirqs_adds_up_and_follows_the_cpus() -> None:
    one = with_raised(table((DISK, RX), [1, 9], [0, 9]), (0, 1, 7, b"iperf", 5), (1, 1, 7, b"iperf", 6))
    other = with_raised(table((RX,), [9]), (0, 0, 7, b"iperf", 1), (0, 0, 0, b"irq eth0", 8))
    whole = merge_interrupts([one, other])
    assert whole is not None
    found = whole.raisers(whole.sources.index(RX))
    assert found[["tid", "by", "count", "total_ns"]].tolist() == [(7, b"iperf", 12, 120), (0, b"irq eth0", 8, 80)]
    alone = whole.chosen([1]).raisers(whole.sources.index(RX))
    assert alone[["tid", "count"]].tolist() == [(7, 6)]
    assert not len(whole.raisers(whole.sources.index(DISK)))


def test_a_recording_from_before_raisers_were_told_is_read() -> None:
    data = json.loads(frame_line(frames()[0]))
    assert data["interrupts"].pop("raised")["by"]
    interrupts = read_frame(json.dumps(data, separators=(",", ":"))).interrupts
    assert interrupts is not None and not len(interrupts.raised) and interrupts.counts.sum()


def test_frames_add_up_with_and_without_interrupts() -> None:
    some = [*frames()[:2], frames(interrupts=False)[2]]
    whole = merge(some).interrupts
    assert whole is not None
    assert whole.counts.sum() == sum(one.interrupts.counts.sum() for one in some if one.interrupts)
    assert merge(frames(interrupts=False)).interrupts is None
    assert frame_bytes(some[0]) > frame_bytes(frames(interrupts=False)[0])


def test_a_recording_keeps_interrupts() -> None:
    frame = frames()[0]
    assert equal(read_frame(frame_line(frame)).interrupts, frame.interrupts)
    assert (read_frame(frame_line(frame)).tasks["interrupted_ns"] == frame.tasks["interrupted_ns"]).all()
    assert read_frame(frame_line(frames(interrupts=False)[0])).interrupts is None


def test_a_recording_from_before_interrupts_were_timed_is_read() -> None:
    data = json.loads(frame_line(frames(interrupts=False)[0]))
    del data["interrupts"]
    # What this key meant then has another name.
    data["unavailable"] = {"interrupts": INTERRUPTS_UNKNOWN}
    frame = read_frame(json.dumps(data, separators=(",", ":")))
    assert frame.interrupts is None
    assert dict(frame.unavailable) == {"woken_by": INTERRUPTS_UNKNOWN}


def cells(**fields: Any) -> dict[str, Any]:
    """One of a recording, as it may not be."""
    return {"cpu": [0], "source": [0], "count": [1], "total_ns": [1], "max_ns": [1], **fields}


def raised_fields(**fields: Any) -> dict[str, Any]:
    """What raised a softirq, as it may not be."""
    return {"cpu": [0], "source": [0], "tid": [1], "count": [1], "total_ns": [1], "by": ["a"], **fields}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sources", [["nonsense", "NET_RX"]] * 8),
        ("sources", [["softirq", "NET_RX"]] * 8),
        ("sources", [["softirq", 5]] * 8),
        ("sources", [["softirq", "NET_RX"]]),
        ("cells", cells(cpu=[3])),
        ("cells", cells(source=[8])),
        ("cells", cells(count=[-1])),
        ("cells", cells(count=["1"])),
        ("cells", cells(total_ns=[1, 1])),
        ("cells", {name: values * 2 for name, values in cells().items()}),
        ("unmatched", -1),
        ("raised", raised_fields(cpu=[3])),
        ("raised", raised_fields(source=[8])),
        ("raised", raised_fields(tid=["1"])),
        ("raised", raised_fields(count=[-1])),
        ("raised", raised_fields(by=[5])),
        ("raised", raised_fields(total_ns=[1, 1])),
    ],
)
def test_interrupts_that_cannot_be_are_refused(field: str, value: Any) -> None:
    data = json.loads(frame_line(frames()[0]))
    data["interrupts"][field] = value
    with pytest.raises(RecordingError):
        read_frame(json.dumps(data, separators=(",", ":")))


def test_sources_are_named_as_in_a_sentence() -> None:
    assert [str(source) for source in (RX, DISK, TIMER)] == ["softirq NET_RX", "irq virtio1-req.0", "timer"]

"""Interrupts in a report: the same numbers in every format, and nothing of them where they were not timed."""

from __future__ import annotations

import csv
import io
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.commands.evidence import Part, read_evidence
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.interrupts import InterruptTable, SourceName
from schedtop.model.source import SourceError
from schedtop.outputs.recording.recorder import Recorder
from schedtop.outputs.report import contents
from schedtop.outputs.report.contents import Gatherer, report, to_json
from schedtop.outputs.report.csv import INTERRUPT_FIELDS, to_csv
from schedtop.outputs.report.html import to_html
from schedtop.outputs.report.points import INTERRUPT_SUMS
from schedtop.outputs.report.text import to_text
from schedtop.outputs.saved import read_saved
from schedtop.recording.lines import Header
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource


def frames_of(count: int = 10, *, timed: int = 10, cpus: int = 3) -> list[Frame]:
    """Synthetic seconds, the first `timed` of them with interrupts."""
    source = SyntheticSource(Scenario(cpus=cpus, tasks=10, frames=count))
    source.set_interrupts(True)
    frames = list(source.frames(threading.Event()))
    return [frame if number < timed else replace(frame, interrupts=None) for number, frame in enumerate(frames)]


def read(path: Path, frames: list[Frame], top: int = 50, **chosen: Any) -> dict[str, Any]:
    with Recorder(path, Header(SyntheticSource(Scenario()).host, frames[0].start_time_ns)) as recorder:
        for frame in frames:
            recorder.write(frame)
    return read_evidence(path, Filter(**chosen), Part(), top=top)


def tables(frames: list[Frame]) -> list[InterruptTable]:
    return [frame.interrupts for frame in frames if frame.interrupts]


def test_every_format_has_the_sums_of_the_recording(tmp_path: Path) -> None:
    frames = frames_of()
    data = read(tmp_path / "r", frames)
    found = data["interrupts"]
    whole = sum(int(table.total_ns.sum()) for table in tables(frames))
    count = sum(int(table.counts.sum()) for table in tables(frames))
    assert found["timed_ns"] == data["interval_ns"] == 10 * NS_PER_S
    assert sum(row["total_ns"] for row in found["by_source"]) == whole
    assert sum(row["interrupts"] for row in data["series"]) == sum(row["count"] for row in found["by_cpu"]) == count
    kinds = ("hardirq_ns", "softirq_ns", "vector_ns")
    for name in kinds:
        assert sum(row[name] for row in data["series"]) == sum(row[name] for row in found["by_cpu"])
    assert sum(row[name] for row in data["stretches"] for name in kinds) == whole
    text = to_text(data, 5)
    assert "Interrupts by time: 5 of 8 sources\n" in text and "Interrupts by CPU\n" in text
    assert "softirq NET_RX " in text and "% irq eth0-rx-0" in text
    assert max(map(len, text.splitlines())) <= 80
    rows = list(csv.DictReader(line for line in io.StringIO(to_csv(data, "interrupts")) if line[0] != "#"))
    assert list(rows[0]) == [*INTERRUPT_FIELDS] and len(rows) == 8
    assert sum(int(row["total_ns"]) for row in rows) == whole
    assert "iperf3 (4711) " in rows[0]["raised_by"]
    page = to_html(data, 5)
    assert "<h2>Interrupts by time: 5 of 8 sources</h2>" in page
    assert "<strong>Interrupts.</strong> Share of the CPUs&#39; time" in page


def test_what_was_timed_for_a_part_is_over_that_part(tmp_path: Path) -> None:
    whole, part = (read(tmp_path / str(timed), frames_of(timed=timed)) for timed in (10, 4))
    assert part["interrupts"]["timed_ns"] == 4 * NS_PER_S
    assert [row["interrupts"] is None for row in part["series"]] == [False] * 4 + [True] * 6
    assert "Interrupts by time: 5 of 8 sources, timed for 4.00 s" in to_text(part, 5)
    # The same load a second: so about the same share of the CPUs.
    first, second = (
        next(line for line in to_text(data, 5).splitlines() if line.startswith("softirq NET_RX")).split(" %")[0]
        for data in (whole, part)
    )
    assert float(first.split()[-1]) == pytest.approx(float(second.split()[-1]), rel=0.1)
    assert to_html(part, 5)


def test_without_interrupts_there_is_no_section(tmp_path: Path) -> None:
    data = read(tmp_path / "r", frames_of(timed=0))
    assert data["interrupts"] is None
    assert {row[name] for row in data["series"] for name in INTERRUPT_SUMS} == {None}
    assert "Interrupts" not in to_text(data, 5) and "Interrupts" not in to_html(data, 5)
    assert to_csv(data, "interrupts").splitlines()[-1] == ",".join(INTERRUPT_FIELDS)


def test_a_filter_by_cpu_holds(tmp_path: Path) -> None:
    frames = frames_of()
    data = read(tmp_path / "r", frames, cpus=(1,))
    total = sum(int(table.total_ns[1].sum()) for table in tables(frames))
    assert [row["cpu"] for row in data["interrupts"]["by_cpu"]] == [1]
    assert sum(row[name] for row in data["series"] for name in INTERRUPT_SUMS[1:]) == total
    assert sum(row["total_ns"] for row in data["interrupts"]["by_source"]) == total


def test_a_large_host_keeps_its_interrupts_and_bounds_who_raised_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more cells than a Frame of the past keeps; each second other tasks raise the softirqs."""
    monkeypatch.setattr(contents, "KEEP_RAISED", 100)
    gatherer = Gatherer(SyntheticSource(Scenario()).host, ViewSettings(), 4 * NS_PER_S, NS_PER_S)
    cells = 0
    for number, frame in enumerate(frames_of(4, cpus=700)):
        assert frame.interrupts
        raised = frame.interrupts.raised.copy()
        raised["tid"] += np.arange(len(raised), dtype=np.uint32) + 10_000 * number
        cells = max(cells, len(frame.interrupts.cells))
        gatherer.add(replace(frame, interrupts=replace(frame.interrupts, raised=raised)))
    assert cells > 4096
    data = report(gatherer)
    assert len(data["interrupts"]["by_cpu"]) == 700
    assert gatherer.total and gatherer.total.interrupts
    assert len(gatherer.total.interrupts.raised) == 100
    assert ", the 5 of 700 with most" in to_text(data, 5)


def test_names_cannot_steer_page_or_terminal(tmp_path: Path) -> None:
    frames = frames_of(2)
    for number, frame in enumerate(frames):
        assert frame.interrupts
        sources = (SourceName("hardirq", "<img src=x>\x1b[2J"), *frame.interrupts.sources[1:])
        frames[number] = replace(frame, interrupts=replace(frame.interrupts, sources=sources))
    data = read(tmp_path / "r", frames)
    assert "<img" not in to_html(data, 9) and "irq &lt;img src=x&gt;" in to_html(data, 9)
    assert "\x1b" not in to_text(data, 9)


def test_a_report_of_a_report_and_of_a_snapshot_has_them(tmp_path: Path) -> None:
    data = read(tmp_path / "r", frames_of())
    again = read_saved(to_json(data).encode(), "r.json")
    assert to_text(again, 9) == to_text(data, 9)
    # A snapshot was timed all the time; those of an older version have no such field.
    del again["interrupts"]["timed_ns"]
    assert to_text(again, 9) == to_text(data, 9)
    old = json.loads(to_json(data))
    del old["interrupts"]
    assert read_saved(json.dumps(old).encode(), "r.json")["interrupts"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {"by_cpu": [], "by_source": {}},
        {"by_cpu": [{"cpu": 0, "count": "9" * 99}], "by_source": []},
        {"by_cpu": [], "by_source": [{"name": 1, "kind": "softirq", "count": 1, "total_ns": 1, "max_ns": 1}]},
        {"by_cpu": [], "by_source": [], "timed_ns": "x"},
    ],
)
def test_interrupts_that_are_none_are_one_line(tmp_path: Path, wrong: object) -> None:
    data = json.loads(to_json(read(tmp_path / "r", frames_of(2))))
    with pytest.raises(SourceError, match="lacks something or has it wrong"):
        read_saved(json.dumps({**data, "interrupts": wrong}).encode(), "r.json")

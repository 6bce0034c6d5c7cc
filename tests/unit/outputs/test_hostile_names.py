"""Whatever tasks, groups and files are called: nothing that is written steers a terminal or a program that reads it."""

from __future__ import annotations

import csv
import json
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import schedtop.outputs
from schedtop.activity.recorded import table_of
from schedtop.base.finding import Finding
from schedtop.base.stacks import Waker
from schedtop.base.units import printable
from schedtop.capture.events import NAME_DTYPE
from schedtop.commands.evidence import read_evidence
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.offcpu.measurement import folded
from schedtop.outputs import doctor
from schedtop.outputs.activity.csv import to_csv as activity_csv
from schedtop.outputs.activity.document import to_json as activity_json
from schedtop.outputs.activity.text import to_text as activity_text
from schedtop.outputs.capture.chrome import chrome_trace
from schedtop.outputs.capture.perfetto import perfetto_trace
from schedtop.outputs.capture.tracks import path_tracks
from schedtop.outputs.convert.rows import Interval, pair_rows, task_rows, throttling_rows, wait_rows
from schedtop.outputs.diff import changes as diff_changes
from schedtop.outputs.diff import text as diff_text
from schedtop.outputs.flame import flame_svg
from schedtop.outputs.fleet import csv as fleet_csv
from schedtop.outputs.fleet import document as fleet_document
from schedtop.outputs.fleet import html as fleet_html
from schedtop.outputs.fleet import text as fleet_text
from schedtop.outputs.fleet.together import Together
from schedtop.outputs.metrics.activity import ENTRY_EVENTS, ActivityTotals, activity_families
from schedtop.outputs.offcpu.document import to_json as offcpu_json
from schedtop.outputs.offcpu.stacks import to_folded as offcpu_folded
from schedtop.outputs.offcpu.stacks import to_svg as offcpu_svg
from schedtop.outputs.offcpu.text import to_text as offcpu_text
from schedtop.outputs.path.document import to_json as path_json
from schedtop.outputs.path.stacks import to_folded as path_folded
from schedtop.outputs.path.stacks import to_svg as path_svg
from schedtop.outputs.path.text import to_text as path_text
from schedtop.outputs.quota.document import to_json as quota_json
from schedtop.outputs.quota.text import to_text as quota_text
from schedtop.outputs.recording.recorder import Recorder
from schedtop.outputs.report import contents, html
from schedtop.outputs.report import text as report_text
from schedtop.outputs.report.csv import to_csv as report_csv
from schedtop.outputs.scheduler.csv import to_csv as snapshot_csv
from schedtop.outputs.scheduler.snapshot import to_json
from schedtop.outputs.scheduler.stream import Snapshots
from schedtop.outputs.scheduler.text import to_text as snapshot_text
from schedtop.outputs.scheduler.wait_lines import WaitLines
from schedtop.outputs.task import fields as task_fields
from schedtop.outputs.task import text as task_text
from schedtop.outputs.task.group import GroupReport
from schedtop.outputs.task.group import to_json as group_json
from schedtop.outputs.task.group import to_text as group_text
from schedtop.path.paths import find_paths
from schedtop.quota.findings import Findings, Study
from schedtop.recording.lines import Header
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.sources.synthetic.task import TaskScenario, make_task
from tests.hostile import COMMS, NAMES, hostile_frame, hostile_host, hostile_value, steering, strings
from tests.unit.activity import made
from tests.unit.commands.test_task_group import report as group_report
from tests.unit.outputs.capture import test_trace
from tests.unit.outputs.metrics import test_families
from tests.unit.outputs.offcpu import test_measurement
from tests.unit.path.recordings import START_NS, Recording
from tests.unit.quota.simulation import Thread, simulate

_MARKS = ("R[/red]", "[red]", "frac", "漢字", "pwn", "0;pwn")
_START_NS = 1_700_000_000_000_000_000


@cache
def frames() -> tuple[Frame, ...]:
    import threading

    source = SyntheticSource(Scenario(cpus=4, tasks=60, slow_waits=40, frames=4))
    source.set_sampling(True)
    table = table_of(active())
    return tuple(replace(hostile_frame(frame), activity=table) for frame in source.frames(threading.Event()))


def view(group: str = "thread") -> View:
    source = SyntheticSource(Scenario(cpus=4))
    return History(hostile_host(source.host), frames()).view(ViewSettings(group=group))


@cache
def evidence() -> dict[str, Any]:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "\x1b[31m[red].rec"
        host = hostile_host(SyntheticSource().host)
        with Recorder(path, Header(host, _START_NS, triggers=("p99 > 10ms",))) as recorder:
            for frame in frames():
                recorder.write(frame)
        return read_evidence(path, Filter(), top=25, all_tasks=True)


def task() -> Any:
    made = hostile_value(make_task(TaskScenario(7, True, threads=3), 1))
    return replace(made, unavailable={"syscalls": "because \x1b[31m"})


def offcpu() -> Any:
    rows = zip(NAMES, test_measurement.ROWS * 9, strict=False)
    return replace(
        hostile_value(test_measurement.DATA),
        rows=tuple(replace(row, waker=Waker(9, name)) for name, row in rows),
    )


def capture() -> Any:
    tids = range(1000, 1000 + len(COMMS))
    events = [test_trace.switch(tid, tid, tid + 1) for tid in tids]
    found = test_trace.capture_of(*events)
    names = np.array([(test_trace.START, tid, tid, comm) for tid, comm in zip(tids, COMMS, strict=True)], NAME_DTYPE)
    return replace(found, names=names)


def paths() -> Any:
    """Tasks that take a CPU from each other, each queued until the first one leaves."""
    recording = Recording(end_us=2000)
    tids = range(1000, 1000 + len(COMMS))
    for at, tid in enumerate(tids):
        recording.switch(at + 1, tid, tid + 1, 0)
    for at, tid in enumerate(tids):
        recording.switch(1000 + at, tid + 1 if not at else tid - 1, tid, 0)
    names = [(START_NS, tid, tid, comm) for tid, comm in zip(tids, COMMS, strict=True)]
    return find_paths(replace(recording.capture, names=np.array(names, NAME_DTYPE)))


def quotas() -> Findings:
    """A thread of each name in a throttled group with a name of that kind."""
    study = Study()
    study.add(hostile_frame(simulate([Thread(1000)] * len(COMMS), 20, seconds=2).frame))
    return study.findings(hostile_host(SyntheticSource().host), "rec", NAMES[0])


def active() -> Any:
    """A thread of each name."""
    rows = [
        made.row(tid, tid, comm=comm, process=comm, syscalls=9, cgroup_id=7) for tid, comm in enumerate(COMMS, 1000)
    ]
    return hostile_value(made.activity(*rows))


def examined() -> doctor.Examination:
    found = [Finding(name, "degraded", name, name, name, name, {name: [{"path": name}]}) for name in NAMES]
    return doctor.Examination(NAMES[0], NAMES[1], _START_NS, {}, [("kernel", finding) for finding in found])


TEXTS: dict[str, tuple[str, Callable[[], str]]] = {
    "snapshot as text": ("scheduler.text", lambda: snapshot_text(view())),
    "by process": ("scheduler.text", lambda: snapshot_text(view("process"))),
    "by cgroup": ("scheduler.text", lambda: snapshot_text(view("cgroup"))),
    "by container": ("scheduler.text", lambda: snapshot_text(view("container"))),
    "snapshot as CSV": ("scheduler.csv", lambda: snapshot_csv(view())),
    "snapshot as JSON": ("scheduler.snapshot", lambda: to_json(view("cgroup"), None)),
    "snapshots of a stream as CSV": ("scheduler.stream", lambda: Snapshots("csv", 50).text(view())),
    "snapshot of a stream as JSON": ("scheduler.stream", lambda: Snapshots("json", 50).text(view())),
    "a slow wait as JSON": ("scheduler.wait_lines", lambda: WaitLines("json", 1).text(view())),
    "slow waits as lines": ("scheduler.wait_lines", lambda: WaitLines("text", 1000).text(view())),
    "rows of tables as JSON": ("convert.rows", lambda: converted()),
    "report as text": ("report.text", lambda: report_text.to_text(evidence(), 25)),
    "report as JSON": ("report.contents", lambda: contents.to_json(evidence())),
    "report as HTML": ("report.html", lambda: html.to_html(evidence(), 25)),
    "report's tasks as CSV": ("report.csv", lambda: report_csv(evidence(), "tasks")),
    "report's activity as CSV": ("report.activity", lambda: report_csv(evidence(), "activity")),
    "fleet as text": ("fleet.text", lambda: fleet_text.to_text(fleet(), 25)),
    "fleet as JSON": ("fleet.document", lambda: contents.to_json(fleet())),
    "fleet as HTML": ("fleet.html", lambda: fleet_html.to_html(fleet(), 25)),
    "fleet's services as CSV": ("fleet.csv", lambda: fleet_csv.to_csv(fleet(), "services")),
    "diff as text": ("diff.text", lambda: diff_text.to_text(differences(), 25)),
    "diff of activity": ("diff.activity", lambda: diff_text.to_text(activity_differences(), 25)),
    "diff as JSON": ("diff.changes", lambda: contents.to_json(differences())),
    "task as text": ("task.text", lambda: task_text.to_text(task(), hostile_host(SyntheticSource().host), None)),
    "task as JSON": ("task.fields", lambda: task_fields.to_json(task(), hostile_host(SyntheticSource().host), None)),
    "weights of a cgroup as text": ("task.group", lambda: group_text(group())),
    "weights of a cgroup as JSON": ("task.group", lambda: group_json(group())),
    "off-CPU as text": ("offcpu.text", lambda: offcpu_text(offcpu())),
    "off-CPU as JSON": ("offcpu.document", lambda: offcpu_json(offcpu())),
    "off-CPU folded": ("offcpu.stacks", lambda: offcpu_folded(offcpu())),
    "path as text": ("path.text", lambda: path_text(paths())),
    "path as JSON": ("path.document", lambda: path_json(paths())),
    "path folded": ("path.stacks", lambda: path_folded(paths())),
    "path as picture": ("path.stacks", lambda: path_svg(paths())),
    "off-CPU as picture": ("offcpu.stacks", lambda: offcpu_svg(offcpu())),
    "advice as text": ("quota.text", lambda: quota_text(quotas())),
    "advice as JSON": ("quota.document", lambda: quota_json(quotas())),
    "activity as text": ("activity.text", lambda: activity_text(active())),
    "activity as CSV": ("activity.csv", lambda: activity_csv(active())),
    "activity as JSON": ("activity.document", lambda: activity_json(active())),
    "activity as metrics": ("metrics.activity", lambda: activity_metrics()),
    "doctor as text": ("doctor", lambda: doctor.to_text(examined(), verbose=True, coloured=False)),
    "doctor as JSON": ("doctor", lambda: doctor.to_json(examined())),
    "flame graph": ("flame.svg", lambda: flame_svg([((name, name), 5) for name in NAMES], title=NAMES[0])),
    "Chrome trace": ("capture.chrome", lambda: b"".join(chrome_trace(capture())).decode()),
    "paths in a Chrome trace": (
        "capture.tracks",
        lambda: b"".join(chrome_trace(capture(), path_tracks(paths()))).decode(),
    ),
    "metrics by cgroup": ("metrics.families", lambda: metrics("cgroup")),
    "metrics by command": ("metrics.families", lambda: metrics("comm")),
}
"""What writes names, with its module below schedtop.outputs."""

NO_NAMES = {
    "activity", "activity.asked", "activity.formats", "capture", "capture.facts", "capture.files", "capture.perfetto",
    "convert", "convert.columns", "convert.parquet", "convert.service",
    "diff", "diff.change", "diff.hosts", "diff.tasks", "diff.warnings", "files", "fleet", "fleet.blame", "fleet.hosts",
    "fleet.side", "fleet.sums", "fleet.together", "flame", "flame.tree", "json_schema", "metrics",
    "metrics.budget",
    "metrics.connections", "metrics.groups", "metrics.host_names", "metrics.http", "metrics.labels", "metrics.listener",
    "metrics.rendering", "metrics.server", "metrics.totals", "names", "offcpu", "offcpu.asked", "offcpu.formats",
    "offcpu.lines", "path", "path.formats", "path.words", "plain", "quota", "recording", "recording.background",
    "recording.fitting", "recording.recorder", "report", "report.axes", "report.interrupts", "report.plots",
    "report.points", "report.words", "saved", "scheduler", "scheduler.blame",
    "scheduler.histogram", "scheduler.interrupts", "scheduler.queue", "scheduler.short_lived", "scheduler.slow_waits",
    "schemas", "tables", "task", "task.calls", "task.entitlement",
    "task.scheduling", "task.states", "task.traffic", "templates", "triggers", "words",
}  # fmt: skip
"""Modules that hand what they make to one of these, or that write what is read back (recorder, perfetto: see below)."""


def fleet() -> dict[str, Any]:
    """The same recording of two hosts with such names."""
    together = Together(25)
    pairs = [(name, name[::-1], 5, 1) for name in map(printable, NAMES)]
    for name in NAMES[:2]:
        together.add(evidence() | {"host": printable(name), "unavailable": {}}, printable(name), pairs)
    together.leave_out(printable(NAMES[0]), printable(NAMES[1]))
    return fleet_document.fleet(together, 25)


def differences() -> dict[str, Any]:
    return diff_changes.diff(evidence(), evidence() | {"tasks": evidence()["tasks"][:3]}, (NAMES[0], NAMES[1]), 25)


def activity_differences() -> dict[str, Any]:
    other = json.loads(json.dumps(evidence()["activity"]))
    for row in other["rows"]:
        row["syscalls"] *= 100
    return diff_changes.diff(evidence(), evidence() | {"activity": other}, (NAMES[0], NAMES[1]), 25)


def converted() -> str:
    """The rows of each table of `schedtop convert`, before they are packed."""
    header = Header(hostile_host(SyntheticSource().host), 0)
    makers = (task_rows, wait_rows, pair_rows, throttling_rows)
    made = [maker(Interval(header, "a.rec", frame))[1] for frame in frames() for maker in makers]
    return json.dumps(made, ensure_ascii=False, default=str)


def group() -> GroupReport:
    """A cgroup with a name of that kind, beside tasks of each name."""
    return replace(hostile_value(group_report()), host=hostile_host(SyntheticSource().host), path="/" + "/".join(NAMES))


def metrics(by: str) -> str:
    return test_families.exposed(test_families.served(list(frames()), by=by))


def activity_metrics() -> str:
    totals = ActivityTotals("process", 1000)
    rows = [made.row(tid, tid, process=comm, syscalls=ENTRY_EVENTS) for tid, comm in enumerate(COMMS, 1000)]
    families = activity_families(totals.add(hostile_value(made.activity(*rows))))
    registry = CollectorRegistry(auto_describe=False)
    collector = type("Collector", (), {"collect": lambda _self: families})
    registry.register(collector())
    return generate_latest(registry).decode()


def test_every_output_is_looked_at() -> None:
    here = {module.name for module in _modules(schedtop.outputs.__path__, "")}
    known = {module for module, _ in TEXTS.values()} | NO_NAMES
    assert {name for name in here if not name.startswith("triggers.")} <= known, "a new output belongs into TEXTS"


def _modules(path: Any, prefix: str) -> Iterator[pkgutil.ModuleInfo]:
    for module in pkgutil.iter_modules(path, prefix):
        yield module
        if module.ispkg:
            below = [f"{place}/{module.name.removeprefix(prefix)}" for place in path]
            yield from _modules(below, f"{module.name}.")


@pytest.mark.parametrize("name", TEXTS)
def test_outputs_cannot_steer_a_terminal(name: str) -> None:
    written = TEXTS[name][1]()
    assert not steering(written)
    assert any(mark in written for mark in _MARKS), "names are told as they are"


@pytest.mark.parametrize("name", [name for name in TEXTS if "JSON" in name or "trace" in name])
def test_values_read_back_from_outputs_cannot_steer_a_terminal(name: str) -> None:
    for text in strings(json.loads(TEXTS[name][1]())):
        assert not steering(text.replace("\n", ""))


@pytest.mark.parametrize("name", [name for name in TEXTS if "CSV" in name])
def test_a_spreadsheet_computes_nothing(name: str) -> None:
    lines = [line for line in TEXTS[name][1]().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    assert len(rows) >= 20
    assert len({len(row) for row in rows}) == 1
    for row in rows:
        for value in row.values():
            assert value is not None
            assert not value.startswith(("=", "+", "@", "\t")), value
            assert not value.startswith("-") or value[1:].replace(".", "").isdecimal(), value


@pytest.mark.parametrize("name", ["off-CPU as picture", "flame graph"])
def test_a_picture_is_one_document_without_anything_that_runs(name: str) -> None:
    root = ElementTree.fromstring(TEXTS[name][1]())
    for element in root.iter():
        assert "script" not in element.tag or "R[/red]" not in (element.text or "")
        assert not any(key.lower().startswith("on") and "[red]" in value for key, value in element.attrib.items())


def test_folded_lines_have_one_number_at_their_end_and_no_other_path() -> None:
    for line in folded(offcpu()):
        path, _, value = line.rpartition(" ")
        assert value.isdecimal()
        assert path.count(";-;") >= 1


def test_metrics_can_be_read_back() -> None:
    for by in ("cgroup", "comm"):
        assert list(text_string_to_metric_families(metrics(by)))


def test_a_perfetto_trace_holds_names_as_they_are_for_its_viewer() -> None:
    assert b"[red]" in b"".join(perfetto_trace(capture()))


def test_plots_show_dollars_as_dollars() -> None:
    page = TEXTS["report as HTML"][1]()
    assert "\\frac" in page
    assert "<script>'" not in page

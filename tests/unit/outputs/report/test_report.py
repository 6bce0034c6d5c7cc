"""The report of a recording: its numbers, its formats, and what it says of files that are not whole."""

import csv
import gzip
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.cli.types import Moment
from schedtop.commands.evidence import Part, read_evidence
from schedtop.history.view import ViewSettings
from schedtop.model.counts import Loss
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame, merge
from schedtop.model.source import SourceError
from schedtop.outputs.recording.recorder import Recorder
from schedtop.outputs.report import contents as report_module
from schedtop.outputs.report.contents import SERIES, STRETCHES, Gatherer, report, to_json, view_of
from schedtop.outputs.report.csv import to_csv
from schedtop.outputs.report.html import to_html
from schedtop.outputs.report.points import ACTIVITY_SUMS, INTERRUPT_SUMS, SERIES_FIELDS, width_for
from schedtop.outputs.report.text import to_text
from schedtop.outputs.saved import read_saved
from schedtop.outputs.scheduler.snapshot import snapshot
from schedtop.recording.lines import Event, Header
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from tests import ROOT

SCENARIO = Scenario(cpus=3, tasks=40, slow_waits=8, frames=30)
HOSTILE = b"<script>&\"'$x$"


def frames_of(scenario: Scenario = SCENARIO) -> list[Frame]:
    return list(SyntheticSource(scenario).frames(threading.Event()))


def record(path: Path, frames: list[Frame], events: dict[int, str] | None = None, **header: Any) -> Path:
    host = replace(SyntheticSource(SCENARIO).host, **header.pop("host", {}))
    with Recorder(path, Header(host, frames[0].start_time_ns, **header)) as recorder:
        for number, frame in enumerate(frames):
            recorder.write(frame)
            if events and number in events:
                recorder.note(Event(frame.end_ns, "trigger", events[number]))
    return path


def read(path: Path, top: int = 50, begin: str = "", end: str = "", **chosen: Any) -> dict[str, Any]:
    places = [Moment().convert(text, None, None) if text else None for text in (begin, end)]
    return read_evidence(path, Filter(**chosen), Part(*places), top=top)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A recording, made once for all tests here."""
    return record(tmp_path_factory.mktemp("recorded") / "r.jsonl.gz", frames_of(), {4: "p99 > 1ms for 5s"}).read_bytes()


@pytest.fixture
def recording(tmp_path: Path, recorded: bytes) -> Path:
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(recorded)
    return path


def test_the_whole_is_the_snapshot_of_the_sum_of_all_frames(recording: Path) -> None:
    frames = frames_of()
    whole = snapshot(view_of(SyntheticSource(SCENARIO).host, merge(frames), ViewSettings()), 50)
    data = read(recording)
    for name in set(whole) - {"schema", "slow_waits", "preemptions", "blockings", "verdict"}:
        assert data[name] == whole[name], name
    assert data["counts"]["slow_waits"] == len(whole["slow_waits"]) == 240
    assert [wait["time"] for wait in data["slow_waits"]] == [wait["time"] for wait in whole["slow_waits"][:50]]
    assert data["blockings"] == whole["blockings"][:50]
    assert data["verdict"]["rule"] == whole["verdict"]["rule"]
    assert data["intervals"] == 30
    assert set(whole) <= set(data)


def test_rows_over_time_add_up_to_the_whole(recording: Path) -> None:
    data = read(recording)
    for rows in (data["series"], data["stretches"]):
        assert sum(row["switches"] for row in rows) == data["totals"]["switches"]
        assert sum(row["waits"] for row in rows) == data["runqueue_latency"]["all"]["count"]
        assert sum(row["interval_ns"] for row in rows) == data["interval_ns"]
        assert sum(row["pressure_ns"] for row in rows) == data["pressure"]["some_ns"]
        assert max(row["max_ns"] for row in rows) == data["runqueue_latency"]["all"]["max_ns"]
    assert (len(data["series"]), len(data["stretches"])) == (30, 15)
    assert [row["offset_ns"] for row in data["series"]] == [number * NS_PER_S for number in range(30)]
    for task in data["task_series"]:
        whole = next(row for row in data["tasks"] if row["tid"] == task["tid"])
        assert sum(task["run_delay_ns"]) == whole["run_delay_ns"]


@pytest.mark.parametrize("span_s", [0.3, 1, 15, 60, 600, 3601, 86_400, 10**7])
def test_pieces_of_time_are_few_and_round(span_s: float) -> None:
    for most in (STRETCHES, SERIES):
        width = width_for(round(span_s * NS_PER_S), most, NS_PER_S)
        assert span_s * NS_PER_S <= width * most
        assert width >= NS_PER_S


def test_the_worst_stretch_is_where_the_slow_waits_are(tmp_path: Path) -> None:
    frames = frames_of()
    waits = frames[17].slow_waits.copy()
    waits["wait_ns"] += 3 * NS_PER_S
    frames[17] = replace(frames[17], slow_waits=waits)
    worst = read(record(tmp_path / "r", frames))["worst"]
    assert worst["offset_ns"] == 16 * NS_PER_S
    assert worst["verdict"]["headline"]


def test_a_part_by_offset_and_by_time(recording: Path) -> None:
    data = read(recording, begin="10s", end="20s")
    assert data["intervals"] == 10
    assert data["start_time"] == "2026-09-21T14:13:30.000000Z"
    assert read(recording, begin="2026-09-21T14:13:30Z", end="2026-09-21T14:13:40Z")["totals"] == data["totals"]
    assert data["events"] == []
    assert read(recording, end="5s")["events"][0]["offset_ns"] == 5 * NS_PER_S
    assert "from 10s to 20s" in to_text(data, 5)


@pytest.mark.parametrize(("begin", "end"), [("1h", ""), ("5s", "5s"), ("9s", "3s"), ("", "2001-01-01T00:00:00Z")])
def test_an_empty_part_is_an_error(recording: Path, begin: str, end: str) -> None:
    with pytest.raises(SourceError, match="has no interval between --from and --to: it begins at 2026"):
        read(recording, begin=begin, end=end)


def test_filters_hold_for_rows_and_cpus(recording: Path) -> None:
    data = read(recording, comms=("java",), cpus=(1,))
    assert {task["comm"] for task in data["tasks"]} == {"java"}
    assert sum(row["switches"] for row in data["series"]) == data["totals"]["switches"] == data["cpus"][0]["switches"]
    assert sum(row["waits"] for row in data["series"]) == data["runqueue_latency"]["all"]["count"]
    assert "comm:java cpu:1" in to_text(data, 5) and "# filters: comm:java cpu:1\n" in to_csv(data, "series")
    with pytest.raises(SourceError, match=r"there is no CPU 3 .* it has 0 to 2"):
        read(recording, cpus=(3,))


def test_report_keeps_the_recorded_settings_unless_told_otherwise(tmp_path: Path) -> None:
    source = SyntheticSource(SCENARIO)
    source.set_grouping("cgroup_id")
    frames = list(source.frames(threading.Event()))
    path = record(tmp_path / "r", frames, filters="comm:java cpu:1")
    data = read(path)
    assert data["filters"]["comm"] == ["java"] and [cpu["cpu"] for cpu in data["cpus"]] == [1]
    assert {task["comm"] for task in data["tasks"]} == {"java"}
    assert "recorded with" not in to_text(data, 5)
    other = read(path, comms=("nginx",))
    assert other["filters"]["comm"] == ["nginx"] and len(other["cpus"]) == 3
    assert re.search(r"recorded with +comm:java cpu:1", to_text(other, 5))
    assert data["groups"] and data["groups"][0]["runqueue_latency"]["count"] > 0


def test_report_keeps_unavailable_parts_unavailable(tmp_path: Path) -> None:
    missing = dict.fromkeys(("steal", "latency", "pressure", "tasks", "slow_waits", "throttling"), "this kernel cannot")
    data = read(record(tmp_path / "r", [replace(frame, unavailable=missing) for frame in frames_of()]))
    row = data["series"][0]
    assert {name for name in row if row[name] is None} == {
        *("steal_ratio", "waits", "p50_ns", "p99_ns", "max_ns", "slow_waits", "slow_wait_ns", "pressure_ns", "wakeups"),
        *("throttled_periods", "throttled_ns", "queue_length", *INTERRUPT_SUMS, *ACTIVITY_SUMS),
    }
    assert "not available  steal, latency, " in (told := to_text(data, 5)) and told.count("this kernel cannot") == 1
    assert "this kernel cannot" in to_html(data, 5)
    assert "# not_available: " in to_csv(data, "tasks")


def test_a_storm_of_tasks_is_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "KEEP_TASKS", 100)
    monkeypatch.setattr(report_module, "KEEP_SLOW_WAITS", 50)
    monkeypatch.setattr(report_module, "KEEP_PAIRS", 60)
    gatherer = Gatherer(SyntheticSource().host, ViewSettings(), 30 * NS_PER_S, NS_PER_S)
    for number, frame in enumerate(frames_of()):
        tasks = frame.tasks.copy()
        tasks["start_ns"] += 1000 * number
        gatherer.add(replace(frame, tasks=tasks))
    data = report(gatherer, top=1000)
    assert gatherer.total is not None
    assert (len(gatherer.total.tasks), len(gatherer.total.slow_waits)) == (100, 50)
    assert data["loss"]["tasks_forgotten"] == 30 * 40 - 100
    assert data["counts"]["slow_waits"] == data["loss"]["slow_waits_forgotten"] + 50 == 240
    assert sum(row["switches"] for row in data["series"]) == data["totals"]["switches"]
    parts = dict(data["attribution"])
    assert parts.pop("ended_wait_ns") == sum(parts.values())


def test_a_flood_is_judged_by_its_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of which each stretch is known is judged, though the whole does not fit."""
    frames = frames_of()
    empty = frames[0].latency
    for name in ("counts", "sum_ns", "max_ns"):
        getattr(empty, name)[:] = 0
    # All slow waits are in the rows and no other ones in the histogram: nothing was lost in the kernel.
    frames = [replace(frame, latency=empty) for frame in frames]

    def judged(keep: int) -> dict[str, Any]:
        monkeypatch.setattr(report_module, "KEEP_SLOW_WAITS", keep)
        gatherer = Gatherer(SyntheticSource().host, ViewSettings(), 30 * NS_PER_S, NS_PER_S)
        for frame in frames:
            gatherer.add(frame)
        return report(gatherer)

    assert judged(10_000)["verdict"]["rule"] != "incomplete"
    flood = judged(20)
    assert flood["loss"]["slow_waits_forgotten"] == 220
    assert flood["verdict"]["rule"] != "incomplete"
    assert "judged by stretches" in flood["verdict"]["evidence"][-1]


def test_report_reads_back_the_same(recording: Path) -> None:
    data = read(recording)
    again = read_saved(to_json(data).encode(), "r.json")
    assert again == json.loads(to_json(data))
    assert to_text(again, 10) == to_text(data, 10)
    assert to_html(again, 10) == to_html(data, 10)


def saved_snapshot() -> dict[str, Any]:
    source = SyntheticSource(SCENARIO)
    return json.loads(json.dumps(snapshot(view_of(source.host, frames_of()[0], ViewSettings()))))  # type: ignore[no-any-return]


def test_a_snapshot_is_a_report_without_time(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(saved_snapshot(), indent=1))
    data = read(path)
    assert data["series"] == data["events"] == [] and data["worst"] is None
    assert "Over time" not in to_text(data, 5) and "Verdict (" in to_text(data, 5)
    assert "<h1>Scheduler report: synthetic</h1>" in to_html(data, 5)
    assert len(list(table_of(to_csv(data, "tasks")))) == 40
    with pytest.raises(SourceError, match="is no recording: it cannot be filtered or cut"):
        read(path, begin="1s")


def broken(change: Callable[[dict[str, Any]], object]) -> bytes:
    data = saved_snapshot()
    change(data)
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "cut off or damaged"),
        (b"[]", "this version reads schedtop.snapshot/1"),
        (broken(lambda d: d.update(schema="schedtop.snapshot/2")), "'schedtop.snapshot/2': this version reads"),
        (broken(lambda d: d.pop("totals")), "lacks something .*totals"),
        (broken(lambda d: d.update(tasks=5)), "tasks is no list"),
        (broken(lambda d: d.update(tasks=[5])), "an item of tasks is no dict"),
        (broken(lambda d: d.update(interval_ns=0)), "interval_ns is not positive"),
        (broken(lambda d: d.update(interval_ns=True)), "interval_ns is no int"),
        (broken(lambda d: d.update(start_time="today")), "Invalid isoformat"),
        (broken(lambda d: d["overhead"].update(cpu_ratio=float("nan"))), "cut off or damaged"),
        (b"[" * 100_000, "cut off or damaged"),
    ],
)
def test_json_that_is_no_snapshot_is_one_line(data: bytes, words: str) -> None:
    with pytest.raises(SourceError, match=words) as raised:
        read_saved(data, "x.json")
    assert "\n" not in str(raised.value)


def test_report_of_a_hostile_file_cannot_steer_the_terminal(tmp_path: Path) -> None:
    data = saved_snapshot()
    data["host"] = data["tasks"][0]["comm"] = "a\x1b[2Jb\nc"
    assert "\x1b" not in to_text(read_saved(json.dumps(data).encode(), "x"), 10)
    frames = frames_of()
    path = record(tmp_path / "r\x1b[2J", frames, {1: "\x1b[2Jevent\n"}, filters="\x1b]0;x\a", host={"name": "\x1b[31m"})
    for text in (to_text(read(path), 10), to_csv(read(path), "series"), to_html(read(path), 10)):
        assert "\x1b" not in text and "\a" not in text


def test_damage_is_said_in_every_format(recording: Path, tmp_path: Path) -> None:
    data = bytearray(recording.read_bytes())
    cut = tmp_path / "cut.gz"
    cut.write_bytes(data[: len(data) * 2 // 3])
    found = read(cut)
    assert 10 < found["intervals"] < 30
    for text in (to_text(found, 5).replace("\n", " "), to_csv(found, "series"), to_html(found, 5), to_json(found)):
        assert "not closed" in text or "damaged" in text


def test_an_interval_that_is_damaged_within_is_left_out(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from schedtop.sources.replay.recorded import Recording

    intact = Recording.frame

    def frame(self: Recording, number: int) -> Frame:
        if number == 3:
            raise SourceError("interval 4 is damaged")
        return intact(self, number)

    monkeypatch.setattr(Recording, "frame", frame)
    data = read(recording)
    assert (data["intervals"], data["recording"]["intervals_damaged"]) == (29, 1)
    for text in (to_text(data, 5), to_csv(data, "series"), to_html(data, 5)):
        assert "1 interval is damaged within" in text


def test_lines_that_were_left_out_are_counted_in_the_part_that_they_were_in(recording: Path, tmp_path: Path) -> None:
    lines = gzip.decompress(recording.read_bytes()).split(b"\n")
    lines[9] = lines[10] = b"x"
    path = tmp_path / "damaged"
    path.write_bytes(b"\n".join(lines))
    found = read(path)["recording"]
    assert (found["intervals"], found["intervals_damaged"]) == (28, 2)
    assert found["damage"].startswith("2 damaged lines left out")
    assert read(path, end="5s")["recording"]["intervals_damaged"] == 0
    assert read(path, begin="4s", end="12s")["recording"]["intervals_damaged"] == 2


def test_report_names_the_recorders_options_whole_and_once(recording: Path, tmp_path: Path) -> None:
    asked = "comm:stress cgroup:/ cpu:1 --hide-self"
    scope, filters = {"scope": "comm:stress cgroup:/"}, "cpu:1 not_tgid:11191"
    path = record(tmp_path / "r", frames_of(), filters=filters, host=scope)
    data = read(path)
    assert data["recording"]["filters"] == asked
    assert data["filters"]["not_tgid"] == [11191] and data["filters"]["scope"] == "comm:stress cgroup:/"
    text = to_text(data, 5)
    assert re.search(f"filters +{asked}\n", text) and text.count("cpu:1") == 1
    assert "11191" not in text and "recorded with" not in text
    other = to_text(read(path, cpus=(2,)), 5)
    assert re.search("filters +comm:stress cgroup:/ cpu:2 --hide-self\n", other)
    assert re.search(f"recorded with +{asked}\n", other)
    assert "recorded with" not in to_text(read(record(tmp_path / "s", frames_of(), filters="cgroup:a pidns:5 7")), 5)


def test_report_says_why_the_recording_ended(recording: Path) -> None:
    assert re.search("ended +closed\n", to_text(read(recording), 5))


def table_of(text: str) -> Iterator[dict[str, str]]:
    return iter(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))


def test_csv_over_time(recording: Path) -> None:
    data = read(recording)
    rows = list(table_of(to_csv(data, "series")))
    assert list(rows[0]) == [*SERIES_FIELDS, "events"]
    assert [int(row["switches"]) for row in rows] == [row["switches"] for row in data["series"]]
    assert [number for number, row in enumerate(rows) if row["events"]] == [4]
    waits = list(table_of(to_csv(data, "waits")))
    assert waits[0]["wait_ns"] == str(data["slow_waits"][0]["wait_ns"])
    assert waits[0]["words"] == data["slow_waits"][0]["words"]


@pytest.mark.parametrize("name", ["series", "tasks", "waits", "interrupts"])
def test_every_format_says_where_it_is_from(tmp_path: Path, name: str) -> None:
    frames = frames_of()
    frames[3] = replace(frames[3], loss=Loss(ring_dropped=7))
    path = record(tmp_path / "r", frames, tool_version="0.0.9", filters="cpu:1", host={"scope": "pid 7"})
    data = read(path)
    for text in (to_text(data, 5), to_csv(data, name), to_html(data, 5), to_json(data)):
        for word in ("synthetic", "6.18.0", "0.0.9", "pid 7"):
            assert word in text, word
        assert re.search(r"ring[ _]dropped(\W{1,3}) ?7", text)


def test_text_fits_into_80_columns(recording: Path) -> None:
    text = to_text(read(recording), 10)
    assert max(map(len, text.splitlines())) <= 82
    titles = [block.split("\n")[0].split(":")[0] for block in text.split("\n\n")]
    for title in ("Over time", "Runqueue latency", "CPUs", "Tasks by run delay", "Slowest waits", "Quotas", "Events"):
        assert title in titles
    assert "p99 > 1ms for 5s" in text


class Page(HTMLParser):
    """Everything that a browser could fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
                self.links.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)
            if name == "id":
                self.ids.append(value or "")


def hostile_page(tmp_path: Path) -> str:
    frames = frames_of()
    for frame in frames:
        for rows in (frame.tasks, frame.slow_waits):
            rows["comm"] = rows["process"] = HOSTILE
        frame.pairs["victim_comm"] = frame.pairs["other_comm"] = HOSTILE
    frames = [replace(frame, cgroups=dict.fromkeys(frame.cgroups, '/"><img src=x>')) for frame in frames]
    name = {"name": "</title><script>alert(1)</script>"}
    return to_html(read(record(tmp_path / "<b>.gz", frames, {2: "<img src=http://x>"}, host=name)), 25)


def test_the_page_fetches_and_runs_nothing_whatever_a_task_is_called(tmp_path: Path) -> None:
    text = hostile_page(tmp_path)
    page = Page()
    page.feed(text)
    assert not page.tags & {"script", "link", "iframe", "object", "embed", "base", "form", "img", "foreignobject"}
    assert page.handlers == []
    assert all(link.startswith("#") or link.startswith("data:image/png;base64,") for link in page.links)
    assert not re.search(r"@import|url\((?!#|data:)", text)
    assert not re.search(r"https?:", text.replace("&lt;img src=http://x&gt;", ""))
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in text
    assert "&lt;script&gt;" in text
    assert len(page.ids) == len(set(page.ids))
    assert all(link[1:] in page.ids for link in page.links if link.startswith("#"))


def test_the_page_has_its_plots_in_the_colours_of_the_page(recording: Path) -> None:
    text = to_html(read(recording), 25)
    assert text.count("<svg") == text.count("<figure role") == 7
    for name in ("one", "two", "mark", "ink"):
        assert f"var(--{name})" in text and f"--{name}:" in text
    # Nothing may stay in a colour that only one of the themes can show.
    svg = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg)) == set()
    assert "prefers-color-scheme: dark" in text and "@media print" in text


def test_the_same_recording_gives_the_same_bytes(recording: Path) -> None:
    assert to_html(read(recording), 25) == to_html(read(recording), 25)


def test_many_cpus_and_a_single_interval(tmp_path: Path) -> None:
    frames = frames_of(Scenario(cpus=300, tasks=10, frames=3))
    data = read(record(tmp_path / "a", frames))
    assert len(data["heat"]["cpus"]) == 100 and data["heat"]["cpus"][-1] == [297, 299]
    busiest = max(float(frame.cpus.column("busy_ns")[0:3].max()) / 1e9 for frame in frames[:1])
    assert data["heat"]["busy_ratio"][0][0] == pytest.approx(busiest, abs=2e-3)
    assert "the 25 of 300 with most involuntary switches" in to_html(data, 25)
    one = read(record(tmp_path / "b", frames[:1]))
    assert one["worst"] is None and one["heat"] is None
    assert "Runqueue latency" in to_text(one, 5) and to_html(one, 5)


def names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {name for inner in value.values() for name in names(inner)}
    return {name for inner in value for name in names(inner)} if isinstance(value, list) else set()


def documented() -> set[str]:
    pages = [path.read_text() for path in (ROOT / "docs/report.md", *sorted((ROOT / "docs").glob("snapshot*.md")))]
    prose = re.sub(r"```.*?```", "", "\n".join(pages), flags=re.DOTALL)
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", prose))))


def test_every_field_is_documented(recording: Path) -> None:
    data = read(recording)
    unavailable = data.pop("unavailable")
    assert not unavailable
    assert names(data) - documented() == set()
    page = (ROOT / "docs" / "report.md").read_text()
    own = set(data) - set(snapshot(view_of(SyntheticSource().host, frames_of()[0], ViewSettings())))
    for name in {*own, *data["series"][0], *data["recording"], *data["heat"]}:
        assert f"`{name}`" in page, name


def test_report_json_has_integers_where_the_name_has_a_unit(recording: Path) -> None:
    data = json.loads(to_json(read(recording)))

    def check(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                check(key, inner)
        elif isinstance(value, list):
            for inner in value:
                check(name, inner)
        elif name.endswith("_ns"):
            assert value is None or type(value) is int, name
        elif name.endswith("_ratio"):
            assert value is None or 0 <= value <= 1, name

    check("", data)
    assert np.isfinite(data["heat"]["involuntary_per_second"]).all()

"""Several recordings together: what is summed, which host is worst, and what makes them differ."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.commands.evidence import Part, read_evidence
from schedtop.commands.together import gather
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame, merge
from schedtop.outputs.convert.rows import Interval, pair_rows, task_rows
from schedtop.outputs.fleet.document import fleet
from schedtop.outputs.fleet.hosts import LEVELS
from schedtop.outputs.fleet.sums import Sums
from schedtop.outputs.fleet.text import to_text
from schedtop.outputs.fleet.together import Together
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Header
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from tests import ROOT
from tests.peak import run
from tests.unit.commands.running import run_in
from tests.unit.outputs.convert.fleet import FLEET, record_fleet

PAGE = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
NAMES = {made.name for made in FLEET}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return record_fleet(tmp_path_factory.mktemp("recordings"))


@pytest.fixture(scope="module")
def together(files: list[Path]) -> Together:
    return gather(files, Filter(), Part(), 1000)


@pytest.fixture(scope="module")
def data(together: Together) -> dict[str, Any]:
    return fleet(together, 1000)


def frames() -> list[Frame]:
    return [frame for made in FLEET for day in made.days for frame in made.frames(day)]


def intervals() -> list[Interval]:
    host = SyntheticSource().host
    return [Interval(Header(host, 0), "a", frame) for frame in frames()]


def made(
    path: Path, name: str, scenario: Scenario, change: Callable[[Frame], Frame] = lambda f: f, **host: Any
) -> Path:
    """A recording of a made-up host."""
    import threading

    source = SyntheticSource(scenario)
    made = [change(frame) for frame in source.frames(threading.Event())]
    known = replace(source.host, name=name, boot_id=host.pop("boot_id", f"{name}-boot"), **host)
    with Recorder(path, Header(known, made[0].start_time_ns)) as recorder:
        for frame in made:
            recorder.write(frame)
    return path


def test_waits_and_counters_are_those_of_all_intervals_of_all_hosts(data: dict[str, Any]) -> None:
    every = frames()
    latency = sum((frame.latency.histogram() for frame in every[1:]), every[0].latency.histogram())
    found = data["runqueue_latency"]["all"]
    assert (found["count"], found["sum_ns"], found["max_ns"]) == (latency.count, latency.sum_ns, latency.max_ns)
    assert [found[name] for name in ("p50_ns", "p99_ns")] == [latency.percentile_ns(ratio) for ratio in (0.5, 0.99)]
    assert data["host_time_ns"] == sum(frame.interval_ns for frame in every)
    switches = sum(int(frame.cpus.column("switches").sum()) for frame in every)
    assert data["totals"]["switches"] == switches
    per_second = switches * NS_PER_S / data["host_time_ns"]
    assert data["totals"]["switches_per_second"] == pytest.approx(per_second, abs=1e-3)
    assert data["counts"]["slow_waits"] == sum(len(frame.slow_waits) for frame in every)
    assert data["loss"]["ring_dropped"] == sum(frame.loss.ring_dropped for frame in every) == 28


def test_busy_and_steal_count_each_cpu_the_same(data: dict[str, Any]) -> None:
    parts = [frame.cpus.column("steal_ns").sum() for frame in frames()]
    whole = [frame.cpus.column("accounted_ns").sum() for frame in frames()]
    assert data["totals"]["steal_ratio"] == pytest.approx(sum(parts) / sum(whole), abs=0.003)
    mean = sum(host["totals"]["steal_ratio"] for host in data["hosts"]) / len(data["hosts"])
    assert abs(data["totals"]["steal_ratio"] - mean) > 0.005, "the mean of the hosts is another number"


def test_hosts_are_told_by_name_and_boot_and_the_worst_comes_first(data: dict[str, Any]) -> None:
    assert data["counts"] | {"services": 0, "blame": 0, "slow_waits": 0} == {
        "files": 7, "hosts": 6, "boots": 7, "services": 0, "blame": 0, "slow_waits": 0,
    }  # fmt: skip
    assert sorted(host["host"] for host in data["hosts"]) == sorted([*NAMES, "web-3"])
    assert len({(host["host"], host["boot_id"]) for host in data["hosts"]}) == 7
    keys = [(LEVELS.index(host["verdict"]["level"]), -(host["p99_ns"] or 0)) for host in data["hosts"]]
    assert keys == sorted(keys)
    assert data["hosts"][0]["host"] in data["headline"]
    assert sum(len(row["hosts"]) for row in data["verdicts"]) >= 6


def test_a_host_is_what_its_own_report_says(files: list[Path], data: dict[str, Any]) -> None:
    for file in files:
        own = read_evidence(file, Filter())
        host = next(host for host in data["hosts"] if str(file) in host["files"])
        assert (host["host"], host["kernel"], host["cpus"]) == (own["host"], own["kernel"], len(own["cpus"]))
        assert host["verdict"] == own["verdict"]
        assert host["p99_ns"] == own["runqueue_latency"]["all"]["p99_ns"]
        assert host["slow_waits"] == own["counts"]["slow_waits"]
        assert host["totals"]["involuntary_switches"] == own["totals"]["involuntary_switches"]


def test_services_are_added_up_over_hosts(data: dict[str, Any]) -> None:
    delays: dict[str, int] = {}
    for interval in intervals():
        rows = task_rows(interval)[1]
        for service, delay_ns in zip(rows["service"], rows["run_delay_ns"].tolist(), strict=True):
            delays[service] = delays.get(service, 0) + delay_ns
    assert {row["service"]: row["run_delay_ns"] for row in data["services"]} == delays
    assert [row["run_delay_ns"] for row in data["services"]] == sorted(delays.values(), reverse=True)
    assert max(row["hosts"] for row in data["services"]) == 6
    assert all(row["worst_host"] in NAMES for row in data["services"])
    assert data["counts"]["services"] == len(delays)


def test_blame_is_by_service_and_leaves_out_a_service_that_waits_for_itself(data: dict[str, Any]) -> None:
    blocked: dict[tuple[str, str], int] = {}
    for interval in intervals():
        rows = pair_rows(interval)[1]
        for pair in zip(rows["victim_service"], rows["other_service"], rows["blocked_ns"].tolist(), strict=True):
            if pair[0] != pair[1] and pair[2]:
                blocked[pair[0], pair[1]] = blocked.get((pair[0], pair[1]), 0) + pair[2]
    assert {(row["victim"], row["blocker"]): row["blocked_ns"] for row in data["blame"]} == blocked
    assert blocked


def test_the_slowest_waits_of_all_have_their_host(data: dict[str, Any], files: list[Path]) -> None:
    every = sorted((int(ns) for frame in frames() for ns in frame.slow_waits["wait_ns"]), reverse=True)
    assert [wait["wait_ns"] for wait in data["slow_waits"]] == every[:1000]
    few = fleet(gather(files, Filter(), Part(), 3), 3)
    assert [wait["wait_ns"] for wait in few["slow_waits"]] == every[:3]
    assert all(wait["host"] in NAMES and wait["words"] for wait in few["slow_waits"])


def test_settings_in_which_hosts_differ_are_named(data: dict[str, Any]) -> None:
    found = {one["setting"]: {value["value"]: value["hosts"] for value in one["values"]} for one in data["differences"]}
    assert found["kernel"]["6.12.48"] == ["web-1", "web-2"]
    assert set(found["kernel"]) == {"6.12.48", "6.18.0", "6.1.0"}
    assert found["CPUs"]["1 CPU"] == ["../odd host%"]
    assert "slow waits" not in found and data["threshold_ns"] == frames()[0].threshold_ns


def test_slow_waits_of_other_thresholds_are_not_added_up(tmp_path: Path) -> None:
    small = Scenario(frames=2)
    paths = [
        made(tmp_path / "a.rec", "a", small),
        made(tmp_path / "b.rec", "b", small, lambda frame: replace(frame, threshold_ns=NS_PER_MS)),
    ]
    data = fleet(gather(paths, Filter(), Part(), 10), 10)
    assert data["threshold_ns"] is data["counts"]["slow_waits"] is None
    found = next(one for one in data["differences"] if one["setting"] == "slow waits")
    assert {value["value"]: value["hosts"] for value in found["values"]} == {
        "1 ms and longer": ["b"], "5 ms and longer": ["a"],
    }  # fmt: skip
    assert any("thresholds differ" in words for words in data["warnings"])
    assert "thresholds differ" in to_text(data, 10)


def test_what_one_source_does_not_tell_is_no_zero(tmp_path: Path) -> None:
    lacks = {"switches": "no", "latency": "no"}
    paths = [
        made(tmp_path / "a.rec", "a", Scenario(frames=2)),
        made(tmp_path / "b.rec", "b", Scenario(frames=2), lambda f: replace(f, unavailable=lacks)),
    ]
    data = fleet(gather(paths, Filter(), Part(), 10), 10)
    alone = fleet(gather(paths[:1], Filter(), Part(), 10), 10)
    name = "involuntary_switches_per_second"
    assert data["totals"][name] == alone["totals"][name] > 0
    assert next(host for host in data["hosts"] if host["host"] == "b")["p99_ns"] is None


def test_recordings_that_cover_the_same_time_of_a_boot_are_told(tmp_path: Path) -> None:
    paths = [made(tmp_path / f"{name}.rec", "a", Scenario(frames=3), boot_id="x") for name in "ab"]
    words = "recordings of a cover the same time"
    assert any(words in one for one in fleet(gather(paths, Filter(), Part(), 10), 10)["warnings"])
    other = [paths[0], made(tmp_path / "c.rec", "a", Scenario(frames=3), boot_id="y")]
    assert not any(words in one for one in fleet(gather(other, Filter(), Part(), 10), 10)["warnings"])


def test_hours_of_one_boot_are_one_host(tmp_path: Path) -> None:
    def later(frame: Frame) -> Frame:
        hour_ns = 3600 * NS_PER_S
        return replace(frame, start_time_ns=frame.start_time_ns + hour_ns, end_ns=frame.end_ns + hour_ns)

    paths = [
        made(tmp_path / "a.rec", "a", Scenario(frames=3), boot_id="x"),
        made(tmp_path / "b.rec", "a", Scenario(frames=3, seed=2), later, boot_id="x"),
    ]
    data = fleet(gather(paths, Filter(), Part(), 10), 10)
    assert (len(data["hosts"]), data["counts"]["hosts"], data["counts"]["files"]) == (1, 1, 2)
    assert data["hosts"][0]["files"] == list(map(str, paths))
    assert data["warnings"] == [] and data["headline"].startswith("a: ")


def test_a_file_that_cannot_be_read_is_left_out_and_the_others_are_reported(files: list[Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken.rec"
    broken.write_text("nothing\n")
    done = run_in(tmp_path, "report", str(files[0]), "broken.rec", str(files[1]), "gone.rec", "--format", "json")
    assert done.returncode == 1
    assert [line.partition(" ")[0] for line in done.stderr.splitlines()] == ["schedtop:"] * 2
    data = json.loads(done.stdout)
    assert [one["file"] for one in data["left_out"]] == ["broken.rec", "gone.rec"]
    assert data["counts"]["hosts"] == 2
    none = run_in(tmp_path, "report", "broken.rec", "gone.rec")
    assert (none.returncode, none.stdout) == (1, "") and "none of these files" in none.stderr


def test_a_file_that_is_given_twice_counts_once(files: list[Path]) -> None:
    data = fleet(gather([files[0], files[1], files[0]], Filter(), Part(), 10), 10)
    assert data["counts"]["files"] == 2 and "is given twice" in data["left_out"][0]["reason"]


@pytest.mark.parametrize("name", ["text", "json", "csv", "html"])
def test_a_directory_stands_for_its_recordings(files: list[Path], name: str) -> None:
    done = run_in(files[0].parent, "report", ".", "--format", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "web-3" in done.stdout and "db-2" in done.stdout


@pytest.mark.parametrize("table", ["hosts", "services", "waits"])
def test_tables_as_csv(files: list[Path], data: dict[str, Any], table: str) -> None:
    done = run_in(files[0].parent, "report", *(file.name for file in files), "--format", "csv", "--table", table)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(line for line in done.stdout.splitlines() if not line.startswith("# ")))
    known = {"hosts": data["hosts"], "services": data["services"], "waits": data["slow_waits"]}[table]
    assert len(rows) == min(100, len(known))
    key = {"hosts": "p99_ns", "services": "run_delay_ns", "waits": "wait_ns"}[table]
    assert [int(row[key]) for row in rows] == [row[key] for row in known[:100]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report", "0-0.rec.gz", "1-0.rec.gz", "--format", "csv", "--table", "series"), "is for one recording"),
        (("report", "0-0.rec.gz", "--format", "csv", "--table", "hosts"), "is for several recordings"),
        (("diff", "0-0.rec.gz"), "two recordings are compared"),
        (("diff", "0-0.rec.gz", "1-0.rec.gz", "2-0.rec.gz"), "two recordings are compared"),
        (("diff", "0-0.rec.gz", "--with"), "no recording behind --with"),
        (("diff", "--with", "0-0.rec.gz"), "no recording in front of --with"),
        (("diff", "0-0.rec.gz", "--with", "1-0.rec.gz", "--with", "2-0.rec.gz"), "stands once"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(files: list[Path], arguments: tuple[str, ...], words: str) -> None:
    done = run_in(files[0].parent, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_text_fits_and_leads_with_the_hosts(data: dict[str, Any]) -> None:
    text = to_text(data, 10)
    assert max(map(len, text.splitlines())) <= 80
    assert "Hosts, the worst first: 7" in text
    assert text.index("Hosts, the worst first") < text.index("Services by run delay") < text.index("Slowest waits")
    assert "Sums: waits (percentiles are those of the waits of all hosts together)" in text.replace("\n", " ")


def test_every_field_is_documented(data: dict[str, Any]) -> None:
    own = PAGE[PAGE.index("## `schedtop.fleet/1`") : PAGE.index("## `schedtop.diff/1`")]
    names = {
        *data,
        *data["counts"],
        *data["hosts"][0],
        *data["services"][0],
        *data["blame"][0],
        *data["differences"][0],
    }
    for name in names | {*data["verdicts"][0]}:
        assert re.search(rf"`{name}(\[\])?`", own), name


def test_names_with_least_make_room_and_are_counted() -> None:
    sums: Sums[int] = Sums(most=10)
    for number in range(1000):
        sums.add(number, (number,))
        assert len(sums) <= 21
    assert [key for key, _ in sums.largest()] == list(range(999, 989, -1))
    assert sums.forgotten == 990


class TestSets:
    """`diff` of two sets of recordings."""

    @staticmethod
    def compare(directory: Path, *arguments: str) -> dict[str, Any]:
        done = run_in(directory, "diff", *arguments, "--format", "json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    def test_equal_sets_differ_in_nothing(self, files: list[Path]) -> None:
        names = [file.name for file in files]
        data = self.compare(files[0].parent, *names, "--with", *names)
        assert data["headline"].startswith("Nothing changed much")
        changes = data["changes"] + data["tasks"] + data["cgroups"] + data["hosts"]
        assert {change["score"] for change in changes} == {0}
        assert data["before"]["host"] == "6 hosts" and set(data["before"]["hosts"]) == NAMES
        assert len(data["before"]["files"]) == 7

    def test_words_in_front_of_the_mark_are_before_wherever_options_stand(self, files: list[Path]) -> None:
        data = self.compare(files[0].parent, "--top", "3", "0-0.rec.gz", "1-0.rec.gz", "--with", "3-0.rec.gz")
        assert (data["before"]["hosts"], data["after"]["hosts"]) == (["web-1", "web-2"], ["db-1"])
        assert any("no host is on both sides" in words for words in data["warnings"])
        assert len(data["hosts"]) == 3

    def test_a_host_that_became_slower_leads_the_hosts(self, tmp_path: Path) -> None:
        def slower(frame: Frame) -> Frame:
            latency = frame.latency
            counts = latency.counts.copy()
            counts[:, :, 40:] = latency.counts[:, :, :-40]
            counts[:, :, :40] = 0
            return replace(frame, latency=replace(latency, counts=counts, max_ns=latency.max_ns * 32))

        for day in ("monday", "tuesday"):
            (tmp_path / day).mkdir()
            for name in "abc":
                change = slower if (day, name) == ("tuesday", "b") else lambda frame: frame
                made(tmp_path / day / f"{name}.rec", name, Scenario(frames=3, seed=ord(name)), change)
        data = self.compare(tmp_path, "monday", "tuesday")
        first = data["hosts"][0]
        assert (first["name"], first["status"]) == ("host:b", "both")
        assert first["factor"] == pytest.approx(32, rel=0.2)
        assert {change["factor"] for change in data["hosts"][1:]} == {1}
        assert re.search("p99 of .* waits rose", data["headline"])
        done = run_in(tmp_path, "diff", "monday", "tuesday")
        assert "p99 of all waits by host, what changed most" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80

    def test_rates_are_by_host_and_second(self, files: list[Path]) -> None:
        one = self.compare(files[0].parent, "0-0.rec.gz", "1-0.rec.gz")
        two = self.compare(files[0].parent, "0-0.rec.gz", "--with", "0-0.rec.gz", "1-0.rec.gz")
        rates = [
            next(change for change in data["changes"] if change["name"] == "switches_per_second") for data in (one, two)
        ]
        assert rates[1]["after"] == pytest.approx((rates[0]["before"] + rates[0]["after"]) / 2, rel=0.01)


def test_merging_frames_and_adding_reports_up_is_the_same(tmp_path: Path) -> None:
    import threading

    path = made(tmp_path / "a.rec", "a", Scenario(frames=4))
    whole = merge(list(SyntheticSource(Scenario(frames=4)).frames(threading.Event())))
    data = fleet(gather([path], Filter(), Part(), 10), 10)
    assert data["runqueue_latency"]["all"]["count"] == whole.latency.histogram().count
    assert data["hosts"][0]["interval_ns"] == whole.interval_ns


def test_memory_does_not_grow_with_files(tmp_path: Path) -> None:
    """What is kept of a recording is sums; a Frame kept of each would be more than this."""
    first = made(tmp_path / "0.rec", "host", Scenario(cpus=64, tasks=2000, frames=2))
    for number in range(1, 12):
        text = first.read_text().replace('"boot_id":"host-boot"', f'"boot_id":"boot-{number}"', 1)
        (tmp_path / f"{number}.rec").write_text(text)
    few, many = (
        run("-m", "schedtop", "report", *(str(tmp_path / f"{number}.rec") for number in range(count)))
        for count in (2, 12)
    )
    assert (few.status, many.status) == (0, 0), many.said
    assert many.peak_bytes < few.peak_bytes + (8 << 20)

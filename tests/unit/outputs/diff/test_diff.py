"""The comparison: what leads, what does not, who is the same task, and what makes it weak."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.outputs.diff.change import score
from schedtop.outputs.diff.changes import NOTABLE, SCHEMA, diff
from schedtop.outputs.diff.tasks import is_complete, task_name
from schedtop.outputs.diff.text import to_text
from schedtop.outputs.recording.recorder import Recorder
from schedtop.outputs.report.contents import Gatherer, report, to_json
from schedtop.recording.lines import Header
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from tests import ROOT

Change = Callable[[dict[str, Any]], object]


def side(seed: int = 1, **changes: Any) -> dict[str, Any]:
    """The report of five synthetic seconds with all tasks."""
    import threading

    source = SyntheticSource(Scenario(cpus=2, tasks=30, frames=5, seed=seed))
    settings = ViewSettings(filter=changes.pop("filter", Filter()))
    gatherer = Gatherer(replace(source.host, **changes), settings, 5 * NS_PER_S, NS_PER_S)
    for frame in source.frames(threading.Event()):
        gatherer.add(frame)
    return json.loads(to_json(report(gatherer, top=0, all_tasks=True)))  # type: ignore[no-any-return]


BASE = side()


def compare(change: Change, before: dict[str, Any] = BASE, top: int = 100) -> dict[str, Any]:
    after = deepcopy(before)
    change(after)
    return diff(before, after, ("a", "b"), top)


def percentiles(kind: str, factor: float, count: int | None = None) -> Change:
    def change(data: dict[str, Any]) -> None:
        latency = data["runqueue_latency"][kind]
        for name in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"):
            latency[name] = round(latency[name] * factor)
        latency["count"] = count or latency["count"]

    return change


def test_diff_of_equal_sides_reports_no_change() -> None:
    data = compare(lambda _: None)
    assert data["headline"].startswith("Nothing changed much: p99 of all waits ")
    assert data["warnings"] == []
    assert {change["score"] for change in data["changes"] + data["tasks"] + data["cgroups"]} == {0}


def test_two_runs_of_the_same_load_differ_little() -> None:
    data = diff(BASE, side(seed=2), ("a", "b"), 100)
    # The pressure of the made-up host is mere chance.
    assert max(change["score"] for change in data["changes"] if change["name"] != "pressure_ratio") < NOTABLE
    assert max(change["score"] for change in data["cgroups"]) < 4 * NOTABLE


def test_diff_leads_with_the_largest_change() -> None:
    data = compare(percentiles("wakeup", 40))
    assert data["headline"].startswith("p99 of wakeup waits rose ")
    assert re.search(r"\(40\.0x\)", data["headline"])
    scores = [change["score"] for change in data["changes"]]
    assert scores == sorted(scores, reverse=True)
    assert data["changes"][0]["name"] == "runqueue_latency.wakeup.p99_ns"
    assert data["changes"][0]["factor"] == pytest.approx(40)


def test_diff_reports_a_fall_and_its_size() -> None:
    assert re.match(r"p\d+ of preemption waits fell .* \(0\.1x\)", compare(percentiles("preemption", 0.1))["headline"])


def test_headline_names_the_p99_of_latency() -> None:
    def change(data: dict[str, Any]) -> None:
        data["runqueue_latency"]["preemption"]["p50_ns"] *= 50
        data["runqueue_latency"]["wakeup"]["p99_ns"] *= 10

    data = compare(change)
    assert data["changes"][0]["name"] == "runqueue_latency.preemption.p50_ns"
    assert data["headline"].startswith("p99 of wakeup waits rose")


def test_few_waits_do_not_lead() -> None:
    before = deepcopy(BASE)
    percentiles("wakeup", 1, 30)(before)
    data = compare(percentiles("wakeup", 40, 30), before)
    p99 = next(change for change in data["changes"] if change["name"] == "runqueue_latency.wakeup.p99_ns")
    assert p99["score"] < NOTABLE


def test_small_change_does_not_lead() -> None:
    assert score(2 * NS_PER_US, 20 * NS_PER_US, 100 * NS_PER_US, 1, 10**6) < NOTABLE
    assert score(0, 0.001, 0.02, 1, 10**6) < NOTABLE
    assert score(NS_PER_MS, 14 * NS_PER_MS, 100 * NS_PER_US, 1, 10**6) > 3


def test_doubling_and_halving_count_the_same_and_events_give_weight() -> None:
    assert score(1e9, 2e9, 1, 1, 100) == pytest.approx(score(2e9, 1e9, 1, 1, 100))
    assert score(1, 2, 0.0001, 1, 20) == pytest.approx(0.5, abs=1e-3)
    assert score(1, 2, 0.0001, 1, 1) < 0.05


def test_steal_and_quotas_are_named() -> None:
    def steal(data: dict[str, Any]) -> None:
        data["totals"]["steal_ratio"] = 0.4

    assert re.match(r"steal rose \d\.\d % → 40\.0 %", compare(steal)["headline"])

    def throttle(data: dict[str, Any]) -> None:
        data["throttling"] = [{"periods": 100, "throttled_periods": 80, "throttled_ns": 1}]

    assert re.match(r"throttled periods rose \d+\.?\d* % → 80\.0 %", compare(throttle)["headline"])


def task(name: str, process: str = "", cgroup: str | None = None, **values: Any) -> dict[str, Any]:
    base = {"tid": 1, "tgid": 1, "timeslices": 500, "run_delay_ns": NS_PER_S}
    return {**BASE["tasks"][0], **base, "comm": name, "process": process or name, "cgroup": cgroup, **values}


def with_tasks(*tasks: dict[str, Any]) -> dict[str, Any]:
    data = deepcopy(BASE)
    data["tasks"], data["counts"]["tasks"] = list(tasks), len(tasks)
    return data


def test_tasks_are_matched_by_name_and_not_by_tid() -> None:
    before = with_tasks(task("nginx", tid=7, tgid=7), task("nginx", tid=8, tgid=7))
    after = with_tasks(task("nginx", tid=100, run_delay_ns=20 * NS_PER_S))
    changes = diff(before, after, ("a", "b"), 10)["tasks"]
    assert [change["name"] for change in changes] == ["task:nginx"]
    assert (changes[0]["before"], changes[0]["after"], changes[0]["factor"]) == (0.4 * NS_PER_S, 4 * NS_PER_S, 10)
    assert changes[0]["status"] == "both"


@pytest.mark.parametrize(
    ("comm", "process", "name"),
    [
        ("kworker/1:2", "kworker/1:2", "kworker/*"),
        ("kworker/u8:3-events", None, "kworker/*"),
        ("worker-12", "java", "java/worker/*"),
        ("python3", "python3", "python3"),
        ("nginx", None, "nginx"),
        ("ksoftirqd/0", "", "ksoftirqd/*"),
    ],
)
def test_numbers_at_the_end_of_a_name_do_not_tell_tasks_apart(comm: str, process: str | None, name: str) -> None:
    assert task_name({"comm": comm, "process": process}) == name


def test_diff_lists_tasks_that_appeared_and_vanished() -> None:
    data = diff(with_tasks(task("old")), with_tasks(task("new")), ("a", "b"), 10)
    assert {change["name"]: change["status"] for change in data["tasks"]} == {
        "task:old": "vanished",
        "task:new": "appeared",
    }
    assert "run delay of new is new with 200 ms/s" in data["headline"] or "run delay of old is gone" in data["headline"]


def test_diff_with_a_snapshot_reports_no_vanished_tasks() -> None:
    before = with_tasks(*(task(f"t{number}a") for number in range(50)))
    before["counts"] = {}
    assert not is_complete(before)
    data = diff(before, with_tasks(task("t1a"), task("new")), ("a", "b"), 100)
    status = {change["name"]: change["status"] for change in data["tasks"]}
    assert (status["task:new"], status["task:t2a"]) == ("not listed", "vanished")
    assert next(change for change in data["tasks"] if change["name"] == "task:new")["before"] is None
    before["tasks"].pop()
    assert is_complete(before)


def test_cgroups_by_their_short_names() -> None:
    path = "/system.slice/nginx.service"
    before, after = with_tasks(task("a", cgroup=path)), with_tasks(task("b", cgroup=path, run_delay_ns=9 * NS_PER_S))
    changes = diff(before, after, ("a", "b"), 10)["cgroups"]
    assert [(change["name"], change["status"]) for change in changes] == [("cgroup:nginx.service", "both")]
    assert changes[0]["factor"] == 9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(host="other"), "host differs: synthetic and other"),
        (lambda d: d.update(kernel="7.0"), "kernel differs"),
        (lambda d: d.update(source="tracepoint"), "source differs"),
        (lambda d: d.update(threshold_ns=1), "thresholds differ, so slow waits are not compared: 5 ms and 1 ns"),
        (lambda d: d["filters"].update(scope="pid 7"), "filters differ: none and pid 7"),
        (lambda d: d.update(cpus=d["cpus"][:1]), "the number of CPUs differs: 2 and 1"),
        (lambda d: d.update(interval_ns=60 * NS_PER_S), "lengths differ: 5.00 s and 60.0 s"),
        (lambda d: d.update(interval_ns=NS_PER_S), "after: 1.00 s are short"),
        (lambda d: d["loss"].update(ring_dropped=100), "after: 76.9 % of the slow waits were not seen"),
        (lambda d: d["loss"].update(tasks_untracked=1), "after: not all tasks are known"),
        (lambda d: d["loss"].update(late_ticks=3), "after: 37.5 % of the intervals were late"),
        (lambda d: d.update(recording={"damage": "it was not closed"}), "after: it was not closed"),
        (lambda d: d.update(unavailable={"steal": "no"}), "after: not available: steal"),
    ],
)
def test_diff_warns_of_a_weak_comparison(change: Change, words: str) -> None:
    data = compare(change)
    assert any(words in warning for warning in data["warnings"]), data["warnings"]
    assert words.split(":")[0] in to_text(data, 5).replace("\n  ", " ")


def test_slow_waits_of_other_thresholds_are_not_compared() -> None:
    names = {change["name"] for change in compare(lambda d: d.update(threshold_ns=1))["changes"]}
    assert "slow_waits_per_second" not in names
    assert "slow_waits_per_second" in {change["name"] for change in compare(lambda _: None)["changes"]}


def test_change_unavailable_on_one_side_has_no_score() -> None:
    def without(data: dict[str, Any]) -> None:
        data["runqueue_latency"] = dict.fromkeys(("wakeup", "preemption", "all"))
        data["totals"]["steal_ratio"] = data["pressure"] = data["throttling"] = data["slow_waits"] = None
        data["totals"]["switches"] = data["tasks"] = None

    data = compare(without)
    for change in data["changes"]:
        assert (change["after"] is None) <= (change["score"] == 0)
    assert to_text(data, 100)


def test_every_field_is_documented() -> None:
    data = compare(percentiles("wakeup", 3))
    page = (ROOT / "docs" / "report.md").read_text()
    own = page[page.index("## `schedtop.diff/1`") :]
    for name in {*data, *data["before"], *data["changes"][0]}:
        assert re.search(rf"`{name}(\[\])?`", own), name
    assert data["schema"] == SCHEMA


def test_text_leads_with_the_headline_and_fits() -> None:
    data = compare(percentiles("wakeup", 40))
    text = to_text(data, 12)
    assert text.startswith(data["headline"][:30])
    assert "Before: " in text and "After: " in text
    assert max(map(len, text.splitlines())) <= 80


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "schedtop", *map(str, arguments)]
    root = str(ROOT)
    return subprocess.run(
        command, env={"PYTHONPATH": root, "HOME": "/"}, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A recording, a snapshot of the command line, and things that are neither."""
    import threading

    place = tmp_path_factory.mktemp("files")
    source = SyntheticSource(Scenario(frames=5))
    made = {name: place / name for name in ("r.jsonl.gz", "s.json", "text", "s2.json", "empty")}
    with Recorder(made["r.jsonl.gz"], Header(source.host, 1)) as recorder:
        for frame in source.frames(threading.Event()):
            recorder.write(frame)
    assert run("snapshot", "--source", "synthetic", "--duration", "5s", "-o", made["s.json"]).returncode == 0
    made["text"].write_text("hello\n")
    made["empty"].write_text("")
    made["s2.json"].write_text(made["s.json"].read_text().replace("snapshot/1", "snapshot/2"))
    return made


def test_recordings_and_snapshots_in_any_mix(files: dict[str, Path], tmp_path: Path) -> None:
    mixed = run("diff", files["s.json"], files["r.jsonl.gz"], "--format", "json")
    assert (mixed.returncode, mixed.stderr) == (0, "")
    data = json.loads(mixed.stdout)
    # The same five synthetic seconds, once from a snapshot and once from a recording.
    assert data["headline"].startswith("Nothing changed much")
    assert {change["score"] for change in data["changes"]} == {0}
    out = tmp_path / "d"
    assert run("diff", files["r.jsonl.gz"], files["s.json"], "-o", out).returncode == 0
    again = run("diff", files["r.jsonl.gz"], files["s.json"], "-o", out)
    assert (again.returncode, "--force" in again.stderr) == (1, True)


@pytest.mark.parametrize("arguments", [("diff", "s.json"), ("diff", "r.jsonl.gz"), ("report",)])
@pytest.mark.parametrize("wrong", ["text", "empty", "s2.json", "missing", "."])
def test_bad_files_are_one_line(files: dict[str, Path], arguments: tuple[str, ...], wrong: str) -> None:
    command, *others = arguments
    done = run(command, *(files[name] for name in others), files["text"].parent / wrong)
    assert (done.returncode, done.stdout) == (1, "")
    words = (
        f"{files['text'].parent / wrong} is not a schedtop recording: "
        if wrong in ("text", "empty")
        else "cannot read "
    )
    assert done.stderr.startswith(f"schedtop: {words}") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["text", "json", "csv", "html"])
def test_reports_of_the_command_line(files: dict[str, Path], name: str) -> None:
    done = run("report", files["r.jsonl.gz"], "--format", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "synthetic" in done.stdout
    saved = run("report", files["s.json"], "--format", name)
    assert (saved.returncode, saved.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (("--format", "pdf"), "'pdf' is not one of", 2),
        (("--from", "x"), "is no moment", 2),
        (("--from", "1h"), "has no interval between", 1),
        (("--table", "tasks"), "--table is for --format csv", 2),
        (("--cpu", "9"), "there is no CPU 9", 1),
        (("--comm", " "), "the name is empty", 2),
        (("-o", "/nonexistent/x"), "no such directory", 1),
    ],
)
def test_bad_options_are_one_line(files: dict[str, Path], arguments: tuple[str, ...], words: str, status: int) -> None:
    done = run("report", files["r.jsonl.gz"], *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr and done.stderr.count("\n") == 1

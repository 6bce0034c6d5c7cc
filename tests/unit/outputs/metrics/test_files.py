"""The Grafana dashboard and the documentation name exactly what is served, and Prometheus can read the expressions."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest

from schedtop.history.view import ViewSettings
from schedtop.outputs.metrics.families import SchedtopCollector
from schedtop.outputs.metrics.totals import Published, Totals
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from tests import ROOT
from tests.unit.activity.made import activity, row

DASHBOARD = ROOT / "contrib/grafana/schedtop.json"
DOCUMENT, NAMES = ROOT / "docs/metrics.md", ROOT / "docs/metrics-names.md"
NAME = re.compile(r"\bschedtop_[a-z0-9_]+\b")
PROMTOOL = shutil.which("promtool")
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "info": ("_info",), "gauge": ("",)}


@pytest.fixture(scope="module")
def data() -> Published:
    """With everything that can be there: kernel programs that are timed, and something that is missing."""
    source = SyntheticSource(Scenario(frames=3))
    source.set_sampling(True)
    source.set_interrupts(True)
    totals = Totals(source.host, ViewSettings(), "cgroup", 50)
    for frame in source.frames(threading.Event()):
        cost = replace(frame.overhead, bpf_ns=1000, bpf_switches=10, longest_caused_wait_ns=5)
        done = activity(row(5, 5, cgroup_id=7, syscalls=1000), unavailable={"page cache": "it has no such event"})
        last = totals.add(replace(frame, overhead=cost, unavailable={"execs": "this kernel has no such event"}), done)
    return last


@pytest.fixture(scope="module")
def served(data: Published) -> dict[str, Metric]:
    """The families by the name that is documented: a counter's with `_total`."""
    families = SchedtopCollector(lambda: data, per_cpu=True).collect()
    return {metric.name + {"counter": "_total", "info": "_info"}.get(metric.type, ""): metric for metric in families}


@pytest.fixture(scope="module")
def samples(served: dict[str, Metric]) -> set[str]:
    return {sample.name for metric in served.values() for sample in metric.samples}


def dashboard() -> dict[str, Any]:
    return dict(json.loads(DASHBOARD.read_text()))


def expressions() -> list[str]:
    """All queries of the panels, with Grafana's variables replaced as it does."""
    found = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    variables = {"$__rate_interval": "1m", "$instance": "127.0.0.1:9435", "$host": "vm"}
    for variable, value in variables.items():
        found = [expression.replace(variable, value) for expression in found]
    return found


def test_the_dashboard_asks_for_nothing_that_is_not_served(samples: set[str]) -> None:
    named = {name for expression in expressions() for name in NAME.findall(expression)}
    assert named <= samples, named - samples
    assert len(named) >= 14
    variables = dashboard()["templating"]["list"]
    assert [each["name"] for each in variables] == ["datasource", "host", "instance"]
    assert {name for each in variables[1:] for name in NAME.findall(each["query"]["query"])} == {"schedtop_info"}


def test_the_dashboards_labels_are_served(served: dict[str, Metric]) -> None:
    known = {label for metric in served.values() for sample in metric.samples for label in sample.labels} | {"instance"}
    for expression in expressions():
        for labels in re.findall(r"by \(([^)]*)\)", expression):
            assert {label.strip() for label in labels.split(",")} <= known
    legends = {target["legendFormat"] for panel in dashboard()["panels"] for target in panel["targets"]}
    assert {label for legend in legends for label in re.findall(r"{{(\w+)}}", legend)} <= known


def test_the_dashboard_has_what_it_should() -> None:
    panels = dashboard()["panels"]
    asked = "\n".join(expressions())
    for part in ("quantile(0.5,", "quantile(0.99,", "quantile(0.999,", "steal", "throttled",
                 "pressure", "slow_waits", "lost", "involuntary", "run_delay"):  # fmt: skip
        assert part in asked, part
    assert "heatmap" in {panel["type"] for panel in panels}
    assert all(panel["datasource"]["uid"] == "${datasource}" and panel["description"] for panel in panels)
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24, "no panel lies on another"


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (package prometheus)")
def test_prometheus_reads_every_expression(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{index}", "expr": text} for index, text in enumerate(expressions() + documented_queries())
    ]
    path = tmp_path / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    run = subprocess.run([str(PROMTOOL), "check", "rules", str(path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{len(rules)} rules found" in run.stdout


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (package prometheus)")
def test_promtool_has_nothing_to_say_about_the_metrics(data: Published) -> None:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(SchedtopCollector(lambda: data, per_cpu=True))
    run = subprocess.run(
        [str(PROMTOOL), "check", "metrics"], input=generate_latest(registry), capture_output=True
    )  # fmt: skip
    assert (run.returncode, run.stdout + run.stderr) == (0, b"")


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (package prometheus)")
def test_prometheus_reads_the_documented_configuration(tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    path = tmp_path / "prometheus.yml"
    path.write_text(block)
    run = subprocess.run([str(PROMTOOL), "check", "config", str(path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def documented_queries() -> list[str]:
    blocks = re.findall(r"```promql\n(.*?)```", f"{DOCUMENT.read_text()}\n{NAMES.read_text()}", re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith("#")]


def documented() -> Iterator[tuple[str, str, set[str]]]:
    """Name, type and labels of each row of the document's tables."""
    row = re.compile(r"^\| `(schedtop_[a-z_]+)` \| (\w+) \|([^|]*)\|", re.MULTILINE)
    for name, kind, labels in row.findall(NAMES.read_text()):
        yield name, kind, set(re.findall(r"`(\w+)`", labels))


def test_the_document_lists_what_is_served(served: dict[str, Metric]) -> None:
    rows = {name: (kind, labels) for name, kind, labels in documented()}
    assert rows.keys() == served.keys()
    for name, metric in served.items():
        labels = {label for sample in metric.samples for label in sample.labels} - {"le"}
        assert rows[name] == (metric.type, labels), name


def test_the_documents_queries_ask_for_what_is_served(samples: set[str]) -> None:
    named = {name for query in documented_queries() for name in NAME.findall(query)}
    assert named and named <= samples

"""What is for many hosts: rules that are tested by Prometheus' own tool, and a dashboard on top of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT

RULES = ROOT / "contrib/prometheus/schedtop.rules.yml"
DASHBOARD: dict[str, Any] = json.loads((ROOT / "contrib/grafana/schedtop-fleet.json").read_text())
SERVED = set(re.findall(r"^\| `(schedtop_\w+)` \|", (ROOT / "docs/metrics-names.md").read_text(), re.M))
"""tests/unit/outputs/metrics/test_files.py compares the page with what is served."""

RECORDED = set(re.findall(r"- record: (\S+)", RULES.read_text()))
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (package prometheus)")


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def names_in(text: str) -> set[str]:
    names = set(re.findall(r"(?<![\w:])(?:\w+:)?schedtop_\w+(?::\w+)?", text))
    return {name if ":" in name else re.sub(r"_bucket$", "", name) for name in names}


@needs_promtool
def test_rules_pass_their_tests_and_the_tests_can_fail(tmp_path: Path) -> None:
    def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(PROMTOOL), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)

    for path in RULES.parent.iterdir():
        shutil.copy(path, tmp_path)
    checked = promtool("check", "rules", RULES.name)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    test = "schedtop.rules.test.yml"
    done = promtool("test", "rules", test)
    assert done.returncode == 0, done.stdout + done.stderr
    for limit in re.findall(r"expr: .*?( [><]=? [\d.]+|== 0)$", RULES.read_text(), re.M):
        # With a limit that is never reached the alert is missed.
        other = RULES.read_text().replace(limit + "\n", " > 1e9\n", 1)
        (tmp_path / RULES.name).write_text(other)
        assert promtool("test", "rules", test).returncode != 0, limit


def test_every_alert_is_tested_and_says_what_to_do() -> None:
    alerts = re.findall(r"- alert: (\w+)\n(.*?)(?=\n      - |\Z)", RULES.read_text(), re.S)
    tests = (RULES.parent / "schedtop.rules.test.yml").read_text()
    assert len(alerts) >= 7
    for name, body in alerts:
        assert f'alertname="{name}"' in tests
        assert "for: " in body and "severity: " in body and "summary: " in body and "description: " in body


def test_rules_and_dashboard_ask_for_what_is_served_or_recorded() -> None:
    asked = set().union(*map(names_in, expressions()))
    assert asked <= SERVED | RECORDED, asked - SERVED - RECORDED
    assert len(asked & RECORDED) >= 7
    in_rules = {name for name in names_in(RULES.read_text()) if ":" not in name}
    assert in_rules - {"schedtop_info"} <= SERVED


def test_dashboard_goes_from_the_worst_hosts_to_one_host_to_one_group() -> None:
    panels = DASHBOARD["panels"]
    rows = [panel["title"] for panel in panels if panel["type"] == "row"]
    assert rows == ["All hosts, the worst first", "One host: $instance", "One group: $group"]
    first = panels[1 : next(at for at, panel in enumerate(panels) if panel["title"] == rows[1])]
    # Whatever the number of hosts, it draws at most so many lines.
    for panel in first:
        for target in panel["targets"]:
            assert re.match(r"(sort_desc\()?topk\((10|20), |cause:", target["expr"]), target["expr"]
    assert all("$instance" in target["expr"] for panel in panels[len(first) + 2 :] for target in panel["targets"])
    places = [panel["gridPos"] for panel in panels]
    cells = [(x, y) for at in places for x in range(at["x"], at["x"] + at["w"])
             for y in range(at["y"], at["y"] + at["h"])]  # fmt: skip
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24, "no panel lies on another"
    assert len({panel["id"] for panel in panels}) == len(panels)


@needs_promtool
def test_prometheus_reads_every_expression(tmp_path: Path) -> None:
    texts = [text.replace("$__rate_interval", "1m") for text in expressions()]
    rules = [{"record": f"panel:{index}", "expr": text} for index, text in enumerate(texts)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    run = subprocess.run([str(PROMTOOL), "check", "rules", "rules.yml"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0 and f"{len(rules)} rules found" in run.stdout, run.stdout + run.stderr

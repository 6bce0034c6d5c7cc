"""`schedtop task --cgroup`: what it is asked, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from schedtop.commands.task.command import _asked
from schedtop.entitlement.report import report_on_group
from schedtop.model.host import Host
from schedtop.outputs.task.group import GroupReport, to_json, to_text
from schedtop.sources.host.competition import CompetitionReader
from tests.unit.entitlement.contenders import cgroup, compete, contender

NOTHING = {"tid": None, "program": (), "cgroup": None, "whole_process": None}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "one thing is looked at"),
        ({"tid": 7, "cgroup": "/a"}, "one thing is looked at"),
        ({"program": ("true",), "cgroup": "/a"}, "one thing is looked at"),
        ({"cgroup": "/a", "whole_process": False}, "--process and --thread are for a TID"),
        ({"cgroup": "/no/such/group"}, "--cgroup: no c"),
    ],
)
def test_one_thing_is_asked_for(options: dict[str, object], why: str) -> None:
    with pytest.raises(click.UsageError, match=why):
        _asked(NOTHING | options)


def report() -> GroupReport:
    groups = {"cgroup /a": cgroup("/a", 1024), "cgroup /b": cgroup("/b", 4096)}
    tasks = contender(1, groups=("cgroup /a",), used=0.2), contender(2, groups=("cgroup /b",), used=0.8)
    found = report_on_group(compete(*tasks, groups=groups), "cgroup /a")
    assert found is not None
    return GroupReport(Host("demo", "6.18.0", "btf"), "/a", 0, found)


def test_group_is_told_in_words() -> None:
    lines = to_text(report()).splitlines()
    assert lines[1] == "Cgroup /a, 1 task that wanted a CPU"
    assert lines[3:7] == [
        "By weight: entitled to 20.0 % of a CPU, got 20.0 %: it is the weights, not the scheduler",
        "  to change it: echo 4096 > /sys/fs/cgroup/cpu/a/cpu.shares (then 50.0 % of a CPU)",
        "  cgroup /a: weight 1024 of 5120, 20.0 %",
        "  beside t2 (2) nice 0, weight 1024 in cgroup /b: entitled to 80.0 % of a CPU, got 80.0 %",
    ]


def test_group_is_told_as_data() -> None:
    data = json.loads(to_json(report()))
    assert (data["schema"], data["cgroup"], data["tasks"]) == ("schedtop.entitlement/1", "/a", 1)
    assert (data["entitlement"]["entitled_cpus"], data["entitlement"]["got_cpus"]) == (0.2, 0.2)
    assert [level["group"] for level in data["entitlement"]["levels"]] == ["cgroup /a"]


def test_group_whose_weight_does_not_count_says_why(tmp_path: Path) -> None:
    (tmp_path / "cgroup/web/inner").mkdir(parents=True)
    (tmp_path / "cgroup/web/cpu.weight").write_text("100")
    reader = CompetitionReader(tmp_path, f"cgroup2 {tmp_path / 'cgroup'} cgroup2 rw 0 0")
    assert reader.key_of("/web") == "cgroup /web"
    with pytest.raises(ValueError, match=r"not enabled for /web/inner: its tasks count one by one in /web$"):
        reader.key_of("/web/inner")
    with pytest.raises(ValueError, match="the root cgroup has no weight"):
        reader.key_of("/")

"""Advice on quotas as text and JSON, of simulated groups."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.outputs.quota.document import SCHEMA, document, to_json
from schedtop.outputs.quota.text import nothing_words, to_text
from schedtop.quota.findings import Findings, Study
from tests.unit.quota.simulation import GROUP, Thread, simulate
from tests.unit.verdict.frames import MS, frame

HOST = Host("test", "6.18.0", "btf")
CGROUP = "/system.slice/web.service"


def findings(*frames: Frame, wanted: str = "", file: str = "") -> Findings:
    study = Study(wanted)
    for made in frames:
        study.add(made)
    return study.findings(HOST, file)


def hog() -> Frame:
    return simulate([Thread(1000)], 20, seconds=4).frame


def test_the_first_line_is_the_most_throttled_group_and_its_quota() -> None:
    lines = to_text(findings(hog())).splitlines()
    assert lines[0].startswith(f"{CGROUP} is throttled: quota 0.20 → 0.7")
    assert lines[0].endswith(" to 0.93 CPUs would have removed 90 % of its throttled time")
    assert "host test" in lines[1] and "over 4.00 s" in lines[1]


def test_text_tells_what_spends_the_quota_and_for_how_long_it_lasts() -> None:
    text = to_text(findings(simulate([Thread(1000), Thread(1, 99)], 20, seconds=4).frame))
    assert "in these the quota lasts 19.0 ms (median), 19.0 ms at worst" in text
    assert "Threads that spend it" in text and " 100  app" in text
    assert "At least: the threads had only the work" in text
    assert "to type: echo 93" in text and "> cpu.max (v1: cpu.cfs_quota_us)" in text


@pytest.mark.parametrize(("weight", "quota"), [("cpu.shares", "cpu.cfs_quota_us"), ("cpu.weight", "cpu.max")])
def test_command_names_the_file_of_the_group(weight: str, quota: str) -> None:
    host = replace(HOST, weight_file=f"/sys/fs/cgroup{{}}/{weight}")
    text = to_text(replace(findings(hog()), host=host))
    assert re.search(rf"to type: echo \d+ > /sys/fs/cgroup{CGROUP}/{re.escape(quota)}$", text, re.M)


def test_text_of_a_group_in_another_one_says_that_the_outer_quota_is_in_the_way() -> None:
    made = hog()
    rows = made.throttling[[0, 0]].copy()
    rows["cgroup_id"], rows["throttled_periods"], rows["throttled_ns"] = (8, 7), (39, 0), (3_000 * MS, 0)
    rows["quota_ns"] = (20 * MS, 60 * MS)
    made = replace(made, throttling=rows)
    made.slow_waits["cgroup_id"] = made.tasks["cgroup_id"] = 8
    text = to_text(findings(made))
    assert f"{CGROUP} has a quota of 0.60 itself: that one must be raised before" in text


def test_nothing_throttled_is_said() -> None:
    assert nothing_words(findings(hog())) == ""
    assert nothing_words(findings(frame())) == "nothing was throttled: no cgroup with running tasks has a CPU quota"
    quiet = simulate([Thread(1, 99)], 20, seconds=4).frame
    assert nothing_words(findings(quiet)) == "nothing was throttled: no cgroup has used up its quota"
    assert "'db.service' in its path" in nothing_words(findings(hog(), wanted="db.service"))
    assert to_text(findings(quiet)).startswith("Nothing was throttled")
    assert document(findings(quiet))["cgroups"] == []


def test_a_group_without_advice_says_why() -> None:
    made = simulate([Thread(30, 430, first_ms=40)], 20, seconds=2).frame
    text = to_text(findings(made))
    assert "no advice: it was throttled in 4 periods only: at least 5 are needed" in text
    (group,) = document(findings(made))["cgroups"]
    assert group["advice"] == [] and group["why_not"]


def test_json_has_the_contract() -> None:
    data = json.loads(to_json(findings(hog(), hog(), file="night.rec.gz")))
    assert data["schema"] == SCHEMA == "schedtop.advise/1"
    assert (data["recording"], data["interval_ns"]) == ("night.rec.gz", 8_000 * MS)
    (group,) = data["cgroups"]
    assert (group["cgroup"], group["cgroup_id"]) == (CGROUP, GROUP)
    assert (group["quota_ns"], group["period_ns"], group["quota_ratio"]) == (20 * MS, 100 * MS, 0.2)
    assert group["throttled_periods"] == 2 * int(hog().throttling["throttled_periods"][0])
    assert group["lasts"] == {"median_ns": 20 * MS, "worst_ns": 20 * MS}
    assert sum(thread["share_ratio"] for thread in group["threads"]) == 1.0
    assert [step["removed_ratio"] for step in group["advice"]] == [0.5, 0.9, 0.99]
    for step in group["advice"]:
        low, high = step["quota"]["low"], step["quota"]["high"]
        assert low["quota_us"] <= high["quota_us"]
        left = (1 - step["removed_ratio"]) * group["throttled_ns"]
        assert high["throttled_ns"]["high"] <= left and low["throttled_ns"]["low"] <= left
        assert low["throttled_ns"]["high"] >= high["throttled_ns"]["high"]


def test_a_changed_quota_is_said() -> None:
    text = to_text(findings(hog(), simulate([Thread(1000)], 50, seconds=4).frame))
    assert "its quota was changed: this is about the last 4.00 s" in text and "quota 0.50 CPUs" in text


def test_names_cannot_steer_a_terminal() -> None:
    made = hog()
    made.tasks["comm"] = b"\x1b[31mred"
    made = replace(made, cgroups={GROUP: "/\x1b[2Jgone"})
    text = to_text(findings(made)) + to_json(findings(made))
    assert "\x1b" not in text

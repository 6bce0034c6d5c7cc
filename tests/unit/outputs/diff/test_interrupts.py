"""Interrupts compared: by source and second, and only where both sides were timed."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from schedtop.base.units import NS_PER_S
from schedtop.outputs.diff.changes import diff
from schedtop.outputs.diff.text import to_text
from tests.unit.outputs.diff.test_diff import BASE


def source(kind: str, name: str, count: int, total_ns: int) -> dict[str, Any]:
    return {"kind": kind, "name": name, "count": count, "total_ns": total_ns, "max_ns": total_ns, "raised_by": []}


def side(*sources: dict[str, Any], timed_s: int | None = None) -> dict[str, Any]:
    """A report of five seconds with these interrupts."""
    data = deepcopy(BASE)
    data["interrupts"] = {"by_cpu": [], "by_source": [*sources]}
    if timed_s:
        data["interrupts"]["timed_ns"] = timed_s * NS_PER_S
    return data


def compare(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return diff(before, after, ("a", "b"), 10)


def test_a_source_that_takes_more_leads() -> None:
    timer = source("vector", "local_timer", 5000, 20_000_000)
    few, many = (source("softirq", "NET_RX", 100 * factor, 5_000_000 * factor) for factor in (1, 400))
    data = compare(side(timer, few), side(timer, many))
    first, second = data["interrupts"]
    assert first["name"] == "interrupt:softirq NET_RX"
    assert (first["before"], first["after"], first["factor"]) == (1_000_000, 400_000_000, 400)
    assert second["score"] == 0
    assert data["headline"].startswith("time of softirq NET_RX rose 1.00 ms/s → 400 ms/s (400.0x)")
    text = to_text(data, 10)
    assert "Time of interrupts by source, what changed most" in text
    assert any(line.split()[:2] == ["softirq", "NET_RX"] for line in text.splitlines())


def test_times_are_by_the_second_that_was_timed() -> None:
    busy = source("softirq", "NET_RX", 100_000, 1_000_000_000)
    (change,) = compare(side(busy), side(busy, timed_s=1))["interrupts"]
    assert (change["before"], change["after"]) == (200_000_000, 1_000_000_000)


@pytest.mark.parametrize(("there", "status", "word"), [(0, "vanished", "gone"), (1, "appeared", "new")])
def test_a_source_of_one_side_is_new_or_gone(there: int, status: str, word: str) -> None:
    sides = [side(), side()]
    sides[there]["interrupts"]["by_source"].append(source("hardirq", "virtio1-req.0", 9000, 900_000_000))
    data = compare(*sides)
    (change,) = data["interrupts"]
    assert (change["status"], change["label"]) == (status, "time of irq virtio1-req.0")
    assert f"is {word} with 180 ms/s" in data["headline"] or f"is {word}, it was 180 ms/s" in data["headline"]


@pytest.mark.parametrize(("timed", "word"), [(0, "before"), (1, "after")])
def test_without_interrupts_on_a_side_there_is_no_comparison(timed: int, word: str) -> None:
    sides = [deepcopy(BASE), deepcopy(BASE)]
    sides[timed] = side(source("softirq", "NET_RX", 9000, 900_000_000))
    data = compare(*sides)
    assert data["interrupts"] is None
    assert f"interrupts were timed only {word}, so they are not compared" in data["warnings"]
    assert "Time of interrupts" not in to_text(data, 10)
    assert compare(BASE, BASE)["interrupts"] is None
    assert not compare(BASE, BASE)["warnings"]

"""docs/triggers.md says what the code does: every metric, action and variable, and every example can be read."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import schedtop
from schedtop.outputs.triggers.commands import LIMIT_S, environment_of
from schedtop.triggers.grammar import parse
from schedtop.triggers.metrics import ALIASES, METRICS
from schedtop.triggers.plan import ACTIONS
from schedtop.triggers.watch import PAUSE_NS, Fired

REPOSITORY = Path(schedtop.__file__).parents[1]
TEXT = (REPOSITORY / "docs/triggers.md").read_text(encoding="utf-8")
ARGUMENTS = {"kind": "`wakeup`, `preemption`, `fork`", "cpu": "`cpu:N`", "tasks": "tasks", "cgroup": "a cgroup"}


def section(title: str) -> str:
    return re.split(r"^## ", TEXT.split(f"\n## {title}\n", 1)[1], flags=re.MULTILINE)[0]


def table(title: str) -> list[list[str]]:
    """The first table of a section without its head."""
    lines = [line for line in section(title).split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_of_metrics_is_that_of_the_code() -> None:
    wanted = [
        [f"`{name}`", f"`{metric.unit.example}`", ", ".join(ARGUMENTS[kind] for kind in metric.takes), metric.meaning]
        for name, metric in METRICS.items()
    ]
    assert table("Metrics") == wanted


def test_other_names_are_told() -> None:
    assert all(f"`{name}`" in section("Metrics") for name in ALIASES)


def test_every_action_and_variable_is_told() -> None:
    rows = [row[0].strip("`") for row in table("Actions") if row[0].startswith("`")]
    assert [name.split()[0] for name in rows if not name.startswith("SCHEDTOP")] == [*ACTIONS]
    fired = Fired(0, parse("p99 > 1ms"), 0, 0, 0, (1.0,))
    assert [name for name in rows if name.startswith("SCHEDTOP")] == [*environment_of(fired, "", {})]


def test_limits_are_those_of_the_code() -> None:
    assert f"longer than {LIMIT_S:.0f} s" in " ".join(TEXT.split())
    assert f"at most once in {PAUSE_NS // 10**9} s" in TEXT


def test_every_condition_that_is_shown_can_be_read() -> None:
    joined = TEXT.replace("\\\n", " ").replace("%%", "%")
    shown = [words[index + 1] for line in re.findall(r"^.*--on '.*$", joined, re.MULTILINE)
             for words in [shlex.split(line.replace("`", " "), comments=True)]
             for index, word in enumerate(words) if word == "--on"]  # fmt: skip
    assert len(shown) >= 8
    for text in shown:
        assert str(parse(text)) == text

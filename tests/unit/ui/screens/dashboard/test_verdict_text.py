"""The verdict in full, as `v` shows it."""

from __future__ import annotations

from schedtop.ui.screens.dashboard.verdict_text import verdict_lines
from schedtop.verdict.verdict import Verdict
from schedtop.widgets.strips import spans_width

VERDICT = Verdict(
    "alarm", "pinned", "web is pinned", ("50 slow waits",), "Widen it: taskset 7", "taskset 7", ("Or leave it",)
)


def text(verdict: Verdict, width: int = 76) -> list[str]:
    lines = [list(line) for line in verdict_lines(verdict, width)]
    assert all(spans_width(line) <= width for line in lines)
    return ["".join(part for part, _ in line).rstrip() for line in lines]


def test_what_can_be_done_instead_is_below_what_to_do() -> None:
    assert text(VERDICT)[:-1] == [
        *("web is pinned", "", "Evidence", "· 50 slow waits", ""),
        *("What to do", "Widen it:", "  taskset 7", "", "Or leave it", ""),
    ]


def test_commands_of_other_possibilities_are_whole_as_well() -> None:
    """`do echo 19 >` ended a line in the middle of prose: nobody could copy it."""
    loop = "for p in 21223 21224 21225; do echo 19 > /proc/$p/autogroup; done"
    told = (f"If this lasts, lower the priority of their sessions: {loop}", "It may hold a lock: nobody knows")
    settled = Verdict("ok", "blocker", "api waits 3 % of the time", alternatives=told)
    lines = ["".join(part for part, _ in line) for line in verdict_lines(settled, 76)]
    assert f"  {loop}" in lines
    assert lines[lines.index("What else can be done") + 1] == "If this lasts, lower the priority of their sessions:"
    assert "It may hold a lock: nobody knows" in lines


def test_what_is_told_beside_a_live_verdict_has_lines_of_its_own() -> None:
    live = VERDICT.beside(
        ended="The alarm ended 4 s ago",
        left="no slow waits (1 s before)",
        kept="As of 2 s ago; now: web waits a little",
        relieved="api (8) no longer waits",
        undo="To undo it: taskset 8",
    )
    lines = text(live)
    assert lines[:5] == [
        *("✓ api (8) no longer waits", "", "web is pinned"),
        *("The alarm ended 4 s ago: no slow waits (1 s before)", "As of 2 s ago; now: web waits a little"),
    ]
    assert lines[-6:-1] == ["To undo it:", "  taskset 8", "", "Or leave it", ""]
    text(live, 20)

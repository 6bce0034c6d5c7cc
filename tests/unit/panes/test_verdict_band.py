"""The verdict in three lines, where two have no room for what its command is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from schedtop.panes.verdict_band import HELPED, tall_band, verdict_band
from schedtop.verdict.verdict import Verdict
from schedtop.widgets.strips import Span, spans_width

Band = Callable[[Verdict, int, str], list[list[Span]]]

QUOTA = "/orders is throttled by its quota in 100 % of its periods, up to 79.4 ms"
STORM = "bash deploy.sh starts 1,370 processes/s (true): 60 % of CPU time; web (29853) waits 18 % of the time"
FULL = "crunch uses 88 % of 2 CPUs; api (15582) waits 22 % of the time, behind crunch (15580), for its time slices"


def test_nothing_stands_behind_a_command_that_would_be_typed_with_it() -> None:
    """`...; done │ p99 is 8.88 ms` is no command."""
    action = f"Raise the quota: {(command := 'echo 163000 > /sys/fs/cgroup/cpu/orders/cpu.cfs_quota_us')}"
    verdict = Verdict("alarm", "throttled", QUOTA, ("p99 is 8.88 ms", "31 slow waits"), action, command)

    def shown(width: int) -> list[str]:
        lines = ["".join(text for text, _ in line) for line in verdict_band(verdict, width, "v")]
        assert all(len(line) == width for line in lines)
        return [line.strip() for line in lines]

    first, second = shown(160)
    assert first == f"!! ALARM  {QUOTA} │ p99 is 8.88 ms │ 31 slow waits"
    assert second.startswith(f"→ {action}  ") and second.split(command)[1].split() == ["v", "why"]
    assert shown(110)[0] == f"!! ALARM  {QUOTA} │ p99 is 8.88 ms"
    assert shown(92)[0] == f"!! ALARM  {QUOTA}"


@pytest.mark.parametrize(
    ("headline", "words", "command", "told"),
    [
        (
            "web (29613) is pinned to CPU 1, behind audio-mix (29772), up to 53.5 ms; CPU 0 is 91 % idle",
            "Let web run elsewhere",
            "taskset -cp 0-1 29613",
            [
                " !! ALARM  web (29613) is pinned to CPU 1, behind audio-mix (29772), up to",
                " 53.5 ms; CPU 0 is 91 % idle │ 30 slow waits",
                " → Let web run elsewhere: taskset -cp 0-1 29613                         v why",
            ],
        ),
        (
            QUOTA,
            "Raise the quota from 0.30 to 1.63 CPUs",
            "echo 163000 > /sys/fs/cgroup/cpu/orders/cpu.cfs_quota_us",
            [
                " !! ALARM  /orders is throttled by its quota in 100 % of its periods, up to",
                " 79.4 ms   → Raise the quota from 0.30 to 1.63 CPUs:",
                " echo 163000 > /sys/fs/cgroup/cpu/orders/cpu.cfs_quota_us               v why",
            ],
        ),
        (
            STORM,
            "Lower the priority of their session (autogroup)",
            "for p in 29850 29851; do echo 19 > /proc/$p/autogroup; done",
            [
                " !! ALARM  bash deploy.sh starts 1,370 processes/s (true): 60 % of CPU time;",
                " web (29853) waits 18 % of the time   → Lower the priority of their session:",
                " for p in 29850 29851; do echo 19 > /proc/$p/autogroup; done            v why",
            ],
        ),
        (
            FULL,
            "Lower the priority of their sessions",
            "for p in 15578 15579 15580 15581; do echo 10 > /proc/$p/autogroup; done",
            [
                " !! ALARM  crunch uses 88 % of 2 CPUs; api (15582) waits 22 % of the time,",
                " behind crunch (15580) …   → Lower the priority of their sessions:      v why",
                " for p in 15578 15579 15580 15581; do echo 10 > /proc/$p/autogroup; done",
            ],
        ),
    ],
)
def test_three_lines_have_room_for_what_a_command_is_for(
    headline: str, words: str, command: str, told: list[str]
) -> None:
    verdict = Verdict("alarm", "some", headline, ("30 slow waits",), f"{words}: {command}", command)
    lines = tall_band(verdict, 78, "v")
    assert ["".join(part for part, _ in line).rstrip() for line in lines] == told
    assert (command, "alarm-command") in lines[2]
    assert all(spans_width(line) == 78 for line in lines)


def test_the_key_stands_above_what_a_command_is_for_where_there_is_room() -> None:
    command = "for p in 15578 15579 15580 15581; do echo 10 > /proc/$p/autogroup; done"
    verdict = Verdict(
        "alarm", "some", "crunch uses 88 % of 2 CPUs", (), f"Lower the priority of crunch: {command}", command
    )
    first, second, third = ("".join(part for part, _ in line) for line in tall_band(verdict, 78, "v"))
    assert first.startswith(" !! ALARM  crunch uses 88 % of 2 CPUs ") and first.endswith(" v why ")
    assert second.strip() == "→ Lower the priority of crunch:", "nothing there that would be typed"
    assert third.strip() == command


def test_the_third_line_has_evidence_where_no_command_is_to_be_typed() -> None:
    verdict = Verdict("notice", "some", QUOTA, ("30 slow waits", "one more"))
    lines = tall_band(verdict, 78, "v")
    assert ["".join(part for part, _ in line).rstrip() for line in lines] == [
        " ! NOTICE  /orders is throttled by its quota in 100 % of its periods, up to",
        " 79.4 ms │ 30 slow waits │ one more                                     v why",
        "",
    ]
    (*_, third) = tall_band(replace(verdict, evidence=("much " * 14, "one more")), 78, "v")
    assert "".join(part for part, _ in third).strip() == "much " * 13 + "much"
    assert spans_width(third) == 78


def test_the_lines_tell_what_a_live_screen_knows_besides() -> None:
    kept = "True 2 s ago"
    verdict = Verdict("alarm", "some", "web is pinned", ("30 slow waits",), "Widen: x 8", "x 8").beside(kept=kept)
    assert "".join(part for part, _ in tall_band(verdict, 78, "v")[1]).strip() == "true 2 s ago │ 30 slow waits"
    undo = "To undo the last command: echo 30000 > /sys/fs/cgroup/cpu/orders/cpu.cfs_quota_us"
    checking = Verdict("notice", "some", "The command is in place", ("before: " + QUOTA,)).beside(undo=undo)
    (*_, third) = tall_band(checking, 98, "v")
    assert "".join(part for part, _ in third).strip() == "before: " + QUOTA
    assert "to undo the last command: echo 30000" in "".join(part for part, _ in tall_band(checking, 98, "v")[1])


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("band", [verdict_band, tall_band])
@pytest.mark.parametrize(
    "command", ["taskset -cp 1 9712", "for p in 6752 6753 6754 6755; do echo 0 > /proc/$p/autogroup; done"]
)
def test_how_to_undo_what_has_helped_is_told_once_and_nothing_beside_it(band: Band, width: int, command: str) -> None:
    """It stood there twice, shortened and whole, or, at 80 columns, not at all; other evidence came each second."""
    helped = Verdict("ok", "calm", "web (7) waits 1 % of the time (45 % before)", ("little is left", "p99 is 3 ms"))
    shown = band(helped.beside(undo=f"To undo the last command: {command}"), width, "v")
    lines = ["".join(part for part, _ in line) for line in shown]
    assert " ".join(lines).count(command) == 1
    assert command in lines[1] and "little is left" not in lines[1]
    assert all(spans_width(line) == width for line in shown)
    assert {style for _, style in shown[0]} == {HELPED} and HELPED not in {style for _, style in shown[1]}
    calm = replace(helped, action="Still slow? x", command="x").beside(undo=f"To undo the last command: {command}")
    assert HELPED not in {style for line in band(calm, width, "v") for _, style in line}

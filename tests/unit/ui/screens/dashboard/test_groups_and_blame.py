"""Groups, blame, details and the verdict: the keys, and what the source is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedtop.base.units import format_clock
from schedtop.model.rows import GROUPS
from schedtop.panes.header import HeaderPane
from schedtop.panes.scheduler.blame.pane import BlamePane
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.tasks.selected import ChosenGroup, selected_group
from schedtop.panes.verdict_band import verdict_band
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.text import TextScreen
from schedtop.verdict.verdict import Verdict
from schedtop.widgets.strips import Span, spans_width
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, lines, text
from tests.unit.ui.drive import collected, to_pane, until
from tests.unit.ui.screens.dashboard.test_dashboard import running


def selected_of(dashboard: Dashboard) -> ChosenGroup | None:
    """What is selected among the tasks, as every pane may know it."""
    return selected_group(dashboard.view) if dashboard.view is not None else None


VERDICT = Verdict("alarm", "rule", "a headline", ("first evidence", "second evidence"), "an action")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 48), (200, 60)])
async def test_source_groups_while_a_pane_shows_groups(size: tuple[int, int]) -> None:
    async with running(size) as (pilot, source, dashboard):
        await to_pane(pilot, "tasks")
        for kind in [*list(GROUPS)[1:], "thread"]:
            await pilot.press("g")
            await collected(pilot, source)
            assert source.groupings[-1] == ("" if kind == "thread" else GROUPS[kind])
            assert_widths(pilot.app)
            assert_drawn_whole(pilot.app)
            assert (f"by {kind}: " in text(pilot.app)) == (kind != "thread")
            assert dashboard.timeline.settings.group == kind
        await pilot.press("G")
        assert source.groupings[-1] == "pid_namespace"


async def test_groups_have_percentiles_and_the_latency_of_the_selected_one_is_shown() -> None:
    async with running((160, 48)) as (pilot, source, dashboard):
        await pilot.press("g", "g")
        assert selected_of(dashboard) is None
        await collected(pilot, source, 2)
        screen = text(pilot.app)
        assert "docker" in screen
        assert "p99" in screen
        await pilot.press("down")
        chosen = selected_of(dashboard)
        assert chosen is not None
        assert f"Runqueue latency · {chosen.name}" in text(pilot.app)
        assert dashboard.view is not None and dashboard.view.settings.selected_task == (chosen.id,)
        assert "of the selected row, all kinds together" in text(pilot.app)
        await pilot.press("escape")
        assert "of the selected row" not in text(pilot.app)


async def test_the_latency_of_a_single_task_is_kept_while_it_is_selected() -> None:
    async with running((160, 48)) as (pilot, source, dashboard):
        await to_pane(pilot, "tasks")
        await pilot.press("down")
        assert source.groupings[-1] == "tid"
        chosen = selected_of(dashboard)
        assert chosen is not None
        # The Frames until now have none: all waits are shown.
        assert f"Runqueue latency · {chosen.name}" not in text(pilot.app)
        await collected(pilot, source, 2)
        chosen = selected_of(dashboard)
        assert chosen is not None
        assert f"({chosen.id})" in chosen.name
        assert f"Runqueue latency · {chosen.name}" in text(pilot.app)
        await pilot.press("escape")
        assert source.groupings[-1] == ""


async def test_a_selected_container_is_all_of_its_cgroups() -> None:
    async with running((160, 48)) as (pilot, source, dashboard):
        await pilot.press("g", "g", "g")
        await collected(pilot, source, 2)
        await pilot.press("down")
        chosen = selected_of(dashboard)
        assert chosen is not None
        assert f"Runqueue latency · {chosen.name}" in text(pilot.app)
        assert dashboard.view is not None
        assert dashboard.view.frame.groups is not None


async def test_blame_has_two_modes_and_orders() -> None:
    async with running((120, 40)) as (pilot, _source, dashboard):
        await to_pane(pilot, "blame")
        assert isinstance(dashboard.pane_layout.current, BlamePane)
        assert "held the CPU" in text(pilot.app)
        await pilot.press("b")
        assert dashboard.timeline.settings.blame == "preemptor"
        await pilot.pause()
        assert "took the CPU" in text(pilot.app)
        await pilot.press("s")
        assert dashboard.timeline.settings.pair_sort == "count"
        await pilot.press("b", "down", "down")
        assert dashboard.timeline.settings.blame == "blocker"
        assert dashboard.pane_layout.current.selected_key is not None


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 15)])
async def test_details_of_a_slow_wait(size: tuple[int, int]) -> None:
    async with running(size) as (pilot, source, dashboard):
        await to_pane(pilot, "slow-waits")
        await pilot.press("down", "i")
        assert isinstance(pilot.app.screen, TextScreen)
        await pilot.pause()
        assert_widths(pilot.app)
        row = dashboard.query_one(SlowWaitsPane).selected_row
        assert row is not None
        screen = text(pilot.app)
        assert f"({row['tid']}) waited" in screen
        for place in range(3):
            assert f"({row['blocker_tid'][place]})" in screen
        await collected(pilot, source)
        await pilot.press("escape")
        assert pilot.app.screen is dashboard


async def test_details_of_a_task_with_markup_in_its_name() -> None:
    async with running((80, 24)) as (pilot, _source, dashboard):
        pane = dashboard.query_one(SlowWaitsPane)
        assert pane.view is not None
        for row in pane.view.slow_waits:
            row["comm"] = b"[/foo][red]x"
        await to_pane(pilot, "slow-waits")
        await pilot.press("down", "i")
        await pilot.pause()
        assert isinstance(pilot.app.screen, TextScreen)
        assert "[/foo][red]x (" in text(pilot.app)


async def test_details_by_mouse() -> None:
    async with running((120, 40)) as (pilot, _source, _dashboard):
        await pilot.click("#slow-waits", offset=(10, 3), times=2)
        await pilot.pause()
        assert isinstance(pilot.app.screen, TextScreen)
        await pilot.click(offset=(0, 0))
        await pilot.pause()
        assert not isinstance(pilot.app.screen, TextScreen)


async def test_details_without_slow_waits_are_empty() -> None:
    async with running((120, 40), slow_waits=0) as (pilot, _source, dashboard):
        await to_pane(pilot, "slow-waits")
        await pilot.press("i")
        assert pilot.app.screen is dashboard


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (160, 48)])
async def test_the_verdict_is_in_the_header_and_in_full_with_its_key(size: tuple[int, int]) -> None:
    async with running(size) as (pilot, _source, dashboard):
        verdict = dashboard.shown.verdict
        assert verdict is not None
        line = lines(pilot.app)[0]
        assert verdict.headline[:20] in line
        await pilot.press("v")
        await pilot.pause()
        screen = " ".join(text(pilot.app).replace("┃", " ").split())
        assert verdict.headline.split()[-1] in screen
        assert verdict.rule in screen or size[1] < 20, "there it is further down"
        view = dashboard.shown.view
        assert view is not None
        assert f"as of {format_clock(view.end_time_ns)}," in screen or size[1] < 20, "it stands still"
        assert_widths(pilot.app)
        await pilot.press("v")
        assert pilot.app.screen is dashboard


async def test_the_command_is_copied_from_the_dashboard_and_from_its_text() -> None:
    """The clipboard of the terminal: a command that wraps between two borders cannot be selected there."""
    async with running((80, 24)) as (pilot, _source, dashboard):
        app = pilot.app
        await until(pilot, lambda: dashboard.shown.verdict is not None and dashboard.shown.verdict.command != "")
        assert dashboard.shown.verdict is not None
        command = dashboard.shown.verdict.command
        await pilot.press("y")
        assert app.clipboard == command
        app.copy_to_clipboard("")
        await pilot.press("v")
        await until(pilot, lambda: "y copies" in text(app))
        await pilot.press("y")
        assert app.clipboard == command
        await pilot.press("escape")
        dashboard.shown.verdict = replace(dashboard.shown.verdict, command="")
        app.copy_to_clipboard("")
        await pilot.press("y")
        assert app.clipboard == ""


def test_a_narrow_verdict_keeps_headline_and_action() -> None:
    def words(width: int) -> list[str]:
        lines = verdict_band(VERDICT, width, "v")
        assert all(spans_width(line) <= width for line in lines)
        return ["".join(part for part, _ in line).rstrip() for line in lines]

    evidence = " first evidence │ second evidence"
    assert words(60) == [" !! ALARM  a headline   → an action", f"{evidence:<53} v why"]
    assert words(40) == [" !! ALARM  a headline   → an action", f"{evidence} v why"]
    assert words(30) == [" !! ALARM  a headline", f"{' → an action':<23} v why"]
    assert words(18) == [" !! ALARM  a", " headline   → an …"]
    assert verdict_band(None, 80) == [[], []]


def test_where_nothing_is_to_be_done_the_second_line_is_not_empty() -> None:
    """While it was checked whether a command had helped, 80 columns had no room for how to undo it, nor for before."""
    long = "before: " + "true takes the CPUs, " * 9
    told = Verdict("notice", "forks", "It is in place", (long,)).beside(undo="To undo it: " + "for p in 1 " * 9)
    words = "".join(part for part, _ in verdict_band(told, 78, "v")[1])
    assert words.startswith(" before: true takes") and words.rstrip().endswith("… v why")
    assert len(words) == 78


def test_a_command_begins_the_second_line_of_a_band_at_every_width() -> None:
    """From second to second it was behind the headline, or below it before the evidence."""
    verdict = replace(VERDICT, action="Do: x 8", command="x 8")
    for width in (40, 60, 160):
        assert "".join(part for part, _ in verdict_band(verdict, width)[1]).startswith(" → Do: x 8")
    calm = replace(verdict, level="ok")
    assert "".join(part for part, _ in verdict_band(calm, 160)[0]).rstrip().endswith("→ Do: x 8")


def test_command_is_whole_before_the_headline_is() -> None:
    verdict = Verdict(
        "alarm", "rule", "task 7 waits behind task 8", (), "Make it wait: renice -n 10 -p 8", "renice -n 10 -p 8"
    )

    def words(width: int) -> list[str]:
        return ["".join(part for part, _ in line).rstrip() for line in verdict_band(verdict, width)]

    assert words(43) == [" !! ALARM  task 7 waits behind task 8", " → Make it wait: renice -n 10 -p 8"]
    assert words(36) == [" !! ALARM  task 7 waits behind task", " 8   → renice -n 10 -p 8"]
    assert words(28) == [" !! ALARM  task 7 waits beh…", " → renice -n 10 -p 8"]


def test_asides_go_before_the_words_on_what_the_command_does() -> None:
    """At 120 columns a shell loop stood alone."""
    loop = "for p in 31955 31956 31957 31958; do echo 10 > /proc/$p/autogroup; done"
    action = f"Lower the priority of their sessions (nice alone does nothing here): {loop}"
    verdict = Verdict("alarm", "saturated", "crunch uses 88 % of 2 CPUs", (), action, loop)
    for width, words in ((160, action), (118, f"Lower the priority of their sessions: {loop}"), (90, loop)):
        assert f"→ {words}" in "".join(part for part, _ in verdict_band(verdict, width)[1])


def test_what_is_to_be_left_is_told_before_what_only_looks() -> None:
    look = "schedtop task 8"
    action = f"Leave it unless it must be fast; to look closer: {look}"
    verdict = Verdict(
        "notice", "pinned", "CPU 1: batch-report ×2 take turns (up to 4.09 ms)", (), action, look, may_stay=True
    )
    for width, words in ((100, action), (60, "Leave it unless it must be fast")):
        assert f"→ {words}" in "".join(part for part, _ in verdict_band(verdict, width)[1])


def test_a_headline_does_not_end_with_a_name_of_which_nothing_is_told() -> None:
    """At 80 columns it ended with `; web …`."""
    headline = "sh starts 1,204 processes/s (cat, date): 74 % of CPU time; web (24559) waits 22 % of the time"
    command = f"for p in {'12345 ' * 8}; do echo 19 > /proc/$p/autogroup; done"
    for width in range(30, 100):
        first = "".join(
            part for part, _ in verdict_band(Verdict("alarm", "forks", headline, (), "", command), width)[0]
        )
        assert "web …" not in first
        assert "web (24559) …" not in first
        assert not first.rstrip().endswith("cat …")


def test_where_there_is_little_room_the_end_of_an_alarm_is_told_without_what_is_left() -> None:
    ended, left = "The alarm ended 4 s ago", "slow waits take 158 ms a second (2.58 s before)"
    verdict = Verdict("notice", "rule", "task 7 waits behind task 8", (), "Do: x 8", "x 8")
    verdict = verdict.beside(ended=ended, left=left)

    def words(width: int) -> list[str]:
        return ["".join(part for part, _ in line).rstrip() for line in verdict_band(verdict, width)]

    assert words(120)[0].startswith(f" ! NOTICE  {ended}: {left}; now: ")
    assert words(60) == [" ! NOTICE  The alarm ended 4 s ago; now: task 7 waits behind", " task 8   → Do: x 8"]


def test_what_a_command_has_helped_comes_first_and_is_no_alarm() -> None:
    verdict = Verdict("alarm", "rule", "hogs take turns", (), "Do: x 8", "x 8").beside(
        relieved="api (7) no longer waits"
    )

    def band(width: int) -> list[list[Span]]:
        return verdict_band(verdict, width)

    for width in (80, 60):
        assert band(width)[0][0] == (" ✓ api (7) no longer waits ", "live")
        assert band(width)[0][1] == (" !! ALARM ", "alarm")
    assert band(60)[1][1:3] == [("→ Do: ", "alarm"), ("x 8", "alarm-command")]
    assert band(50)[0][0] == (" !! ALARM ", "alarm"), "where there is no room the alarm is told"
    assert all(spans_width(line) <= width for width in range(13, 90) for line in band(width))


def test_beside_what_a_command_has_helped_the_end_of_the_alarm_is_not_told() -> None:
    """At 80 columns there was no room for both, and `now:` was cut off."""
    ended, headline = "The alarm ended 6 s ago", "true ×1,700/s take 59 % of CPU time"
    whole = "web (7) waits 2 % of the time (16 % before)"
    told = Verdict("notice", "forks", headline, (), "See: x 8", "x 8").beside(ended=ended, relieved=whole)
    for width, relief in ((160, whole), (80, "web (7) waits 2 % (16 % before)"), (58, "web (7) waits 2 %")):
        assert verdict_band(told, width)[0][0] == (f" ✓ {relief} ", "live")
        words = "".join(part for line in verdict_band(told, width) for part, _ in line)
        assert "The alarm ended" not in words and "true ×1,700/s take 59 %" in words
    words = "".join(part for part, _ in verdict_band(told.beside(relieved=""), 160)[0])
    assert words.startswith(f" ! NOTICE  {ended}; now: {headline}")


def test_before_an_alarm_on_a_narrow_screen_what_has_helped_is_short() -> None:
    """`More work than 2 CPUs …` was all that was left of the alarm."""
    whole = "web (7) waits 2 % of the time (16 % before)"
    told = Verdict("alarm", "saturated", "More work than 2 CPUs can do", (), "See: x 8", "x 8").beside(relieved=whole)
    for width, relief in ((160, whole), (80, "web (7) waits 2 %")):
        assert verdict_band(told, width)[0][0] == (f" ✓ {relief} ", "live")


def test_the_verdict_does_not_steer_the_terminal() -> None:
    hostile = Verdict("notice", "rule", "\x1b[31mred", ("\u202e",), "日本語").beside(
        relieved="\x1b", ended="\x1b", kept="\x1b"
    )
    for width in range(13, 60):
        for line in verdict_band(hostile, width, "v"):
            assert all(part.isprintable() for part, _ in line)
            assert spans_width(line) <= width


async def test_the_verdict_is_not_worked_out_again_while_frozen() -> None:
    async with running((120, 40)) as (pilot, source, dashboard):
        await pilot.press("space")
        before = dashboard.shown.verdict
        await collected(pilot, source, 2)
        assert dashboard.shown.verdict is before


async def test_a_narrow_header_has_one_more_line_while_it_has_a_band() -> None:
    command = "echo 163000 > /sys/fs/cgroup/cpu/orders/cpu.cfs_quota_us"
    headline = "/orders is throttled by its quota in 100 % of its periods, up to 79.4 ms"
    alarm = Verdict("alarm", "throttled", headline, (), f"Raise the quota from 0.30 to 1.63 CPUs: {command}", command)
    short = replace(alarm, headline="/orders is throttled", action=f"Raise: {command}")
    async with running((80, 24)) as (pilot, _source, dashboard):
        header = dashboard.query_one(HeaderPane)
        for verdict, height in ((alarm, 4), (short, 4), (Verdict("ok", "calm", "Nothing waits"), 3), (short, 4)):
            header.show(dashboard.view, verdict=verdict)
            await pilot.pause()
            assert header.size.height == height
            assert "● LIVE" in lines(pilot.app)[height - 1]
        await pilot.resize_terminal(80, 20)
        header.show(dashboard.view, verdict=alarm)
        await pilot.pause()
        assert header.size.height == 3

"""The path screen: what opens it, sizes, every key, and that its source runs only while it is open."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pytest
from textual.pilot import Pilot

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.model.interrupts import INTERRUPT_DTYPE, InterruptTable
from schedtop.model.source import SourceError
from schedtop.path.live import PathFrame, ended
from schedtop.path.subject import PathSubject
from schedtop.sources.synthetic.offcpu import SyntheticOffCpu
from schedtop.sources.synthetic.path import SyntheticPath
from schedtop.ui.app import SchedtopApp
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.path.screen import PathScreen
from schedtop.ui.screens.text import TextScreen
from schedtop.verdict.verdict import Verdict
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, lines, text
from tests.unit.ui.drive import GivenSource, collected, to_pane, until

SUBJECT = PathSubject(1204, 1200, "rpc-worker")
HEADLINE = "Priority inversion: flusher holds what rpc-worker waits for"


class Watched(SyntheticPath):
    """A source whose opening and closing can be seen, and that can fail, or end with its task."""

    def __init__(
        self, subject: PathSubject, min_ns: int, *, interrupts: bool = False, opening: str = "", ends: str = ""
    ) -> None:
        super().__init__(subject, min_ns, pace_s=0.05, interrupts=interrupts)
        self.subject, self.min_ns, self.interrupts = subject, min_ns, interrupts
        self.opening, self.ends = opening, ends
        self.opened = self.closed = False

    def __enter__(self) -> Self:
        if self.opening:
            raise SourceError(self.opening)
        self.opened = True
        return super().__enter__()

    def __exit__(self, *exc: Any) -> None:
        self.closed = True

    def frames(self, stop: threading.Event) -> Iterator[PathFrame]:
        for number, frame in enumerate(super().frames(stop)):
            if self.ends and number == 2:
                yield ended(frame)
                stop.wait()
                return
            yield frame


class Opened:
    """Makes the sources, and keeps them."""

    def __init__(self, **given: str) -> None:
        self.given = given
        self.sources: list[Watched] = []

    def __call__(self, subject: PathSubject, min_ns: int, /, *, interrupts: bool = False) -> Watched:
        self.sources.append(Watched(subject, min_ns, interrupts=interrupts, **self.given))
        return self.sources[-1]


def calm(_subject: PathSubject) -> Verdict:
    return Verdict("ok", "calm", "Waits are short: p99 is 20 µs")


@asynccontextmanager
async def path_screen(
    size: tuple[int, int] = (120, 40), subject: PathSubject = SUBJECT, **given: str
) -> AsyncIterator[tuple[Pilot[int], PathScreen, Opened]]:
    """The app with the screen open and something in it."""
    make = Opened(**given)
    app = SchedtopApp(GivenSource())
    async with app.run_test(size=size, notifications=True) as pilot:
        screen = PathScreen(make, subject, calm)
        app.push_screen(screen)
        await until(pilot, lambda: screen.shown or screen.failure)
        await pilot.pause()
        yield pilot, screen, make
    assert app.wait_for_source()
    assert all(made.closed or not made.opened for made in make.sources)


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40), (200, 60), (200, 24)])
async def test_sizes(size: tuple[int, int]) -> None:
    async with path_screen(size) as (pilot, screen, _make):
        await pilot.press("space")
        for keys in ((), ("s",), ("tab",), ("z",), ("1",), ("pagedown",)):
            await pilot.press(*keys)
            await pilot.pause()
            assert_widths(pilot.app)
            assert_drawn_whole(pilot.app)
        await pilot.press("escape")
        await pilot.pause()
        shown = text(pilot.app)
        assert "rpc-worker (1204)" in shown and "1 Profile" in shown and "2 Episodes" in shown and "Esc Close" in shown
        assert "Priority inversion: flusher holds" in shown
        if size[0] >= 80:
            assert "lost: 17 events" in shown and "? Help" in lines(pilot.app)[-1]
            assert "queued behind backup" in shown
        assert screen.panes.episodes.size.height >= 2


async def test_path_screen_that_is_too_small_says_so() -> None:
    async with path_screen((50, 10)) as (pilot, _screen, _make):
        assert "too small: 50x10" in text(pilot.app)


async def test_sentence_profile_and_tree_say_the_same() -> None:
    async with path_screen() as (pilot, screen, _make):
        await pilot.press("space")
        assert screen.shown
        shown = text(pilot.app)
        assert "! NOTICE  " + HEADLINE in shown and "backup (nice 10, pinned to CPU 1)" in " ".join(shown.split())
        assert "rpc-worker was late by" in shown and "40 % flusher queued behind backup" in shown
        assert "├ blocked in futex, until woken by flusher (1207)" in shown
        assert "│ ├ queued behind backup 80 %, tar 20 %, 2 times" in shown
        for tree in screen.shown.worst:
            assert sum(line.time_ns for line in tree.lines if line.state) == tree.length_ns
        assert [tree.late_ns for tree in screen.shown.worst] == sorted(
            (tree.late_ns for tree in screen.shown.worst), reverse=True
        )


async def test_order_of_the_episodes() -> None:
    async with path_screen() as (pilot, screen, _make):
        await until(pilot, lambda: screen.shown and len(screen.shown.latest) > 5)
        await pilot.press("space")
        assert "the worst" in text(pilot.app)
        await pilot.press("s")
        assert "the latest" in text(pilot.app)
        starts = [tree.start_time_ns for tree in screen.panes.episodes.trees]
        assert starts == sorted(starts, reverse=True)
        await pilot.press("s")
        assert "the worst" in text(pilot.app)


async def test_freeze_holds_what_is_shown_and_goes_on_behind_it() -> None:
    async with path_screen() as (pilot, screen, _make):
        await pilot.press("space")
        held = screen.shown
        assert "FROZEN" in text(pilot.app) and "Space Thaw" in text(pilot.app)
        await until(pilot, lambda: screen._latest is not held)
        assert screen.shown is held
        await pilot.press("space")
        await until(pilot, lambda: screen.shown is not held and "LIVE" in text(pilot.app))


async def test_closing_detaches() -> None:
    for closing in ("escape", "q", "P"):
        async with path_screen() as (pilot, screen, make):
            assert make.sources[0].opened and not make.sources[0].closed
            await pilot.press(closing)
            await until(pilot, lambda: make.sources[0].closed)
            await until(pilot, lambda: pilot.app.screen is not screen)


async def test_escape_leaves_the_zoom_first() -> None:
    async with path_screen() as (pilot, screen, _make):
        await pilot.press("2", "enter")
        await pilot.pause()
        assert "1 Profile" not in text(pilot.app) and "2 Episodes" in text(pilot.app)
        await pilot.press("escape")
        await pilot.pause()
        assert "1 Profile" in text(pilot.app) and pilot.app.screen is screen


async def test_process_minimum_and_anew_attach_anew() -> None:
    async with path_screen() as (pilot, screen, make):
        for key, subject, min_ns in (
            ("p", PathSubject(0, 1200, "rpc-worker"), NS_PER_MS),
            ("p", SUBJECT, NS_PER_MS),
            ("plus", SUBJECT, 10 * NS_PER_MS),
            ("x", SUBJECT, 10 * NS_PER_MS),
        ):
            before = make.sources[-1]
            await pilot.press(key)
            await until(pilot, lambda before=before: before.closed and make.sources[-1] is not before and screen.shown)
            assert (make.sources[-1].subject, make.sources[-1].min_ns) == (subject, min_ns)
        assert "episodes ≥ 10 ms" in text(pilot.app)


async def test_verdict_in_full_is_the_inversion_with_what_else_is_wrong() -> None:
    async with path_screen() as (pilot, screen, _make):
        await pilot.press("space", "v")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextScreen))
        shown = text(pilot.app)
        assert "rule: inversion" in shown and "it does not wait for a CPU itself: Waits are short" in shown
        await pilot.press("escape")
        screen._judge = lambda subject: Verdict("alarm", "blocker", "backup has its CPU")
        await pilot.press("v")
        await until(pilot, lambda: "besides: backup has its CPU" in text(pilot.app))
        assert "rule: inversion" in text(pilot.app)


async def test_verdict_without_inversion_tells_what_the_path_shows() -> None:
    """A path that ends at a sleep, say: its own waits for a CPU alone would read as if all were well."""
    async with path_screen() as (pilot, screen, _make):
        await pilot.press("space")
        assert screen.shown is not None
        screen.shown = replace(screen.shown, inversion=None)
        screen._judge = lambda subject: Verdict("ok", "few", "Its longest wait is 2 ms")
        await pilot.press("v")
        await until(pilot, lambda: "· its path: " in text(pilot.app))
        assert "late by" in text(pilot.app) and "rule: few" in text(pilot.app)


async def test_help_names_keys_and_panes() -> None:
    async with path_screen() as (pilot, _screen, _make):
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        assert "Profile" in text(pilot.app) and "An episode is a span" in text(pilot.app)


async def test_a_source_that_fails_says_so_and_x_tries_again() -> None:
    async with path_screen(opening="no [BTF] here") as (pilot, screen, make):
        assert "FAILED" in text(pilot.app) and "not recorded: no [BTF] here (x tries again)" in text(pilot.app)
        make.given = {}
        await pilot.press("x")
        await until(pilot, lambda: screen.shown and "LIVE" in text(pilot.app) and HEADLINE in text(pilot.app))


async def test_a_task_that_has_gone_says_so() -> None:
    async with path_screen(ends="yes") as (pilot, screen, _make):
        await until(pilot, lambda: screen.shown and screen.shown.ended)
        await pilot.pause()
        assert " ENDED " in text(pilot.app) and "nothing is attached any more" in text(pilot.app)


async def test_what_is_old_or_not_seen_yet_says_so() -> None:
    async with path_screen() as (pilot, screen, _make):
        assert screen.shown
        shown, screen.arrived = screen.shown, lambda item: None  # type: ignore[method-assign]
        screen.shown = replace(shown, end_ns=time.monotonic_ns() - 12 * NS_PER_S)
        await until(pilot, lambda: "read 12 s ago" in text(pilot.app) or "read 13 s ago" in text(pilot.app))
        nothing = replace(shown.summary, rows=(), episodes=0, comms=frozenset(), tids=frozenset())
        screen.shown = replace(shown, summary=nothing, inversion=None, worst=(), latest=(), seen=False, under_way=())
        screen.show_state()
        await until(pilot, lambda: "It has not come to a CPU since the recording began" in text(pilot.app))
        screen.shown = replace(screen.shown, seen=True, under_way=shown.under_way)
        screen.show_state()
        await until(pilot, lambda: "It is blocked in futex for 44.0 ms now" in text(pilot.app))


async def test_interrupts_are_part_of_it_at_a_key_and_attach_anew() -> None:
    async with path_screen() as (pilot, screen, make):
        assert not make.sources[0].interrupts and "softirq NET_RX" not in text(pilot.app)
        await pilot.press("I")
        await until(pilot, lambda: len(make.sources) == 2 and screen.shown)
        assert make.sources[0].closed and make.sources[1].interrupts
        shown = text(pilot.app)
        assert "with interrupts" in shown and "interrupted by softirq NET_RX" in shown
        await pilot.press("x")
        await until(pilot, lambda: len(make.sources) == 3 and screen.shown)
        assert make.sources[2].interrupts, "it is as it was"
        await pilot.press("I")
        await until(pilot, lambda: len(make.sources) == 4 and screen.shown)
        assert not make.sources[3].interrupts and "with interrupts" not in text(pilot.app)


async def test_where_the_dashboard_times_interrupts_they_are_part_of_it_from_the_start() -> None:
    make, source = Opened(), GivenSource()
    app = SchedtopApp(source, on_demand=OnDemand(make_path=make))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 2)
        assert isinstance(app.screen, Dashboard)
        live = app.screen.shown.live
        for timed in (False, True):
            newest = live.frames[-1]
            table = InterruptTable((), len(newest.cpus.counters), np.empty(0, INTERRUPT_DTYPE)) if timed else None
            live.append(replace(newest, end_ns=newest.end_ns + newest.interval_ns, interrupts=table))
            await to_pane(pilot, "tasks")
            await pilot.press("down", "P")
            await until(pilot, lambda: isinstance(app.screen, PathScreen) and app.screen.shown)
            assert make.sources[-1].interrupts is timed
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, PathScreen))


async def test_it_is_opened_from_the_dashboard_the_task_view_and_off_cpu() -> None:
    make = Opened()
    source = GivenSource()
    on_demand = OnDemand(make_offcpu=lambda ns, wakers: SyntheticOffCpu(ns, wakers, 0.05), make_path=make)
    app = SchedtopApp(source, on_demand=on_demand)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 3)
        for pane, keys in (("tasks", ("down", "P")), ("slow-waits", ("down", "P")), ("tasks", ("enter", "P"))):
            await to_pane(pilot, pane)
            await pilot.press(*keys)
            await until(pilot, lambda: isinstance(app.screen, PathScreen) and app.screen.shown)
            assert make.sources[-1].subject.tid > 0 and make.sources[-1].subject.name
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, PathScreen))
        await pilot.press("escape", "o")
        await until(pilot, lambda: "postgres" in text(app))
        await pilot.press("down", "P")
        await until(pilot, lambda: isinstance(app.screen, PathScreen))
        assert make.sources[-1].subject == PathSubject(1204, 1204, "postgres")
        await pilot.press("escape")
        await until(pilot, lambda: "Off-CPU time" in text(app))
    assert len(make.sources) == 4
    assert app.wait_for_source()


async def test_without_a_selection_or_a_live_kernel_it_says_so() -> None:
    source = GivenSource()
    app = SchedtopApp(source)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 3)
        await pilot.press("P")
        await until(pilot, lambda: "select a task first" in text(app))
        await pilot.press("escape")
        await to_pane(pilot, "tasks")
        await pilot.press("down", "P")
        await until(pilot, lambda: "the path across tasks needs the live kernel" in text(app))

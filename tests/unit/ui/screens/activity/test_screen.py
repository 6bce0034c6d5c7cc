"""The activity screen: what opens it, sizes, every key, and that its source runs only while it is open."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Self

import pytest
from textual.pilot import Pilot

from schedtop.activity.activity import Activity
from schedtop.model.activity_rows import GROUPS
from schedtop.model.filters import Filter
from schedtop.model.source import SourceError
from schedtop.panes.activity.columns import columns_of
from schedtop.panes.task.past import Subject
from schedtop.path.subject import PathSubject
from schedtop.sources.synthetic.activity import SyntheticActivity
from schedtop.sources.synthetic.path import SyntheticPath
from schedtop.sources.synthetic.task import synthetic_task
from schedtop.ui.app import SchedtopApp
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.activity.screen import ActivityScreen
from schedtop.ui.screens.chooser import Chooser
from schedtop.ui.screens.help.screen import HelpScreen
from schedtop.ui.screens.path.screen import PathScreen
from schedtop.ui.screens.task.screen import TaskScreen
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, lines, text
from tests.unit.ui.drive import GivenSource, collected, until


class Watched(SyntheticActivity):
    """A source whose opening and closing can be seen, that can fail, and that counts when the test says so."""

    def __init__(self, *, opening: str = "", failing: str = "") -> None:
        super().__init__(pace_s=0.0)
        self.opening, self.failing = opening, failing
        self.opened = self.closed = False
        self.tgids: list[int] = []
        self.steps = threading.Semaphore(1)

    def __enter__(self) -> Self:
        if self.opening:
            raise SourceError(self.opening)
        self.opened = True
        return super().__enter__()

    def __exit__(self, *exc: Any) -> None:
        self.closed = True

    def select(self, tgid: int) -> None:
        self.tgids.append(tgid)
        super().select(tgid)

    def frames(self, stop: threading.Event) -> Iterator[Activity]:
        every = super().frames(stop)
        while not stop.is_set():
            if self.steps.acquire(timeout=0.02):
                if self.failing:
                    raise SourceError(self.failing)
                yield next(every)


class Opened:
    """Makes the sources, and keeps them; and what is opened from the screen."""

    def __init__(self, **given: str) -> None:
        self.given = given
        self.sources: list[Watched] = []
        self.tasks: list[Subject] = []
        self.paths: list[PathSubject] = []

    def __call__(self) -> Watched:
        self.sources.append(Watched(**self.given))
        return self.sources[-1]


@asynccontextmanager
async def activity_screen(
    size: tuple[int, int] = (120, 40), wanted: str = "", **given: str
) -> AsyncIterator[tuple[Pilot[int], ActivityScreen, Opened]]:
    """The app with the screen open and a second in it."""
    make = Opened(**given)
    app = SchedtopApp(GivenSource())
    async with app.run_test(size=size, notifications=True) as pilot:
        screen = ActivityScreen(make, make.tasks.append, make.paths.append, wanted=Filter.parse(wanted))
        app.push_screen(screen)
        await until(pilot, lambda: screen.shown.view or screen.failure)
        yield pilot, screen, make
    assert app.wait_for_source()
    assert all(made.closed or not made.opened for made in make.sources)


async def counted(pilot: Pilot[int], screen: ActivityScreen, make: Opened, seconds: int = 1) -> None:
    """Lets more seconds be counted."""
    wanted = len(screen.shown.live) + seconds
    make.sources[-1].steps.release(seconds)
    await until(pilot, lambda: len(screen.shown.live) == wanted)


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40), (160, 48), (200, 60)])
async def test_sizes(size: tuple[int, int]) -> None:
    async with activity_screen(size) as (pilot, _screen, _make):
        for keys in ((), ("m",), ("g",), ("down",), ("tab",), ("z",), ("3",), ("1",), ("pagedown",), ("z",)):
            await pilot.press(*keys)
            await pilot.pause()
            assert_widths(pilot.app)
            assert_drawn_whole(pilot.app)
        shown = text(pilot.app)
        for title in ("1 Activity", "2 System calls", "3 TCP", "Esc Close"):
            assert title in shown
        if size[0] >= 80:
            assert "lost: errors untracked 3" in shown and "? Help" in lines(pilot.app)[-1]


async def test_activity_screen_that_is_too_small_says_so() -> None:
    async with activity_screen((50, 10)) as (pilot, _screen, _make):
        assert "too small: 50x10" in text(pilot.app)


async def test_numbers_are_rates_of_the_second() -> None:
    async with activity_screen((200, 60)) as (pilot, _screen, _make):
        shown = text(pilot.app)
        # 101 % of 79,900 calls, a second of both threads.
        (nginx,) = [line for line in lines(pilot.app)[3:] if " nginx " in line]
        assert "80.7k" in nginx and "1100" in nginx and "socket 100 %" in nginx and "412" in nginx
        assert "not available: kernel faults" in shown
        assert "SYN_RECV" in shown and "1363" in shown
        assert "ETIMEDOUT 1111" in shown


async def test_order_follows_keys_the_list_and_a_click() -> None:
    async with activity_screen((160, 48)) as (pilot, screen, _make):
        assert screen.shown.settings.sort == "syscalls"
        await pilot.press("s")
        assert screen.shown.settings.sort == "syscall_errors"
        await pilot.press("S", "S")
        assert screen.shown.settings.sort == "number"
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(pilot.app.screen, Chooser))
        assert "retrans" in text(pilot.app) and "udp out" in text(pilot.app)
        await pilot.press("5")
        await until(pilot, lambda: pilot.app.screen is screen)
        assert screen.shown.settings.sort == "read_bytes"
        first = screen.panes.table.rows
        assert first is not None and first[0]["comm"] == b"backup" and "▼read/s" in text(pilot.app)
        head = lines(pilot.app)[3]
        await pilot.click("#table", offset=(head.index("process") + 1, 1))
        await until(pilot, lambda: screen.shown.settings.sort == "name")


@pytest.mark.parametrize("width", [80, 120])
async def test_the_column_that_sorts_is_never_left_out(width: int) -> None:
    async with activity_screen((width, 24)) as (pilot, screen, _make):
        for column in columns_of("process", "all", ""):
            if column.sort:
                screen.shown.change(sort=column.sort)
                await pilot.pause()
                assert f"▼{column.header}" in text(pilot.app) or f"{column.header}▼" in text(pilot.app)


async def test_groups_go_round_and_have_their_names() -> None:
    async with activity_screen() as (pilot, screen, _make):
        names = {"thread": "flusher", "comm": "command", "cgroup": "nginx.service", "container": "docker 4f4f4f4f4f4f"}
        for by in (*GROUPS[1:], GROUPS[0]):
            await pilot.press("g")
            assert screen.shown.settings.by == by
            assert names.get(by, "pid") in text(pilot.app)
        await pilot.press("G")
        assert screen.shown.settings.by == "container"


async def test_columns_of_one_part() -> None:
    async with activity_screen((120, 30)) as (pilot, _screen, _make):
        assert "udp in/s" not in text(pilot.app)
        await pilot.press("M")
        shown = text(pilot.app)
        assert "udp in/s" in shown and "· network" in shown and "minor/s" not in shown and "▼calls/s" in shown
        await pilot.press("m")
        assert "minor/s" in text(pilot.app)


async def test_filter_is_typed_and_dropped() -> None:
    async with activity_screen() as (pilot, screen, make):
        await pilot.press("f", *"post", "enter")
        await until(pilot, lambda: "1 of 7 by process" in text(pilot.app))
        assert "filter comm:post" in text(pilot.app) and "backup" not in text(pilot.app)
        await pilot.press("escape")
        await until(pilot, lambda: "backup" in text(pilot.app))
        await pilot.press("f", *"cpu:1")
        await until(pilot, lambda: "filter nothing here" in text(pilot.app))
        await pilot.press("escape")
        assert not screen.shown.settings.filter and not make.sources[0].closed


async def test_the_dashboards_filter_holds_as_far_as_it_can() -> None:
    async with activity_screen(wanted="nginx cpu:0 class:rt") as (pilot, screen, _make):
        assert screen.shown.settings.filter == Filter.parse("nginx")
        assert "backup" not in text(pilot.app)


async def test_search_finds_a_process() -> None:
    async with activity_screen() as (pilot, screen, _make):
        await pilot.press("slash", *"java", "enter")
        await until(pilot, lambda: screen.panes.table.selected_row is not None)
        assert screen.panes.table.subject == Subject(0, 5120, "java")
        await pilot.press("escape")
        assert pilot.app.screen is screen


async def test_freeze_holds_and_steps_go_through_the_past() -> None:
    async with activity_screen() as (pilot, screen, make):
        await counted(pilot, screen, make, 2)
        newest = screen.shown.view
        await pilot.press("left")
        await until(pilot, lambda: "Space freezes the screen" in text(pilot.app))
        await pilot.press("escape", "space")
        assert "FROZEN" in text(pilot.app) and "Space Thaw" in text(pilot.app) and "← → Step" in text(pilot.app)
        await counted(pilot, screen, make)
        assert screen.shown.view and newest and screen.shown.view.activity is newest.activity
        await pilot.press("left", "left")
        assert screen.shown.view.activity is screen.shown.live.view(screen.shown.settings, 1).activity
        await pilot.press("left")
        await until(pilot, lambda: "the history begins here: it was opened here" in text(pilot.app))
        await pilot.press("escape", "L")
        assert screen.shown.timeline.end_ns == screen.shown.live.latest_ns
        await pilot.press("space")
        assert screen.shown.view.behind_ns is None and "LIVE" in text(pilot.app)


@pytest.mark.parametrize(("number", "title"), [(1, "1 Activity"), (2, "2 System calls"), (3, "3 TCP")])
async def test_zoom_shows_one_pane_alone(number: int, title: str) -> None:
    async with activity_screen() as (pilot, _screen, _make):
        await pilot.press(str(number), "z")
        await pilot.pause()
        shown = text(pilot.app)
        assert [one in shown for one in ("1 Activity", "2 System calls", "3 TCP")].count(True) == 1 and title in shown
        await pilot.press("z")
        await pilot.pause()
        assert "1 Activity" in text(pilot.app) and "3 TCP" in text(pilot.app)


async def test_window_adds_up() -> None:
    async with activity_screen() as (pilot, screen, make):
        await counted(pilot, screen, make, 3)
        await pilot.press("w")
        assert screen.shown.view and screen.shown.view.activity.interval_ns == 4 * 10**9
        assert "window 10 s" in text(pilot.app)


async def test_system_calls_are_those_of_the_selected_process() -> None:
    async with activity_screen((160, 48)) as (pilot, screen, make):
        assert "System calls · of all" in text(pilot.app) and "futex" in text(pilot.app)
        await pilot.press("down")
        assert make.sources[0].tgids == [1100]
        await counted(pilot, screen, make)
        assert "System calls · of process 1100" in text(pilot.app) and "futex" not in text(pilot.app)
        await pilot.press("escape")
        assert make.sources[0].tgids == [1100, 0]
        await counted(pilot, screen, make)
        assert "System calls · of all" in text(pilot.app)


async def test_enter_opens_the_task_view_and_p_the_path() -> None:
    async with activity_screen() as (pilot, screen, make):
        await pilot.press("P")
        await until(pilot, lambda: "select a process first" in text(pilot.app))
        await pilot.press("escape", "down", "enter", "P", "g", "down", "enter")
        assert make.tasks == [Subject(0, 1100, "nginx"), Subject(1100, 1100, "nginx", 5)]
        assert make.paths == [PathSubject(0, 1100, "nginx")]
        await pilot.press("g", "down", "enter")
        await until(pilot, lambda: "g groups by thread or process" in text(pilot.app))
        assert pilot.app.screen is screen and len(make.tasks) == 2


async def test_connections_of_no_known_task_open_nothing() -> None:
    async with activity_screen() as (pilot, _screen, make):
        await pilot.press("end", "enter")
        await until(pilot, lambda: "is not known" in text(pilot.app))
        assert "(unknown)" in text(pilot.app) and not make.tasks


async def test_escape_goes_back_step_by_step_and_detaches() -> None:
    async with activity_screen() as (pilot, screen, make):
        await pilot.press("f", *"nginx", "enter", "down", "z")
        assert screen.panes.is_zoomed and "2 System calls" not in text(pilot.app)
        for is_so in (
            lambda: not screen.panes.is_zoomed,
            lambda: screen.panes.table.selected_key is None,
            lambda: not screen.shown.settings.filter,
        ):
            assert not make.sources[0].closed
            await pilot.press("escape")
            assert is_so()
        await pilot.press("escape")
        await until(pilot, lambda: make.sources[0].closed and pilot.app.screen is not screen)


@pytest.mark.parametrize("closing", ["q", "a", "f10"])
async def test_closing_at_once_detaches(closing: str) -> None:
    async with activity_screen() as (pilot, screen, make):
        await pilot.press("down", closing)
        await until(pilot, lambda: make.sources[0].closed and pilot.app.screen is not screen)


async def test_source_that_is_refused_says_why_and_x_tries_again() -> None:
    async with activity_screen(opening="no [BTF] here") as (pilot, screen, make):
        assert "FAILED" in text(pilot.app) and "not counted: no [BTF] here (x tries again)" in text(pilot.app)
        make.given = {}
        await pilot.press("x")
        await until(pilot, lambda: screen.shown.view and "LIVE" in text(pilot.app) and "nginx" in text(pilot.app))


async def test_what_was_counted_stays_when_the_source_fails() -> None:
    async with activity_screen() as (pilot, _screen, make):
        make.sources[0].failing = "the kernel went away"
        make.sources[0].steps.release()
        await until(pilot, lambda: "ENDED" in text(pilot.app))
        assert "the kernel went away" in text(pilot.app) and "nginx" in text(pilot.app)


async def test_screen_says_that_it_is_attaching() -> None:
    make = Opened()
    app = SchedtopApp(GivenSource())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = ActivityScreen(make, make.tasks.append, make.paths.append, wanted=Filter())
        make.sources[0].steps.acquire()
        app.push_screen(screen)
        await until(pilot, lambda: make.sources[0].opened)
        assert "attaching ..." in text(app) and "takes a second to compile" in text(app)
        await pilot.press("space", "s", "g", "down", "enter", "z", "z")
        make.sources[0].steps.release()
        await until(pilot, lambda: "LIVE" in text(app))
    assert app.wait_for_source()


async def test_help_names_keys_columns_and_what_cannot_be_told() -> None:
    async with activity_screen((160, 60)) as (pilot, _screen, _make):
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        assert "A row is a process" in text(pilot.app) and "Notes" in text(pilot.app)


async def test_it_is_opened_from_the_dashboard_and_leads_to_the_task_view() -> None:
    source, make = GivenSource(), Opened()
    app = SchedtopApp(
        source,
        on_demand=OnDemand(
            make_task=synthetic_task,
            make_path=lambda subject, ns, **_: SyntheticPath(subject, ns, 0.05),
            make_activity=make,
        ),
    )
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 3)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, ActivityScreen) and app.screen.shown.view)
        screen = app.screen
        for key, kind in (("enter", TaskScreen), ("P", PathScreen)):
            await pilot.press("down", key)
            await until(pilot, lambda kind=kind: isinstance(app.screen, kind))
            assert not make.sources[0].closed
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is screen)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is app.dashboard and make.sources[0].closed)
    assert app.wait_for_source()


@pytest.mark.parametrize(
    ("on_demand", "words"),
    [
        (OnDemand(), "activity needs the live kernel: here there is none"),
        (OnDemand(why="needs privileges"), "activity: needs privileges"),
    ],
)
async def test_without_a_live_kernel_the_key_says_so(on_demand: OnDemand, words: str) -> None:
    source = GivenSource()
    app = SchedtopApp(source, on_demand=on_demand)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 2)
        await pilot.press("a")
        await until(pilot, lambda: words in text(app))

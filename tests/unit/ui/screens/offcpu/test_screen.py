"""The off-CPU screen: sizes, every key, and that its source runs only while it is open."""

from __future__ import annotations

import gc
import json
import re
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from xml.etree import ElementTree

import pytest
from textual.pilot import Pilot

from schedtop.base.units import NS_PER_MS, NS_PER_S
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.source import SourceError
from schedtop.offcpu.measurement import OffCpu, Wakers
from schedtop.sources.synthetic.offcpu import SyntheticOffCpu
from schedtop.ui.app import SchedtopApp
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.offcpu.screen import OffCpuScreen
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, lines, text
from tests.unit.ui.drive import GivenSource, collected, to_pane, until

IDLE = "cron"


class Watched(SyntheticOffCpu):
    """A source whose opening and closing can be seen, and that can fail."""

    def __init__(self, min_ns: int, wakers: Wakers, *, opening: str = "", later: str = "") -> None:
        super().__init__(min_ns, wakers, pace_s=0.1)
        self.wakers = wakers
        self.min_ns = min_ns
        self.opening, self.later = opening, later
        self.opened = self.closed = False

    def __enter__(self) -> Self:
        if self.opening:
            raise SourceError(self.opening)
        self.opened = True
        return super().__enter__()

    def __exit__(self, *exc: Any) -> None:
        self.closed = True

    def frames(self, stop: threading.Event) -> Iterator[OffCpu]:
        for number, frame in enumerate(super().frames(stop)):
            if self.later and number == 2:
                raise SourceError(self.later)
            yield frame


class Opened:
    """Makes the sources, and keeps them."""

    def __init__(self, **given: str) -> None:
        self.given = given
        self.sources: list[Watched] = []

    def __call__(self, min_ns: int, wakers: Wakers) -> Watched:
        self.sources.append(Watched(min_ns, wakers, **self.given))
        return self.sources[-1]


@asynccontextmanager
async def offcpu_screen(
    size: tuple[int, int] = (120, 40), export_dir: Path = Path("."), settings: ViewSettings | None = None, **given: str
) -> AsyncIterator[tuple[Pilot[int], OffCpuScreen, Opened]]:
    """The app with the screen open and something in it."""
    make = Opened(**given)
    source = GivenSource()
    app = SchedtopApp(source, export_dir=export_dir, settings=settings, on_demand=OnDemand(make_offcpu=make))
    async with app.run_test(size=size, notifications=True) as pilot:
        await collected(pilot, source, 2)
        assert not make.sources
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, OffCpuScreen))
        screen = app.screen
        assert isinstance(screen, OffCpuScreen)
        await until(pilot, lambda: screen.shown or screen.failure)
        await pilot.pause()
        yield pilot, screen, make
    assert app.wait_for_source()
    assert all(made.closed or not made.opened for made in make.sources)


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40), (160, 50), (200, 60), (200, 24)])
async def test_sizes(size: tuple[int, int]) -> None:
    async with offcpu_screen(size) as (pilot, screen, _make):
        for keys in ((), ("down",), ("enter",)):
            await pilot.press(*keys)
            await pilot.press("space") if not keys else None
            await pilot.pause()
            assert_widths(pilot.app)
            assert_drawn_whole(pilot.app)
            shown = text(pilot.app)
            assert "Off-CPU time" in shown and "every wait" in shown and "Esc Close" in shown
            if keys != ("enter",):
                assert "1 Threads · 4 · 4 idle hidden, i shows them" in shown and "postgres" in shown
                assert "lost: unreadable stacks" in shown or size[0] < 80
            assert "2 Stacks" in shown
        assert screen.panes.stacks.size.height >= size[1] - 6
        if size[0] >= 80:
            assert "? Help" in lines(pilot.app)[-1]


async def test_offcpu_screen_that_is_too_small_says_so() -> None:
    async with offcpu_screen((50, 10)) as (pilot, _screen, _make):
        assert "too small: 50x10" in text(pilot.app)


async def test_closing_detaches_and_the_dashboard_goes_on() -> None:
    for closing in ("escape", "q", "o"):
        async with offcpu_screen() as (pilot, screen, make):
            assert make.sources[0].opened and not make.sources[0].closed
            await pilot.press(closing)
            await until(pilot, lambda: make.sources[0].closed)
            assert pilot.app.screen is pilot.app.dashboard  # type: ignore[attr-defined]
            assert not screen.is_running or not screen.is_attached


@pytest.mark.alone
async def test_measurement_is_dropped_with_the_screen() -> None:
    async with offcpu_screen() as (pilot, screen, _make):
        assert screen.shown
        measured = weakref.ref(screen.shown.offcpu)
        await pilot.press("down", "escape")
        await until(pilot, lambda: not screen.is_attached)
        await until(pilot, lambda: gc.collect() >= 0 and measured() is None)


async def test_run_queues_are_not_sampled_behind_it() -> None:
    source = GivenSource()
    app = SchedtopApp(source, on_demand=OnDemand(make_offcpu=Opened()))
    async with app.run_test(size=(120, 40)) as pilot:
        await collected(pilot, source, 2)
        await to_pane(pilot, "queue")
        await until(pilot, lambda: source.samplings == [True])
        await pilot.press("question_mark")
        await pilot.pause()
        await pilot.press("escape", "o")
        await until(pilot, lambda: source.samplings == [True, False])
        await pilot.press("escape")
        await until(pilot, lambda: source.samplings == [True, False, True])


async def test_the_end_of_the_program_detaches() -> None:
    for key in ("ctrl+c",):
        async with offcpu_screen() as (pilot, _screen, make):
            await pilot.press(key)
        assert make.sources[0].closed and pilot.app.return_code == 130


@pytest.mark.parametrize(("given", "words"), [("opening", "not measured: no [BTF] here"), ("later", "no [BTF] here")])
async def test_errors_are_the_screens_own(given: str, words: str) -> None:
    async with offcpu_screen(**{given: "no [BTF] here"}) as (pilot, screen, make):
        await until(pilot, lambda: screen.failure)
        await pilot.pause()
        assert words in text(pilot.app)
        assert ("FAILED" if given == "opening" else "ENDED") in text(pilot.app)
        make.given = {}
        await pilot.press("x")
        await until(pilot, lambda: "LIVE" in text(pilot.app) and "postgres" in text(pilot.app))
        await pilot.press("escape")
        await pilot.pause()
        assert "Latency over time" in text(pilot.app)


async def test_offcpu_key_without_a_live_kernel_says_so() -> None:
    source = GivenSource()
    async with SchedtopApp(source).run_test(size=(80, 24), notifications=True) as pilot:
        await collected(pilot, source, 2)
        await pilot.press("o")
        await pilot.pause()
        assert "off-CPU time needs the live kernel" in text(pilot.app)


async def test_idle_threads_are_hidden_and_counted_until_i() -> None:
    async with offcpu_screen() as (pilot, _screen, _make):
        assert IDLE not in text(pilot.app) and "4 idle hidden" in text(pilot.app)
        await pilot.press("i")
        assert IDLE in text(pilot.app) and "idle hidden" not in text(pilot.app)


async def test_orders() -> None:
    async with offcpu_screen() as (pilot, screen, _make):
        seen = []
        for _ in range(7):
            seen.append((screen.listing.order, "▼" in text(pilot.app)))
            await pilot.press("s")
        orders = ["held", "blocked", "runnable", "uninterruptible", "count", "longest", "held"]
        assert [order for order, _ in seen] == orders and all(marked for _, marked in seen)
        await pilot.press("S", "S")
        assert screen.listing.order == "longest" or screen.listing.order == "held"


async def test_the_selected_threads_stacks_and_the_zoom() -> None:
    async with offcpu_screen((80, 24)) as (pilot, screen, _make):
        await pilot.press("space")
        assert "of all listed threads" in text(pilot.app)
        await pilot.press("down")
        assert "2 Stacks · of postgres (1204)" in text(pilot.app) and "uninterruptible in disk" in text(pilot.app)
        assert "__schedule" not in text(pilot.app)
        await pilot.press("enter")
        assert "1 Threads" not in text(pilot.app) and "__schedule ← schedule ← io_schedule" in text(pilot.app)
        assert "woken by jbd2/sda1-8-377" in text(pilot.app)
        await pilot.press("escape")
        assert "1 Threads" in text(pilot.app) and screen.focused is screen.panes.threads
        await pilot.press("tab")
        assert screen.focused is screen.panes.stacks
        await pilot.press("pagedown")
        assert screen.panes.stacks.top or screen.panes.stacks.total_rows <= screen.panes.stacks.page_rows


async def test_a_filter_by_name_and_the_dashboards_is_taken_over() -> None:
    settings = ViewSettings(filter=Filter.parse("java cgroup:web"))
    async with offcpu_screen(settings=settings) as (pilot, screen, _make):
        assert "java-pool-1" in text(pilot.app) and "postgres" not in text(pilot.app)
        await pilot.pause()
        assert "cgroup:, cpu:, class: and pidns: filter nothing here" in text(pilot.app)
        await pilot.press("f", "ctrl+u", *"tar", "enter")
        await pilot.pause()
        assert str(screen.listing.filter) == "comm:tar"
        assert "1 Threads · 1 of 8" in text(pilot.app)
        assert screen.focused is screen.panes.threads
        await pilot.press("f", "escape")
        await pilot.pause()
        assert not screen.listing.filter and "postgres" in text(pilot.app)
        await pilot.press("f", *"cpu:1")
        await until(pilot, lambda: "filter nothing here: comm: tid: tgid:" in text(pilot.app))
        assert not screen.listing.filter


async def test_escape_drops_the_filter_first_then_closes() -> None:
    async with offcpu_screen() as (pilot, screen, _make):
        await pilot.press("f", *"tar", "enter")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert not screen.listing.filter and pilot.app.screen is screen and "postgres" in text(pilot.app)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is not screen)


async def test_numbers_that_are_old_say_so() -> None:
    async with offcpu_screen() as (pilot, screen, _make):
        assert "● LIVE " in text(pilot.app) and " ago" not in text(pilot.app)
        assert screen.shown
        old = replace(screen.shown.offcpu, end_ns=time.monotonic_ns() - 12 * NS_PER_S)
        screen.arrived = lambda item: None  # type: ignore[method-assign]
        screen.shown = replace(screen.shown, offcpu=old)
        await until(pilot, lambda: re.search(r"● LIVE, read 1[2-9] s ago", text(pilot.app)))


async def test_another_minimum_attaches_anew_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # A busy machine takes its time between two keys.
    monkeypatch.setattr("schedtop.ui.screens.offcpu.attaching.CHOOSING_S", 5.0)
    async with offcpu_screen() as (pilot, screen, make):
        await pilot.press("minus")
        await pilot.pause()
        assert "every wait counts" in text(pilot.app)
        await pilot.press("plus", "plus", "plus")
        await until(pilot, lambda: len(make.sources) == 2 and make.sources[0].closed)
        assert [source.min_ns for source in make.sources] == [0, NS_PER_MS]
        await until(pilot, lambda: screen.shown and screen.shown.offcpu.min_ns == NS_PER_MS)
        await pilot.pause()
        assert "waits > 1 ms (not " in text(pilot.app)


async def test_wakers_stacks_are_taken_only_when_asked_for() -> None:
    async with offcpu_screen((160, 40)) as (pilot, screen, make):
        assert make.sources[0].wakers is Wakers.NAMES and "wakers' stacks" not in text(pilot.app)
        assert "java-pool-2-2232" in text(pilot.app)
        await pilot.press("W")
        await until(pilot, lambda: len(make.sources) == 2 and screen.shown)
        await pilot.pause()
        assert make.sources[1].wakers is Wakers.STACKS and "with wakers' stacks (W)" in text(pilot.app)
        await pilot.press("W")
        await until(pilot, lambda: len(make.sources) == 3 and screen.shown)
        assert make.sources[2].wakers is Wakers.NAMES


async def test_anew_forgets() -> None:
    async with offcpu_screen() as (pilot, screen, make):
        seen: list[int] = []
        screen.arrived = lambda item: seen.append(item.offcpu.duration_ns)  # type: ignore[method-assign]
        await until(pilot, lambda: len(seen) > 2)
        await pilot.press("x")
        assert screen.shown is None and "attaching" in text(pilot.app)
        await until(pilot, lambda: seen[-1] < seen[2])
        await until(pilot, lambda: make.sources[0].closed)
        assert not make.sources[1].closed


async def test_frozen_it_stands_still() -> None:
    async with offcpu_screen() as (pilot, screen, _make):
        await pilot.press("space")
        assert screen.shown and "FROZEN" in text(pilot.app) and "Space Thaw" in text(pilot.app)
        before, latest = screen.shown, screen._latest
        await until(pilot, lambda: screen._latest is not latest)
        assert screen.shown is before
        await pilot.press("space")
        await until(pilot, lambda: screen.shown is not before)


async def test_the_task_that_is_selected_is_selected_here_even_if_idle() -> None:
    make = Opened()
    app = SchedtopApp(GivenSource(), on_demand=OnDemand(make_offcpu=make))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = OffCpuScreen(make, Path("."), lambda subject: None, tid=402)
        await app.push_screen(screen)
        await until(pilot, lambda: "of cron (402)" in text(app))


async def test_help_names_every_key() -> None:
    async with offcpu_screen((120, 60)) as (pilot, _screen, _make):
        await pilot.press("question_mark")
        await pilot.pause()
        assert "time in which it was ready to run but had no CPU" in text(pilot.app)
        await pilot.press("left")
        await pilot.pause()
        assert "Shows or hides threads that only waited for work" in text(pilot.app)
        await pilot.press("escape")
        await pilot.pause()
        assert "1 Threads" in text(pilot.app)


async def test_export_writes_the_listed_threads(tmp_path: Path) -> None:
    pytest.importorskip("schedtop.outputs.offcpu.document")
    async with offcpu_screen(export_dir=tmp_path) as (pilot, _screen, _make):
        await pilot.press("e")
        await until(pilot, lambda: "Exported" in text(pilot.app))
        svg, folded, data = (
            next(tmp_path.glob(f"schedtop-synthetic-*.offcpu.{end}")) for end in ("svg", "folded", "json")
        )
        root = ElementTree.parse(svg).getroot()
        titles = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}title")]
        assert any(title.startswith("jbd2_log_wait_commit_[k] (") for title in titles)
        assert not any("cron" in title for title in titles)
        assert "4 of 8 threads were not listed" in svg.read_text()
        assert any(
            line.startswith("postgres;postgres-1204;main;PostgresMain") for line in folded.read_text().splitlines()
        )
        assert {thread["tid"] for thread in json.loads(data.read_text())["threads"]} == {1204, 2231, 3307, 3410}


async def test_an_export_that_fails_says_why(tmp_path: Path) -> None:
    pytest.importorskip("schedtop.outputs.offcpu.document")
    async with offcpu_screen(export_dir=tmp_path / "gone") as (pilot, _screen, _make):
        await pilot.press("e")
        await until(pilot, lambda: "not exported" in text(pilot.app))


async def test_our_own_threads_are_with_the_idle_ones() -> None:
    async with offcpu_screen() as (_pilot, screen, _make):
        assert screen.listing.worst is not None
        worst, known = screen.listing.worst.thread, [line.thread.tid for line in screen.listing.listed]
    make = Opened()
    app = SchedtopApp(GivenSource(), on_demand=OnDemand(make_offcpu=make))
    async with app.run_test(size=(120, 40)) as pilot:
        own = OffCpuScreen(make, Path("."), lambda subject: None, own_pid=worst.tgid)
        await app.push_screen(own)
        await until(pilot, lambda: bool(own.listing.listed))
        assert worst.tid in known and all(line.thread.tgid != worst.tgid for line in own.listing.listed)
        assert own.listing.worst is None or own.listing.worst.thread.tgid != worst.tgid
        await pilot.press("i")
        await until(pilot, lambda: worst.tid in [line.thread.tid for line in own.listing.listed])
        assert own.listing.worst is None or own.listing.worst.thread.tgid != worst.tgid

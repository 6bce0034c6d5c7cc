"""A screen with a source of its own: opened and closed in one thread, only while the screen lasts."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import pytest
from textual.binding import BindingType
from textual.widgets import Static

from schedtop.model.source import SourceError
from schedtop.sources.synthetic.activity import SyntheticActivity
from schedtop.sources.synthetic.offcpu import SyntheticOffCpu
from schedtop.sources.synthetic.path import SyntheticPath
from schedtop.sources.synthetic.task import synthetic_task
from schedtop.ui.app import SchedtopApp
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens import attached
from schedtop.ui.screens.attached import AttachedScreen
from tests.unit.ui.drive import GivenSource, collected, until


class CountingSource:
    """Counts; notes in which threads it was opened and closed."""

    def __init__(self, *, opens: bool | None = True, fails_at: int = 1_000_000) -> None:
        """`opens`: False: it does not open; None: it takes long."""
        self.opens = opens
        self.fails_at = fails_at
        self.opened_in: threading.Thread | None = None
        self.closed_in: threading.Thread | None = None
        self.go = threading.Event()

    def __enter__(self) -> Self:
        if self.opens is None:
            self.go.wait(60)
        if self.opens is False:
            raise SourceError("the kernel [does] not want to")
        self.opened_in = threading.current_thread()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.closed_in = threading.current_thread()

    def frames(self, stop: threading.Event) -> Iterator[int]:
        for number in range(self.fails_at):
            yield number
            if stop.wait(0.01):
                return
        raise ZeroDivisionError("by zero")


class CountingScreen(AttachedScreen[int]):
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close")]

    def __init__(self, source: CountingSource) -> None:
        super().__init__(source)
        self.seen: list[int] = []

    def compose(self) -> Iterator[Static]:
        yield Static("words")

    def arrived(self, item: int) -> None:
        self.seen.append(item)

    def failed(self) -> None:
        self.query_one(Static).update(self.failure, layout=False)


async def test_attached_source_opens_and_closes_in_one_thread_apart_from_the_dashboard() -> None:
    given, source = GivenSource(), CountingSource()
    async with SchedtopApp(given).run_test(size=(80, 24)) as pilot:
        dashboard = await collected(pilot, given, 2)
        screen = CountingScreen(source)
        await pilot.app.push_screen(screen)
        await until(pilot, lambda: len(screen.seen) > 3)
        assert screen.seen == [*range(len(screen.seen))] and not screen.is_attaching
        await collected(pilot, given, 2)
        await pilot.press("escape")
        await until(pilot, lambda: source.closed_in)
        assert source.closed_in is source.opened_in is not threading.main_thread()
        assert pilot.app.screen is dashboard


@pytest.mark.parametrize("status", [0, 143])
async def test_the_end_of_the_program_closes_it(status: int) -> None:
    source = CountingSource()
    app = SchedtopApp(GivenSource())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = CountingScreen(source)
        await app.push_screen(screen)
        await until(pilot, lambda: screen.seen)
        app.stop(status)
    assert app.wait_for_source()
    assert source.closed_in is source.opened_in


async def test_closing_while_it_opens_does_not_wait() -> None:
    source = CountingSource(opens=None)
    app = SchedtopApp(GivenSource())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = CountingScreen(source)
        await app.push_screen(screen)
        assert screen.is_attaching
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is app.dashboard)
        assert source.opened_in is None, "it still opens: only the test lets it go on"
        source.go.set()
        await until(pilot, lambda: source.closed_in)
        assert not screen.seen


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (CountingSource(opens=False), "the kernel [does] not want to"),
        (CountingSource(fails_at=2), "collecting failed: ZeroDivisionError: by zero"),
    ],
)
async def test_failure_ends_only_the_source_of_the_screen(source: CountingSource, words: str) -> None:
    given = GivenSource()
    app = SchedtopApp(given)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = CountingScreen(source)
        await app.push_screen(screen)
        await until(pilot, lambda: screen.failure)
        assert screen.failure == words
        assert source.closed_in is source.opened_in
        await collected(pilot, given, 2)
        assert not app.failure


@pytest.mark.parametrize(
    ("keys", "made"),
    [
        (("a",), OnDemand(make_activity=SyntheticActivity)),
        (("o",), OnDemand(make_offcpu=SyntheticOffCpu)),
        (("5", "down", "P"), OnDemand(make_path=SyntheticPath)),
        (("5", "down", "enter"), OnDemand(make_task=synthetic_task)),
    ],
    ids=["activity", "off-CPU", "path", "task"],
)
async def test_a_screen_that_was_closed_is_held_by_nothing(
    keys: tuple[str, ...], made: OnDemand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timers that were to give its memory back held it: 32 MiB of the activity screen stayed for ten minutes."""
    monkeypatch.setattr(attached, "GIVE_BACK_S", (10_000.0,))
    given = GivenSource()
    app = SchedtopApp(given, on_demand=made)
    async with app.run_test(size=(120, 40)) as pilot:
        await collected(pilot, given, 2)
        await pilot.press(*keys)
        await until(pilot, lambda: isinstance(app.screen, AttachedScreen) and not app.screen.is_attaching)
        screen = weakref.ref(app.screen)
        await pilot.press("q")
        await until(pilot, lambda: app.screen is app.dashboard)
        await until(pilot, lambda: gc.collect() >= 0 and screen() is None)

"""Whatever tasks and groups are called: the screens send moves, styles and plain text, and names are no markup."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual.pilot import Pilot

from schedtop.offcpu.measurement import OffCpuSource, Wakers
from schedtop.panes.pane import Pane
from schedtop.sources.synthetic.activity import SyntheticActivity
from schedtop.sources.synthetic.path import SyntheticPath
from schedtop.sources.synthetic.scheduler import make_frame
from schedtop.task import TaskSource
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.activity.screen import ActivityScreen
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.path.screen import PathScreen
from tests.hostile import PATHS, STEERING, hostile_frame, hostile_host, hostile_value
from tests.unit.panes.screen import assert_widths, text
from tests.unit.ui.drive import GivenSource, collected, until
from tests.unit.ui.emulator import Drawing
from tests.unit.ui.screens.offcpu.test_screen import Watched
from tests.unit.ui.screens.task.test_screen import GivenTask

_OWN = re.compile(r"\x1b\[[0-9;]*[mHC]")
"""Moves and styles: all that the painter sends besides text."""


class HostileSource(GivenSource):
    """The made-up host, with hostile names in every place for one."""

    def __init__(self, **scenario: Any) -> None:
        super().__init__(**scenario)
        self.host = hostile_host(self.host)

    def give(self, count: int = 1) -> None:
        for _ in range(count):
            grouping, sampling = self.groupings[-1] if self.groupings else "", self.samplings[-1:] == [True]
            frame = make_frame(self.scenario, self.made, self._rng, 5_000_000, grouping, sampling=sampling)
            self.put(hostile_frame(frame))
            self.made += 1


class HostileOffCpu(Watched):
    """Waits of tasks, in functions and by wakers with hostile names."""

    def frames(self, stop: Any) -> Any:
        return map(hostile_value, super().frames(stop))


class HostileActivity(SyntheticActivity):
    """Calls of processes, threads and cgroups with hostile names."""

    def frames(self, stop: Any) -> Any:
        for activity in super().frames(stop):
            paths = cycle(PATHS)
            yield replace(hostile_value(activity), cgroups={number: next(paths) for number in activity.cgroups})


def make_offcpu(min_ns: int, wakers: Wakers) -> OffCpuSource:
    return HostileOffCpu(min_ns, wakers)


class GivenTasks:
    """Task views of tasks that have, meet and wait for hostile names."""

    def __init__(self) -> None:
        self.last: GivenTask | None = None

    def make(self, number: int, whole_process: bool) -> TaskSource:
        self.last = GivenTask(number, whole_process)
        self.last.change = hostile_value
        self.last.give(3)
        return self.last


def assert_plain(app: Drawing) -> None:
    """Nothing was sent that is not a move, a style or text; and every line is as wide as the screen."""
    for sent in app.sent:
        rest = _OWN.sub("", sent)
        found = STEERING.search(rest)
        assert found is None, repr(rest[max(0, found.start() - 30) : found.end() + 20])
    app.sent.clear()
    assert_widths(app)


def app_with(source: GivenSource, given: GivenTasks, directory: Path) -> Drawing:
    on_demand = OnDemand(make_offcpu=make_offcpu, make_task=given.make)
    return Drawing(source, export_dir=directory, on_demand=on_demand)


async def test_every_pane_at_two_sizes(tmp_path: Path) -> None:
    for size in ((160, 50), (80, 24)):
        source = HostileSource(cpus=4, tasks=60, slow_waits=30)
        app = app_with(source, GivenTasks(), tmp_path)
        seen: set[str] = set()
        shown = ""
        async with app.run_test(size=size, notifications=True) as pilot:
            await collected(pilot, source, 4)
            for preset in "12345":
                await pilot.press(preset)
                await collected(pilot, source)
                seen |= {pane.id or "" for pane in app.screen.query(Pane) if pane.display}
                shown += text(app)
                assert_plain(app)
        assert seen >= {"tasks", "blame"}, seen
        assert "[red]R[/red]" in shown or "[red" in shown, "a name is no markup"


async def test_details_groups_search_and_filter(tmp_path: Path) -> None:
    source = HostileSource(cpus=4, tasks=60, slow_waits=30)
    app = app_with(source, GivenTasks(), tmp_path)
    async with app.run_test(size=(140, 45), notifications=True) as pilot:
        await collected(pilot, source, 3)
        for keys in (
            "v",
            "escape",
            "?",
            "right",
            "escape",
            "g",
            "g",
            "g",
            "g",
            "g",
            "z",
            "down",
            "i",
            "escape",
            "escape",
        ):
            await pilot.press(keys)
            await pilot.pause()
            assert_plain(app)
        for opener in ("f", "/"):
            await pilot.press(opener)
            for letter in "[red]":
                await pilot.press(letter)
            await pilot.press("enter")
            await pilot.pause()
            assert_plain(app)
            await pilot.press("escape", "escape")
        await notified(pilot, app)


async def notified(pilot: Pilot[int], app: Drawing) -> None:
    """What is told in passing: of a name, no markup is read."""
    screen = app.screen
    assert isinstance(screen, Dashboard)
    app.notify("a \x1b[31m[red]name[/red] [@click=app.bell]x[/]", title="[b]t", severity="error", markup=False)
    await until(pilot, lambda: "[red]name[/red]" in text(app))
    assert_plain(app)


async def test_the_task(tmp_path: Path) -> None:
    source, given = HostileSource(cpus=4, tasks=60, slow_waits=30), GivenTasks()
    app = app_with(source, given, tmp_path)
    async with app.run_test(size=(160, 60), notifications=True) as pilot:
        await collected(pilot, source, 3)
        app.dashboard.pane_layout.focus_pane(app.dashboard.pane_layout.pane_named("tasks"))
        await pilot.press("down", "enter")
        await until(pilot, lambda: given.last and given.last.made == 3)
        for keys in ("2", "3", "4", "5", "1", "tab", "down", "i", "escape", "e"):
            await pilot.press(keys)
            await pilot.pause()
            assert_plain(app)
        assert given.last and given.last.made == 3


async def test_the_screen_of_the_time_without_a_cpu(tmp_path: Path) -> None:
    source = HostileSource(cpus=4, tasks=60)
    app = app_with(source, GivenTasks(), tmp_path)
    async with app.run_test(size=(160, 50), notifications=True) as pilot:
        await collected(pilot, source, 3)
        await pilot.press("o")
        await until(pilot, lambda: app.screen.shown)
        for keys in ("down", "tab", "down", "enter", "space", "w", "e"):
            await pilot.press(keys)
            await pilot.pause()
            assert_plain(app)
    assert app.wait_for_source()


async def test_activity(tmp_path: Path) -> None:
    source = HostileSource(cpus=4, tasks=60)
    app = Drawing(source, export_dir=tmp_path, on_demand=OnDemand(make_activity=lambda: HostileActivity(0.05)))
    async with app.run_test(size=(160, 50), notifications=True) as pilot:
        await collected(pilot, source, 3)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, ActivityScreen) and app.screen.shown.view)
        await pilot.press("space")
        for keys in ("down", "g", "g", "g", "g", "g", "end", "enter", "P", "escape", "f", "[", "enter", "?", "escape"):
            await pilot.press(keys)
            await pilot.pause()
            assert_plain(app)
        assert "[red]" in text(app)
    assert app.wait_for_source()


async def test_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for constant, name in (("_HOLDER", "a\x1b[31m[red]"), ("_HOG", "\u202egnp.exe[/x]")):
        monkeypatch.setattr(f"schedtop.sources.synthetic.path.{constant}", name)
    source = HostileSource(cpus=4, tasks=60)
    on_demand = OnDemand(make_path=lambda subject, min_ns, **_: SyntheticPath(subject, min_ns, pace_s=0.05))
    app = Drawing(source, export_dir=tmp_path, on_demand=on_demand)
    async with app.run_test(size=(160, 50), notifications=True) as pilot:
        await collected(pilot, source, 3)
        app.dashboard.pane_layout.focus_pane(app.dashboard.pane_layout.pane_named("tasks"))
        await pilot.press("down", "P")
        await until(pilot, lambda: isinstance(app.screen, PathScreen) and app.screen.shown)
        for keys in ("down", "s", "i", "tab", "down", "enter", "space", "v", "escape", "p"):
            await pilot.press(keys)
            await pilot.pause()
            assert_plain(app)
        assert "[red]" in text(app)
    assert app.wait_for_source()


async def test_numbers_of_seven_digits_have_room() -> None:
    """The largest tid that a kernel gives is 4,194,303."""
    source = GivenSource(cpus=4, tasks=60, slow_waits=30)
    async with Drawing(source).run_test(size=(80, 24)) as pilot:
        frame = make_frame(source.scenario, 1, np.random.default_rng(1), 5_000_000)
        for rows in (frame.tasks, frame.slow_waits):
            rows["tid"] = 4_194_303 - rows["tid"] % 50
            rows["tgid"] = rows["tid"]
        source.put(frame)
        await collected(pilot, source, 0)
        await until(pilot, lambda: pilot.app.dashboard.view)
        await pilot.press("5")
        await until(pilot, lambda: re.search(r"(?<!\d)4194(2[5-9]|30)\d(?!\d)", text(pilot.app)))
        assert_widths(pilot.app)


def test_the_names_have_everything_that_steers() -> None:
    frame = hostile_frame(make_frame(GivenSource().scenario, 1, np.random.default_rng(1), 5_000_000))
    names = b"".join(np.unique(frame.tasks["comm"]).tolist())
    assert b"\x1b" in names
    assert b"[red]" in names
    assert "\u202e".encode() in names

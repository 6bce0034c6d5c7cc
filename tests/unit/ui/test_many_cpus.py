"""Hosts with many CPUs, recorded and replayed: every CPU or fold is there, the worst is named, a selection filters."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from textual.pilot import Pilot

from schedtop.commands.recorded import place_of
from schedtop.model.folding import fold_cpus
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.outputs.recording.recorder import Recorder
from schedtop.outputs.scheduler.snapshot import snapshot
from schedtop.panes.scheduler.cpus.pane import CpusPane
from schedtop.panes.scheduler.cpus.trend import MEASURES
from schedtop.recording.lines import Header
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.source import ReplaySource
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource, make_topology
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.replay.screen import ReplayDashboard
from tests.unit.panes.screen import assert_drawn_whole, assert_widths, text
from tests.unit.ui.drive import to_pane, until

COUNTS = (8, 64, 256, 1024)
SIZES = ((80, 24), (120, 40), (160, 50), (200, 60), (240, 70))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    directory = tmp_path_factory.mktemp("recordings")
    paths = {}
    for count in COUNTS:
        source = SyntheticSource(Scenario(cpus=count, tasks=60, frames=2))
        frames = list(source.frames(threading.Event()))
        paths[count] = directory / f"{count}.rec"
        with Recorder(paths[count], Header(source.host, frames[0].start_time_ns)) as recorder:
            for frame in frames:
                recorder.write(frame)
    return paths


@asynccontextmanager
async def replaying(path: Path, size: tuple[int, int]) -> AsyncIterator[tuple[Pilot[int], ReplayDashboard, CpusPane]]:
    """The app at the end of a recording, the CPUs in focus."""
    source = ReplaySource(Recording(path), playing=False)
    app = SchedtopApp(source, make_screen=partial(ReplayDashboard, place_of=partial(place_of, source.entries)))
    async with app.run_test(size=size) as pilot:
        dashboard = app.dashboard
        assert isinstance(dashboard, ReplayDashboard)
        await until(pilot, lambda: dashboard.view is not None)
        await pilot.press("4")
        await to_pane(pilot, "cpus")
        yield pilot, dashboard, dashboard.query_one(CpusPane)
    assert app.wait_for_source()


def drawn(pane: CpusPane) -> str:
    """What the pane shows, without its border."""
    return "\n".join(pane.render_line(row).text for row in range(pane.size.height))


def worst_of(frame: Frame, ids: tuple[int, ...]) -> int:
    busy = frame.cpus.column("busy_ns")[list(ids)] / frame.cpus.column("accounted_ns")[list(ids)]
    return ids[int(np.argmax(busy))]


@pytest.mark.parametrize("count", COUNTS)
async def test_every_size_shows_every_cpu_or_fold_and_names_the_worst(recordings: dict[int, Path], count: int) -> None:
    async with replaying(recordings[count], SIZES[0]) as (pilot, dashboard, pane):
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert_widths(pilot.app)
            assert_drawn_whole(pilot.app)
            assert dashboard.view is not None and pane._shown is not None
            view, items, shown = dashboard.view, pane._shown.items, drawn(pane)
            assert sorted(cpu for cpus in items for cpu in cpus) == list(range(count)), size
            assert pane._shown.page >= pane._shown.rows, f"all of it is seen at {size}"
            if all(len(cpus) == 1 for cpus in items):
                words = shown.split()
                assert all(str(cpu) in words for cpu in range(count)), size
            else:
                for cpus in items:
                    assert f"CPU {worst_of(view.frame, cpus)} " in shown, size
            if count > pane.inner.height:
                assert f"CPU {worst_of(view.frame, tuple(range(count)))} " in shown, size


async def test_the_user_chooses_the_form(recordings: dict[int, Path]) -> None:
    async with replaying(recordings[64], (120, 40)) as (pilot, dashboard, pane):
        topology = dashboard.live.host.topology
        assert topology == make_topology(64)
        titles = []
        for kind in ("core", "cache", "node"):
            pane.form = kind
            pane.draw()
            assert pane._shown is not None
            assert list(pane._shown.items) == [fold.cpus for fold in fold_cpus(topology, kind, range(64))]
            titles.append(str(pane.border_title))
            assert_widths(pilot.app)
        assert ["64 in 32 cores" in titles[0], "64 in 4 caches" in titles[1], "64 in 2 nodes" in titles[2]] == [
            True
        ] * 3
        pane.form = "auto"
        for form in ("list", "grid", "core", "cache", "node", "auto"):
            await pilot.press("u")
            assert pane.form == form
        pane.form = "list"
        pane.draw()
        await pilot.press("end")
        assert drawn(pane).splitlines()[-1].split()[0] == "63"


async def test_a_selected_cpu_filters_the_other_panes(recordings: dict[int, Path]) -> None:
    async with replaying(recordings[64], (200, 60)) as (pilot, dashboard, pane):
        await pilot.press("u", "down", "down", "down", "down", "enter")
        await pilot.pause()
        view = dashboard.view
        assert view is not None and view.settings.selected_cpus == (3,)
        assert set(view.tasks["last_cpu"].tolist()) == {3}
        assert (view.cpu_ids, len(view.all_cpu_ids)) == ([3], 64)
        assert view.latency().count == view.frame.latency.histogram(None, 3).count
        assert "selected CPU 3" in text(pilot.app)
        assert re.search(r"▸3 ", drawn(pane)) and "1 selected" in str(pane.border_title)
        assert str(dashboard.pane_layout.pane_named("steal").border_title).endswith("CPU 3 · quota, PSI: all")
        data = json.loads(json.dumps(snapshot(view)))
        assert (data["filters"]["cpu"], [cpu["cpu"] for cpu in data["cpus"]]) == ([3], [3])
        assert data["totals"]["switches"] == int(view.frame.cpus.column("switches")[3])
        for name in ("blame", "short-lived"):
            await to_pane(pilot, name)
            assert "all CPUs" in str(dashboard.pane_layout.current.border_title)
        await to_pane(pilot, "cpus")
        await pilot.press("enter")
        assert dashboard.timeline.settings.selected_cpus == ()
        await pilot.press("enter")
        assert dashboard.timeline.settings.selected_cpus == (3,)
        await pilot.press("escape")
        assert dashboard.timeline.settings.selected_cpus == ()
        assert pane.cursor == 3
        await pilot.press("escape")
        assert pane.cursor is None


async def test_a_fold_is_selected_whole_by_a_double_click(recordings: dict[int, Path]) -> None:
    async with replaying(recordings[256], (200, 60)) as (pilot, dashboard, pane):
        pane.form = "node"
        pane.draw()
        assert pane._shown is not None
        await pilot.click(pane, offset=(4, 1 + pane._shown.head + pane._shown.step), times=2)
        await pilot.pause()
        selected = dashboard.timeline.settings.selected_cpus
        assert selected == fold_cpus(make_topology(256), "node", range(256))[1].cpus
        assert "CPUs 64-127,192-255 (node 1)" in text(pilot.app)
        assert "▸node 1" in drawn(pane)
        pane.form = "cache"
        pane.draw()
        assert drawn(pane).count("▸cache") == 8


async def test_the_order_by_key_and_by_click(recordings: dict[int, Path]) -> None:
    async with replaying(recordings[64], (160, 50)) as (pilot, dashboard, pane):
        pane.form = "list"
        await pilot.press("s")
        view = dashboard.view
        assert view is not None and view.settings.cpu_sort == "busy"
        first = int(drawn(pane).splitlines()[pane._shown.head].split()[0])  # type: ignore[union-attr]
        assert first == worst_of(view.frame, tuple(range(64)))
        assert "by busy" in str(pane.border_title)
        x = pane.render_line(0).text.index("queue")
        await pilot.click(pane, offset=(x + 3, 1))
        await pilot.pause()
        assert dashboard.timeline.settings.cpu_sort == "queue"
        queue = view.frame.cpus.queue_length
        assert pane._shown is not None
        assert [int(queue[cpus[0]]) for cpus in pane._shown.items] == sorted(queue.tolist(), reverse=True)
        await pilot.click(pane, offset=(x + 3, 1))
        await pilot.pause()
        assert dashboard.timeline.settings.cpu_sort == "cpu"


async def test_offline_cpus_and_holes(tmp_path: Path) -> None:
    """CPUs 1 and 3 are offline; of 6 and 7 the topology says nothing."""
    source = SyntheticSource(Scenario(cpus=8, frames=1))
    online = np.array([cpu not in (1, 3) for cpu in range(8)])
    whole = next(source.frames(threading.Event()))
    frame = replace(whole, cpus=replace(whole.cpus, online=online))
    topology = make_topology(8)
    known = replace(topology, caches=topology.caches[:6], nodes=topology.nodes[:6], cores=topology.cores[:6])
    host: Host = replace(source.host, topology=known)
    with Recorder(tmp_path / "a.rec", Header(host, frame.start_time_ns)) as recorder:
        recorder.write(frame)
    async with replaying(tmp_path / "a.rec", (120, 40)) as (pilot, _, pane):
        for form, items in (
            ("list", [(0,), (2,), (4,), (5,), (6,), (7,)]),
            ("grid", [(0,), (2,), (4,), (5,), (6,), (7,)]),
            ("core", [(0, 4), (2,), (5,), (6, 7)]),
            ("node", [(0, 2, 4, 5), (6, 7)]),
        ):
            pane.form = form
            pane.draw()
            assert pane._shown is not None and pane._shown.items == items
            assert_widths(pilot.app)


def test_every_order_is_that_of_a_measure() -> None:
    from schedtop.history.sorting import CPU_SORTS
    from schedtop.panes.scheduler.cpus.order import SHORT_WORDS

    keys = {measure.key for measure in MEASURES}
    assert {*CPU_SORTS} - {"cpu"} == {*SHORT_WORDS} == keys

"""The task table: a storm's tasks are added up, and an interpreter of this host has its script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from schedtop.base.units import NS_PER_MS as MS
from schedtop.history.view import View, ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.frame import Frame
from schedtop.model.rows import TASK_DTYPE
from schedtop.model.short_lived import SHORT_LIVED_DTYPE
from schedtop.model.waits import Cause
from schedtop.panes.scheduler.blame.pane import BlamePane
from schedtop.panes.scheduler.tasks.pane import TasksPane
from schedtop.panes.scheduler.tasks.storm import with_storm
from schedtop.ui.screens.dashboard.chosen import MANY, chosen_subject
from tests.unit.base.test_scripts import running
from tests.unit.panes.conftest import MakeView
from tests.unit.panes.screen import OnePane, lines


def storm(count: int) -> Any:
    rows = np.zeros(count + 2, TASK_DTYPE)
    rows["tid"], rows["start_ns"] = np.arange(100, 102 + count), np.arange(1, 3 + count)
    rows["comm"], rows["ended"], rows["last_cpu"] = b"true", 1, 1
    rows["run_delay_ns"], rows["run_ns"], rows["max_wait_ns"] = 2 * MS, 1 * MS, np.arange(1, 3 + count)
    rows["comm"][0], rows["ended"][0] = b"web", 0
    rows["ended"][1] = 0  # one that still runs
    short = np.zeros(1, SHORT_LIVED_DTYPE)
    short["comm"], short["count"] = b"true", count
    return rows, short


def test_those_that_have_ended_are_added_up_by_name() -> None:
    rows, short = storm(40)
    found, counts = with_storm(rows, short)
    assert counts == {b"true": 40}
    assert found["comm"].tolist() == [b"web", b"true", b"true"]
    alone, whole = found[1], found[2]
    assert (alone["tid"], whole["tid"]) == (101, 0)
    assert (whole["run_delay_ns"], whole["run_ns"], whole["max_wait_ns"]) == (80 * MS, 40 * MS, 42)
    for name in ("run_delay_ns", "run_ns"):
        assert found[name].sum() == rows[name].sum(), "nothing is lost"


def test_few_are_told_one_by_one() -> None:
    for rows, short in (storm(9), (storm(40)[0], storm(40)[1][:0])):
        assert with_storm(rows, short)[0] is rows


def of_storm(frame: Frame) -> Frame:
    rows, short = storm(40)
    return replace(frame, tasks=rows, short_lived=short)


async def test_a_storm_is_one_line_of_the_table(make_view: MakeView) -> None:
    async def shown(settings: ViewSettings) -> tuple[list[str], object]:
        pane = TasksPane()
        app = OnePane(pane)
        async with app.run_test(size=(120, 12)) as pilot:
            view = make_view(settings=settings, change=of_storm)
            pane.show(view)
            await pilot.pause()
            pane.select(0)
            return lines(app), chosen_subject(pane, view)

    screen, subject = await shown(ViewSettings())
    assert screen[2].split()[:6] == ["│", "true", "×40", "·", "·", "80.0"], screen[2]
    assert "Tasks · 42 " in screen[0]
    assert subject == MANY
    screen, _ = await shown(ViewSettings(filter=Filter.parse("true")))
    assert not any("×40" in line for line in screen), "who asks for them sees each"


async def test_tasks_and_blame_name_the_script(tmp_path: Any, make_view: MakeView) -> None:
    script = tmp_path / "deploy.sh"
    script.write_text("echo runs; read -r x; echo\n")

    async def shown(pane: TasksPane | BlamePane, view: View) -> str:
        app = OnePane(pane)
        async with app.run_test(size=(160, 30)) as pilot:
            pane.show(view)
            await pilot.pause()
            return "\n".join(lines(app))

    with running("bash", str(script)) as pid:

        def change(frame: Frame) -> Frame:
            tasks, pairs = frame.tasks.copy(), frame.pairs.copy()
            tasks["tid"][0], tasks["comm"][0], tasks["run_delay_ns"][0] = pid, b"bash", 10**10
            pairs["other_tid"][0], pairs["other_comm"][0], pairs["blocked_ns"][0] = pid, b"bash", 10**10
            return replace(frame, tasks=tasks, pairs=pairs)

        view = make_view(change=change)
        here = replace(view, host=replace(view.host, boot_id="this"))
        for pane in (TasksPane, BlamePane):
            assert "bash deploy.sh" in await shown(pane(), here)
            assert "bash deploy.sh" not in await shown(pane(), view), "of a recording nobody knows"


async def test_what_tasks_wait_for_a_quota_has_a_column_while_there_is_one(make_view: MakeView) -> None:
    """Run delay has none of it: a service that its quota held for most of the time seemed to wait for nothing."""

    def held(frame: Frame) -> Frame:
        waits = frame.slow_waits[:3].copy()
        waits["tid"], waits["cause"], waits["evidence"] = (100, 100, 101), (*[Cause.THROTTLED] * 2, Cause.WAKEUP), 0
        waits["wait_ns"], waits["throttled_ns"], waits["comm"] = 70 * MS, (0, 60 * MS, 0), (b"web", b"web", b"true")
        return replace(of_storm(frame), slow_waits=waits)

    async def shown(change: Callable[[Frame], Frame]) -> list[str]:
        pane = TasksPane()
        app = OnePane(pane)
        async with app.run_test(size=(100, 48)) as pilot:
            pane.show(
                make_view(change=change, settings=ViewSettings(task_sort="run_ns", filter=Filter.parse("true,web")))
            )
            await pilot.pause()
            return lines(app)

    screen = await shown(held)
    assert " quota " in screen[1]
    (web,) = [line for line in screen if " 100 " in line]
    (other,) = [line for line in screen if " 101 " in line]
    assert " 130 ms " in web and "130 ms" not in other
    assert " quota " not in (await shown(of_storm))[1]

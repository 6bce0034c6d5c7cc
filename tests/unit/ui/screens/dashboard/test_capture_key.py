"""The key that captures: in the background, once at a time, and only where there is a live kernel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from schedtop.model.source import SourceError
from schedtop.ui.app import SchedtopApp
from schedtop.ui.on_demand import OnDemand
from tests.unit.panes.screen import text
from tests.unit.ui.drive import GivenSource, collected, until


async def shown(pilot: Pilot[int], words: str) -> None:
    """Waits until the words are on the screen."""
    await until(pilot, lambda: words in text(pilot.app))


def app_with(
    source: GivenSource, directory: Path, take: Callable[[Path, threading.Event], list[str]] | None
) -> SchedtopApp:
    return SchedtopApp(source, export_dir=directory, on_demand=OnDemand(take_capture=take))


async def test_capture_key_without_a_live_kernel_says_so(tmp_path: Path) -> None:
    source = GivenSource()
    async with app_with(source, tmp_path, None).run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 2)
        await pilot.press("c")
        await shown(pilot, "a capture needs the live kernel")


async def test_capture_key_captures_once_at_a_time_and_says_where(tmp_path: Path) -> None:
    source, go, calls = GivenSource(), threading.Event(), []

    def take(directory: Path, _stop: threading.Event) -> list[str]:
        calls.append(directory)
        go.wait(60)
        return ["2.00 s of 2 CPUs", f"{directory.name}/some.json (1 KiB)"]

    async with app_with(source, tmp_path, take).run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 2)
        await pilot.press("c")
        await shown(pilot, "Capturing")
        await collected(pilot, source, 1)  # the panes go on
        await pilot.press("c")
        await shown(pilot, "a capture is under way")
        go.set()
        await shown(pilot, "some.json (1 KiB)")
        await pilot.press("c")
        await until(pilot, lambda: len(calls) == 2)
        assert calls == [tmp_path, tmp_path]


async def test_a_failure_is_said(tmp_path: Path) -> None:
    source = GivenSource()

    def take(_directory: Path, _stop: threading.Event) -> list[str]:
        raise SourceError("the kernel [does] not want to")

    async with app_with(source, tmp_path, take).run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 2)
        await pilot.press("c")
        await shown(pilot, "not captured: the kernel [does] not want to")


async def test_leaving_ends_the_capture(tmp_path: Path) -> None:
    source, ended = GivenSource(), threading.Event()

    def take(_directory: Path, stop: threading.Event) -> list[str]:
        if stop.wait(60):
            ended.set()
        return []

    async with app_with(source, tmp_path, take).run_test(size=(120, 40), notifications=True) as pilot:
        await collected(pilot, source, 2)
        await pilot.press("c")
        await shown(pilot, "Capturing")
    assert ended.wait(30)

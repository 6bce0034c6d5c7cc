"""The path screen in the sizes that people have: what is on the screen is what was there before.

A change that is meant: `make test ARGS="--snapshot-update -k snapshots"`, then look at the differences of the files.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from textual.geometry import Size

from schedtop.path.live import PathFrame
from schedtop.path.subject import PathSubject
from schedtop.sources.synthetic.path import SyntheticPath
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.path.screen import PathScreen
from schedtop.verdict.verdict import Verdict
from tests.unit.panes.screen import assert_widths
from tests.unit.ui.drive import GivenSource
from tests.unit.ui.snapshot_files import DIRECTORY, Snapshots, text_of

SIZES = (Size(80, 24), Size(120, 40), Size(200, 60))
SECONDS = 4


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day are local."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


class Still(SyntheticPath):
    """A few seconds, and then nothing more."""

    def frames(self, stop: threading.Event) -> Iterator[PathFrame]:
        for number, frame in enumerate(super().frames(stop)):
            if number == SECONDS:
                break
            yield frame
        stop.wait()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.width}x{size.height}")
async def test_path_screen(size: Size, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedtop.ui.screens.attached.OLD_NS", 10**18)
    update = bool(request.config.getoption("--snapshot-update"))
    snapshots = Snapshots(DIRECTORY / f"path-{size.width}x{size.height}", update)
    app = SchedtopApp(GivenSource())
    async with app.run_test(size=size) as pilot:
        screen = PathScreen(
            lambda subject, min_ns, **_: Still(subject, min_ns, pace_s=0.02),
            PathSubject(1204, 1200, "rpc-worker"),
            lambda subject: Verdict("ok", "calm", "Waits are short: p99 is 20 µs"),
        )
        app.push_screen(screen)
        while screen.shown is None or screen.shown.summary.episodes < 3 * SECONDS:
            await pilot.pause(0.02)
        for name, keys in (("worst", ()), ("latest", ("s",)), ("zoomed", ("2", "z"))):
            await pilot.press(*keys)
            await snapshots.compare(name, pilot, lambda: text_of(app))
            assert_widths(app)
    snapshots.check()

"""The activity screen in the sizes that people have: what is on the screen is what was there before.

A change that is meant: `make test ARGS="--snapshot-update -k snapshots"`, then look at the differences of the files.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from textual.geometry import Size

from schedtop.activity.activity import Activity
from schedtop.model.filters import Filter
from schedtop.sources.synthetic.activity import SyntheticActivity
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.activity.screen import ActivityScreen
from tests.unit.panes.screen import assert_widths
from tests.unit.ui.drive import GivenSource, until
from tests.unit.ui.snapshot_files import DIRECTORY, Snapshots, text_of

SIZES = (Size(80, 24), Size(160, 48))
SECONDS = 3


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day are local."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


class Still(SyntheticActivity):
    """A few seconds, and then nothing more."""

    def frames(self, stop: threading.Event) -> Iterator[Activity]:
        for number, interval in enumerate(super().frames(stop), 1):
            yield interval
            if number == SECONDS:
                break
        stop.wait()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.width}x{size.height}")
async def test_activity_screen(size: Size, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedtop.ui.screens.attached.OLD_NS", 10**18)
    update = bool(request.config.getoption("--snapshot-update"))
    snapshots = Snapshots(DIRECTORY / f"activity-{size.width}x{size.height}", update)
    app = SchedtopApp(GivenSource())
    async with app.run_test(size=size) as pilot:
        screen = ActivityScreen(lambda: Still(pace_s=0.02), lambda subject: None, lambda subject: None, wanted=Filter())
        app.push_screen(screen)
        await until(pilot, lambda: len(screen.shown.live) == SECONDS)
        for name, keys in (
            ("process", ()),
            ("network", ("M",)),
            ("cgroup", ("m", "g", "g", "g")),
            ("tcp", ("3", "z")),
        ):
            await pilot.press(*keys)
            await snapshots.compare(name, pilot, lambda: text_of(app))
            assert_widths(app)
    snapshots.check()

"""Every preset and every pane, in the sizes that people have: what is on the screen is what was there before.

A change that is meant: `make test ARGS="--snapshot-update -k snapshots"`, then look at the differences of the files.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from textual.geometry import Size

from schedtop.sources.synthetic.scheduler import Scenario
from schedtop.ui.layout.presets import PRESETS
from schedtop.ui.terminal.themes import DARK, LIGHT
from tests.unit.panes.screen import assert_widths
from tests.unit.ui.snapshot_files import DIRECTORY, Snapshots, frames_of, showing, styles_of, text_of

SIZES = (Size(80, 24), Size(120, 40), Size(160, 50), Size(200, 60), Size(240, 70))
FRAMES = frames_of(Scenario(cpus=8, tasks=30, slow_waits=9, frames=60))


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day are local, and colours those of a terminal that has them all."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLORTERM", "truecolor")
        patch.delenv("NO_COLOR", raising=False)
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--snapshot-update"))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.width}x{size.height}")
async def test_presets_and_panes(size: Size, update: bool) -> None:
    snapshots = Snapshots(DIRECTORY / f"{size.width}x{size.height}", update)
    async with showing(FRAMES, size) as (pilot, app):
        dashboard = app.dashboard
        for preset in PRESETS:
            dashboard.pane_layout.show_preset(preset)
            await snapshots.compare(f"{preset.number}-{preset.word.lower()}", pilot, lambda: text_of(app))
            assert_widths(app)
        await pilot.press("z")
        for pane in dashboard.pane_layout.panes:
            dashboard.pane_layout.focus_pane(pane)
            await snapshots.compare(f"pane-{pane.id}", pilot, lambda: text_of(app))
            assert_widths(app)
    snapshots.check()


@pytest.mark.parametrize("theme", [DARK.name, LIGHT.name])
async def test_styles(theme: str, update: bool) -> None:
    snapshots = Snapshots(DIRECTORY / theme, update)
    async with showing(FRAMES, SIZES[1]) as (pilot, app):
        app.theme = theme
        for preset in PRESETS:
            app.dashboard.pane_layout.show_preset(preset)
            await snapshots.compare(f"{preset.number}-{preset.word.lower()}", pilot, lambda: styles_of(app))
    snapshots.check()

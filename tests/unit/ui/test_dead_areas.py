"""No dead area: on large screens, and in replays, no pane stands half empty while another one has more to show."""

from __future__ import annotations

import pytest
from textual.geometry import Size

from schedtop.ui.app import SchedtopApp
from schedtop.ui.layout.presets import PRESETS
from tests.unit.panes.screen import assert_widths
from tests.unit.ui.drive import until
from tests.unit.ui.snapshot_files import text_of
from tests.unit.ui.test_replay_snapshots import ALARM, paused

MOST_BLANK = 0.4
"""Of the cells of all panes, how many may be in lines that are empty at the end of a pane."""

BLANK = " │┃"


def blank_share(app: SchedtopApp) -> float:
    """The share of the cells of the panes that are below the last line of their content."""
    rows, blank, whole = text_of(app), 0, 0
    for pane in app.dashboard.pane_layout.panes:
        if not pane.display:
            continue
        place = pane.region
        inside = [rows[y][place.x + 1 : place.right - 1] for y in range(place.y + 1, place.bottom - 1)]
        filled = max((number for number, line in enumerate(inside) if line.strip(BLANK)), default=-1) + 1
        blank += (len(inside) - filled) * place.width
        whole += len(inside) * place.width
    return blank / whole


@pytest.mark.parametrize("size", [Size(160, 48), Size(240, 70)], ids=lambda size: f"{size.width}x{size.height}")
async def test_a_replay_fills_its_screen(size: Size) -> None:
    async with paused(ALARM, size) as (pilot, app):
        await until(pilot, lambda: "ALARM" in text_of(app)[0])
        shares = {}
        for preset in PRESETS:
            app.dashboard.pane_layout.show_preset(preset)
            for _ in range(4):
                await pilot.pause()
            assert_widths(app)
            shares[preset.word] = round(blank_share(app), 2)
        assert max(shares.values()) <= MOST_BLANK, shares

"""Draws the pictures: the real replay, headless, at a moment of a recording, as SVG; a browser makes a PNG to look at.

The same recording and the same schedtop give the same bytes: nothing of a picture comes from a clock, and the ids in it
are made from its name.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PIL import Image
from textual.pilot import Pilot

from schedtop.cli.types import Moment
from schedtop.commands.recorded import number_at, place_of
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.source import ReplaySource
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.dashboard.export import FONTS
from schedtop.ui.screens.replay.screen import ReplayDashboard
from schedtop.ui.terminal.themes import THEMES

RECORDINGS = Path("screenshots/recordings")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER_S = 60
SCALE, COLOURS = 1, 256
"""Pixels of a PNG for each of the SVG's, and of how many colours: a third of the size, and nothing to be seen."""

FONT_PX, FONT_SHIFT_PX = 21, 1.2
"""Of text, and how much lower it is than the framework's, so that the blocks of bars fill their lines, without gaps."""

REPORT, REPORT_PX = "report", (1000, 1500)
"""The picture of a report, and how much of it is seen."""

PAUSE_S = 0.02
MOST_PAUSES = 1000


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture: of which recording, at which moment (as `--from` takes it), in how many cells, after which keys.

    The keys are named as textual does: what a reader presses, too.
    """

    name: str
    recording: str
    moment: str
    size: tuple[int, int]
    keys: tuple[str, ...] = ()
    theme: str = THEMES[0].name
    caption: str = ""


def svg_of(shot: Shot, recordings: Path = RECORDINGS) -> str:
    """The picture as SVG, times of day in UTC. Raises SourceError if there is no such recording."""
    set_terminal()
    return asyncio.run(_svg_of(shot, recordings))


def set_terminal() -> None:
    """The same terminal for every picture."""
    os.environ |= {"TZ": "UTC", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    os.environ.pop("NO_COLOR", None)
    time.tzset()


async def _svg_of(shot: Shot, recordings: Path) -> str:
    with ReplaySource(Recording(recordings / f"{shot.recording}.rec.gz"), playing=False) as source:
        number = number_at(source.entries, Moment().convert(shot.moment, None, None))
        source.seek(number)
        make_screen = partial(ReplayDashboard, place_of=partial(place_of, source.entries))
        app = SchedtopApp(source, make_screen=make_screen)
        async with app.run_test(size=shot.size) as pilot:
            app.theme = shot.theme
            await _settled(pilot, source.entries[number].end_ns)
            for key in shot.keys:
                await pilot.press(key)
                await _at_rest(pilot)
            svg = app.export_screenshot(title=f"schedtop replay {shot.recording}.rec.gz", simplify=True)
        app.wait_for_source()
    return tidied(svg, shot)


async def _settled(pilot: Pilot[int], end_ns: int) -> None:
    """Waits until an interval is shown."""
    app = pilot.app
    assert isinstance(app, SchedtopApp)
    for _ in range(MOST_PAUSES):
        await pilot.pause(PAUSE_S)
        view = app.dashboard.view
        if view is not None and view.frame.end_ns == end_ns:
            break
    else:
        raise TimeoutError("the interval does not come")
    await _at_rest(pilot)


async def _at_rest(pilot: Pilot[int]) -> None:
    """Waits until the screen does not change any more."""
    before = ""
    for _ in range(MOST_PAUSES):
        await pilot.pause(PAUSE_S)
        # The line of the player looks every quarter of a second where the player is.
        app = pilot.app
        assert isinstance(app, SchedtopApp)
        if isinstance(app.dashboard, ReplayDashboard):
            app.dashboard.show_player()
        await pilot.pause()
        now = app.export_screenshot()
        if now == before:
            return
        before = now


def tidied(svg: str, shot: Shot) -> str:
    """Fonts that every machine has instead of one from the net, ids of its own, a frame in the theme's colours."""
    theme = next(theme for theme in THEMES if theme.name == shot.theme)
    svg = re.sub(r"@font-face\s*\{[^}]*\}\s*", "", svg)
    svg = re.sub(r"font-family:\s*Fira Code\b[^;]*", f"font-family: {FONTS}", svg)
    svg = re.sub(r"terminal-\d+", f"schedtop-{shot.name}", svg)
    if not theme.ansi:  # else they are the terminal's own, and the framework's stand for them
        svg = svg.replace('fill="#292929"', f'fill="{theme.background}"').replace("#c5c8c6", theme.foreground or "")
    svg = re.sub(r'<clipPath id="[^"]*-line-\d+">.*?</clipPath>\s*', "", svg, flags=re.DOTALL)
    svg = re.sub(r' clip-path="url\(#[^"]*-line-\d+\)"', "", svg)
    svg = svg.replace("font-size: 20px", f"font-size: {FONT_PX}px")
    svg = re.sub(r'(<text [^>]*\by=")([\d.]+)"', lambda text: f'{text[1]}{float(text[2]) + FONT_SHIFT_PX:g}"', svg)
    # The last line is lower by as much, too.
    svg = re.sub(
        r'(-clip-terminal">\s*<rect [^>]*height=")([\d.]+)"', lambda clip: f'{clip[1]}{float(clip[2]) + 4:g}"', svg
    )
    return re.sub(r"[ \t]+\n", "\n", svg)


def browser() -> str | None:
    """The browser that can make a PNG here, `None` without one."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def write_report(to: Path, program: str) -> None:
    """The top of the page that `schedtop report --format html` makes of a recording, as PNG. Raises as `write_png`."""
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "report.html"
        recording = RECORDINGS / "contention.rec.gz"
        subprocess.run(
            [sys.executable, "-m", "schedtop", "report", str(recording), "--format", "html", "-o", str(page)],
            check=True, capture_output=True, env={**os.environ, "TZ": "UTC"},
        )  # fmt: skip
        _photograph(page.read_text(), *REPORT_PX, to, program)


def write_png(svg: Path, to: Path, program: str) -> None:
    """Makes a PNG of an SVG. Raises OSError, or subprocess.SubprocessError with what the browser had to say."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg.read_text())
    assert size is not None
    width, height = (round(float(number)) for number in size.groups())
    page = (
        f'<!doctype html><body style="margin:0"><img src="{svg.resolve().as_uri()}" '
        f'style="display:block;width:{width}px;height:{height}px"></body>'
    )
    _photograph(page, width, height, to, program)


def _photograph(page: str, width: int, height: int, to: Path, program: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        (file := Path(directory) / "page.html").write_text(page)
        subprocess.run(
            [
                program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                "--default-background-color=00000000", f"--user-data-dir={directory}/profile",
                f"--force-device-scale-factor={SCALE}", f"--window-size={width},{height}",
                f"--screenshot={to.resolve()}", file.as_uri(),
            ],
            check=True, capture_output=True, timeout=BROWSER_S,
        )  # fmt: skip
    with Image.open(to) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(to, optimize=True)

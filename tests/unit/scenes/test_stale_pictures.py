"""No picture shows a screen that schedtop no longer has. If one does: `make screenshots`, then look at it."""

from __future__ import annotations

import difflib
import html
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator

import pytest
from textual.binding import Binding
from textual.theme import Theme

from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.blame.rows import TITLES
from schedtop.ui.layout.presets import PRESETS
from schedtop.ui.screens.catalog import PLACES
from schedtop.ui.terminal.themes import THEMES
from tests import ROOT
from tests.scenes.activity import ACTIVITY_SHOT
from tests.scenes.draw import RECORDINGS, Shot, svg_of, tidied
from tests.scenes.live import FLAME, OFFCPU_SHOT, PATH_FLAME, PATH_SHOT
from tests.scenes.performance import LIVE
from tests.scenes.shots import SHOTS

PICTURES = ROOT / "screenshots"

DRAWN = ("contention-80x24", "rt-hog", "fork-storm", "tour-4-blame")
"""Those that are compared in full: two sizes and three presets. The others are drawn by the same code."""

PLACE_OF = {OFFCPU_SHOT.name: "off-CPU", PATH_SHOT.name: "path", ACTIVITY_SHOT.name: "activity"}
"""Live pictures of other screens than the dashboard."""

TEXT = re.compile(r'<text [^>]*\bx="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', re.DOTALL)
TITLE = re.compile(r"[╭┏][─━] (?:\W+ |\d )?(\w.*?) *[─━╮┓]")
LEVELS = ("ALARM", "NOTICE")
"""Titles of the verdict in full."""


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for name in ("TZ", "TERM", "COLORTERM", "NO_COLOR"):  # drawing sets them
            patch.setenv(name, os.environ.get(name, ""))
        yield
    time.tzset()


def rows_of(svg: str) -> list[str]:
    """The lines of a screen; the title of its window is not among them."""
    rows: dict[float, list[tuple[float, str]]] = defaultdict(list)
    for x, y, text in TEXT.findall(svg):
        rows[float(y)].append((float(x), html.unescape(text).replace("\xa0", " ")))
    return ["".join(text for _, text in sorted(parts)) for _, parts in sorted(rows.items())]


def screens_of(name: str) -> list[list[str]]:
    """The lines of each screen of a picture: an animated one has several."""
    svg = (PICTURES / f"{name}.svg").read_text()
    _, *steps = re.split('<g class="step ', svg)
    return [rows_of(re.sub('<text class="words".*', "", step)) for step in steps or [svg]]


def live_pictures() -> list[str]:
    """Live pictures of a screen that are in the repository."""
    return sorted(name for name in LIVE if name not in (FLAME, PATH_FLAME) and (PICTURES / f"{name}.svg").exists())


@pytest.mark.parametrize("shot", [shot for shot in SHOTS if shot.name in DRAWN], ids=lambda shot: shot.name)
def test_picture_of_a_recording_is_what_the_screen_shows_now(shot: Shot) -> None:
    kept = rows_of((PICTURES / f"{shot.name}.svg").read_text())
    drawn = rows_of(svg_of(shot, ROOT / RECORDINGS))
    told = "\n".join(difflib.unified_diff(kept, drawn, "the picture", "the screen", n=0, lineterm=""))
    assert kept == drawn, f'{told}\n\nIf that is meant: make screenshots ARGS="{shot.name}"'


@pytest.mark.parametrize("name", live_pictures())
def test_live_picture_has_the_keys_of_the_screen(name: str) -> None:
    place = PLACES[PLACE_OF.get(name, "dashboard")]
    words = {
        "Minimum", *(binding.description for part in place for binding in part.BINDINGS if isinstance(binding, Binding))
    }  # fmt: skip
    # What lies over a screen hides its keys.
    for *_, last in (rows for rows in screens_of(name) if not any("Esc closes" in row for row in rows)):
        if name not in PLACE_OF:
            tabs = re.match(r" ?(?:\d(?: [^\W\d]+)? +)+", last)
            assert tabs and [int(number) for number in re.findall(r"\d", tabs[0])] == [each.number for each in PRESETS]
            assert set(re.findall(r"[^\W\d]+", tabs[0])) <= {each.word for each in PRESETS}
            last = last[tabs.end() :]
        keys = [part for part in re.split(r" {2,}", last.strip()) if part]
        assert keys and all(part.endswith(tuple(words)) for part in keys), keys


@pytest.mark.parametrize("name", live_pictures())
def test_live_picture_has_titles_that_panes_have(name: str) -> None:
    places = PLACES[PLACE_OF.get(name, "dashboard")]
    titles = {part.TITLE for part in places.panes if issubclass(part, Pane)} | set(TITLES.values())
    shorts = {part.SHORT for part in places.panes if issubclass(part, Pane) and part.SHORT}
    found = [title for rows in screens_of(name) for row in rows for title in TITLE.findall(row)]
    assert found and all(title.startswith((*titles, *shorts, *LEVELS)) for title in found), found


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_colours_of_text_and_ground_are_such_that_a_browser_knows(theme: Theme) -> None:
    svg = tidied(
        '<rect fill="#292929"/><style>.r1 { fill: #c5c8c6; }</style>', Shot("one", "", "", (9, 9), (), theme.name)
    )
    assert len(set(re.findall("#[0-9a-f]{6}", svg))) == 2 and "ansi" not in svg


def test_rows_of_a_picture() -> None:
    svg = '<text class="a" x="9" y="2" t="1">b&lt;</text><text class="a" x="0" y="2" t="1">a&#160;</text>'
    assert rows_of(f'{svg}<text class="title" text-anchor="middle" x="3" y="0">window</text>')[-1] == "a b<"

"""What the terminal can show, from its environment, and what is made of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from schedtop.cli import options
from schedtop.ui.terminal import appearance as module
from schedtop.ui.terminal.appearance import appearance
from schedtop.ui.terminal.ink import Depth
from schedtop.ui.terminal.themes import THEME_NAMES

DATABASE = {"xterm-256color": 256, "screen-256color": 256, "screen": 8, "linux": 8, "ansi": 8, "vt100": -1}


@pytest.fixture(autouse=True)
def one_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library reads the real one once in a process only."""
    monkeypatch.setattr(module, "database_colours", DATABASE.get)


@pytest.mark.parametrize("term", ["xterm-256color", "screen", "linux", "vt100", "nobody-knows"])
def test_the_database_of_this_host_says_the_same(term: str) -> None:
    code = f"from schedtop.ui.terminal.appearance import database_colours; print(database_colours({term!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == str(DATABASE.get(term)), done.stderr


@pytest.mark.parametrize(
    ("environment", "theme", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "dark", Depth.TRUE),
        ({"TERM": "xterm-256color"}, "dark", Depth.PALETTE),
        ({"TERM": "screen-256color"}, "dark", Depth.PALETTE),
        ({"TERM": "xterm-direct", "COLORTERM": "24bit"}, "dark", Depth.TRUE),
        ({"TERM": "xterm-nobody-knows"}, "dark", Depth.PALETTE),
        ({"TERM": "xterm-16color"}, "terminal", Depth.SIXTEEN),
        ({"TERM": "nobody-256color"}, "dark", Depth.PALETTE),
        ({"TERM": "nobody-knows"}, "terminal", Depth.EIGHT),
        ({"TERM": "screen"}, "terminal", Depth.EIGHT),
        ({"TERM": "screen", "COLORTERM": "truecolor", "STY": "1.pts-0"}, "terminal", Depth.EIGHT),
        ({"TERM": "linux"}, "terminal", Depth.EIGHT),
        ({"TERM": "ansi"}, "terminal", Depth.EIGHT),
        ({"TERM": "vt100"}, "mono", Depth.NONE),
        ({"TERM": "vt100", "COLORTERM": "truecolor"}, "mono", Depth.NONE),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "mono", Depth.PALETTE),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "dark", Depth.PALETTE),
    ],
)
def test_the_theme_suits_the_terminal(environment: dict[str, str], theme: str, depth: Depth) -> None:
    found = appearance(environment=environment)
    assert (found.theme, found.depth) == (f"schedtop-{theme}", depth)


def test_appearance_follows_options_and_environment() -> None:
    environment = {"TERM": "screen", "NO_COLOR": "1"}
    found = appearance("light", environment=environment)
    assert found.theme == "schedtop-light"
    assert found.depth_of(found.theme) is Depth.PALETTE, "whoever asks for colours gets them"
    assert found.depth_of("schedtop-mono") is Depth.NONE
    assert found.themes() == ["schedtop-light", "schedtop-terminal", "schedtop-mono"]


def test_ascii_is_for_consoles_and_when_asked_for() -> None:
    assert appearance(environment={"TERM": "linux"}).ascii
    assert not appearance("auto", False, {"TERM": "linux"}).ascii
    assert appearance("auto", True, {"TERM": "xterm-256color"}).ascii


def test_a_theme_of_the_config_must_suit_the_terminal() -> None:
    wanted = [("xterm-256color", "", "light"), ("linux", "", "terminal"), ("xterm-256color", "1", "mono")]
    for term, no_color, theme in wanted:
        found = appearance("light", environment={"TERM": term, "NO_COLOR": no_color}, insists=False)
        assert found.theme == f"schedtop-{theme}", term


def test_the_option_knows_all_themes() -> None:
    assert options.THEME_NAMES == THEME_NAMES

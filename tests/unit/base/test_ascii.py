"""Stand-ins for what is not ASCII: as wide, in the same order, for everything that is drawn."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

import schedtop
from schedtop.base.ascii import STAND_INS, to_ascii

PACKAGE = Path(schedtop.__file__).parent


def drawn() -> set[str]:
    """Every character beyond ASCII in a text of the sources that is seen, docstrings aside."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.name == "ascii.py" or "outputs/report" in str(path):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
                found.update(char for char in node.value if not char.isascii() and char.isprintable())
    return found


def test_every_character_drawn_has_an_ascii_one() -> None:
    found = drawn()
    assert len(found) > 20
    assert found - set(STAND_INS) == set()


def test_a_stand_in_is_ascii_and_as_wide() -> None:
    for char, stand_in in STAND_INS.items():
        assert stand_in.isascii() and len(stand_in) == cell_len(char), hex(ord(char))


def test_bars_keep_their_order_and_halves_of_a_border_can_be_told() -> None:
    for ramp in (" ·░▒▓█", " ▁▂▃▄▅▆▇█"):
        assert len(set(to_ascii(ramp))) == len(ramp)
    assert to_ascii("╭─╮│") == "+-+|" and to_ascii("┏━┓┃") == "#=##"


def test_names_of_others_keep_their_cells() -> None:
    assert to_ascii("nginx: café 漢字 e\u0301") == "nginx: caf? ???? e"
    assert to_ascii("1.2 ms · 30 µs × 4 …") == "1.2 ms . 30 us x 4 ~"


SNAPSHOT = ["snapshot", "--source", "synthetic", "--duration", "0.2s"]


@pytest.mark.parametrize(("encoding", "format_name"), [("ascii", "text"), ("iso-8859-1", "text"), ("ascii", "csv")])
def test_outputs_bear_any_encoding(encoding: str, format_name: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "schedtop", *SNAPSHOT, "--format", format_name]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode(encoding)
    assert ("µs" in text) == (encoding != "ascii" and format_name == "text")
    assert len(text) > 1000 and "Traceback" not in done.stderr.decode(encoding)

"""Snapshots: what the dashboard shows of fixed Frames, as text, and compared with what is in the repository."""

from __future__ import annotations

import difflib
import string
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from textual.app import App
from textual.pilot import Pilot

from schedtop.model.frame import Frame
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.ui.app import SchedtopApp
from tests.unit.panes.screen import lines, strips
from tests.unit.ui.drive import GivenSource

DIRECTORY = Path(__file__).parent / "snapshots"
UPDATE = 'make test ARGS="--snapshot-update -k snapshots"'

LETTERS = string.ascii_letters + string.digits
SETTLE_S = 10.0
"""In so much time all that a key changes is drawn: panes that have just come are drawn a moment later than others."""

MOST_DIFFERENCES = 40
"""Lines of a difference that are told."""


@dataclass(slots=True)
class Snapshots:
    """Compares texts with files in a directory; all differences are told at once. `update` writes them instead."""

    directory: Path
    update: bool
    _differences: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    async def compare(self, name: str, pilot: Pilot[int], read: Callable[[], list[str]]) -> None:
        """Compares what `read` says of the screen, once it is as in the file of that name, or for SETTLE_S is not."""
        path = self.directory / f"{name}.txt"
        self._seen.add(path.name)
        wanted = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
        await pilot.pause(0.3 if self.update else 0)
        deadline = time.monotonic() + SETTLE_S
        while (text := read()) != wanted and not self.update and time.monotonic() < deadline:
            await pilot.pause(0.02)
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        elif wanted != text:
            difference = difflib.unified_diff(wanted, text, f"{path}", "the screen", n=0, lineterm="")
            self._differences.append("\n".join(list(difference)[:MOST_DIFFERENCES]))

    def check(self) -> None:
        """Fails if anything was different, or there are files of what there is no more."""
        old = [path for path in self.directory.glob("*.txt") if path.name not in self._seen]
        if self.update:
            for path in old:
                path.unlink()
            return
        told = [*self._differences, *(f"{path}: nothing is called so any more" for path in old)]
        assert not told, "\n\n".join([*told, f"If that is meant: {UPDATE}"])


def frames_of(scenario: Scenario) -> list[Frame]:
    """The Frames of a made-up host, with samples of its run queues and interrupts that are timed: always the same."""
    source = SyntheticSource(scenario)
    source.set_sampling(True)
    source.set_interrupts(True)
    return list(source.frames(threading.Event()))


@asynccontextmanager
async def showing(frames: Sequence[Frame], size: tuple[int, int]) -> AsyncIterator[tuple[Pilot[int], SchedtopApp]]:
    """The app with these Frames and no others."""
    source = GivenSource()
    app = SchedtopApp(source)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        for frame in frames[:-1]:
            app.dashboard.live.append(frame)
        # All at once: scales of panes remember what they have shown.
        app.dashboard.add(frames[-1])
        await pilot.pause()
        yield pilot, app
    assert app.wait_for_source()


def text_of(app: App[object]) -> list[str]:
    """The screen as text, without blanks at the ends of lines."""
    return [line.rstrip() for line in lines(app)]


def styles_of(app: App[object]) -> list[str]:
    """The screen's styles: a letter for each cell, in order of appearance, and what the letters mean.

    So another colour changes one line, and another place of a colour changes the lines where it is.
    """
    letters: dict[str, str] = {}
    painted = []
    for strip in strips(app):
        line = ""
        for segment in strip:
            style = str(segment.style)
            letter = letters.setdefault(style, LETTERS[len(letters)] if len(letters) < len(LETTERS) else "?")
            line += letter * segment.cell_length
        painted.append(line)
    return [*painted, *(f"{letter} {style}" for style, letter in letters.items())]

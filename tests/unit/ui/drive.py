"""A source whose Frames the test gives out, and the app over it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import pytest
from textual.app import App
from textual.pilot import Pilot

from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.panes.header import HeaderPane
from schedtop.sources.synthetic.scheduler import Scenario, make_frame, make_topology
from schedtop.ui.app import SchedtopApp
from schedtop.ui.screens.dashboard.screen import Dashboard
from schedtop.ui.screens.help.screen import HelpScreen
from tests.unit.panes.screen import lines, text

WAIT_S = 30.0
"""How long a test waits for what must come true: a busy machine takes its time."""


class GivenSource:
    """Frames one by one, when the test says so; an exception is raised, None ends it."""

    def __init__(self, **scenario: Any) -> None:
        self.scenario = Scenario(**scenario)
        topology = make_topology(self.scenario.cpus)
        self.host = Host("given", "6.18.0", "synthetic", True, ("a note from the source",), topology)
        self.thresholds: list[int] = []
        self.groupings: list[str] = []
        self.samplings: list[bool] = []
        self.interrupts: list[bool] = []
        self.made = 0
        self._rng = np.random.default_rng(self.scenario.seed)
        self._queue: queue.Queue[Frame | Exception | None] = queue.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

    def set_threshold(self, threshold_ns: int) -> None:
        self.thresholds.append(threshold_ns)

    def set_grouping(self, kind: str) -> None:
        self.groupings.append(kind)

    def set_sampling(self, on: bool) -> None:
        self.samplings.append(on)

    def set_interrupts(self, on: bool) -> None:
        self.interrupts.append(on)

    def give(self, count: int = 1) -> None:
        """Gives out the next Frames."""
        for _ in range(count):
            threshold_ns = self.thresholds[-1] if self.thresholds else 5_000_000
            grouping = self.groupings[-1] if self.groupings else ""
            asked = {"sampling": self.samplings[-1:] == [True], "interrupts": self.interrupts[-1:] == [True]}
            frame = make_frame(self.scenario, self.made, self._rng, threshold_ns, grouping, **asked)
            self._queue.put(frame)
            self.made += 1

    def put(self, item: Frame | Exception | None) -> None:
        """A Frame of the test's own, an error, or the end."""
        self._queue.put(item)

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        while not stop.is_set():
            try:
                item = self._queue.get(timeout=0.02)
            except queue.Empty:
                continue
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item


async def until(pilot: Pilot[int], condition: Callable[[], object]) -> None:
    """Waits until the condition holds and what it changed is drawn."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"it does not happen:\n{text(pilot.app)}")
        await pilot.pause(0.01)
    await pilot.pause()


async def collected(pilot: Pilot[int], source: GivenSource, count: int = 1) -> Dashboard:
    """Gives out Frames and waits until the app has drawn them."""
    app = pilot.app
    assert isinstance(app, SchedtopApp)
    source.give(count)
    await until(pilot, lambda: app.dashboard.live.latest_ns == source.made * source.scenario.interval_ns)
    return app.dashboard


async def to_pane(pilot: Pilot[int], name: str) -> None:
    """Gives the focus to the pane with this id."""
    app = pilot.app
    assert isinstance(app, SchedtopApp)
    app.dashboard.pane_layout.focus_pane(app.dashboard.pane_layout.pane_named(name))
    await pilot.pause()


async def to_topic(pilot: Pilot[int], name: str) -> None:
    """Turns the pages of the help to the topic with this name."""
    help_screen = pilot.app.screen
    assert isinstance(help_screen, HelpScreen)
    while help_screen._content.topic.name != name:
        await pilot.press("right")


def state_line(app: App[Any]) -> str:
    """The line below the verdict, which has three lines on a narrow screen, else two."""
    return lines(app)[app.screen.query_one(HeaderPane).size.height - 1]

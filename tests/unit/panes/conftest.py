"""Views to draw, and a way to see what a pane shows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

MakeView = Callable[..., View]


@pytest.fixture
def make_view() -> MakeView:
    """Makes a View of a scenario.

    Keywords: host, settings, `change` (of each Frame), sampling, interrupts, those of Scenario.
    """

    def make(
        *,
        host: Host | None = None,
        settings: ViewSettings | None = None,
        change: Callable[[Frame], Frame] | None = None,
        sampling: bool = False,
        interrupts: bool = False,
        **scenario: Any,
    ) -> View:
        source = SyntheticSource(Scenario(**{"frames": 5, **scenario}))
        source.set_sampling(sampling)
        source.set_interrupts(interrupts)
        frames = list(source.frames(threading.Event()))
        history = History(host or source.host, [change(frame) for frame in frames] if change else frames)
        return history.view(settings or ViewSettings())

    return make


def without(*parts: str) -> Callable[[Frame], Frame]:
    """A change that makes parts of a Frame unavailable."""
    return lambda frame: replace(frame, unavailable={part: f"no {part} here" for part in parts})

"""Where the monkey plays: a recording, and made-up hosts that stay live."""

from __future__ import annotations

import random
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

from textual.pilot import Pilot

from schedtop.commands.recorded import place_of
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Event, Header
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.source import ReplaySource
from schedtop.sources.synthetic.activity import SyntheticActivity
from schedtop.sources.synthetic.offcpu import SyntheticOffCpu
from schedtop.sources.synthetic.path import SyntheticPath
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from schedtop.sources.synthetic.task import synthetic_task
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.replay.screen import ReplayDashboard
from tests.monkey.hands import MonkeyApp

CPUS = (1, 2, 2, 8, 64)
INTERVALS = 60

Place = Callable[[Path, random.Random], AbstractAsyncContextManager[Pilot[int]]]


@asynccontextmanager
async def replay(directory: Path, chance: random.Random) -> AsyncIterator[Pilot[int]]:
    """A recording with markers, played fast."""
    scenario = Scenario(cpus=chance.choice(CPUS), frames=INTERVALS, seed=chance.randrange(1000))
    made = SyntheticSource(scenario)
    path = directory / f"monkey-{chance.randrange(10**9)}.rec"
    with Recorder(path, Header(made.host, 1_790_000_000 * 10**9)) as recorder:
        for number, frame in enumerate(made.frames(threading.Event())):
            recorder.write(frame)
            if number % 20 == 10:
                recorder.note(Event(frame.end_ns, "trigger", "p99 > 10ms for 5s"))
    source = ReplaySource(Recording(path), speed=16)
    make_screen = partial(ReplayDashboard, place_of=partial(place_of, source.entries))
    app = MonkeyApp(source, make_screen=make_screen, export_dir=directory)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        yield pilot
    assert app.wait_for_source()
    app.dashboard.close_recordings(10)


@asynccontextmanager
async def live(directory: Path, chance: random.Random) -> AsyncIterator[Pilot[int]]:
    """A made-up host with what a live one opens on demand."""
    scenario = Scenario(
        cpus=chance.choice(CPUS), tasks=chance.choice((3, 40, 400)), frames=10**6, seed=chance.randrange(1000)
    )
    app = MonkeyApp(
        SyntheticSource(scenario, pace_s=0.1),
        export_dir=directory,
        on_demand=OnDemand(
            make_offcpu=SyntheticOffCpu,
            make_task=synthetic_task,
            make_path=SyntheticPath,
            make_activity=SyntheticActivity,
        ),
    )
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        yield pilot
    assert app.wait_for_source()
    app.dashboard.close_recordings(10)


PLACES: dict[str, Place] = {"replay": replay, "live": live}

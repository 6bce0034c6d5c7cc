"""A made-up fleet: recordings of six hosts, by the recorder that real ones are made with."""

import threading
from dataclasses import dataclass, replace
from pathlib import Path

from schedtop.base.units import NS_PER_S
from schedtop.model.counts import Loss
from schedtop.model.frame import Frame
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Header
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

DAY_NS = 86_400 * NS_PER_S


@dataclass(frozen=True)
class Made:
    """A host: what is made of it, and its recordings."""

    name: str
    kernel: str
    scenario: Scenario
    days: tuple[int, ...] = (0,)
    """A recording of each: so many days after the first."""
    lost: int = 0

    def boot(self, day: int) -> str:
        return f"{self.name.encode().hex():0<8.8}-0000-4000-8000-{day:012}"

    def frames(self, day: int) -> list[Frame]:
        source = SyntheticSource(replace(self.scenario, seed=self.scenario.seed + day))
        frames = source.frames(threading.Event())
        loss = Loss(ring_dropped=self.lost)
        return [replace(frame, start_time_ns=frame.start_time_ns + day * DAY_NS, loss=loss) for frame in frames]


FLEET = (
    Made("web-1", "6.12.48", Scenario(cpus=2, frames=6, seed=1)),
    Made("web-2", "6.12.48", Scenario(cpus=2, frames=6, seed=2, steal_ratio=0.2)),
    Made("web-3", "6.18.0", Scenario(cpus=4, frames=6, seed=3, steal_ratio=0.0), days=(0, 1)),
    Made("db-1", "6.18.0", Scenario(cpus=8, frames=4, seed=4, slow_waits=9, steal_ratio=0.0)),
    Made("db-2", "6.1.0", Scenario(cpus=8, frames=4, seed=5, slow_waits=9, steal_ratio=0.01), lost=7),
    Made("../odd host%", "6.1.0", Scenario(cpus=1, tasks=8, frames=3, seed=6)),
)


def record(made: Made, day: int, directory: Path) -> Path:
    frames = made.frames(day)
    host = replace(SyntheticSource(made.scenario).host, name=made.name, kernel=made.kernel, boot_id=made.boot(day))
    path = directory / f"{FLEET.index(made)}-{day}.rec.gz"
    with Recorder(path, Header(host, frames[0].start_time_ns)) as recorder:
        for frame in frames:
            recorder.write(frame)
    return path


def record_fleet(directory: Path) -> list[Path]:
    return [record(made, day, directory) for made in FLEET for day in made.days]

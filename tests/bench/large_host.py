"""The dashboard over a made-up large host whose Frames are made before: `python -m tests.bench.large_host`."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from schedtop.model.frame import Frame
from schedtop.run.priority import raise_priority
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource, make_frame

MADE = 8


class LargeSource(SyntheticSource):
    """The same few Frames again and again, as of later intervals: making them would cost the screen its thread."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario, 1.0)
        rng = np.random.default_rng(scenario.seed)
        self._made = [make_frame(scenario, number, rng, sampling=True) for number in range(MADE)]

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """One a second."""
        number = 0
        while not stop.wait(self.pace_s if number else 0):
            frame, later_ns = self._made[number % MADE], number // MADE * MADE * self.scenario.interval_ns
            yield replace(frame, end_ns=frame.end_ns + later_ns, start_time_ns=frame.start_time_ns + later_ns)
            number += 1


def main() -> int:
    """Runs until it is told to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpus", type=int, default=1024)
    parser.add_argument("--tasks", type=int, default=10_000)
    options = parser.parse_args()
    raise_priority()
    from schedtop.ui.app import run

    return run(LargeSource(Scenario(cpus=options.cpus, tasks=options.tasks, slow_waits=30)))


if __name__ == "__main__":
    sys.exit(main())

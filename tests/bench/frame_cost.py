"""CPU time of one whole frame of the dashboard, in a real terminal: arriving, view, every pane, and writing it out.

    python -m tests.bench.frame_cost [--size 160x50] [--frames 100] [--cpus 2] [--tasks 200] [--window 1] [--task]
        [--preset trends]

The app runs in a child on a pseudo terminal that is read by this process, with Frames of the synthetic source, whose
own cost is left out. The minimum is the figure to compare; the median says how noisy the machine is.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import statistics
import struct
import termios
import threading
import time
from collections.abc import Iterator
from typing import Any

from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource, make_frame
from schedtop.sources.synthetic.task import SyntheticTaskSource, TaskScenario, make_task
from schedtop.task import TaskFrame
from tests.bench.batches import Batches

WARM_UP = 10
PACE_S = 0.05
IDLE_S = 0.0005
"""CPU time within a pace below which the process rests."""


class MeasuredSource(SyntheticSource):
    """Notes the process's CPU time at each Frame, without what making the Frames cost."""

    def __init__(self, scenario: Scenario, pace_s: float, task: GivenTask | None = None) -> None:
        super().__init__(scenario, pace_s)
        self.costs_ms: list[float] = []
        self._task = task

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """Frames made in advance, one at a time."""
        import numpy as np

        rng = np.random.default_rng(self.scenario.seed)
        made = [make_frame(self.scenario, number, rng) for number in range(self.scenario.frames)]
        for frame in made:
            before = self._when_idle(stop)
            if self._task is not None:
                self._task.more.release()
            yield frame
            self.costs_ms.append((self._when_idle(stop) - before) * 1e3)
        os.kill(os.getpid(), 15)

    def _when_idle(self, stop: threading.Event) -> float:
        """The CPU time once the process rests: on a busy machine a Frame takes longer than the pace to be drawn."""
        before = time.process_time()
        while not stop.wait(self.pace_s) and (now := time.process_time()) - before > IDLE_S:
            before = now
        return before


class GivenTask(SyntheticTaskSource):
    """Intervals of a process that are made in advance; one comes each time that there is `more`."""

    def __init__(self, count: int) -> None:
        super().__init__(TaskScenario(4240, whole_process=True, threads=20))
        self.more = threading.Semaphore(0)
        self._made = [make_task(self.scenario, number) for number in range(count)]

    def frames(self, stop: threading.Event) -> Iterator[TaskFrame]:
        """One for each Frame."""
        for task in self._made:
            while not self.more.acquire(timeout=0.1):
                if stop.is_set():
                    return
            yield task


def child(
    scenario: Scenario, pace_s: float, window_s: int, result: int, task: bool = False, preset: str = "overview"
) -> None:
    """The app on the pseudo terminal, with the dashboard or the task view; its figures go to `result`.

    Charts are drawn with every Frame, as they are with an interval of a second.
    """
    from textual import events

    from schedtop.panes.scheduler.trends import pane as trends
    from schedtop.panes.task.past import Subject
    from schedtop.ui.app import run
    from schedtop.ui.layout.presets import preset_named
    from schedtop.ui.on_demand import OnDemand
    from schedtop.ui.screens.dashboard.screen import Dashboard

    class TaskFirst(Dashboard):
        """Opens the task view with the first View."""

        def show_view(self) -> None:
            super().show_view()
            if self.view is not None and self.task_opener.task_screen is None:
                self.task_opener.open_task(Subject(0, 4240, "stress"))

    class PresetFirst(Dashboard):
        """Begins with a preset."""

        def on_mount(self, event: events.Mount) -> None:
            self.pane_layout.preset = preset_named(preset)
            super().on_mount(event)

    trends.PERIOD_S = 0.0
    given = GivenTask(scenario.frames) if task else None
    source = MeasuredSource(scenario, pace_s, given)
    status = run(
        source,
        settings=ViewSettings(window_ns=window_s * 10**9),
        make_screen=TaskFirst if given else PresetFirst,
        on_demand=OnDemand(make_task=(lambda number, whole: given) if given else None),
    )
    os.write(result, json.dumps({"status": status, "costs_ms": source.costs_ms[WARM_UP:]}).encode())


def measure(
    size: tuple[int, int],
    scenario: Scenario,
    pace_s: float,
    window_s: int,
    task: bool = False,
    preset: str = "overview",
) -> dict[str, Any]:
    """Runs the child at a terminal size (columns, lines) and gives what it measured and how much it wrote."""
    read_end, write_end = os.pipe()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"], os.environ["COLORTERM"] = "xterm-256color", "truecolor"
        os.close(read_end)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        child(scenario, pace_s, window_s, write_end, task, preset)
        os._exit(0)
    os.close(write_end)
    written = 0
    while True:
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not data:
            break
        written += len(data)
    os.waitpid(pid, 0)
    with os.fdopen(read_end, "rb") as pipe:
        result: dict[str, Any] = json.loads(pipe.read() or b"{}")
    result["bytes_per_frame"] = written // scenario.frames
    return result


def one_frame(size: tuple[int, int], frames: int, task: bool = False, cpus: int = 2) -> Batches:
    """CPU milliseconds of every frame of a host at a terminal size; with `task view`, and of its interval."""
    scenario = Scenario(cpus=cpus, tasks=200, slow_waits=30, frames=frames + WARM_UP)
    return Batches(list(measure(size, scenario, PACE_S, 1, task).get("costs_ms", ())))


def main() -> None:
    """Measures and prints one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="160x50", help="columns x lines (default %(default)s)")
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--window", type=int, default=1, help="seconds")
    parser.add_argument("--pace", type=float, default=PACE_S, help="seconds between Frames")
    parser.add_argument("--task", action="store_true", help="the task view over the dashboard")
    parser.add_argument("--preset", default="overview", help="its word (default %(default)s)")
    options = parser.parse_args()
    columns, lines = map(int, options.size.split("x"))
    scenario = Scenario(cpus=options.cpus, tasks=options.tasks, slow_waits=30, frames=options.frames + WARM_UP)
    result = measure((columns, lines), scenario, options.pace, options.window, options.task, options.preset)
    costs = result.get("costs_ms") or [float("nan")]
    print(
        f"{options.size}, {options.cpus} CPUs, {options.tasks} tasks, window {options.window} s, {options.preset}: "
        f"min {min(costs):.1f} ms, median {statistics.median(costs):.1f} ms of CPU a frame, over {len(costs)} frames; "
        f"{result['bytes_per_frame']} bytes a frame"
    )


if __name__ == "__main__":
    main()

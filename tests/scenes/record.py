"""Makes the recordings of the scenes anew, on this kernel: needs root, and a machine with little else to do."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Header
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from tests.scenes.loads import Scene, play, quota_group
from tests.scenes.rules import AFTER, BEFORE, LENGTH_S, RulesScene, play_rules, verdict_on
from tests.scenes.scrub import KERNEL_THREADS, OWN, scrub

MADE_UP = Scenario(cpus=256, tasks=300, slow_waits=12, frames=40)

AROUND = 12
"""Intervals that are kept before and after the one that is worth it."""

START_S = 60
"""How long the recorder may take until its first interval is in the file."""


def record(scene: Scene, to: Path) -> str:
    """Performs a scene, once, and records it; gives why it is not what it should be, empty if it is.

    Raises RuntimeError if nothing was recorded.
    """
    with tempfile.TemporaryDirectory() as name, quota_group(scene.cgroup) as group:
        directory = Path(name)
        raw = directory / "raw.rec.gz"
        only = ["--cgroup", scene.cgroup] if scene.cgroup else []
        with _recorder(raw, scene.seconds, "--threshold", scene.threshold, *only) as tgid:
            play(scene, directory, group)
        made = directory / "scene.rec.gz"
        scrub(raw, made, scene.kept, (scene.cgroup,), tgid, _shown(scene, raw))
        fault = _fault(scene, made)
        if not fault:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(made.read_bytes())
    return fault


def record_rules(scene: RulesScene, to: Path) -> str:
    """The same of a scene of the rules: at fault is a verdict that is another one, or that stays.

    Raises RuntimeError if nothing was recorded.
    """
    with tempfile.TemporaryDirectory() as name:
        raw, made = Path(name) / "raw.rec.gz", Path(name) / "scene.rec.gz"
        with _recorder(raw, LENGTH_S, "--threshold", scene.threshold) as tgid:
            try:
                play_rules(scene, raw)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                return str(error)
        scrub(raw, made, scene.kept, scene.cgroups, tgid, slice(None))
        before, after = (verdict_on(made, scene, span) for span in (BEFORE, AFTER))
        if before.rule != scene.rule or after.rule == scene.rule:
            return f"the verdict is {before.rule}, and afterwards {after.rule}: {after.headline}"
        to.write_bytes(made.read_bytes())
    return ""


@contextmanager
def _recorder(raw: Path, seconds: int, *options: str) -> Iterator[int]:
    """Records for so long; gives its process number once the first interval is there. Raises RuntimeError."""
    process = subprocess.Popen([
        sys.executable, "-m", "schedtop", "record", "-o", str(raw), "--duration", str(seconds), *options
    ])  # fmt: skip
    try:
        _await(raw, process)
        yield process.pid
        if process.wait(START_S):
            raise RuntimeError("the recorder failed")
    finally:
        process.kill()
        process.wait()


def record_made_up(to: Path) -> None:
    """Writes the recording of a host that there is not: synthetic Frames of MADE_UP, always the same."""
    source = SyntheticSource(MADE_UP)
    source.set_sampling(True)
    to.parent.mkdir(parents=True, exist_ok=True)
    frames = source.frames(threading.Event())
    first = next(frames)
    with Recorder(to, Header(source.host, first.start_time_ns), force=True) as recorder:
        for frame in (first, *frames):
            recorder.write(frame)


def _await(raw: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while not raw.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the recorder did not begin")
        time.sleep(0.02)


def _shown(scene: Scene, raw: Path) -> slice:
    """Which intervals are kept: all, or those around the one with most steal."""
    if not scene.least_steal:
        return slice(None)
    with Recording(raw) as recording:
        steal = [frame.ratio("steal_ns") or 0 for frame in recording]
    most = steal.index(max(steal))
    return slice(max(0, most - AROUND), most + AROUND)


def _fault(scene: Scene, path: Path) -> str:
    """What is wrong with a performance, by the recording's own numbers."""
    known = {name.encode() for name in scene.kept} | {OWN}
    others_ns = cpu_ns = 0
    most_steal = 0.0
    with Recording(path) as recording:
        for frame in recording:
            foreign = [name not in known and not KERNEL_THREADS.match(name) for name in frame.tasks["comm"].tolist()]
            others_ns += int(frame.tasks["run_ns"][foreign].sum())
            cpu_ns += int(frame.cpus.column("accounted_ns").sum())
            most_steal = max(most_steal, frame.ratio("steal_ns") or 0)
    if others_ns > scene.most_others * cpu_ns:
        return f"others had {others_ns / cpu_ns:.0%} of the CPUs"
    if most_steal < scene.least_steal:
        return f"the hypervisor had at most {most_steal:.1%} of an interval, too little to show"
    return ""

"""Makes the recordings of the scenes anew, on this kernel: needs root, and a machine with little else to do."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from schedtop.outputs.recorder import Recorder
from schedtop.recording import Header
from schedtop.sources.recorded import Recording
from schedtop.sources.synthetic import Scenario, SyntheticSource
from tests.scenes.loads import Scene, play
from tests.scenes.scrub import KERNEL_THREADS, OWN, scrub

MADE_UP = Scenario(cpus=256, tasks=300, slow_waits=12, frames=20)

START_S = 60
"""How long the recorder may take until its first interval is in the file."""


def record(scene: Scene, to: Path) -> str:
    """Performs a scene, once, and records it; gives why it is not what it should be, empty if it is.

    Raises RuntimeError if nothing was recorded.
    """
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        raw = directory / "raw.rec.gz"
        process = subprocess.Popen([
            sys.executable, "-m", "schedtop", "record", "-o", str(raw),
            "--threshold", scene.threshold, "--duration", str(scene.seconds),
        ])  # fmt: skip
        try:
            _await(raw, process)
            play(scene, directory)
            if process.wait(START_S):
                raise RuntimeError("the recorder failed")
        finally:
            process.kill()
            process.wait()
        made = directory / "scene.rec.gz"
        scrub(raw, made, scene.kept, scene.cgroups, process.pid)
        fault = _fault(scene, made)
        if not fault:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(made.read_bytes())
    return fault


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


def _fault(scene: Scene, path: Path) -> str:
    """What is wrong with a performance, by the recording's own numbers."""
    known = {name.encode() for name in scene.kept} | {OWN}
    others_ns = cpu_ns = steal_ns = 0
    with Recording(path) as recording:
        for frame in recording:
            foreign = [name not in known and not KERNEL_THREADS.match(name) for name in frame.tasks["comm"].tolist()]
            others_ns += int(frame.tasks["run_ns"][foreign].sum())
            cpu_ns += int(frame.cpus.column("accounted_ns").sum())
            steal_ns += int(frame.cpus.column("steal_ns").sum())
    if others_ns > scene.most_others * cpu_ns:
        return f"others had {others_ns / cpu_ns:.0%} of the CPUs"
    if steal_ns < scene.least_steal * cpu_ns:
        return f"the hypervisor had {steal_ns / cpu_ns:.1%} of the CPUs, too little to show"
    return ""

"""Whether others wait for schedtop: the README's scene, with the dashboard, watched by a second schedtop.

`taskset -c 1 stress -c 2` and the dashboard run for some minutes, while `schedtop record --threshold 1ms` notes slow
waits and their blockers. It prints those that were mostly behind the dashboard, and exits with 1 if there are any.

    sudo .venv/bin/python -m tests.bench.neighbour [--minutes 10] [--size 160x48] [--options=--no-renice]
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from schedtop.base.units import NS_PER_MS, format_clock, format_ns
from schedtop.model.rows import Rows
from schedtop.sources.replay.recorded import Recording
from tests.bench import tools
from tests.bench.alive import alone
from tests.bench.terminal import shown
from tests.bench.tools import NotHere

THRESHOLD_NS = NS_PER_MS
MOSTLY = 0.5
_START_S = 60.0
_CPU = 1


def scene(minutes: float, size: tuple[int, int], options: Sequence[str], directory: Path) -> tuple[Path, int]:
    """Runs it: the recording, and the dashboard's process. Raises NotHere."""
    path = directory / "scene.rec"
    seconds = 60 * minutes
    load = [tools.find("taskset"), "-c", str(_CPU), tools.find("stress"), "-c", "2"]
    record = tools.schedtop(
        sys.executable, "record", "-o", str(path), "--threshold", "1ms", "--duration", f"{seconds:g}s", "--no-renice"
    )
    with alone(load, seconds + _START_S), shown(tools.schedtop(sys.executable, *options), size) as dashboard:
        if not dashboard.painted.wait(_START_S):
            raise NotHere("the dashboard has drawn no data")
        subprocess.run(record, cwd=tools.ROOT, check=True, capture_output=True, timeout=seconds + _START_S)
        return path, dashboard.process.pid


def behind(path: Path, pid: int) -> Iterator[tuple[Rows, int]]:
    """The slow waits of others of which a process had the CPU for most of the time, and for how long."""
    threads = {pid}
    with Recording(path) as recording:
        for frame in recording:
            threads |= set(frame.tasks["tid"][frame.tasks["tgid"] == pid].tolist())
            waits = frame.slow_waits
            ours = np.isin(waits["blocker_tid"], list(threads))
            blocked_ns = np.where(ours, waits["blocker_ns"], 0).sum(axis=1)
            found = (blocked_ns > MOSTLY * waits["wait_ns"]) & (waits["tgid"] != pid)
            yield from zip(waits[found], blocked_ns[found].tolist(), strict=True)


def main() -> int:
    """Runs the scene and counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--size", default="160x48", help="columns and lines of the terminal")
    parser.add_argument("--options", type=shlex.split, default=[], help="options of the dashboard")
    options = parser.parse_args()
    columns, lines = map(int, options.size.split("x"))
    with tempfile.TemporaryDirectory() as directory:
        path, pid = scene(options.minutes, (columns, lines), options.options, Path(directory))
        found = list(behind(path, pid))
    for wait, ns in found:
        words = f"{wait['comm'].decode(errors='replace')} waited {format_ns(int(wait['wait_ns']))}"
        print(f"{format_clock(int(wait['time_ns']))} {words}, {format_ns(ns)} of it behind schedtop")
    print(f"{len(found)} waits of {format_ns(THRESHOLD_NS)} and more were mostly behind the dashboard")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

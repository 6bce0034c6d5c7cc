"""The contract of a Source, over the live kernel under load."""

from __future__ import annotations

import subprocess
import sys

from schedtop.sources.scheduler.source import LiveSource
from tests.unit.sources.contract import check_source, check_stop

NS_PER_MS = 1_000_000


def test_the_live_source_is_a_source(any_front_end: str) -> None:
    load = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            "import os\nfor _ in range(8000):\n    os.wait() if os.fork() else os._exit(0)",
        ],
    )
    try:
        with LiveSource(200 * NS_PER_MS, 100_000, any_front_end) as source:
            frames = check_source(source, 6)
    finally:
        load.kill()
        load.wait()
    assert all(frame.total("switches") > 0 for frame in frames)


def test_the_live_source_stops_when_asked() -> None:
    with LiveSource(200 * NS_PER_MS, 5 * NS_PER_MS) as source:
        check_stop(source, 0.2)

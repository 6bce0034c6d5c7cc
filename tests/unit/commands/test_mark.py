"""`--on` of `schedtop record` and `schedtop replay`: the same moments, live and from the file."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from schedtop.commands.conditions import mark
from schedtop.sources.replay.recorded import Recording
from schedtop.triggers.grammar import parse
from tests.unit.commands.test_watch import ENVIRONMENT

TEXTS = ("p99 > 2.2ms for 3s", "steal > 8%", "run_delay(comm:no-such) > 1ms/s")


def record(path: Path, *texts: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "schedtop", "record", "--source", "synthetic", "--duration", "2m", "-o", str(path),
         *(word for text in texts for word in ("--on", text))],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_recording_marks_the_same_moments_that_its_replay_does(tmp_path: Path) -> None:
    done = record(tmp_path / "live.rec", *TEXTS)
    assert done.returncode == 0
    assert record(tmp_path / "plain.rec").returncode == 0
    with Recording(tmp_path / "live.rec") as live, Recording(tmp_path / "plain.rec") as plain:
        assert live.header.triggers == TEXTS
        noted = [event for event in live.events if event.kind == "trigger"]
        assert len(noted) > 3
        assert f"{len(noted)} triggers" in done.stderr
        assert "run_delay(comm:no-such): nothing there yet" in done.stderr
        assert plain.events == []
        mark(plain, tuple(map(parse, TEXTS)), threading.Event())
        assert plain.events == noted
        # What the file says already is not said twice.
        before = [*live.events]
        mark(live, tuple(map(parse, TEXTS)), threading.Event())
        assert live.events == before


def test_bad_conditions_are_said_before_anything_is_written(tmp_path: Path) -> None:
    done = record(tmp_path / "bad.rec", "p98 > 1ms")
    assert done.returncode == 2
    assert "did you mean p99?" in done.stderr
    assert not [*tmp_path.iterdir()]

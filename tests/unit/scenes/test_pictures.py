"""The pictures of README and docs: the same each time, nothing from the net, nobody's names in them."""

from __future__ import annotations

import html
import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Header
from schedtop.sources.replay.recorded import Recording
from tests import ROOT
from tests.scenes.animation import Step, animated
from tests.scenes.draw import RECORDINGS, REPORT, svg_of
from tests.scenes.live import PATH_SHOT
from tests.scenes.loads import SCENES, Scene
from tests.scenes.performance import LIVE
from tests.scenes.scrub import KERNEL_THREADS, OTHER, OWN, scrub
from tests.scenes.shots import SHOTS
from tests.unit.scenes.known_names import assert_known_names
from tests.unit.ui.drive import GivenSource
from tests.unit.ui.screens.replay.test_screen import FRAMES

PLACE = ROOT / RECORDINGS


@pytest.fixture(autouse=True)
def _time_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for name in ("TZ", "TERM", "COLORTERM", "NO_COLOR"):  # drawing sets them
            patch.setenv(name, os.environ.get(name, ""))
        yield
    time.tzset()


def test_the_same_recording_gives_the_same_picture() -> None:
    shot = next(shot for shot in SHOTS if shot.name == "contention-80x24")
    svg = svg_of(shot, PLACE)
    assert svg == svg_of(shot, PLACE)
    assert "http" not in svg.replace("http://www.w3.org", "").replace("https://www.textualize.io", "")
    assert not re.search(r"terminal-\d", svg)
    assert "compete" in svg and "pinned" in svg and "21:16:24" in svg


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_recordings_hold_only_known_names(scene: Scene) -> None:
    with Recording(PLACE / f"{scene.name}.rec.gz") as recording:
        assert_known_names(recording, scene.kept, (scene.cgroup,))


def test_scrubbing_keeps_numbers_and_takes_names(tmp_path: Path) -> None:
    raw, to = tmp_path / "raw.rec.gz", tmp_path / "to.rec.gz"
    raisers = [b"irq nvme0q1", b"nginx (700)", b"secret (701)"]
    with Recorder(raw, Header(GivenSource().host, FRAMES[0].start_time_ns)) as recorder:
        for frame in FRAMES[:4]:
            waits = FRAMES[0].slow_waits.copy()
            waits["waker_raiser"][: len(raisers)] = raisers
            recorder.write(replace(frame, slow_waits=waits))
    scrub(raw, to, ("nginx",), (), int(FRAMES[0].tasks["tgid"][0]), slice(1, 4))
    with Recording(to) as recording:
        assert len(recording) == 3
        assert recording.header.start_time_ns == FRAMES[1].start_time_ns
        after, before = recording.frame(0), FRAMES[1]
    assert (after.latency.counts == before.latency.counts).all()
    assert after.tasks["run_delay_ns"].tolist() == before.tasks["run_delay_ns"].tolist()
    assert after.slow_waits["waker_raiser"][:3].tolist() == [b"irq nvme0q1", b"nginx (700)", OTHER + b" (701)"]
    comms = set(after.tasks["comm"].tolist())
    assert {b"nginx", OTHER, OWN} <= comms
    assert all(name in {b"nginx", OTHER, OWN} or KERNEL_THREADS.match(name) for name in comms)


def test_every_picture_is_drawn_and_every_live_picture_is_shown() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {name for page in pages for name in re.findall(r"screenshots/([\w-]+)\.(?:svg|png)", page.read_text())}
    drawn = {shot.name for shot in SHOTS} | LIVE.keys() | {REPORT}
    assert shown - drawn <= {"path"}  # by `schedtop path --format svg`, and by a scene of its own
    assert {name for name in (*LIVE, REPORT) if list((ROOT / "screenshots").glob(f"{name}.*"))} <= shown
    assert all((ROOT / "screenshots" / f"{shot.name}.svg").exists() for shot in SHOTS)


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in PLACE.parent.glob("*.svg") if path.stem in LIVE.keys() - {PATH_SHOT.name})
)
def test_live_pictures_fetch_nothing_and_name_nothing_else(name: str) -> None:
    svg = (ROOT / "screenshots" / f"{name}.svg").read_text()
    assert "http" not in svg.replace("http://www.w3.org", "").replace("https://www.textualize.io", "")
    shown = words_of(svg)
    named = set(re.findall(r"([\w./:-]+) \(\d+\)", shown))
    scene = {
        *("web", "api", "report", "checkout", "monitor.sh", "flood-a", "flood-b", "client", "logger", "cache"),
        *("rpc-worker", "flusher", "backup", "tar", OWN.decode()),
        *("cat", "date", "expr", "true"),  # what monitor.sh starts
    }
    assert {name for name in named - scene if not KERNEL_THREADS.match(name.encode())} <= {OTHER.decode()}
    assert "PAUSED" not in shown and "FROZEN" not in shown


def test_animation_shows_its_steps_in_turn() -> None:
    svg = '<svg class="rich-terminal" viewBox="0 0 10 5" xmlns="x"><rect id="%d"/></svg>'
    made = animated([Step(svg % 1, "a < b", 1), Step(svg % 2, "c", 3)], still=1)
    assert made.index('<rect id="1"/>') < made.index('<rect id="2"/>')
    assert "a &lt; b" in made and made.count("<svg") == 1 == made.count("</svg>")
    assert "@keyframes step-0 {0.00% {visibility: visible} 25.00% {visibility: hidden}}" in made
    assert (
        "@keyframes step-1 {0% {visibility: hidden} 25.00% {visibility: visible} 100.00% {visibility: hidden}}" in made
    )
    assert made.count('class="step step-1 still"') == 1
    assert made.count("4s step-end -1s infinite") == 2, "it begins with the one that stands still elsewhere"
    with pytest.raises(ValueError, match="one size"):
        animated([Step(svg % 1, "", 1), Step((svg % 2).replace("10 5", "9 5"), "", 1)], still=0)


def words_of(svg: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "\n", svg)).replace("\xa0", " ")


def test_the_path_on_the_screen_is_of_its_scene_alone() -> None:
    """It is drawn live: what else ran on that machine has no name in it."""
    words = words_of((ROOT / "screenshots" / f"{PATH_SHOT.name}.svg").read_text())
    assert "Priority inversion: flusher" in words and "blocked in futex" in words
    named = set(re.findall(r"([\w./:-]+) \(\d+\)", words)) | set(re.findall(r"queued behind ([\w./:-]+)", words))
    kernel = {name for name in named if KERNEL_THREADS.match(name.encode())}
    assert named - kernel <= {"rpc-worker", "flusher", "backup", "tar", OTHER.decode(), OWN.decode(), "another"} | {
        word for word in named if word.isdigit()
    }

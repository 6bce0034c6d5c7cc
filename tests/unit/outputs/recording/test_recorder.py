"""A recording that grows: bounded, of the right owner, whole whatever ends it; and the same in a thread."""

import gzip
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import schedtop
from schedtop.base import invoker
from schedtop.model.frame import Frame, frame_bytes
from schedtop.model.host import Host
from schedtop.outputs.files import OutputError
from schedtop.outputs.recording.background import BackgroundRecorder
from schedtop.outputs.recording.recorder import Recorder, RecordingFull
from schedtop.recording.lines import Event, Header, frame_line
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

HEADER = Header(Host("web-1", "6.1.0", "btf"), 0)
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a file system, gives files away")
NAMES = ["a.rec", "a.rec.gz"]


def frames(count: int, **scenario: Any) -> list[Frame]:
    return list(SyntheticSource(Scenario(frames=count, **scenario)).frames(threading.Event()))


FRAMES = frames(20)


def write_all(recorder: Recorder, some: list[Frame]) -> None:
    for frame in some:
        recorder.write(frame)


@pytest.mark.parametrize("name", NAMES)
def test_recorder_writes_each_line_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    recorder = Recorder(path, HEADER)
    assert path.stat().st_size == recorder.bytes > 0
    for number, frame in enumerate(FRAMES[:3], 1):
        recorder.write(frame)
        assert path.stat().st_size == recorder.bytes
        with Recording(path) as recording:
            assert len(recording) == number
    recorder.close("done")
    recorder.close("twice is once")
    assert not recorder.is_open
    with Recording(path) as recording:
        assert recording.end is not None
        assert (recording.end.frames, recording.end.reason) == (3, "done")


def test_a_packed_recording_is_ordinary_gzip(tmp_path: Path) -> None:
    for name in NAMES:
        with Recorder(tmp_path / name, HEADER) as recorder:
            recorder.write(FRAMES[0])
    assert gzip.decompress((tmp_path / "a.rec.gz").read_bytes()) == (tmp_path / "a.rec").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_recorder_never_exceeds_its_size(tmp_path: Path, name: str) -> None:
    path, bound = tmp_path / name, 100_000
    recorder = Recorder(path, HEADER, max_bytes=bound)
    with pytest.raises(RecordingFull, match=r"has reached its largest size with [0-9]+ intervals"):
        write_all(recorder, FRAMES * 10)
    assert not recorder.is_open
    assert bound * 0.3 < path.stat().st_size <= bound
    with Recording(path) as recording:
        assert len(recording) >= 1
        assert recording.end is not None
        assert recording.end.frames == recorder.frames
        assert "largest size" in recording.end.reason


def test_recorder_leaves_no_file_without_room_for_an_interval(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a", HEADER, max_bytes=3000)
    with pytest.raises(RecordingFull):
        recorder.write(FRAMES[0])
    assert os.listdir(tmp_path) == []


def test_recorder_keeps_a_file_that_replaced_its_own(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a", HEADER)
    Recorder(tmp_path / "a", HEADER, force=True).close("another one")
    recorder.discard()
    assert os.listdir(tmp_path) == ["a"]


def note_for_ever(recorder: Recorder) -> None:
    while True:
        recorder.note(Event(0, "note", "x" * 4000))


def test_events_are_bounded_as_well(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a", HEADER, max_bytes=100_000)
    recorder.write(FRAMES[0])
    for _ in range(50):
        recorder.note(Event(0, "note", "x"))
    with pytest.raises(RecordingFull):
        note_for_ever(recorder)
    assert (tmp_path / "a").stat().st_size <= 100_000


def test_recorder_keeps_an_existing_file_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("precious")
    with pytest.raises(OutputError, match=r"it exists \(--force overwrites it\)"):
        Recorder(path, HEADER)
    assert path.read_text() == "precious"
    Recorder(path, HEADER, force=True).close("")
    assert path.read_bytes().startswith(b'{"schema":"schedtop.recording/1"')
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("force", [False, True])
def test_a_symlink_is_never_followed(tmp_path: Path, force: bool) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with pytest.raises(OutputError, match="not a regular file"):
        Recorder(tmp_path / "link", HEADER, force=force)
    assert (tmp_path / "victim").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["link", "victim"]


def test_reader_of_the_old_file_goes_on_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with Recorder(path, HEADER) as first:
        first.write(FRAMES[0])
    with Recording(path) as reading:
        with Recorder(path, HEADER, force=True) as second:
            second.write(FRAMES[1])
        assert frame_line(reading.frame(0)) == frame_line(FRAMES[0])


@ROOT
def test_recording_belongs_to_the_invoking_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_GID", "65534")
    monkeypatch.setattr(invoker, "_parent", lambda _pid: (0, 0))  # under sudo they are whose they are
    for directory in (tmp_path, *tmp_path.parents[:3]):  # with several workers there is one more on the way
        if directory != Path("/tmp"):
            directory.chmod(0o755)
    os.chown(tmp_path, 65534, 65534)
    with Recorder(tmp_path / "a", HEADER):
        status = (tmp_path / "a").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (65534, 65534, 0o600)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 72 KiB."""
    directory = tmp_path / "disk"
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=72k", "tmpfs", str(directory)], check=True)
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


@ROOT
@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_leaves_what_was_written(small_disk: Path, name: str) -> None:
    path = small_disk / name
    recorder = Recorder(path, HEADER)
    with pytest.raises(OutputError) as caught:
        write_all(recorder, FRAMES)
    assert str(caught.value) == (f"cannot write {path}: no space left on device; it holds {recorder.frames} intervals")
    recorder.close("nothing happens")
    with Recording(path) as recording:
        assert len(recording) == recorder.frames > 0
        assert recording.left_out == 0
        assert [frame_line(frame) for frame in recording] == [frame_line(frame) for frame in FRAMES[: len(recording)]]
        assert recording.end is not None, "there was room for it where the last interval had been begun"
        assert recording.end.reason == "it could not be written: no space left on device"
        assert recording.damage == ""


@ROOT
def test_a_disk_that_is_full_before_the_first_interval_is_left_without_a_file(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(64 << 10))
    recorder = Recorder(small_disk / "a", HEADER)
    with pytest.raises(OutputError, match="no space left on device; nothing was recorded"):
        write_all(recorder, FRAMES)
    recorder.close("nothing happens")
    assert os.listdir(small_disk) == ["filler"]


@ROOT
def test_a_disk_that_is_full_from_the_start(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(68 << 10))
    with pytest.raises(OutputError, match="no space left on device"):
        Recorder(small_disk / "a", Header(Host("x" * 8000, "", ""), 0))
    assert os.listdir(small_disk) == ["filler"]


RECORD_FOR_EVER = """
import itertools, sys, threading
from pathlib import Path
from schedtop.model.host import Host
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Header
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
source = SyntheticSource(Scenario(frames=10**9))
with Recorder(Path(sys.argv[1]), Header(source.host, 0)) as recorder:
    for number, frame in enumerate(source.frames(threading.Event()), 1):
        recorder.write(frame)
        print(number, flush=True)
"""


@pytest.mark.parametrize("name", NAMES)
def test_kill_9_loses_at_most_the_interval_that_was_being_written(tmp_path: Path, name: str) -> None:
    chance = random.Random(5)
    environment = {**os.environ, "PYTHONPATH": str(Path(schedtop.__file__).parents[1])}
    for attempt in range(5):
        path = tmp_path / f"{attempt}-{name}"
        process = subprocess.Popen(
            [sys.executable, "-c", RECORD_FOR_EVER, str(path)], stdout=subprocess.PIPE, env=environment, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        time.sleep(chance.random() * 0.1)
        process.kill()
        said = [int(line) for line in process.stdout if line.endswith("\n")]
        assert process.wait() == -signal.SIGKILL
        with Recording(path) as recording:
            assert recording.left_out == 0
            assert len(recording) in ((last := (said or [1])[-1]), last + 1), "said and lost"
            assert "was killed" in recording.damage
            assert sum(1 for _ in recording) == len(recording)


# In a thread.


def test_background_recorder_writes_all_frames_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    recorder = BackgroundRecorder(path, HEADER, frames_before=FRAMES[:5])
    for frame in FRAMES[5:]:
        recorder.write(frame)
        recorder.note(Event(frame.end_ns, "note", "here"))
    assert recorder.is_open
    recorder.close("asked to")
    assert not recorder.is_open
    recorder.write(FRAMES[0])
    recorder.note(Event(0, "note", "too late"))
    assert recorder.join(20)
    assert (recorder.failure, recorder.frames, recorder.bytes) == ("", 20, path.stat().st_size)
    with Recording(path) as recording:
        assert [frame_line(frame) for frame in recording] == [frame_line(frame) for frame in FRAMES]
        assert [event.end_ns for event in recording.events] == [frame.end_ns for frame in FRAMES[5:]]
        assert recording.end is not None
        assert recording.end.reason == "asked to"


def test_a_recording_that_is_closed_before_its_first_interval_leaves_no_file(tmp_path: Path) -> None:
    recorder = BackgroundRecorder(tmp_path / "a", HEADER)
    recorder.note(Event(0, "note", "here"))
    recorder.close("asked to")
    assert recorder.join(20)
    assert (recorder.failure, os.listdir(tmp_path)) == ("", [])


def test_the_largest_size_ends_it_with_a_word(tmp_path: Path) -> None:
    recorder = BackgroundRecorder(tmp_path / "a", HEADER, frames_before=FRAMES, max_bytes=100_000)
    assert recorder.join(20)
    assert "has reached its largest size" in recorder.failure
    assert not recorder.is_open
    recorder.write(FRAMES[0])
    recorder.close("nothing happens")
    assert (tmp_path / "a").stat().st_size <= 100_000


def test_a_target_that_cannot_be_made_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(OutputError, match="it exists"):
        BackgroundRecorder(tmp_path / "a", HEADER)


def test_a_disk_that_is_too_slow_ends_it_instead_of_filling_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedtop.outputs.recording.background.MOST_WAITING_BYTES", 5 * frame_bytes(FRAMES[0]) // 2)
    held = threading.Event()
    append = Recorder.write

    def slowly(self: Recorder, frame: Frame) -> None:
        held.wait(20)
        append(self, frame)

    monkeypatch.setattr(Recorder, "write", slowly)
    recorder = BackgroundRecorder(tmp_path / "a", HEADER)
    for frame in FRAMES[:10]:
        recorder.write(frame)
    assert "the disk is too slow" in recorder.failure
    held.set()
    assert recorder.join(20)
    with Recording(tmp_path / "a") as recording:
        assert 3 <= len(recording) <= 4


@ROOT
def test_a_full_disk_ends_it_with_a_word(small_disk: Path) -> None:
    recorder = BackgroundRecorder(small_disk / "a", HEADER, frames_before=FRAMES)
    assert recorder.join(20)
    assert "no space left on device; it holds" in recorder.failure
    with Recording(small_disk / "a") as recording:
        assert len(recording) == recorder.frames > 0

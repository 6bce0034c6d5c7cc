"""A recording as a Source: the contract, where it goes and what it gives on the way, and what is damaged."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame, merge
from schedtop.model.source import SourceError
from schedtop.outputs.recording.recorder import Recorder
from schedtop.outputs.scheduler.snapshot import snapshot
from schedtop.recording.lines import Header, frame_line
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.replay.source import ReplaySource
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from tests.unit.sources.contract import check_source, check_stop


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the host is, what is sought comes in one piece, unless a test wants it otherwise."""
    monkeypatch.setattr("schedtop.sources.replay.source.PREVIEW_S", 600)


def made(count: int = 200, **scenario: int) -> list[Frame]:
    size = {"cpus": 2, "tasks": 8, "slow_waits": 2} | scenario
    source = SyntheticSource(Scenario(frames=count, **size))
    source.set_grouping("tgid")
    return list(source.frames(threading.Event()))


FRAMES = made()
HOST = SyntheticSource().host


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recordings") / "a.rec.gz"
    with Recorder(path, Header(HOST, FRAMES[0].start_time_ns)) as recorder:
        for frame in FRAMES:
            recorder.write(frame)
    return path


def opened(path: Path, **options: float | bool) -> ReplaySource:
    return ReplaySource(Recording(path), **options)  # type: ignore[arg-type]


@contextmanager
def given(source: ReplaySource) -> Iterator[Iterator[Frame]]:
    """The Frames of a source; the test fails instead of waiting for one for ever."""
    stop = threading.Event()
    timer = threading.Timer(30, stop.set)
    timer.start()
    try:
        yield source.frames(stop)
        assert not stop.is_set(), "a Frame did not come"
    finally:
        timer.cancel()


def numbers(frames: list[Frame]) -> list[int]:
    return [frame.end_ns // NS_PER_S - 1 for frame in frames]


def until(frames: Iterator[Frame], number: int) -> list[int]:
    """The numbers of the Frames up to one."""
    taken: list[int] = []
    while not taken or taken[-1] != number:
        taken += numbers([next(frames)])
    return taken


def test_replay_keeps_the_contract_of_a_source(path: Path) -> None:
    with opened(path, speed=1000) as source:
        check_source(source, 5)


def test_replay_ends_when_asked(path: Path) -> None:
    with opened(path, speed=5) as source:
        check_stop(source, 0.2)


def test_replay_equals_the_recording_to_the_last_count(path: Path) -> None:
    with opened(path, speed=1e9) as source, given(source) as frames:
        replayed = [next(frames) for _ in FRAMES]
    assert [frame_line(frame) for frame in replayed] == [frame_line(frame) for frame in FRAMES]
    assert frame_line(merge(replayed)) == frame_line(merge(FRAMES))
    for window_ns in (1, 10, 60):
        settings = ViewSettings(window_ns=window_ns * NS_PER_S, group="process")
        live, again = (
            snapshot(History(host, some).view(settings), None)
            for host, some in ((HOST, FRAMES), (source.host, replayed))
        )
        assert again | {"source": live["source"], "recorded_source": None, "notes": []} == live


def test_the_host_is_the_recorded_one_and_the_source_says_what_it_is(path: Path) -> None:
    with opened(path) as source:
        host = source.host
    assert (host.name, host.kernel, host.source, host.topology) == ("synthetic", "6.18.0", "recording", HOST.topology)
    assert host.recorded_source == "synthetic"
    assert host.notes[0].startswith("recorded by schedtop ")


def test_replay_stays_at_the_end_and_plays_again(path: Path) -> None:
    with opened(path, first=198, speed=1e9) as source, given(source) as frames:
        assert until(frames, 199)[-2:] == [198, 199]
        assert (source.playing, source.position) == (False, 199)
        source.play()
        assert source.playing
        assert numbers([next(frames), next(frames)]) == [0, 1]


def test_a_seek_gives_the_longest_window_before_the_place(path: Path) -> None:
    with opened(path, playing=False) as source, given(source) as frames:
        assert until(frames, 0) == [0]
        source.seek(150)
        assert (source.position, source.sought_ns) == (150, FRAMES[150].end_ns)
        way = until(frames, 150)
        assert way == list(range(way[0], 151)), "in order, none missing"
        assert 30 <= way[0] <= 90, "60 s at least, 120 at most"
        source.seek(100)
        back = until(frames, 100)
        assert back == list(range(back[0], 101))
        assert back[0] <= 40
        source.seek(130)
        assert until(frames, 130) == list(range(101, 131)), "what is there already is not given again"
        source.seek(10_000)
        assert until(frames, 199)[-1] == 199
        source.seek(-5)
        assert until(frames, 0) == [0]


def test_replay_shows_the_newest_frames_first_where_reading_takes_long(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path, playing=False) as source, given(source) as frames:
        next(frames)
        monkeypatch.setattr("schedtop.sources.replay.source.PREVIEW_S", -1)
        source.seek(150)
        assert numbers([next(frames)]) == [150]
        way = until(frames, 150)
        assert way == list(range(way[0], 151))
        assert way[0] <= 90
        source.step(1)
        assert until(frames, 151) == [151]
        source.seek(100)
        assert numbers([next(frames)]) == [100]
        source.seek(101)
        assert until(frames, 101) == [101], "alone once more"
        assert until(frames, 101)[0] <= 41, "and what was given on the abandoned way is not enough"


def test_steps_pause(path: Path) -> None:
    with opened(path, first=100, speed=1e-3) as source, given(source) as frames:
        assert until(frames, 100)[-1] == 100
        assert source.playing
        source.step(1)
        assert not source.playing
        assert until(frames, 101) == [101]
        source.step(-1)
        assert until(frames, 100)[-2:] == [99, 100]
        source.step(10)
        source.step(10)
        assert source.position == 120
        assert until(frames, 120)[-1] == 120


def test_a_place_that_is_sought_meanwhile_wins(path: Path) -> None:
    with opened(path, playing=False) as source, given(source) as frames:
        next(frames)
        source.seek(190)
        first = next(frames)
        assert first.end_ns < FRAMES[190].end_ns
        source.seek(150)
        way = until(frames, 150)
        assert way == list(range(way[0], 151))
        assert way[0] <= 90, "what was given on the abandoned way is not enough of the past"
        assert source.position == 150


def test_speed_and_pause_hold_at_once(path: Path) -> None:
    with opened(path, speed=1e-6) as source, given(source) as frames:
        assert numbers([next(frames)]) == [0]
        threading.Timer(0.1, source.set_speed, (1e6,)).start()
        assert numbers([next(frames)]) == [1], "at the old speed it would take eleven days"
        source.pause()
        threading.Timer(0.1, source.play).start()
        assert numbers([next(frames)]) == [2]


@pytest.mark.parametrize("name", ["a.rec", "a.rec.gz"])
def test_a_damaged_interval_is_left_out_and_said(tmp_path: Path, name: str) -> None:
    path, places = tmp_path / name, []
    with Recorder(path, Header(HOST, 0)) as recorder:
        for frame in FRAMES[:10]:
            places.append(recorder.bytes)
            recorder.write(frame)
    data = bytearray(path.read_bytes())
    middle = (places[4] + places[5]) // 2
    data[middle : middle + 40] = b"?" * 40
    path.write_bytes(data)
    with opened(path, speed=1e9) as source, given(source) as frames:
        assert until(frames, 9) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
        assert len(source.damaged) + len(source.gaps) == 1
        if name.endswith(".gz"):
            assert "1 damaged line left out, after interval 4" in source.host.notes[1]
        else:
            assert source.damaged == (4,), "its beginning could be read"
            source.seek(4)
            assert until(frames, 3) == [0, 1, 2, 3], "what there is before it"
            assert source.sought_ns == FRAMES[3].end_ns
            source.step(1)
            assert until(frames, 5) == [5]


def test_a_recording_of_which_nothing_can_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    with Recorder(path, Header(HOST, 0)) as recorder:
        recorder.write(FRAMES[0])
    path.write_bytes(path.read_bytes().replace(b'"latency"', b'"patience"'))
    with opened(path) as source, given(source) as frames, pytest.raises(SourceError, match="not one interval"):
        next(frames)


def test_a_recording_that_others_cut_meanwhile_loses_what_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    with Recorder(path, Header(HOST, 0)) as recorder:
        for frame in FRAMES[:5]:
            recorder.write(frame)
    with opened(path, speed=1e9) as source:
        with path.open("r+b") as file:
            file.truncate(recorder.bytes // 2)
        stop, taken = threading.Event(), []
        thread = threading.Thread(target=lambda: taken.extend(source.frames(stop)))
        thread.start()
        deadline = time.monotonic() + 30
        while source.playing and time.monotonic() < deadline:
            time.sleep(0.01)
        stop.set()
        thread.join(30)
    assert source.position == 4, "it stands at the end"
    assert 1 <= len(taken) <= 2
    assert source.damaged == tuple(range(len(taken), 5))

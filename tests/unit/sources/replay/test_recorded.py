"""A recording as it is found on a disk: whole, cut off anywhere, damaged, packed by others, or something else."""

import gzip
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.source import SourceError
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Event, Header, frame_line
from schedtop.sources.replay.recorded import Recording
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

HOST = Host("web-1", "6.1.0", "btf")
NAMES = ["plain.rec", "packed.rec.gz"]


def frames(count: int = 6, **scenario: Any) -> list[Frame]:
    size = {"cpus": 2, "tasks": 5, "slow_waits": 2}
    return list(SyntheticSource(Scenario(frames=count, **(size | scenario))).frames(threading.Event()))


FRAMES = frames()
LINES = [frame_line(frame, FRAMES[0].cgroups if number else {}) for number, frame in enumerate(FRAMES)]


def recorded(path: Path, **options: Any) -> Path:
    with Recorder(path, Header(HOST, FRAMES[0].start_time_ns), **options) as recorder:
        for number, frame in enumerate(FRAMES):
            recorder.write(frame)
            if number == 2:
                recorder.note(Event(frame.end_ns, "trigger", "p99 > 10ms"))
    return path


def lines_of(recording: Recording) -> list[str]:
    """What the recording holds, as it would be written again."""
    return [
        frame_line(frame, FRAMES[0].cgroups if number else {})
        for number, frame in enumerate(recording.frame(index) for index in range(len(recording)))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_recording_is_read_in_any_order(tmp_path: Path, name: str) -> None:
    with Recording(recorded(tmp_path / name)) as recording:
        assert (recording.damage, recording.left_out, len(recording)) == ("", 0, 6)
        assert lines_of(recording) == LINES
        assert frame_line(recording.frame(4), FRAMES[0].cgroups) == LINES[4]
        assert frame_line(recording.frame(1), FRAMES[0].cgroups) == LINES[1]
        assert [event.text for event in recording.events] == ["p99 > 10ms"]
        assert recording.end is not None
        assert (recording.end.frames, recording.end.reason) == (6, "closed")
        assert recording.header.host == HOST
        entry = recording.intervals[3].entry
        assert (entry.end_ns, entry.slow_waits) == (FRAMES[3].end_ns, 2)
        assert entry.p99_ns == FRAMES[3].latency.histogram().percentile_ns(0.99)
        assert dict(recording.frame(5).cgroups) == dict(FRAMES[5].cgroups)


@pytest.mark.parametrize(("around", "step"), [(14, 997), pytest.param(40, 97, marks=pytest.mark.stress)])
@pytest.mark.parametrize("name", NAMES)
def test_every_cut_loses_the_last_interval_at_most(tmp_path: Path, name: str, around: int, step: int) -> None:
    data = recorded(tmp_path / name).read_bytes()
    ends = [0]
    if name.endswith(".gz"):
        start = 0
        while (start := data.find(b"\x1f\x8b\x08\0\0\0\0\0", start + 1)) >= 0:
            ends.append(start)
    else:
        ends += [index + 1 for index, byte in enumerate(data[:-1]) if byte == 10]
    assert len(ends) == 9, "header, six intervals, an event, the end"
    intervals = [0, 0, 1, 2, 3, 3, 4, 5, 6]  # before the piece that begins there; the fifth is the event
    cut = tmp_path / f"cut-{name}"
    places = {place for end in ends for place in range(end - around, end + around)} | set(range(0, len(data), step))
    for place in sorted(place for place in places if 0 <= place < len(data)):
        cut.write_bytes(data[:place])
        whole = intervals[max(index for index, end in enumerate(ends) if end <= place)]
        if name.endswith(".gz") and any(0 < end - place <= 12 for end in (*ends, len(data))):
            continue  # all of the line is there, only the end of the packing is not
        if not whole:
            with pytest.raises(
                SourceError,
                match=r" is not a schedtop recording: it is empty|cannot read .*: it holds no whole interval",
            ):
                Recording(cut)
            continue
        with Recording(cut) as recording:
            assert len(recording) == whole, place
            assert lines_of(recording) == LINES[:whole]
            assert recording.left_out == 0
            assert f"it was not closed: the recorder was killed after interval {whole}" in recording.damage


def test_a_flipped_byte_costs_one_line_of_a_packed_recording(tmp_path: Path) -> None:
    data = recorded(tmp_path / "a.gz").read_bytes()
    first_end = data.find(b"\x1f\x8b\x08\0\0\0\0\0", 1)
    damaged = tmp_path / "damaged"
    chance = random.Random(3)
    for place in [
        first_end,
        first_end + 1,
        first_end + 9,
        *(chance.randrange(first_end, len(data)) for _ in range(200)),
    ]:
        flipped = bytearray(data)
        flipped[place] ^= 1 << chance.randrange(8)
        damaged.write_bytes(flipped)
        with Recording(damaged) as recording:
            read = lines_of(recording)
            # The line that named the cgroups may be the one that is lost.
            assert len(read) >= 5
            assert {line.split(',"cgroups"')[0] for line in read} <= {line.split(',"cgroups"')[0] for line in LINES}
            assert recording.damage or flipped[:8] == data[:8] or len(read) == 6
            if len(read) < 6 or len(recording.events) < 1:
                assert recording.left_out == 1
                assert recording.damage.startswith("1 damaged line left out, after interval ")


def test_a_flipped_byte_of_a_plain_recording_never_stops_the_rest(tmp_path: Path) -> None:
    data = recorded(tmp_path / "a").read_bytes()
    first_end = data.find(b"\n") + 1
    damaged = tmp_path / "damaged"
    chance = random.Random(4)
    for _ in range(300):
        flipped = bytearray(data)
        flipped[chance.randrange(first_end, len(data))] ^= 1 << chance.randrange(8)
        damaged.write_bytes(flipped)
        with Recording(damaged) as recording:
            good, said = 0, []
            for number in range(len(recording)):
                try:
                    recording.frame(number)
                    good += 1
                except SourceError as error:
                    said.append((number + 1, str(error)))
            assert good >= 4
            assert all(f"interval {number} is damaged" in text and "\n" not in text for number, text in said)


def test_a_damaged_header_is_one_clear_line(tmp_path: Path) -> None:
    for name in NAMES:
        data = bytearray(recorded(tmp_path / name).read_bytes())
        data[30] ^= 0xFF
        path = tmp_path / f"damaged-{name}"
        path.write_bytes(data)
        with pytest.raises(SourceError) as caught:
            Recording(path)
        assert str(caught.value).startswith(f"{path} is not a schedtop recording: ")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\x1f\x8b",
        b"\x1f\x8b" + bytes(100),
        b"\x7fELF" + os.urandom(5000),
        os.urandom(300_000),
        b'{"schema": "schedtop.snapshot/1"}\n' * 3,
        b'{"schema": "schedtop.recording/2"}\n',
        b"hello\nworld\n",
        b"[" * 100_000 + b"\n",
        gzip.compress(b"hello\n" * 100),
        gzip.compress(b""),
    ],
    ids=range(12),
)
def test_a_foreign_file_is_one_clear_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(data)
    with pytest.raises(SourceError) as caught:
        Recording(path)
    other_version = data.startswith(b'{"schema": "schedtop.recording/')
    words = f"cannot read {path}: " if other_version else f"{path} is not a schedtop recording: "
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_irregular_file_is_not_read() -> None:
    with pytest.raises(SourceError, match=r"^/dev/zero is not a schedtop recording: it is not a regular file$"):
        Recording(Path("/dev/zero"))


def test_recording_knows_where_lines_were_left_out(tmp_path: Path) -> None:
    lines = recorded(tmp_path / "a").read_bytes().split(b"\n")
    lines[2] = lines[4] = b"x"
    path = tmp_path / "b"
    path.write_bytes(b"\n".join(lines))
    with Recording(path) as recording:
        assert (recording.gaps, len(recording)) == ([1, 2], 5)


def test_unreadable_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or directory"):
        Recording(tmp_path / "nothing")
    with pytest.raises(SourceError, match="is a directory"):
        Recording(tmp_path)


@pytest.mark.parametrize("cut", [0, 1, 5000])
def test_a_recording_that_others_packed_as_a_whole(tmp_path: Path, cut: int) -> None:
    data = gzip.compress(recorded(tmp_path / "plain").read_bytes())
    path = tmp_path / "packed.gz"
    path.write_bytes(data[: len(data) - cut])
    with Recording(path) as recording:
        assert lines_of(recording) == LINES[: len(recording)]
        assert len(recording) == 6 if cut < 2 else 0 < len(recording) < 6
        assert frame_line(recording.frame(0)) == LINES[0]


def test_large_file_packed_as_a_whole_names_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("STEP_BYTES", 100), ("STRETCH_BYTES", 100), ("WHOLE_BYTES", 1000)):
        monkeypatch.setattr(f"schedtop.sources.replay.pieces.{name}", size)
    path = tmp_path / "packed.gz"
    path.write_bytes(gzip.compress(recorded(tmp_path / "plain").read_bytes()))
    with pytest.raises(SourceError, match="unpack it with gunzip"):
        Recording(path)


def test_two_recordings_in_one_file_are_the_first_with_what_comes_later(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one").read_bytes()
    path = tmp_path / "both"
    path.write_bytes(one + one)
    with Recording(path) as recording:
        assert len(recording) == 6
        assert recording.left_out == 7
        assert recording.damage.startswith("7 damaged lines left out, after interval 6: a line is neither")


def test_texts_of_a_recording_cannot_steer_a_terminal(tmp_path: Path) -> None:
    host = Host("web\x1b[2J", "6\n", "btf", notes=("\x1b]0;x\x07",), scope="comm:\x9b31m")
    path = tmp_path / "a"
    with Recorder(path, Header(host, 0, filters="\x1b[m", triggers=("\r",))) as recorder:
        recorder.write(FRAMES[0])
        recorder.note(Event(0, "note", "\x1b[5m"))
    with Recording(path) as recording:
        header = recording.header
        texts = [header.host.name, header.host.kernel, *header.host.notes, header.host.scope, header.filters]
        texts += [*header.triggers, recording.events[0].text]
    assert all(text.isprintable() for text in texts)
    assert header.host.name == "web?[2J"

"""Recordings that claim more than they hold, or unpack to far more than they are."""

import gzip
import json
import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedtop.cli.types import Moment
from schedtop.commands.evidence import read_evidence
from schedtop.commands.recorded import number_at
from schedtop.model.filters import Filter
from schedtop.model.source import SourceError
from schedtop.outputs.report.text import to_text
from schedtop.recording.lines import RecordingError, frame_line, read_frame
from schedtop.sources.replay import pieces, recorded
from schedtop.sources.replay.recorded import Recording
from tests.fuzz.make_seeds import lines

LINES = lines()
LINE = json.loads(LINES[1])


@contextmanager
def within(most_bytes: int) -> Iterator[None]:
    """Nothing in here asks for more memory than that."""
    tracemalloc.start(1)
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()


CLAIMS = {
    "rows without a column": {"slow_waits": {"rows": 10**9}},
    "one number for all rows": {"tasks": {"rows": 10**9, "tid": 5}},
    "fewer rows than it says": {"pairs": {"rows": 10**9, "victim_tid": [1, 2]}},
    "rows below zero": {"tasks": {"rows": -1}},
    "too many CPUs": {"cpus": LINE["cpus"] | {"counters": {name: [0] * 20_000 for name in LINE["cpus"]["counters"]}}},
    "groups in groups": {"groups": {"kind": "tid", "ids": [[1, 2]], "sum_ns": [1], "counts": [[], []]}},
    "too many groups": {"groups": {"kind": "tid", "ids": [1] * 70_000, "sum_ns": [1] * 70_000, "counts": [[], []]}},
    "a bucket told twice": {"latency": LINE["latency"] | {"counts": [[5, 0], [1, 2]]}},
    "more waits than can be": {"latency": LINE["latency"] | {"counts": [[5], [1 << 62]]}},
    "less than nothing": {"tasks": {"rows": 1, "run_ns": [-1]}},
    "time before 1970": {"slow_waits": {"rows": 1, "time_ns": [-(1 << 62)]}},
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_impossible_sizes_are_refused_before_memory_is_taken(claim: dict[str, object]) -> None:
    line = json.dumps(LINE | claim)
    with within(32 << 20), pytest.raises(RecordingError):
        read_frame(line)


def test_a_file_that_is_nothing_but_ends_of_lines_once_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.rec.gz"
    path.write_bytes(gzip.compress(LINES[0].encode()) + gzip.compress(b"\n" * (4 << 20)))
    with within(64 << 20), pytest.raises(SourceError, match="hardly a line of it is whole"):
        Recording(path)


def test_a_file_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "bomb.rec.gz"
    zeros = gzip.compress(b"0" * (128 << 20), 1)
    path.write_bytes(zeros + zeros)
    with within(64 << 20), pytest.raises(SourceError, match="a line is longer than 8 MiB"):
        Recording(path)


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "LINE_BYTES", 1 << 20)
    path = tmp_path / "endless.rec"
    path.write_text(LINES[0])
    os.truncate(path, 1 << 30)
    with within(16 << 20), pytest.raises(SourceError, match="a line of more than"):
        Recording(path)


def test_a_file_with_hardly_a_whole_line_is_no_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "MOST_DAMAGE", 100)
    path = tmp_path / "damaged.rec"
    path.write_text(LINES[0] + LINES[1] + "{\n" * 200)
    with pytest.raises(SourceError, match="hardly a line of it is whole"):
        Recording(path)


def with_names(names: list[dict[str, str]]) -> str:
    """A recording of intervals each of which tells some names of groups."""
    out = [LINES[0]]
    for number, told in enumerate(names):
        times = {"start_time_ns": 10**18 + number, "end_ns": 10**9 * (number + 1), "cgroups": told}
        out.append(json.dumps(LINE | {"interval": LINE["interval"] | times}, separators=(",", ":")) + "\n")
    return "".join(out)


def test_a_new_group_in_each_interval_does_not_copy_all_names_each_time(tmp_path: Path) -> None:
    path = tmp_path / "groups.rec"
    path.write_text(with_names([{str(number): f"/job-{number}"} for number in range(3000)]))
    with within(16 << 20), Recording(path) as opened:
        assert len(opened) == 3000
        assert opened.frame(2999).cgroups[0] == "/job-0"
        assert opened.frame(0).cgroups[0] == "/job-0"


def test_an_id_that_is_used_again_has_both_its_names(tmp_path: Path) -> None:
    path = tmp_path / "again.rec"
    path.write_text(with_names([{"5": "/a"}, {}, {"5": "/b"}, {}]))
    with Recording(path) as opened:
        assert [opened.frame(number).cgroups[5] for number in range(4)] == ["/a", "/a", "/b", "/b"]


def test_names_that_change_all_the_time_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "changing.rec"
    path.write_text(with_names([{"5": f"/{number}"} for number in range(200)]))
    with Recording(path) as opened:
        assert "names of cgroups change too often" in opened.damage


@pytest.mark.parametrize("name", ["fifo", "directory", "/dev/zero", "/dev/tty", "link to a device"])
def test_irregular_file_is_not_opened(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    if name == "fifo":
        os.mkfifo(path)
    elif name == "directory":
        path.mkdir()
    elif name.startswith("/"):
        path = Path(name)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(SourceError, match=r"not a regular file|is a directory"):
        Recording(path)
    with pytest.raises(SourceError, match=r"not a regular file|is a directory"):
        read_evidence(path, Filter())


def test_a_wall_clock_that_jumps_costs_no_interval_and_moves_no_offset(tmp_path: Path) -> None:
    """Intervals follow one another by the clock that is never set; what is said of days is what the host believed."""
    out = [LINES[0]]
    for number, jump_s in enumerate((0, 1, -3600, 86_400, 4, -(10**9))):
        times = {"start_time_ns": (1_700_000_000 + jump_s) * 10**9, "end_ns": (number + 1) * 10**9}
        interval = LINE["interval"] | times | {"interval_ns": 10**9}
        out.append(json.dumps(LINE | {"interval": interval}, separators=(",", ":")) + "\n")
    path = tmp_path / "clock.rec"
    path.write_text("".join(out))
    with Recording(path) as opened:
        entries = [indexed.entry for indexed in opened.intervals]
    assert len(entries) == 6
    assert number_at(entries, Moment().convert("3s", None, None)) == 3
    with pytest.raises(ValueError, match="outside of the recording"):
        number_at(entries, Moment().convert("1969-01-01T00:00:00Z", None, None))
    data = read_evidence(path, Filter())
    assert data["interval_ns"] == 6 * 10**9
    assert to_text(data, 5)


def test_a_recording_packed_as_a_whole_is_read_in_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "STEP_BYTES", 5000)
    monkeypatch.setattr(pieces, "STRETCH_BYTES", 20_000)
    text = with_names([{str(number): f"/{number}"} for number in range(50)])
    (tmp_path / "plain.rec").write_text(text)
    (tmp_path / "whole.rec.gz").write_bytes(gzip.compress(text.encode()))
    with Recording(tmp_path / "plain.rec") as plain, Recording(tmp_path / "whole.rec.gz") as whole:
        assert len(whole) == len(plain) == 50
        assert len({indexed.place for indexed in whole.intervals}) > 10
        for number in (49, 0, 25, 24, 26, *range(50)):
            assert frame_line(whole.frame(number)) == frame_line(plain.frame(number))


def test_a_whole_file_that_is_damaged_gives_what_was_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "STEP_BYTES", 5000)
    monkeypatch.setattr(pieces, "STRETCH_BYTES", 20_000)
    data = bytearray(gzip.compress(with_names([{} for _ in range(50)]).encode()))
    data[-8] ^= 1  # its check sum
    (tmp_path / "whole.rec.gz").write_bytes(data)
    with Recording(tmp_path / "whole.rec.gz") as opened:
        assert 40 < len(opened) <= 50
        assert opened.left_out == 1


@pytest.mark.parametrize("name", ["a.rec", "a.rec.gz"])
def test_a_line_that_is_too_long_is_left_out_and_counted(name: str, tmp_path: Path) -> None:
    intervals = with_names([{}, {}, {}]).splitlines(keepends=True)
    intervals.insert(2, '{"event":{"end_ns":5,"kind":"note","text":"' + "x" * (8 << 20) + '"}}\n')
    pack = gzip.compress if name.endswith(".gz") else bytes
    (tmp_path / name).write_bytes(b"".join(pack(line.encode()) for line in intervals))
    with Recording(tmp_path / name) as opened:
        assert len(opened) == 3
        assert "1 damaged line left out, after interval 1: a line is longer than 8 MiB" in opened.damage


def test_a_recording_keeps_no_more_than_its_size_warrants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedtop.sources.replay.kept.KEPT_BYTES", 100_000)
    path = tmp_path / "names.rec.gz"
    text = with_names(
        [{str(number * 100 + at): f"/{number}-{at}-" + "x" * 1000 for at in range(100)} for number in range(5)]
    )
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(SourceError, match=r"take more than .* of memory, more than a recording of this size needs"):
        Recording(path)
    path.write_text(text)
    with Recording(path) as opened:
        assert len(opened) == 5

"""Whatever a file of ten megabytes holds: reading it takes at most 300 MB, or it is refused in one line."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.hostile_recordings import LINES, MOST_FILE_BYTES, RECORDINGS, SNAPSHOTS
from tests.peak import Ended, run

MOST_BYTES = 300_000_000
LIKE_OTHERS = {
    *("long_cgroup_numbers", "long_kinds", "cgroups_within_bounds", "unavailable_keys"),
    *("changing_cgroups", "long_cgroups", "short_intervals"),
}
"""They do with one field what `long_numbers`, `most_groups`, `long_events` and `whole_intervals` do with another."""


PLAYED = """
import sys, threading, time
from pathlib import Path
from schedtop.commands.recorded import open_recording
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.source import SourceError
from schedtop.sources.replay.source import ReplaySource
def until_sought():
    while source.seeking:
        time.sleep(0.05)
    stop.set()
stop = threading.Event()
try:
    recording = open_recording(Path(sys.argv[1]))
    with ReplaySource(recording, first=len(recording) - 1, playing=False) as source:
        history = History(source.host)
        threading.Thread(target=until_sought, daemon=True).start()
        for frame in source.frames(stop):
            history.append(frame)
        for group in ("thread", "cgroup") if len(history) else ():
            for window_s in (1, 10, 60):
                history.view(ViewSettings(window_ns=window_s * 10**9, group=group))
except SourceError as error:
    sys.exit(f"schedtop: {error}")
"""
"""The dashboard on the end of a recording, without its screen."""


@cache
def least(*words: str) -> int:
    """What the same takes with a file that holds next to nothing."""
    return run(*words).peak_bytes


def check(ended: Ended, base_bytes: int) -> None:
    assert ended.peak_bytes - base_bytes < MOST_BYTES
    assert ended.status in (0, 1)
    if ended.status:
        assert ended.said.startswith("schedtop: ")
        assert ended.said.count("\n") == 1
        assert "internal error" not in ended.said


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("small") / "small.rec"
    path.write_text("".join(LINES))
    return str(path)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.stress if name in LIKE_OTHERS else ()) for name in RECORDINGS | SNAPSHOTS],
)
def test_a_small_file_takes_little_memory_or_is_refused(name: str, small: str, tmp_path: Path) -> None:
    data = (RECORDINGS | SNAPSHOTS)[name]()
    assert len(data) <= MOST_FILE_BYTES
    path = tmp_path / name
    path.write_bytes(data)
    del data
    check(run("-m", "schedtop", "report", str(path)), least("-m", "schedtop", "report", small))
    if name in RECORDINGS:
        check(run("-m", "schedtop", "advise", str(path)), least("-m", "schedtop", "advise", small))
        check(run("-c", PLAYED, str(path)), least("-c", PLAYED, small))


@pytest.mark.parametrize("name", ["snapshot_of_keys", "most_cpus"])
@pytest.mark.parametrize("form", ["json", "html", "csv"])
def test_writing_what_was_read_takes_no_more(name: str, form: str, small: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((RECORDINGS | SNAPSHOTS)[name]())
    words = ("-m", "schedtop", "report", "--format", form, *(("--table", "tasks") if form == "csv" else ()))
    check(run(*words, str(path)), least(*words, small))


def test_a_number_that_is_none_is_not_multiplied(small: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(SNAPSHOTS["snapshot_of_lists_to_multiply"]())
    ended = run("-m", "schedtop", "diff", str(path), str(path))
    check(ended, least("-m", "schedtop", "diff", small, small))
    assert "a value of totals is no number" in ended.said


def test_two_small_files_to_compare_take_twice_as_much_at_most(small: str, tmp_path: Path) -> None:
    path = tmp_path / "most.rec.gz"
    path.write_bytes(RECORDINGS["most_cpus"]())
    ended = run("-m", "schedtop", "diff", str(path), str(path))
    assert ended.status == 0
    assert ended.peak_bytes - least("-m", "schedtop", "diff", small, small) < 2 * MOST_BYTES

"""While a file is read the kernel enforces a limit of memory, and only then."""

import gc
import resource
from pathlib import Path

import pytest

from schedtop.base.limits import READING_BYTES
from schedtop.model.source import SourceError
from schedtop.run.memory import bounded


def test_what_takes_too_much_memory_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    path.write_bytes(b"x")
    gc.collect()  # what other tests left would make room
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with (
        pytest.raises(SourceError, match=r"^cannot read \S+a.rec: it takes more than 256 MiB of memory$"),
        bounded(path),
    ):
        bytearray(READING_BYTES + (400 << 20))
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    with bounded(path):
        assert len(bytearray(READING_BYTES // 2)) == READING_BYTES // 2
    assert len(bytearray(READING_BYTES + (400 << 20))) > READING_BYTES


def test_two_files_may_take_as_much_as_both(tmp_path: Path) -> None:
    paths = (tmp_path / "a.rec", tmp_path / "b.rec")
    for path in paths:
        path.write_bytes(b"x")
    with bounded(*paths):
        assert len(bytearray(READING_BYTES * 3 // 2)) > READING_BYTES

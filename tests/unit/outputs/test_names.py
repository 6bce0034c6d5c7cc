"""Names of files that nobody has given: free, and of one program alone."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from schedtop.outputs.files import OutputError, write_file
from schedtop.outputs.names import FreeName


def test_name_is_taken_before_its_files_are_there(tmp_path: Path) -> None:
    first = FreeName(tmp_path, "schedtop-box")
    second = FreeName(tmp_path, "schedtop-box")
    assert first.path(".json") == tmp_path / "schedtop-box.json"
    assert second.path(".json") == tmp_path / "schedtop-box-2.json"
    with FreeName(tmp_path, "schedtop-box", (".rec.gz",)) as other:
        assert other.path(".rec.gz").name == "schedtop-box.rec.gz"
    write_file(first.path(".svg"), "")
    first.release()
    second.release()
    with FreeName(tmp_path, "schedtop-box") as third:
        assert third.path(".json").name == "schedtop-box-2.json"
    third.release()


def test_nothing_is_left_of_a_released_name(tmp_path: Path) -> None:
    with FreeName(tmp_path, "schedtop-box"):
        assert [path.name for path in tmp_path.iterdir()] == [".schedtop-box.json.claimed"]
    assert not [*tmp_path.iterdir()]


def test_names_of_one_moment_are_all_different(tmp_path: Path) -> None:
    together, names = threading.Barrier(16), []

    def make() -> None:
        together.wait()
        with FreeName(tmp_path, "schedtop-box") as name:
            names.append(write_file(name.path(".json"), "{}"))
            write_file(name.path(".svg"), "")

    threads = [threading.Thread(target=make) for _ in range(together.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names) == len({*names}) == together.parties
    assert len([*tmp_path.iterdir()]) == 2 * together.parties


def test_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no such directory"):
        FreeName(tmp_path / "gone", "schedtop-box")

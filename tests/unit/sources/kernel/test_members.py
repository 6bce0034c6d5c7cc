"""The tasks of a cgroup, of files that are made up."""

from __future__ import annotations

from pathlib import Path

from schedtop.sources.kernel.members import members_of


def test_members_are_those_of_the_group_and_below(tmp_path: Path) -> None:
    for path, text in (("a", "10\n11\n"), ("a/b", "12\n"), ("c", "13\n")):
        (tmp_path / path).mkdir()
        (tmp_path / path / "cgroup.threads").write_text(text)
    (tmp_path / "a" / "old").mkdir()
    (tmp_path / "a" / "old" / "tasks").write_text("14\n")
    assert members_of("/a", tmp_path, tmp_path) == {10, 11, 12, 14}
    assert members_of("/gone", tmp_path, tmp_path) == frozenset()

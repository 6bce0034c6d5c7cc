"""Compiled programs that are kept: used again, and never believed from anybody else."""

import os
from pathlib import Path

import pytest

from schedtop.base import turn
from schedtop.sources.kernel import program_cache
from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE, cache_directory
from schedtop.sources.kernel.compiler import Compiled, MapSpec
from schedtop.sources.kernel.program_cache import compiled_before

FLAGS = ("-DCPUS=2",)


class Compiler:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Compiled:
        self.calls += 1
        layout = {"names": ["value"], "formats": ["<u8"], "offsets": [0], "itemsize": 8}
        return Compiled({"config": MapSpec(2, 4, 8, 1, 0, layout)}, {"program": b"code%d" % self.calls})


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "programs"
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(directory))
    return directory


def programs(compiler: Compiler, text: str = "int f;", flags: tuple[str, ...] = FLAGS) -> bytes:
    return compiled_before(text, flags, compiler).programs["program"]


def test_the_same_programs_are_compiled_once(kept: Path) -> None:
    compiler = Compiler()
    assert [programs(compiler) for _ in range(3)] == [b"code1"] * 3
    assert programs(compiler, text="int g;") == b"code2"
    assert programs(compiler, flags=("-DCPUS=4",)) == b"code3"
    assert compiled_before("int f;", FLAGS, compiler).maps["config"].dtype.itemsize == 8
    assert {path.stat().st_mode & 0o777 for path in kept.iterdir()} == {0o600}
    assert kept.stat().st_mode & 0o777 == 0o700


def test_who_waits_for_the_compiler_need_not_wait_for_kept_programs(kept: Path) -> None:
    given: list[bool] = []
    turn.take(lambda: given.append(True))
    try:
        programs(Compiler())
        assert not given
        programs(Compiler())
        assert given
    finally:
        turn.take(lambda: None)


def test_a_damaged_file_is_made_again(kept: Path) -> None:
    compiler = Compiler()
    programs(compiler)
    file = next(kept.iterdir())
    for damage in (b"", b"{", b"[]", b'{"maps": {"a": {}}, "programs": {}}', b'{"maps": [], "programs": {}}', b"\xff"):
        file.write_bytes(damage)
        before = compiler.calls
        assert programs(compiler) == b"code%d" % (before + 1)
        assert programs(compiler) == b"code%d" % (before + 1)


def test_a_directory_that_others_can_write_to_is_not_used(kept: Path) -> None:
    compiler = Compiler()
    programs(compiler)
    kept.chmod(0o777)
    assert programs(compiler) == b"code2"
    kept.chmod(0o700)
    assert programs(compiler) == b"code1"


def test_links_are_not_followed(kept: Path, tmp_path: Path) -> None:
    compiler = Compiler()
    programs(compiler)
    file = next(kept.iterdir())
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert programs(compiler) == b"code2"
    assert not file.is_symlink()
    kept.rename(tmp_path / "moved")
    kept.symlink_to(tmp_path / "moved")
    assert programs(compiler) == b"code3"


def test_cache_keeps_a_bounded_number_of_programs(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_cache, "MOST_FILES", 3)
    compiler = Compiler()
    for number in range(6):
        programs(compiler, text=str(number))
        os.utime(max(kept.iterdir(), key=lambda path: path.stat().st_mtime_ns), (number, number))
    assert len(list(kept.iterdir())) == 3


def test_compiler_runs_every_time_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for place in ("", str(tmp_path / "file")):
        monkeypatch.setenv(DIRECTORY_VARIABLE, place)
        compiler = Compiler()
        assert [programs(compiler), programs(compiler)] == [b"code1", b"code2"]


def test_root_keeps_programs_out_of_the_home_of_a_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(DIRECTORY_VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert cache_directory() == Path("/var/cache/schedtop")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == tmp_path / ".cache" / "schedtop"

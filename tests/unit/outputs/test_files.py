"""Files appear whole or not at all."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from schedtop.outputs import files
from schedtop.outputs.files import OutputError, check_directory, check_target, write_file


def test_text_is_written_as_utf_8_and_bytes_as_they_are(tmp_path: Path) -> None:
    assert write_file(tmp_path / "text", "5 µs\n").read_bytes() == b"5 \xc2\xb5s\n"
    assert write_file(tmp_path / "bytes", b"\xff\0").read_bytes() == b"\xff\0"
    assert sorted(os.listdir(tmp_path)) == ["bytes", "text"]


def test_existing_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("old")
    with pytest.raises(OutputError, match=r"data: it exists \(--force"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["data"]


def test_force_replaces_a_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("old and longer")
    inode = path.stat().st_ino
    write_file(path, "new", force=True)
    assert path.read_text() == "new"
    assert path.stat().st_ino != inode


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("target", ["victim", "nowhere"])
def test_a_symlink_is_never_followed(tmp_path: Path, force: bool, target: str) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / target)
    with pytest.raises(OutputError):
        write_file(tmp_path / "link", "new", force=force)
    assert (tmp_path / "victim").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["link", "victim"]


def test_force_does_not_replace_a_device_or_a_directory(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    for name in ("pipe", "directory"):
        with pytest.raises(OutputError, match="not a regular file"):
            write_file(tmp_path / name, "new", force=True)
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data"
    sync = os.fsync

    def appear(descriptor: int) -> None:
        sync(descriptor)
        path.write_text("theirs")

    monkeypatch.setattr(files.os, "fsync", appear)
    with pytest.raises(OutputError, match="it exists"):
        write_file(path, "ours")
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["data"]


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nowhere: there is no such directory"):
        write_file(tmp_path / "nowhere" / "data", "x")


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is not a directory"):
        check_directory(tmp_path / "file")


def test_a_directory_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write everywhere, so the answer of access(2) is given here.
    monkeypatch.setattr(files.os, "access", lambda *_, **__: False)
    with pytest.raises(OutputError, match="not writable"):
        check_target(tmp_path / "data")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_leaves_nothing_and_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(OutputError) as caught:
        write_file(tmp_path / "data", "x" * 100_000)
    assert os.strerror(number).lower() in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_an_interruption_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "data", "x")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("exists", [False, True])
def test_existing_file_is_kept_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    path = tmp_path / "data"

    def refuse(*_args: Any, **_kwargs: Any) -> None:
        if exists:
            path.write_text("theirs")
        raise OSError(errno.EPERM, "no hard links")

    monkeypatch.setattr(files.os, "link", refuse)
    if exists:
        with pytest.raises(OutputError):
            write_file(path, "ours")
    else:
        write_file(path, "ours")
    assert path.read_text() == ("theirs" if exists else "ours")
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.parametrize(("root", "mode"), [(True, 0o600), (False, 0o640)])
def test_file_written_by_root_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: bool, mode: int
) -> None:
    monkeypatch.setattr(files.os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.delenv("SUDO_UID", raising=False)
    before = os.umask(0o026)
    try:
        path = write_file(tmp_path / "data", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode

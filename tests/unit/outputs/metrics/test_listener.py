"""The UNIX socket: whose it is, what it replaces, and what it leaves alone."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from schedtop.outputs.metrics.listener import UnixListener


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics"


def close(listener: UnixListener) -> None:
    listener.socket.close()
    listener.remove()


def leave_stale(path: Path) -> None:
    """A socket as a killed process leaves it."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))


def test_socket_is_for_owner_and_group_and_removed_at_the_end(path: Path) -> None:
    umask = os.umask(0o077)
    try:
        listener = UnixListener(path)
        assert os.umask(0o077) == 0o077, "the umask is as it was"
    finally:
        os.umask(umask)
    assert stat.S_ISSOCK(path.lstat().st_mode) and stat.S_IMODE(path.lstat().st_mode) == 0o660
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    close(listener)
    assert not path.exists()


def test_stale_socket_is_replaced(path: Path) -> None:
    leave_stale(path)
    before = path.lstat().st_ino, path.lstat().st_ctime_ns
    listener = UnixListener(path)
    assert (path.lstat().st_ino, path.lstat().st_ctime_ns) != before
    close(listener)


def test_socket_in_use_is_not_replaced(path: Path) -> None:
    first = UnixListener(path)
    with pytest.raises(OSError, match="in use"):
        UnixListener(path)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    close(first)


@pytest.mark.parametrize("kind", ["file", "link to a socket", "broken link", "directory", "pipe"])
def test_other_files_are_never_replaced(path: Path, tmp_path: Path, kind: str) -> None:
    match kind:
        case "file":
            path.write_text("mine")
        case "link to a socket":
            leave_stale(tmp_path / "other")
            path.symlink_to("other")
        case "broken link":
            path.symlink_to("nowhere")
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
    before = sorted((entry.name, entry.lstat().st_ino, entry.lstat().st_mode) for entry in tmp_path.iterdir())
    with pytest.raises(FileExistsError, match="no socket of this user"):
        UnixListener(path)
    assert sorted((entry.name, entry.lstat().st_ino, entry.lstat().st_mode) for entry in tmp_path.iterdir()) == before


def test_what_has_taken_its_place_is_not_removed(path: Path, tmp_path: Path) -> None:
    listener = UnixListener(path)
    path.rename(tmp_path / "moved")
    path.write_text("mine")
    close(listener)
    assert path.read_text() == "mine"


def test_long_path_is_possible(tmp_path: Path) -> None:
    directory = tmp_path / ("d" * 200)
    directory.mkdir()
    close(UnixListener(directory / "metrics"))
    assert not list(directory.iterdir())


def test_failure_leaves_no_descriptor(path: Path) -> None:
    path.write_text("mine")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileExistsError):
        UnixListener(path)
    with pytest.raises(FileNotFoundError):
        UnixListener(path.parent / "nowhere" / "metrics")
    assert len(os.listdir("/proc/self/fd")) == before

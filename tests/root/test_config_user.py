"""The config under sudo: it is the user's, read and written with their rights. As root, without BPF."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedtop.base import invoker
from schedtop.config.load import load_config
from schedtop.config.place import ConfigError, as_user, config_path
from schedtop.config.save import remember

pytestmark = pytest.mark.beside

UID = pwd.getpwnam("nobody").pw_uid


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home directory of the user who called sudo; root's is elsewhere."""
    # Not below tmp_path: only root may look into that.
    home = Path(tempfile.mkdtemp())
    os.chown(home, UID, UID)
    entry = pwd.getpwuid(UID)
    moved = pwd.struct_passwd((*entry[:5], str(home), entry[6]))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: moved if uid == UID else entry)
    monkeypatch.setenv("SUDO_UID", str(UID))
    monkeypatch.setattr(invoker, "_parent", lambda _pid: (0, 0))  # under sudo they are whose they are
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    yield home
    shutil.rmtree(home)


@pytest.fixture
def roots() -> Iterator[Path]:
    """A directory of root's that everybody may look into."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def rights() -> tuple[int, int]:
    """Whose files this thread opens, and its capabilities in effect."""
    said = dict(line.split(":", 1) for line in Path("/proc/thread-self/status").read_text().splitlines())
    return int(said["Uid"].split()[3]), int(said["CapEff"], 16)


def test_the_file_and_its_directories_are_the_users(home: Path) -> None:
    path = config_path()
    assert path == home / ".config" / "schedtop" / "config.toml"
    remember(path, {"theme": "light"})
    for one in (path, path.parent, path.parent.parent):
        assert one.stat().st_uid == UID
    assert load_config().values == {"theme": "light"}
    assert rights()[0] == 0


def test_an_xdg_directory_of_root_is_not_the_users(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config_path().is_relative_to(home)
    os.chown(tmp_path, UID, UID)
    assert config_path().is_relative_to(tmp_path)


def test_links_lead_no_further_than_the_user_could_go(home: Path, roots: Path) -> None:
    secret = roots / "secret.toml"
    secret.write_text("root_only = 1\n")
    secret.chmod(0o600)
    path = config_path()
    with as_user():
        path.parent.mkdir(parents=True)
        path.symlink_to(secret)
    (problem,) = load_config().problems
    assert "permission denied" in problem and "root_only" not in problem
    with pytest.raises(ConfigError, match="permission denied"):
        remember(path, {"theme": "light"})
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(roots)
    with pytest.raises(ConfigError, match="not writable to nobody"):
        remember(path, {"theme": "light"})
    assert secret.read_text() == "root_only = 1\n" and stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert [one.name for one in roots.iterdir()] == ["secret.toml"]


def test_rights_come_back_after_an_error(home: Path) -> None:
    def fail() -> None:
        with as_user():
            ids, capabilities = rights()
            assert ids == UID and not capabilities and 0 not in os.getgroups()
            raise ZeroDivisionError

    before = rights(), os.getgroups()
    with pytest.raises(ZeroDivisionError):
        fail()
    assert before == (rights(), os.getgroups()) and before[0][0] == 0


def test_a_user_that_is_none_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "3999999999")
    monkeypatch.setattr(invoker, "_parent", lambda _pid: (0, 0))
    config = load_config()
    assert config.problems == ("there is no config file: user 3999999999 is not known to this host",)

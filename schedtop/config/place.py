"""Where the config file is, and how it is read and written: with the rights of its user, never as root."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schedtop.config.schema import MOST_BYTES
from schedtop.outputs.files import OutputError, reason, write_file


class ConfigError(Exception):
    """The file cannot be used; the text says why, in one line."""


@dataclass(frozen=True, slots=True)
class User:
    """The user of the config. `uid` and `gid` are those to become for it; None: those that we have."""

    home: str
    uid: int | None = None
    gid: int | None = None
    name: str = ""


def the_user() -> User:
    """Whoever called sudo, else whoever we are. Raises ConfigError without a home directory."""
    uid = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and uid.isdecimal() and int(uid) != 0:
        try:
            entry = pwd.getpwuid(int(uid))
        except (KeyError, OverflowError):
            raise ConfigError(f"SUDO_UID={uid} is no user of this host") from None
        return User(entry.pw_dir, entry.pw_uid, entry.pw_gid, entry.pw_name)
    home = os.environ.get("HOME", "")
    if not home:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            raise ConfigError("there is no home directory: set HOME or XDG_CONFIG_HOME") from None
    return User(home)


def config_path() -> Path:
    """`$XDG_CONFIG_HOME/schedtop/config.toml`, by default below ~/.config. Raises ConfigError.

    Under sudo the variable counts only if its directory is the user's: `sudo -E` keeps it, some configurations set
    root's.
    """
    user = the_user()
    base = os.environ.get("XDG_CONFIG_HOME", "")
    # The XDG specification: a path that is not absolute is to be ignored.
    if not os.path.isabs(base) or (user.uid is not None and _owner(base) != user.uid):
        base = os.path.join(user.home, ".config")
    return Path(base) / "schedtop" / "config.toml"


def _owner(path: str) -> int:
    try:
        return os.stat(path).st_uid
    except OSError:
        return -1


@contextmanager
def as_user() -> Iterator[None]:
    """While it lasts, files are opened and made with the rights of whoever called sudo.

    So the kernel decides what symlinks of theirs may lead to, and what is made is theirs. All threads of the process
    are concerned: it is for the start and the end. Raises ConfigError.
    """
    user = the_user()
    if user.uid is None or user.gid is None:
        yield
        return
    groups, gid = os.getgroups(), os.getegid()
    try:
        os.setgroups(os.getgrouplist(user.name, user.gid))
        os.setegid(user.gid)
        os.seteuid(user.uid)
    except OSError as error:
        _be_root(groups, gid)
        raise ConfigError(f"cannot look at it as {user.name}: {reason(error)}") from error
    try:
        yield
    finally:
        _be_root(groups, gid)


def _be_root(groups: list[int], gid: int) -> None:
    os.seteuid(0)
    os.setegid(gid)
    os.setgroups(groups)


def read_config(path: Path) -> str | None:
    """The text of the file, None if there is none. Raises ConfigError."""
    with as_user():
        try:
            # Without O_NONBLOCK a pipe of that name would wait for its writer.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ConfigError(reason(error)) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError("it is not a regular file")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise ConfigError(reason(error)) from error
        finally:
            os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise ConfigError(f"it is larger than {MOST_BYTES >> 10} KiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"it is not UTF-8 (byte {error.start})") from None


def write_config(path: Path, text: str) -> None:
    """Replaces the file as a whole; its directory is made if need be. Raises ConfigError.

    A symlink stays, what it leads to is replaced: people keep their config files together elsewhere.
    """
    with as_user():
        try:
            target = Path(os.path.realpath(path))
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = target.stat().st_mode & 0o777 if target.exists() else None
            write_file(target, text, force=True)
            if mode is not None:
                target.chmod(mode)
        except OSError as error:
            raise ConfigError(reason(error)) from error
        except OutputError as error:
            raise ConfigError(str(error).removeprefix(f"cannot write {target}: ")) from error

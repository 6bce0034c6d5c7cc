"""Where the config file is, and how it is read and written: with the rights of its user, never as root."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedtop.base.invoker import Invoker, UnclearInvoker, as_invoker, invoker
from schedtop.config.schema import MOST_BYTES
from schedtop.outputs.files import OutputError, reason, write_file


class ConfigError(Exception):
    """The file cannot be used; the text says why, in one line."""


def _home() -> tuple[str, int | None]:
    """The home directory of whoever called sudo, else ours, and the user's number in the former case.

    Raises ConfigError without one.
    """
    user = _invoker()
    if user:
        if not user.home:
            raise ConfigError(f"user {user.uid} is not known to this host")
        return user.home, user.uid
    home = os.environ.get("HOME", "")
    if not home:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            raise ConfigError("there is no home directory: set HOME or XDG_CONFIG_HOME") from None
    return home, None


def _invoker() -> Invoker | None:
    try:
        return invoker()
    except UnclearInvoker as error:
        raise ConfigError(str(error)) from error


def config_path() -> Path:
    """`$XDG_CONFIG_HOME/schedtop/config.toml`, by default below ~/.config. Raises ConfigError.

    Under sudo the variable counts only if its directory is the user's: `sudo -E` keeps it, some configurations set
    root's.
    """
    home, uid = _home()
    base = os.environ.get("XDG_CONFIG_HOME", "")
    # The XDG specification: a path that is not absolute is to be ignored.
    if not os.path.isabs(base) or (uid is not None and _owner(base) != uid):
        base = os.path.join(home, ".config")
    return Path(base) / "schedtop" / "config.toml"


def _owner(path: str) -> int:
    try:
        return os.stat(path).st_uid
    except OSError:
        return -1


@contextmanager
def as_user() -> Iterator[None]:
    """While it lasts, this thread opens and makes files with the rights of whoever called sudo. Raises ConfigError."""
    try:
        with as_invoker():
            yield
    except (OSError, UnclearInvoker) as error:
        raise ConfigError(reason(error)) from error


def read_config(path: Path) -> str | None:
    """The text of the file, None if there is none. Raises ConfigError."""
    with as_user():
        try:
            # Without O_NONBLOCK a pipe of that name would wait for its writer.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError("it is not a regular file")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(MOST_BYTES + 1)
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
        except OutputError as error:
            raise ConfigError(str(error).removeprefix(f"cannot write {target}: ")) from error

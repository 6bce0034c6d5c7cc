"""Files appear whole or not at all, over nothing that exists, made with the rights of whoever called sudo."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from schedtop.base.invoker import UnclearInvoker, as_invoker, invoker

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC

_MOST_LINKS = 40
"""MAXSYMLINKS of include/linux/namei.h."""

_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class OutputError(Exception):
    """Something cannot be written; the text says what and why, in one line."""


def write_file(path: Path, data: str | bytes | Iterable[bytes], *, force: bool = False) -> Path:
    """Writes a whole file and gives its path; text becomes UTF-8, what comes in pieces is written piece by piece.

    What is at `path` already is replaced only with `force`, and only if it is a regular file: a symlink is never
    followed. Raises OutputError; then nothing is left behind.
    """
    content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    pieces = (content,) if isinstance(content, bytes) else content
    try:
        check_target(path, force=force)
        with _directory(path.parent) as directory, _temporary(path.name, directory) as (file, temporary):
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            _move(temporary, path.name, directory, force)
    except (OSError, UnclearInvoker) as error:
        raise OutputError(f"cannot write {path}: {reason(error)}") from error
    return path


class StartedFile:
    """A file that is being written on: `file`, without a buffer, at its end. Close it in the end."""

    def __init__(self, file: BinaryIO, name: str, directory: int) -> None:
        self.file = file
        self._name = name
        self._directory = directory

    def close(self) -> None:
        """Closes it; what could not be written raises OSError."""
        if not self.file.closed:
            os.close(self._directory)
            self.file.close()

    def discard(self) -> None:
        """Takes it away, if its name in the directory that it was made in still is this file's, and closes it."""
        if self.file.closed:
            return
        with suppress(OSError, UnclearInvoker), as_invoker():
            there = os.stat(self._name, dir_fd=self._directory, follow_symlinks=False)
            if os.path.samestat(os.fstat(self.file.fileno()), there):
                os.unlink(self._name, dir_fd=self._directory)
        self.close()


def start_file(path: Path, data: bytes, *, force: bool = False) -> StartedFile:
    """Makes a file that begins with `data`, whole, to be written on. As `write_file` otherwise. Raises OutputError."""
    try:
        check_target(path, force=force)
        with _directory(path.parent) as directory, _temporary(path.name, directory) as (file, temporary):
            file.write(data)
            file.flush()
            _move(temporary, path.name, directory, force)
            return StartedFile(os.fdopen(os.dup(file.fileno()), "ab", buffering=0), path.name, os.dup(directory))
    except (OSError, UnclearInvoker) as error:
        raise OutputError(f"cannot write {path}: {reason(error)}") from error


def claim(path: Path) -> StartedFile | None:
    """Makes an empty file, to be discarded later; `None`: there is something already. Raises OutputError."""
    check_directory(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with _directory(path.parent) as directory, as_invoker():
            file = os.fdopen(os.open(path.name, flags, 0o600, dir_fd=directory), "ab", buffering=0)
            return StartedFile(file, path.name, os.dup(directory))
    except FileExistsError:
        return None
    except (OSError, UnclearInvoker) as error:
        raise OutputError(f"cannot write {path}: {reason(error)}") from error


def check_target(path: Path, *, force: bool = False) -> None:
    """Raises OutputError if a file cannot be made at `path`: seen before long work rather than after it."""
    check_directory(path.parent)
    try:
        with as_invoker():
            mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except (OSError, UnclearInvoker) as error:
        raise OutputError(f"cannot write {path}: {reason(error)}") from error
    if not stat.S_ISREG(mode):
        raise OutputError(f"cannot write {path}: it exists and is not a regular file")
    if not force:
        raise OutputError(f"cannot write {path}: it exists (--force overwrites it)")


def check_directory(path: Path) -> None:
    """Raises OutputError unless `path` is a directory in which files can be made."""
    try:
        with as_invoker():
            mode = path.stat().st_mode
            # By what this thread may do now, and not by who has started the program.
            writable = os.access(path, os.W_OK | os.X_OK, effective_ids=True)
        user = invoker()
    except FileNotFoundError as error:
        raise OutputError(f"{path}: there is no such directory") from error
    except (OSError, UnclearInvoker) as error:
        raise OutputError(f"{path}: {reason(error)}") from error
    if not stat.S_ISDIR(mode):
        raise OutputError(f"{path} is not a directory")
    if not writable:
        whose = f" to {user.words}, with whose rights files are written" if user else ""
        raise OutputError(f"{path}: the directory is not writable{whose}")


def reason(error: OSError | UnclearInvoker) -> str:
    """Why a system call failed, in the system's words."""
    if isinstance(error, UnclearInvoker):
        return str(error)
    return error.strerror.lower() if error.strerror else type(error).__name__


@contextmanager
def _directory(path: Path) -> Iterator[int]:
    """A directory, opened: names are in this one, whatever others put at its path meanwhile. Raises as `_walked`."""
    with as_invoker():
        descriptor = _walked(path) if os.geteuid() == 0 else os.open(path, _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _walked(path: Path) -> int:
    """The directory at a path, through symlinks of root's or of the invoking user alone: no other leads root anywhere.

    The kernel's rule for /tmp (fs.protected_symlinks), for each part of the path. Raises OSError, OutputError.
    """
    user = invoker()
    trusted, left, links = {0, user.uid if user else 0}, [*path.parts], 0
    here = os.open(".", _DIRECTORY)
    try:
        while left:
            part = left.pop(0)
            flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
            there = os.open(part, flags, dir_fd=here)
            status = os.fstat(there)
            if not stat.S_ISLNK(status.st_mode):
                os.close(here)
                here = there
                continue
            target = os.readlink("", dir_fd=there)
            os.close(there)
            links += 1
            if status.st_uid not in trusted:
                raise OutputError(f"{path}: {part} is a symlink of another user, which root does not follow")
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            left = [*Path(target).parts, *left]
        return here
    except BaseException:
        os.close(here)
        raise


@contextmanager
def _temporary(name: str, directory: int) -> Iterator[tuple[BinaryIO, str]]:
    """A new file beside `name`, opened, and its name; it is gone afterwards, whatever happens."""
    temporary = f".{name[:200]}.{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # What root sees of a host is not for every user; others have their umask.
    with as_invoker():
        descriptor = os.open(temporary, flags, 0o600 if os.geteuid() == 0 else 0o666, dir_fd=directory)
    file = os.fdopen(descriptor, "wb")
    try:
        yield file, temporary
    finally:
        with suppress(OSError, UnclearInvoker), as_invoker():
            os.unlink(temporary, dir_fd=directory)
        with suppress(OSError):
            file.close()


def _move(temporary: str, name: str, directory: int, force: bool) -> None:
    """Gives the finished file its name. Raises OSError."""
    with as_invoker():
        _moved(temporary, name, directory, force)


def _moved(temporary: str, name: str, directory: int, force: bool) -> None:
    if force:
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        return
    try:
        # Unlike rename, link fails if the name is taken.
        os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        raise OSError(errno.EEXIST, "it exists (--force overwrites it)") from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _claim_and_replace(temporary, name, directory)


def _claim_and_replace(temporary: str, name: str, directory: int) -> None:
    """The same where the file system has no hard links: an empty file of ours takes the name first."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    os.close(os.open(name, flags, 0o600, dir_fd=directory))
    try:
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        os.unlink(name, dir_fd=directory)
        raise

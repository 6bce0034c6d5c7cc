"""Files appear whole or not at all, over nothing that exists, and belong to whoever called sudo."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

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
    except OSError as error:
        raise OutputError(f"cannot write {path}: {reason(error)}") from error
    return path


def start_file(path: Path, data: bytes, *, force: bool = False) -> BinaryIO:
    """Makes a file that begins with `data`, whole, and gives it open at its end, to be written on without a buffer.

    As `write_file` otherwise. Raises OutputError.
    """
    try:
        check_target(path, force=force)
        with _directory(path.parent) as directory, _temporary(path.name, directory) as (file, temporary):
            file.write(data)
            file.flush()
            _move(temporary, path.name, directory, force)
            return os.fdopen(os.dup(file.fileno()), "ab", buffering=0)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {reason(error)}") from error


def check_target(path: Path, *, force: bool = False) -> None:
    """Raises OutputError if a file cannot be made at `path`: seen before long work rather than after it."""
    check_directory(path.parent)
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"cannot write {path}: {reason(error)}") from error
    if not stat.S_ISREG(mode):
        raise OutputError(f"cannot write {path}: it exists and is not a regular file")
    if not force:
        raise OutputError(f"cannot write {path}: it exists (--force overwrites it)")


def check_directory(path: Path) -> None:
    """Raises OutputError unless `path` is a directory in which files can be made."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise OutputError(f"{path}: there is no such directory") from error
    except OSError as error:
        raise OutputError(f"{path}: {reason(error)}") from error
    if not stat.S_ISDIR(mode):
        raise OutputError(f"{path} is not a directory")
    if not os.access(path, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: the directory is not writable")


def reason(error: OSError) -> str:
    """Why a system call failed, in the system's words."""
    return error.strerror.lower() if error.strerror else type(error).__name__


@contextmanager
def _directory(path: Path) -> Iterator[int]:
    """A directory, opened: names are in this one, whatever others put at its path meanwhile. Raises as `_walked`."""
    descriptor = _walked(path) if os.geteuid() == 0 else os.open(path, _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _walked(path: Path) -> int:
    """The directory at a path, through symlinks of root's or of the invoking user alone: no other leads root anywhere.

    The kernel's rule for /tmp (fs.protected_symlinks), for each part of the path. Raises OSError, OutputError.
    """
    trusted, left, links = {"0", os.environ.get("SUDO_UID", "0")}, [*path.parts], 0
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
            if str(status.st_uid) not in trusted:
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
    descriptor = os.open(temporary, flags, 0o600 if os.geteuid() == 0 else 0o666, dir_fd=directory)
    file = os.fdopen(descriptor, "wb")
    try:
        _give_to_sudo_user(descriptor)
        yield file, temporary
    finally:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        with suppress(OSError):
            file.close()


def _give_to_sudo_user(descriptor: int) -> None:
    uid, gid = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if os.geteuid() == 0 and uid.isdecimal() and gid.isdecimal():
        # On the descriptor: a name could have been exchanged by the owner of the directory. Some file systems
        # (vfat, a squashing NFS) know no owners, and then root's file is better than none.
        with suppress(OSError):
            os.fchown(descriptor, int(uid), int(gid))


def _move(temporary: str, name: str, directory: int, force: bool) -> None:
    """Gives the finished file its name. Raises OSError."""
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

"""Where the endpoint listens: an address, or a UNIX socket, whose file is ours from its making to its removal."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

BACKLOG = 1024
"""How many clients the kernel keeps until they are accepted (at most net.core.somaxconn)."""

UNIX_MODE = 0o660


def listen_tcp(family: socket.AddressFamily, address: tuple[Any, ...]) -> socket.socket:
    """A socket that listens at an address. Raises OSError."""
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


class UnixListener:
    """A socket that listens at a path, for its owner and group. Raises OSError.

    One of ours without a listener is replaced; anything else at the path stays.
    """

    def __init__(self, path: Path, group: int | None = None) -> None:
        """`group`: its number, if it is not to be that of the process."""
        # Whatever others put at the path meanwhile, names are in this directory. And they may be longer so.
        self._directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._name = path.name
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._remove_stale()
            with _created_for(group):
                self.socket.bind(self._place)
            self._identity = self._found()
            self.socket.listen(BACKLOG)
        except BaseException:
            self.socket.close()
            os.close(self._directory)
            raise

    def remove(self) -> None:
        """Removes the file, if it is still ours."""
        with suppress(OSError):
            if self._found() == self._identity:
                os.unlink(self._name, dir_fd=self._directory)
        os.close(self._directory)

    @property
    def _place(self) -> str:
        return f"/proc/self/fd/{self._directory}/{self._name}"

    def _found(self) -> tuple[int, int]:
        status = os.lstat(self._name, dir_fd=self._directory)
        return status.st_dev, status.st_ino

    def _remove_stale(self) -> None:
        """Raises OSError where there is anything but a socket of ours without a listener, or nothing."""
        try:
            status = os.lstat(self._name, dir_fd=self._directory)
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
            raise FileExistsError(errno.EEXIST, "it exists, and is no socket of this user's")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.setblocking(False)
            try:
                asking.connect(self._place)
            except ConnectionRefusedError:
                os.unlink(self._name, dir_fd=self._directory)
                return
            except BlockingIOError:  # so many wait for an answer
                pass
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


@contextmanager
def _created_for(group: int | None) -> Iterator[None]:
    """What is made meanwhile has that group and UNIX_MODE from the first moment: no path is looked up again for it."""
    umask, own_group = os.umask(0o777 & ~UNIX_MODE), os.getegid()
    try:
        if group is not None:
            os.setegid(group)
        yield
    finally:
        if group is not None:
            os.setegid(own_group)
        os.umask(umask)

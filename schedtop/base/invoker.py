"""The user behind sudo, doas or pkexec, and their rights: what root does for them is no more than they may do.

The variables say who it was. They are believed from root alone, and lower its rights alone: a process above us that is
neither root's nor that user's says that they are left over (`su` keeps them), and then nothing is done for anybody.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_NO_ID = (1 << 32) - 1
_NOGROUP = 65534
_MOST_ABOVE = 64

_SETGROUPS = {"x86_64": 116, "ppc64le": 81, "s390x": 206}
"""Numbers of setgroups(2); any other machine has that of include/uapi/asm-generic/unistd.h."""
_GENERIC_SETGROUPS = 159
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_held = threading.local()


class UnclearInvoker(Exception):
    """The variables name a user that cannot be the one who called; the text says why, in one line."""


@dataclass(frozen=True, slots=True)
class Invoker:
    """Who called. `name`, `home` and `shell` are empty where the host does not know the number."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    name: str = ""
    home: str = ""
    shell: str = ""

    @property
    def words(self) -> str:
        """As a message names them."""
        return self.name or f"user {self.uid}"


def invoker() -> Invoker | None:
    """The user who called sudo, pkexec or doas; `None`: we are not root, or root called. Raises UnclearInvoker."""
    if os.geteuid() or os.getuid():
        return None
    for variable in ("SUDO_UID", "PKEXEC_UID", "DOAS_USER"):
        said = os.environ.get(variable, "")
        uid = _number_of(said) if variable == "DOAS_USER" else _number(said)
        if uid:
            _check_above(variable, said, uid)
            gid = _number(os.environ.get("SUDO_GID", "")) if variable == "SUDO_UID" else None
            return _known(uid, gid)
    return None


@contextmanager
def as_invoker() -> Iterator[None]:
    """While it lasts this thread opens and makes files with the rights of `invoker()`, and has no capability in effect.

    So the kernel decides what they may reach, and what is made is theirs. Other threads are not concerned, but a new
    one would be for good. Without such a user nothing changes. Raises OSError, UnclearInvoker.
    """
    user = None if getattr(_held, "user", None) else invoker()
    if user is None:
        yield
        return
    rights = _Rights()
    try:
        rights.take(user)
        _held.user = user
        yield
    finally:
        _held.user = None
        rights.give_back()


class _Rights:
    """Of this thread alone: libc would change groups in all of them, and the effective user as well."""

    def __init__(self) -> None:
        self._groups, self._gid = os.getgroups(), os.getegid()
        self._header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
        self._sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice 32 of them
        self._check(_libc.capget(self._header, self._sets))

    def take(self, user: Invoker) -> None:
        """Raises OSError."""
        self._set_groups(user.groups)
        self._set_ids(user.uid, user.gid)
        self._set_effective(0, 0)

    def give_back(self) -> None:
        """What there was before. Raises OSError."""
        self._set_effective(self._sets[0], self._sets[3])
        self._set_ids(0, self._gid)
        self._set_groups(tuple(self._groups))
        self._set_effective(self._sets[0], self._sets[3])  # a file system id of 0 has added some

    def _set_groups(self, groups: tuple[int, ...]) -> None:
        if sorted(groups) == sorted(os.getgroups()):
            return
        number = _SETGROUPS.get(os.uname().machine, _GENERIC_SETGROUPS)
        array = (ctypes.c_uint32 * len(groups))(*groups)
        self._check(_libc.syscall(number, len(groups), array))

    def _set_ids(self, uid: int, gid: int) -> None:
        for call, number in ((_libc.setfsgid, gid), (_libc.setfsuid, uid)):
            # They answer with what there was, whether they succeed or not.
            call(ctypes.c_uint32(number))
            if call(ctypes.c_uint32(_NO_ID)) & _NO_ID != number:
                raise OSError(1, f"cannot act as user {uid}")

    def _set_effective(self, low: int, high: int) -> None:
        sets = (ctypes.c_uint32 * 6)(*self._sets)
        sets[0], sets[3] = low, high
        self._check(_libc.capset(self._header, sets))

    def _check(self, result: int) -> None:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def _number(text: str) -> int | None:
    # Longer ones are no numbers to Python.
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < _NO_ID else None


def _number_of(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return None


def _known(uid: int, gid: int | None) -> Invoker:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Invoker(uid, gid or _NOGROUP, (gid or _NOGROUP,))
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    # The group that they had changed to (newgrp), if it is one of theirs.
    gid = gid if gid in groups else entry.pw_gid
    return Invoker(uid, gid, groups, entry.pw_name, entry.pw_dir, entry.pw_shell)


def _check_above(variable: str, said: str, uid: int) -> None:
    """Raises UnclearInvoker if the nearest process above us that is not root's is another user's."""
    pid = os.getppid()
    for _ in range(_MOST_ABOVE):
        above, user = _parent(pid)
        if user:
            if user != uid:
                raise UnclearInvoker(
                    f"{variable}={said} is not user {user}, who started this: unset it, or become root by `su -`"
                )
            return
        if above <= 0:
            return
        pid = above


def _parent(pid: int) -> tuple[int, int]:
    """The parent of a process and its real user; 0 for what cannot be told."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            said = dict(line.split(b":", 1) for line in file.read().splitlines() if b":" in line)
        return int(said[b"PPid"]), int(said[b"Uid"].split()[0])
    except (OSError, KeyError, ValueError, IndexError):
        return 0, 0

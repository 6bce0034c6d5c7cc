"""The child process that turns addresses into symbols, with bcc's symbol cache. Nothing imports it: symbols.py runs it,
through bcc_child.py, with any Python from 3.8 on that has bcc: it needs nothing but the standard library.

It reads requests and writes answers, a JSON object a line each, until its input ends:
`{"pid", "addresses"}` (a pid of 0: kernel addresses) gives `{"symbols": [[name, module, offset], ...], "known"}`;
`known` is false if nothing can be read of that process. Without addresses the process is only remembered, so that
there are modules and offsets when it is gone.

Which files are opened is what the process wants: its maps name them, and in mounts of its own they may be links to
anything. So they are opened with the rights of its user (setfsuid(2)), which gains nothing by it, and where devices and
the host's pipes are out of reach of root's processes in containers, too: to open a watchdog means to start it.

Anybody can write a /tmp/perf-PID.map for anybody's process. Names out of one are taken if it belongs to root or to the
user of the process, as perf does it; and bcc, which opens it whatever it is, must not wait for ever in a pipe's open().
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import signal
import stat
import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

KERNEL = 0
MOST_PROCESSES = 128
"""Of so many the symbols are kept, those that were asked for last."""

_MOST_MEMORY = 2 << 30
_NICE = 10
_NOBODY = 65534
_OPEN_S = 0.5
"""How long an open() may wait."""

_MOST_NAME = 4096
"""Bytes of a symbol's name: a file may hold one of a gigabyte."""

_PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x20000, 1 << 14, 1 << 18  # sched.h, mount.h
_HIDDEN = (b"/dev", b"/run")
_CAPABILITY_VERSION = 0x20080522  # linux/capability.h: _LINUX_CAPABILITY_VERSION_3
_READ_ANYTHING = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_libc = ctypes.CDLL(None, use_errno=True)
_PERF_MAP = re.compile(r"/perf-\d+\.map$")


class Caches:
    """bcc's caches by pid, the one used last at the end."""

    def __init__(self, bcc: Any) -> None:
        self._bcc = bcc
        bcc.lib.bcc_free_symcache.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self._caches: OrderedDict[int, Any] = OrderedDict()
        self._users: dict[int, tuple[int, int]] = {}

    def of(self, pid: int) -> Any:
        """The cache of a process, or of the kernel; `None` if there is nothing to be read."""
        if pid not in self._caches:
            if pid != KERNEL and not _has_maps(pid):
                return None
            # The kernel's symbols stay: it is asked about all the time.
            while len(self._caches) > MOST_PROCESSES:
                oldest = next(known for known in self._caches if known != KERNEL)
                self._bcc.lib.bcc_free_symcache(self._caches.pop(oldest).cache, oldest)
                self._users.pop(oldest, None)
            self._caches[pid] = self._bcc.SymbolCache(-1 if pid == KERNEL else pid)
        self._caches.move_to_end(pid)
        return self._caches[pid]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What is said to a request."""
        pid, addresses = request["pid"], request["addresses"]
        # Each time: it may have become another user's, and its number another process's.
        user = (0, 0) if pid == KERNEL else _user_of(pid)
        with _rights_of(*user or (_NOBODY, _NOBODY)):
            cache = self.of(pid)
            if cache is None:
                return {"symbols": [["", "", address] for address in addresses], "known": False}
            owner, _ = self._users[pid] = user or self._users.get(pid, (_NOBODY, _NOBODY))
            found = [_symbol(cache, address, pid == KERNEL, owner) for address in addresses]
        return {"symbols": found, "known": True}


@contextmanager
def _rights_of(user: int, group: int) -> Iterator[None]:
    """While it lasts, files are opened with the rights of that user, if we may have them: by this thread alone."""
    header, held = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    _libc.capget(header, held)
    _libc.setfsgid(group)
    _libc.setfsuid(user)
    try:
        if user:
            # setfsuid takes them from root alone, and not where securebits say no_setuid_fixup.
            fewer = (ctypes.c_uint32 * 6)(held[0] & ~_READ_ANYTHING, *held[1:])
            if _libc.capset(header, fewer):
                raise OSError(ctypes.get_errno(), "cannot give up capabilities")
        # It tells no errors; a number that cannot be gives the one that holds.
        if os.geteuid() == 0 and _libc.setfsuid(-1) != user:
            raise OSError(f"cannot open files as user {user}")
        yield
    finally:
        _libc.setfsuid(os.geteuid())
        _libc.setfsgid(os.getegid())
        _libc.capset(header, held)


def _leave_devices() -> None:
    """Hides devices and pipes from this process, as far as it may: no path of ours leads to them then."""
    with suppress(OSError):
        os.setgroups([])
    if _libc.unshare(_CLONE_NEWNS) or _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None):
        return
    for path in _HIDDEN:
        _libc.mount(b"none", path, b"tmpfs", 0, b"size=64k,mode=755")


def _has_maps(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return bool(file.read(1))
    except OSError:
        return False


def _user_of(pid: int) -> tuple[int, int] | None:
    """The effective user and group of a process; `None` if it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            found = {line[:4]: int(line.split()[2]) for line in file if line.startswith((b"Uid:", b"Gid:"))}
        return found[b"Uid:"], found[b"Gid:"]
    except (OSError, KeyError):
        return None


def is_trusted(path: str, user: int) -> bool:
    """Whether a perf map is a file of root's or of a user's own, and no way to another one."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid in (0, user)


def _symbol(cache: Any, address: int, kernel: bool, user: int) -> tuple[str, str, int]:
    name, offset, module = cache.resolve(address, not kernel)
    place = (module or b"").decode("utf-8", "replace")
    if _PERF_MAP.search(place) and not is_trusted(place, user):
        return "", "", address
    if kernel:
        place = "[kernel]" if place in ("", "kernel") else place
    return (name or b"")[:_MOST_NAME].decode("utf-8", "replace"), place, offset


def main(bcc: Any) -> None:
    """Answers until there are no more requests; never returns."""
    # Whatever it does just now: it ends with the thread that asks.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # A signal with a handler ends an open() that waits.
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, _OPEN_S, _OPEN_S)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)  # what is measured comes first
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    _leave_devices()
    caches = Caches(bcc)
    for line in sys.stdin.buffer:
        answer = json.dumps(caches.answer(json.loads(line)))
        try:
            sys.stdout.buffer.write(answer.encode() + b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            break
    os._exit(0)

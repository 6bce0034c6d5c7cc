"""The child process that turns addresses into symbols, with bcc's symbol cache. Nothing imports it: symbols.py runs it.

It reads requests and writes answers, a JSON object a line each, until its input ends:
`{"pid", "addresses"}` (a pid of 0: kernel addresses) gives `{"symbols": [[name, module, offset], ...], "known"}`;
`known` is false if nothing can be read of that process. Without addresses the process is only remembered, so that
there are modules and offsets when it is gone.

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
from contextlib import suppress
from typing import Any

KERNEL = 0
MOST_PROCESSES = 128
"""Of so many the symbols are kept, those that were asked for last."""

_MOST_MEMORY = 2 << 30
_NICE = 10
_OPEN_S = 0.5
"""How long an open() may wait."""

_PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
_PERF_MAP = re.compile(r"/perf-\d+\.map$")


class Caches:
    """bcc's caches by pid, the one used last at the end."""

    def __init__(self, bcc: Any) -> None:
        self._bcc = bcc
        bcc.lib.bcc_free_symcache.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self._caches: OrderedDict[int, Any] = OrderedDict()
        self._users: dict[int, int] = {}

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
            self._users[pid] = _user_of(pid)
            self._caches[pid] = self._bcc.SymbolCache(-1 if pid == KERNEL else pid)
        self._caches.move_to_end(pid)
        return self._caches[pid]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What is said to a request."""
        pid, addresses = request["pid"], request["addresses"]
        cache = self.of(pid)
        if cache is None:
            return {"symbols": [["", "", address] for address in addresses], "known": False}
        user = self._users[pid]
        return {"symbols": [_symbol(cache, address, pid == KERNEL, user) for address in addresses], "known": True}


def _has_maps(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return bool(file.read(1))
    except OSError:
        return False


def _user_of(pid: int) -> int:
    """The effective user of a process; root if it cannot be told."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return next(int(line.split()[2]) for line in file if line.startswith(b"Uid:"))
    except (OSError, StopIteration):
        return 0


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
    return (name or b"").decode("utf-8", "replace"), place, offset


def main() -> None:
    """Answers until there are no more requests. Exit status 3: there is no bcc."""
    # Whatever it does just now: it ends with the thread that asks.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # A signal with a handler ends an open() that waits.
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, _OPEN_S, _OPEN_S)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)  # what is measured comes first
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    try:
        import bcc
    except ImportError:
        raise SystemExit(3) from None
    caches = Caches(bcc)
    for line in sys.stdin.buffer:
        answer = json.dumps(caches.answer(json.loads(line)))
        try:
            sys.stdout.buffer.write(answer.encode() + b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            break
    os._exit(0)

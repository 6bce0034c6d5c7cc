"""Becomes another user for good, without any capability, and then a command: `UID GID GROUPS GATE COMMAND...`.

Runs by its path and needs nothing of ours. Without a UID it only gives the capabilities up (those that are ambient
would be the command's as well); with `KEEP` it keeps them. A status of 127: the command cannot be run, and why is on
standard error.

`GATE`: the number of a socket at which it waits, all done but the start itself: it says `READY`, and begins when it is
sent anything. What goes wrong is said there, with a status of 126 for what is there and cannot be run, as in a shell.
At the end of the socket it ends, and has never begun.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys

_PR_SET_NAME, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 15, 47, 4  # include/uapi/linux/prctl.h
_CAPABILITY_VERSION = 0x20080522  # include/uapi/linux/capability.h

NOT_THERE, NOT_RUN = 127, 126
"""Exit statuses."""

KEEP = "keep"
READY = b"ready"

_HEARD = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
"""They wait until Python's own answers to them are gone: who starts it has blocked them."""


def main() -> None:
    """Never returns."""
    uid, gid, groups, gate, *words = sys.argv[1:]
    try:
        if uid != KEEP:
            _become(uid, gid, groups)
        if gate:
            _wait(int(gate), words)
        else:
            os.execvpe(words[0], words, os.environ)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        if gate:
            os.write(int(gate), why.encode())
            os._exit(NOT_THERE if error.errno in (errno.ENOENT, errno.ENOTDIR) else NOT_RUN)
        print(why, file=sys.stderr, flush=True)
        os._exit(NOT_THERE)


def _become(uid: str, gid: str, groups: str) -> None:
    """Raises OSError where anything of it is refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)  # kernels before 4.3 have none
    if uid:
        os.setgroups([int(group) for group in groups.split(",")])
        os.setresgid(int(gid), int(gid), int(gid))
        os.setresuid(int(uid), int(uid), int(uid))
    # Also where securebits keep them through the change of user, and those that are inheritable.
    if libc.capset((ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "the capabilities could not be given up")


def _wait(gate: int, words: list[str]) -> None:
    """Has everything ready, and starts the command when it is told to. Raises OSError."""
    path = _file_of(words[0])
    # What the start itself does is told under the command's name.
    ctypes.CDLL(None).prctl(_PR_SET_NAME, os.fsencode(os.path.basename(path)), 0, 0, 0)
    os.set_inheritable(gate, False)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, and stays so
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
    os.write(gate, READY)
    if not os.read(gate, 1):
        os._exit(0)
    os.execve(path, words, os.environ)


def _file_of(name: str) -> str:
    """The file of a command, as execvp(3) finds it. Raises OSError."""
    places = [""] if "/" in name else os.environ.get("PATH", os.defpath).split(":")
    found = [path for place in places if os.path.exists(path := os.path.join(place, name))]
    for path in found:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    number = errno.EACCES if found else errno.ENOENT
    raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()

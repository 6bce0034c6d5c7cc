"""Becomes another user for good, without any capability, and then a command: `UID GID GROUPS COMMAND...`.

Runs by its path and needs nothing of ours. Without a UID it only gives the capabilities up (those that are ambient
would be the command's as well). A status of 127: the command cannot be run, and why is on standard error.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4  # include/uapi/linux/prctl.h
_CAPABILITY_VERSION = 0x20080522  # include/uapi/linux/capability.h

NOT_RUN = 127
"""The exit status, as a shell has it."""


def main() -> None:
    """Never returns."""
    uid, gid, groups, *words = sys.argv[1:]
    try:
        _become(uid, gid, groups)
        os.execvpe(words[0], words, os.environ)
    except OSError as error:
        print((error.strerror or str(error)).lower(), file=sys.stderr, flush=True)
        os._exit(NOT_RUN)


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


if __name__ == "__main__":
    main()

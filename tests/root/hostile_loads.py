"""Tasks with hostile names, in a group with one, and tasks with numbers that nobody else has; run as a program."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

CLONE3 = 435
LIBC = ctypes.CDLL(None, use_errno=True)


def spin(cpu: int) -> None:
    """Takes a CPU in pieces, so that others of the same CPU wait."""
    os.sched_setaffinity(0, {cpu})
    while True:
        end = time.monotonic() + 0.004
        while time.monotonic() < end:
            pass
        time.sleep(0.002)


def named(names: list[bytes], cpu: int) -> list[int]:
    """A child for each name; their tids."""
    tids = []
    for name in names:
        tids.append(os.fork())
        if not tids[-1]:
            LIBC.prctl(15, ctypes.create_string_buffer(name))  # PR_SET_NAME
            spin(cpu)
    return tids


def numbered(tids: list[int], cpu: int) -> list[int]:
    """A busy child with each number: clone3(2) with `set_tid`."""
    for tid in tids:
        numbers = (ctypes.c_int32 * 1)(tid)
        words = [0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(numbers), 1, 0]
        arguments = (ctypes.c_uint64 * 11)(*words)
        found = LIBC.syscall(CLONE3, ctypes.byref(arguments), ctypes.sizeof(arguments))
        if not found:
            os.sched_setaffinity(0, {cpu})
            while True:
                pass
        if found != tid:
            sys.exit(f"clone3: {os.strerror(ctypes.get_errno())}")
    return tids


def main() -> None:
    """`names CPU NAME-IN-HEX...` or `tids CPU TID...`: says when they run, and ends them with its input."""
    kind, cpu, *words = sys.argv[1:]
    os.setpgid(0, 0)
    if kind == "names":
        children = named([bytes.fromhex(word) for word in words], int(cpu))
    else:
        children = numbered(list(map(int, words)), int(cpu))
    print("ready", flush=True)
    sys.stdin.read()
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)  # their numbers are free again: not every pid 1 reaps orphans


if __name__ == "__main__":
    main()

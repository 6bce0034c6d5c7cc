"""Gives up all that a process could lose, before it reads what anybody has made.

Afterwards it is nobody's, has no capability in any set and can get none, sees an empty root and no network (what of it
the kernel grants: without root it has the rights of whoever runs schedtop, and those alone), and may only read and
write what is open, take memory and end: seccomp refuses all other system calls.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
from contextlib import suppress

NOBODY = 65534

_libc = ctypes.CDLL(None, use_errno=True)

# include/uapi/linux: sched.h, mount.h, prctl.h, capability.h
_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWNET = 0x20000, 0x08000000, 0x40000000
_MS_REC, _MS_PRIVATE = 1 << 14, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
_CAPABILITY_VERSION, _MOST_CAPABILITIES = 0x20080522, 64
_SECCOMP_MODE_FILTER = 2

_ALLOWED = {
    # read write close fstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn pread64
    # sched_yield mremap madvise getpid sendto recvfrom sendmsg recvmsg exit fcntl sigaltstack gettid futex
    # restart_syscall clock_gettime exit_group tgkill newfstatat getrandom
    "x86_64": (
        0xC000003E,
        (0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 24, 25, 28, 39, 44, 45, 46, 47, 60, 72, 131, 186, 202, 219,
         228, 231, 234, 262, 318),
    ),
    "aarch64": (
        0xC00000B7,
        (63, 64, 57, 80, 73, 62, 222, 226, 215, 214, 134, 135, 139, 67, 124, 216, 233, 172, 206, 207, 211, 212, 93, 25,
         132, 178, 98, 128, 113, 94, 131, 79, 278),
    ),
}  # fmt: skip
"""By machine: its number for seccomp (AUDIT_ARCH_*, linux/audit.h), and the calls that are let through."""


def give_up_everything(memory_bytes: int, files: int) -> None:
    """For good. Raises OSError where what could be given up could not be: then nothing may be read."""
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _empty_root()
    for kind, most in (
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_NOFILE, files),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))
    for capability in range(_MOST_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    with suppress(PermissionError):
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if _libc.capset(header, none) or 0 in (*os.getresuid(), *os.getresgid()):
        raise OSError(ctypes.get_errno(), "the rights of root could not be given up")
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    end_with_parent()  # behind the change of user, which takes it away
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")
    _filter_calls()


def end_with_parent() -> None:
    """This process is killed when the thread that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _empty_root() -> None:
    """What root may do; whoever is not root sees what they may see anyway, and is stopped by the filter."""
    if _libc.unshare(_CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWNET):
        return
    private = not _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    if private and not _libc.mount(b"none", b"/proc", b"tmpfs", 0, b"size=4k,nr_inodes=1,mode=555"):
        os.chroot("/proc")
        os.chdir("/")


def _filter_calls() -> None:
    """seccomp(2): a classic BPF program over struct seccomp_data (nr, arch, ...). Other machines go without."""
    try:
        machine, allowed = _ALLOWED[os.uname().machine]
    except KeyError:
        return
    load, equal, give = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    kill, refuse, allow = 0x80000000, 0x00050001, 0x7FFF0000  # KILL_PROCESS, ERRNO|EPERM, ALLOW
    steps = [(load, 0, 0, 4), (equal, 1, 0, machine), (give, 0, 0, kill), (load, 0, 0, 0)]
    count = len(allowed)
    steps += [(equal, count - index, 0, number) for index, number in enumerate(allowed)]
    steps += [(give, 0, 0, refuse), (give, 0, 0, allow)]
    program = b"".join(struct.pack("=HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(program)
    whole = struct.pack("@HP", len(steps), ctypes.addressof(held))
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.create_string_buffer(whole), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")

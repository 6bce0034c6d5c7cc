"""Where arguments of system calls, open files and sockets lie, as compiler flags (bpf/descriptor.h, socket.h)."""

from __future__ import annotations

from schedtop.sources.kernel.btf import Btf, BtfError
from schedtop.sources.kernel.offsets import offset_flags

# The first three arguments of a system call in pt_regs, and the flag of thread_info.status of a 32-bit call.
_ARGUMENTS = {"x86_64": ("di", "si", "dx"), "aarch64": ("regs", "regs", "regs")}
_TS_COMPAT = 2  # arch/x86/include/asm/thread_info.h


def file_flags(btf: Btf, unavailable: dict[str, str]) -> list[str]:
    """What a descriptor of a task stands for; `unavailable` gets why that cannot be told."""
    places = {
        "TASK_FILES": ("task_struct", "files"),
        "FILES_FDT": ("files_struct", "fdt"),
        "FDTABLE_FD": ("fdtable", "fd"),
        "FDTABLE_MAX": ("fdtable", "max_fds"),
        "FILE_INODE": ("file", "f_inode"),
        "INODE_MODE": ("inode", "i_mode"),
        "INODE_DEVICE": ("inode", "i_rdev"),
    }
    flags = offset_flags(btf, **places)
    if not flags:
        unavailable["io kinds"] = "the fields of open files are not in this kernel's BTF"
    return flags


def device_flags(btf: Btf, unavailable: dict[str, str]) -> list[str]:
    """Which device a file lies on; `unavailable` gets why that cannot be told."""
    flags = offset_flags(btf, INODE_SUPER=("inode", "i_sb"), SUPER_DEVICE=("super_block", "s_dev"))
    if not flags:
        unavailable["devices"] = "the fields of file systems are not in this kernel's BTF"
    return flags


def argument_flags(btf: Btf, machine: str, unavailable: dict[str, str]) -> list[str]:
    """The arguments of a system call, and whether it is one of 32 bits; `unavailable` gets why they cannot be told."""
    flags = []
    if machine in _ARGUMENTS:
        names = _ARGUMENTS[machine]
        try:
            at = [
                btf.offset("pt_regs", name) if btf.has_field("pt_regs", name) else btf.offset("user_pt_regs", name)
                for name in names
            ]
        except BtfError as error:
            unavailable["io"] = str(error)
            return []
        if len(set(names)) == 1:  # an array
            at = [at[0] + 8 * index for index in range(3)]
        flags = [f"-DREGS_ARGUMENT_{index}_OFFSET={value}" for index, value in enumerate(at)]
    else:
        unavailable["io"] = f"how system calls take their arguments is not known for {machine}"
    if machine == "x86_64" and btf.has_field("task_struct", "thread_info.status"):
        flags += [f"-DTASK_STATUS_OFFSET={btf.offset('task_struct', 'thread_info.status')}"]
        flags += [f"-DCOMPAT_STATUS={_TS_COMPAT}"]
    return flags


def number_flags(btf: Btf, machine: str) -> list[str]:
    """Where the number of a system call lies in its registers; none where that is not known."""
    name = {"x86_64": "orig_ax", "aarch64": "syscallno"}.get(machine, "")
    return offset_flags(btf, REGS_NUMBER=("pt_regs", name)) if name else []


def socket_flags(btf: Btf) -> list[str]:
    """The fields of sockets, none where one is missing."""
    places = {
        "SOCK_FAMILY": ("sock", "__sk_common.skc_family"),
        "SOCK_PROTOCOL": ("sock", "sk_protocol"),
        "SOCK_LOCAL_PORT": ("sock", "__sk_common.skc_num"),
        "SOCK_REMOTE_PORT": ("sock", "__sk_common.skc_dport"),
        "SOCK_LOCAL": ("sock", "__sk_common.skc_rcv_saddr"),
        "SOCK_REMOTE": ("sock", "__sk_common.skc_daddr"),
        "SOCK_SOCKET": ("sock", "sk_socket"),
        "SOCKET_SOCK": ("socket", "sk"),
        "SOCKET_INODE": ("socket_alloc", "vfs_inode"),
        "INODE_NUMBER": ("inode", "i_ino"),
    }
    sixes = {
        "SOCK_LOCAL6": ("sock", "__sk_common.skc_v6_rcv_saddr"),
        "SOCK_REMOTE6": ("sock", "__sk_common.skc_v6_daddr"),
    }
    # The port in the order of the network outlives the binding.
    source = {"SOCK_SOURCE_PORT": ("inet_sock", "inet_sport")}
    flags = offset_flags(btf, **places)
    return flags + offset_flags(btf, **sixes) + offset_flags(btf, **source) if flags else []

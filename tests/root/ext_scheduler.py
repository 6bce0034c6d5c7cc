"""The smallest scheduler of sched_ext: a name and no program, so that the kernel's defaults hold.

Its tasks are in one queue that all CPUs are served from (the global dispatch queue). No package of Debian, PyPI or npm
has a scheduler.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from schedtop.sources.kernel.bpf_syscall import NUMBERS
from schedtop.sources.kernel.btf import Btf

NAME = "schedtop_test"

_MAP_CREATE, _MAP_UPDATE, _BTF_LOAD, _LINK_CREATE = 0, 2, 18, 28
_STRUCT_OPS_MAP, _STRUCT_OPS_LINK, _F_LINK = 26, 44, 1 << 13
_VALUE, _BYTES = "bpf_struct_ops_sched_ext_ops", 160
_SWITCH_PARTIAL = 1 << 3
"""SCX_OPS_SWITCH_PARTIAL of kernel/sched/ext.c."""
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def loaded(*, partial: bool = False) -> Iterator[None]:
    """It is loaded as long as the block; `partial`: for tasks of policy SCHED_EXT alone. Raises OSError."""
    btf = Btf.of_kernel()
    type_id = btf.type_id(_VALUE)
    value = bytearray(btf._words[btf._at[type_id] + 2])
    at = btf.offset(_VALUE, "data") + btf.offset("sched_ext_ops", "name")
    value[at : at + len(NAME)] = NAME.encode()
    at = btf.offset(_VALUE, "data") + btf.offset("sched_ext_ops", "flags")
    value[at : at + 8] = struct.pack("<Q", _SWITCH_PARTIAL if partial else 0)
    with ExitStack() as stack:

        def kept(descriptor: int) -> int:
            stack.callback(os.close, descriptor)
            return descriptor

        types = kept(_own_types())
        start = struct.pack("<7I16s", _STRUCT_OPS_MAP, 4, len(value), 1, _F_LINK, 0, 0, b"ext")
        operations = kept(_bpf(_MAP_CREATE, start + struct.pack("<5I", 0, types, 0, 0, type_id)))
        key, data = ctypes.create_string_buffer(4), ctypes.create_string_buffer(bytes(value), len(value))
        _bpf(_MAP_UPDATE, struct.pack("<IxxxxQQQ", operations, ctypes.addressof(key), ctypes.addressof(data), 0))
        kept(_bpf(_LINK_CREATE, struct.pack("<4I", operations, 0, _STRUCT_OPS_LINK, 0)))
        yield


def _own_types() -> int:
    """Types of our own, one of them, which such a map must have beside the kernel's."""
    types, names = struct.pack("<4I", 1, 1 << 24, 4, 1 << 24 | 32), b"\0int\0"
    blob = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(names)) + types + names
    data = ctypes.create_string_buffer(blob, len(blob))
    return _bpf(_BTF_LOAD, struct.pack("<QQI", ctypes.addressof(data), 0, len(blob)))


def _bpf(command: int, attr: bytes) -> int:
    buffer = ctypes.create_string_buffer(attr, _BYTES)
    arguments = (NUMBERS[os.uname().machine][0], command, ctypes.addressof(buffer), _BYTES)
    result = int(_libc.syscall(*map(ctypes.c_long, arguments)))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return result

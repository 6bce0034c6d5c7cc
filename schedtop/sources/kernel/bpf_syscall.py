"""The few calls of bpf(2) and perf_event_open(2) that loading a compiled program takes.

Layouts: union bpf_attr and struct perf_event_attr of include/uapi/linux/bpf.h and perf_event.h. All raise OSError.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import resource
import struct
from collections.abc import Callable

from schedtop.base.breath import keep_on

PROG_TRACEPOINT, PROG_PERF_EVENT, PROG_TRACING = 5, 7, 26
TYPED_TRACEPOINT, FUNCTION_ENTRY, FUNCTION_EXIT, ITERATOR = 23, 24, 25, 28
"""Where a TRACING program is attached (`expected_attach_type`): BPF_TRACE_RAW_TP, ..._FENTRY, ..._FEXIT, ..._ITER."""

_MAP_CREATE, _MAP_LOOKUP, _MAP_UPDATE, _MAP_DELETE, _PROG_LOAD = 0, 1, 2, 3, 5
_RAW_TRACEPOINT_OPEN, _MAP_LOOKUP_BATCH, _MAP_DELETE_BATCH = 17, 24, 27
_MAP_TAKE = 21  # BPF_MAP_LOOKUP_AND_DELETE_ELEM
_NO_EXIST = 1
AT_ONCE = 512
"""Entries of a hash that one call copies: 0.1 ms. Of 16,384 a call took 4 ms, and kept the CPU so long."""

_ENOTSUPP = 524  # include/linux/errno.h
_OBJ_GET_INFO, _LINK_CREATE, _ENABLE_STATS, _ITER_CREATE = 15, 28, 32, 33
_ITERATOR_OF_MAP, _ITERATOR_OF_PROCESS = struct.Struct("<I"), struct.Struct("<2I")
# Members of union bpf_iter_link_info: the kernel takes a shorter one for the rest being 0.
_PROG_INFO_BYTES, _RUN_TIME_OFFSET = 220, 192
_RUN_NUMBERS = struct.Struct("<3QI")  # run_time_ns, run_cnt, recursion_misses, verified_insns
_ADDRESSES = struct.Struct("<2Q")
_ATTR_BYTES = 144
# (bpf, perf_event_open) of include/uapi/asm-generic/unistd.h and the tables of each architecture.
NUMBERS = {
    "x86_64": (321, 298),
    "aarch64": (280, 241),
    "riscv64": (280, 241),
    "ppc64le": (361, 319),
    "s390x": (351, 331),
}
_PERF_TYPE_SOFTWARE, _PERF_TYPE_TRACEPOINT, _PERF_COUNT_SW_CPU_CLOCK = 1, 2, 0
_PERF_ATTR_BYTES, _PERF_FLAG_CLOEXEC, _PERF_ATTR_FREQUENCY = 112, 8, 1 << 10
_IOC_ENABLE, _IOC_SET_BPF = 0x2400, 0x40042408

_libc = ctypes.CDLL(None, use_errno=True)


def create_map(kind: int, key_bytes: int, value_bytes: int, entries: int, flags: int, name: str) -> int:
    """A new map's file descriptor."""
    attr = struct.pack("<7I16s", kind, key_bytes, value_bytes, entries, flags, 0, 0, name.encode()[:15])
    try:
        return _bpf(_MAP_CREATE, attr)
    except PermissionError:
        # Before 5.11 maps count against RLIMIT_MEMLOCK, which is small; without the right to raise it there is no map.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return _bpf(_MAP_CREATE, attr)


def delete_element(map_fd: int, key: bytes) -> None:
    """Takes an element out of a hash; one that is not there is no error."""
    buffer = ctypes.create_string_buffer(key, len(key))
    with contextlib.suppress(FileNotFoundError):
        _bpf(_MAP_DELETE, struct.pack("<IxxxxQ", map_fd, ctypes.addressof(buffer)))


def element(map_fd: int, key: bytes, value_bytes: int) -> bytes | None:
    """The value of a key, `None` without one."""
    key_buffer, value = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value_bytes)
    try:
        _bpf(_MAP_LOOKUP, struct.pack("<IxxxxQQ", map_fd, ctypes.addressof(key_buffer), ctypes.addressof(value)))
    except FileNotFoundError:
        return None
    return value.raw


def take_element(map_fd: int, key: bytes, value_bytes: int) -> bytes | None:
    """Takes an element out of a hash; its value, `None`: there is none. Before 5.14 in two steps."""
    key_buffer, value = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value_bytes)
    attr = struct.pack("<IxxxxQQ", map_fd, ctypes.addressof(key_buffer), ctypes.addressof(value))
    try:
        _bpf(_MAP_TAKE, attr)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in (errno.EINVAL, _ENOTSUPP):
            raise
        found = element(map_fd, key, value_bytes)
        delete_element(map_fd, key)
        return found
    return value.raw


def add_element(map_fd: int, key: bytes, value: bytes) -> bool:
    """Puts an element into a hash; false: one is there already, and stays. OSError (E2BIG) if there is no room."""
    buffers = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value, len(value))
    addresses = (ctypes.addressof(buffer) for buffer in buffers)
    try:
        _bpf(_MAP_UPDATE, struct.pack("<IxxxxQQQ", map_fd, *addresses, _NO_EXIST))
    except FileExistsError:
        return False
    return True


def delete_elements(map_fd: int, keys: bytes, key_bytes: int) -> None:
    """Takes elements out of a hash; their keys come one after the other (kernel 5.6 and later)."""
    buffer = ctypes.create_string_buffer(keys, max(1, len(keys)))
    attr = bytearray(_ATTR_BYTES)
    struct.pack_into("<4Q2I", attr, 0, 0, 0, ctypes.addressof(buffer), 0, len(keys) // key_bytes, map_fd)
    if keys:
        with contextlib.suppress(FileNotFoundError):
            _bpf(_MAP_DELETE_BATCH, attr)


def all_values(map_fd: int, key_bytes: int, value_bytes: int, entries: int) -> bytes:
    """The values of a hash, one after the other (kernel 5.6 and later)."""
    keys = ctypes.create_string_buffer(key_bytes * entries)
    values = ctypes.create_string_buffer(value_bytes * entries)
    places = ctypes.addressof(keys), ctypes.addressof(values)
    count = lookup_batch(map_fd, *places, (key_bytes, value_bytes), entries)
    return ctypes.string_at(values, count * value_bytes)


def lookup_batch(
    map_fd: int,
    keys_at: int,
    values_at: int,
    sizes: tuple[int, int],
    entries: int,
    breathe: Callable[[], object] = keep_on,
) -> int:
    """Copies the keys and values of a hash to memory with room for `entries`; how many (kernel 5.6 and later).

    `sizes`: of a key and of a value. `breathe` is called now and then: the kernel copies all that is asked for at once.
    """
    position = ctypes.create_string_buffer(8)
    begun = found = 0
    at_once = AT_ONCE
    while found < entries:
        attr = bytearray(_ATTR_BYTES)
        places = (keys_at + found * sizes[0], values_at + found * sizes[1])
        count = min(at_once, entries - found)
        struct.pack_into("<4Q2I2Q", attr, 0, begun, ctypes.addressof(position), *places, count, map_fd, 0, 0)
        try:
            _bpf(_MAP_LOOKUP_BATCH, attr)
        except FileNotFoundError:  # the end of the map was reached
            return found + _count_of(attr)
        except OSError as error:
            # More are in one bucket than were asked for.
            if error.errno != errno.ENOSPC:
                raise
            if count < at_once:
                return found  # a map that changes meanwhile may have had more than there is room for
            at_once *= 2
            continue
        found += _count_of(attr)
        begun = ctypes.addressof(position)
        breathe()
    return found


def _count_of(attr: bytearray) -> int:
    count: int = struct.unpack_from("<I", attr, 32)[0]
    return count


def load_program(
    kind: int, name: str, instructions: bytes, attach_type: int = 0, attach_btf_id: int = 0, log_bytes: int = 0
) -> int:
    """Loads a program; its file descriptor. `attach_type` and `attach_btf_id` are for PROG_TRACING alone.

    A refusal is a ProgramRefused, which holds what the verifier said, if `log_bytes` are given for that.
    """
    code = ctypes.create_string_buffer(instructions, len(instructions))
    licence = ctypes.create_string_buffer(b"GPL")
    log = ctypes.create_string_buffer(max(log_bytes, 1))
    attr = bytearray(_ATTR_BYTES)
    log_place = (1, log_bytes, ctypes.addressof(log)) if log_bytes else (0, 0, 0)
    struct.pack_into(
        "<2I2Q2IQ2I16s", attr, 0, kind, len(instructions) // 8, ctypes.addressof(code), ctypes.addressof(licence),
        *log_place, 0, 0, name.encode()[:15],
    )  # fmt: skip
    struct.pack_into("<I", attr, 68, attach_type)
    struct.pack_into("<I", attr, 108, attach_btf_id)
    try:
        return _bpf(_PROG_LOAD, attr)
    except OSError as error:
        raise ProgramRefused(error.errno, error.strerror, log.value) from None


class ProgramRefused(OSError):
    """The kernel does not load a program; `verifier_log` says why, if it was asked for."""

    def __init__(self, number: int | None, reason: str | None, verifier_log: bytes) -> None:
        super().__init__(number, reason)
        self.verifier_log = verifier_log


def enable_stats() -> int:
    """Has the kernel time all BPF programs while the descriptor is open (kernel 5.8 and later)."""
    return _bpf(_ENABLE_STATS, struct.pack("<I", 0))


class Prepared:
    """A call of bpf(2) that is made again and again: its arguments are put together once."""

    def __init__(self, command: int, attr: bytes) -> None:
        self.attr = ctypes.create_string_buffer(attr, _ATTR_BYTES)
        numbers = (_number()[0], command, ctypes.addressof(self.attr), _ATTR_BYTES)
        self._arguments = tuple(map(ctypes.c_long, numbers))

    def __call__(self) -> None:
        """Raises OSError."""
        if _libc.syscall(*self._arguments) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class LookUp:
    """Copies values of a hash, of the key at one address to another one."""

    def __init__(self, map_fd: int) -> None:
        self._call = Prepared(_MAP_LOOKUP, struct.pack("<I", map_fd))

    def __call__(self, key_at: int, value_at: int) -> bool:
        """False: there is no such key. Raises OSError."""
        _ADDRESSES.pack_into(self._call.attr, 8, key_at, value_at)
        try:
            self._call()
        except FileNotFoundError:
            return False
        return True


class ProgramInfo:
    """What the kernel counts of a program (struct bpf_prog_info). Raises OSError."""

    def __init__(self, program_fd: int) -> None:
        self._info = ctypes.create_string_buffer(_PROG_INFO_BYTES)
        attr = struct.pack("<2IQ", program_fd, _PROG_INFO_BYTES, ctypes.addressof(self._info))
        self._ask = Prepared(_OBJ_GET_INFO, attr)

    def run_ns(self) -> int:
        """How long it has run while it was timed (`run_time_ns`)."""
        return self._numbers()[0]

    def misses(self) -> int:
        """How often it was not run, because a CPU was just running it (or, at a perf tracepoint, any program).

        `recursion_misses`; 0 before kernel 5.12, which does not count them.
        """
        return self._numbers()[2]

    def verified_instructions(self) -> int:
        """How many instructions the verifier has gone through; 0 before kernel 5.16, which does not tell."""
        return self._numbers()[3]

    def _numbers(self) -> tuple[int, int, int, int]:
        # What the last call has left here would be taken for a question.
        ctypes.memset(self._info, 0, _PROG_INFO_BYTES)
        self._ask()
        return _RUN_NUMBERS.unpack_from(self._info, _RUN_TIME_OFFSET)


def attach_tracing(program_fd: int) -> int:
    """Attaches a TRACING program where its `attach_btf_id` says; the descriptor that holds it there."""
    return _bpf(_RAW_TRACEPOINT_OPEN, struct.pack("<QIxxxx", 0, program_fd))


def attach_iterator(program_fd: int, map_fd: int | None = None, tgid: int = 0) -> int:
    """A link to what a TRACING program of type ITERATOR goes through, for `read_iterator` (kernel 5.8 and later).

    `map_fd`: of the map whose elements these are. `tgid`: of the process whose tasks these are (6.1 and later), 0: of
    all.
    """
    fields = struct.pack("<4I", program_fd, 0, ITERATOR, 0)
    if map_fd is None and not tgid:
        return _bpf(_LINK_CREATE, fields)
    of = _ITERATOR_OF_PROCESS.pack(0, tgid) if map_fd is None else _ITERATOR_OF_MAP.pack(map_fd)
    info = ctypes.create_string_buffer(of, len(of))
    return _bpf(_LINK_CREATE, fields + struct.pack("<QI", ctypes.addressof(info), len(of)))


def read_iterator(link_fd: int) -> bytes:
    """All that the program writes when it goes once through everything."""
    descriptor = _bpf(_ITER_CREATE, struct.pack("<2I", link_fd, 0))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        return file.readall()


def attach_perf_tracepoint(program_fd: int, tracepoint_id: int) -> int:
    """Attaches a TRACEPOINT program, for all CPUs; the descriptor that holds it there."""
    attr = bytearray(_PERF_ATTR_BYTES)
    # It only counts (a period of 0): no one would read samples.
    struct.pack_into("<2IQQ", attr, 0, _PERF_TYPE_TRACEPOINT, _PERF_ATTR_BYTES, tracepoint_id, 0)
    return _attach_perf_event(program_fd, attr, min(os.sched_getaffinity(0)))


def attach_clock(program_fd: int, hz: int, cpu: int) -> int:
    """Has a PERF_EVENT program run on a CPU, `hz` times a second of it; the descriptor that holds it there."""
    return _attach_perf_event(program_fd, _clock(hz), cpu)


def probe_clock(cpu: int) -> None:
    """Opens such a clock without a program, and closes it."""
    os.close(_open_perf_event(_clock(1), cpu))


def _clock(hz: int) -> bytearray:
    attr = bytearray(_PERF_ATTR_BYTES)
    struct.pack_into("<2IQQ", attr, 0, _PERF_TYPE_SOFTWARE, _PERF_ATTR_BYTES, _PERF_COUNT_SW_CPU_CLOCK, hz)
    struct.pack_into("<Q", attr, 40, _PERF_ATTR_FREQUENCY)
    return attr


def _attach_perf_event(program_fd: int, attr: bytearray, cpu: int) -> int:
    event = _open_perf_event(attr, cpu)
    try:
        fcntl.ioctl(event, _IOC_SET_BPF, program_fd)
        fcntl.ioctl(event, _IOC_ENABLE, 0)
    except OSError:
        os.close(event)
        raise
    return event


def _open_perf_event(attr: bytearray, cpu: int) -> int:
    return _call(_number()[1], ctypes.c_char_p(bytes(attr)), -1, cpu, -1, _PERF_FLAG_CLOEXEC)


def _bpf(command: int, attr: bytes | bytearray) -> int:
    buffer = ctypes.create_string_buffer(bytes(attr), _ATTR_BYTES)
    try:
        return _call(_number()[0], command, buffer, _ATTR_BYTES)
    finally:
        if isinstance(attr, bytearray):
            attr[:] = buffer.raw


def _number() -> tuple[int, int]:
    try:
        return NUMBERS[platform.machine()]
    except KeyError:
        raise OSError(errno.ENOSYS, f"the bpf(2) call is not known for {platform.machine()}") from None


def _call(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

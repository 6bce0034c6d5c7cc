"""The kernel programs: compiled by bcc, attached, their maps as numpy arrays. The only module that imports bcc."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from schedtop.model import Rows, SourceError
from schedtop.sources.frontend import FrontEnd

TASK_SLOTS = 1 << 16
SLOW_WAITS_PER_S = 4000
"""All CPUs together; each gets its share, but never less than 8 in a window of 134 ms."""

_WINDOWS_PER_S = 1_000_000_000 / (1 << 27)
_EVENT_PAGES = 256

_PROG_LOAD, _RAW_TRACEPOINT_OPEN = 5, 17
_TYPE_TRACING, _ATTACH_TRACE_RAW_TP = 26, 23
_SYS_BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361, "s390x": 351}


class Programs:
    """The attached kernel programs and their maps. Made and used by one thread; `close` detaches all.

    `tasks` (TASK_SLOTS,), `cpus` (possible CPUs,): structured arrays on the kernel's own memory, read only, with
    the fields of bpf/schedtop.h. `config` (1,): written by us.
    """

    tasks: Rows
    cpus: Rows
    config: Rows

    def __init__(
        self, front_end: FrontEnd, cpus: int, threshold_ns: int, slow_waits_per_s: int = SLOW_WAITS_PER_S
    ) -> None:
        """Compiles and attaches. Raises SourceError."""
        self.front_end = front_end
        self._slow_waits_per_s = slow_waits_per_s
        self._fds: list[int] = []
        self._events: list[bytes] = []
        self._exited: set[tuple[int, int]] = set()
        self.constants = header_constants(source_directory())
        self._bcc = _import_bcc()
        with _CompilerLog() as log:
            self._bpf = self._compile(front_end, cpus, log)
            self.config = self._map("config", 1, writable=True)
            self.tasks = self._map("tasks", TASK_SLOTS)
            self.cpus = self._map("cpus", cpus)
            self.config["threshold_ns"] = threshold_ns
            self._overflow = self._bpf["overflow"]
            self._overflow_dtype = layout(self._overflow.Leaf)
            self._open_ring("slow_waits")
            self._attach(log)

    def close(self) -> None:
        """Detaches the programs and releases what the kernel holds for them."""
        for fd in self._fds:
            os.close(fd)
        self._fds.clear()
        self._bpf.cleanup()

    def slow_waits(self) -> Rows:
        """The slow waits since the last call, as rows of `struct slow_wait`."""
        self.drain()
        taken, self._events = self._events, []
        return np.frombuffer(b"".join(taken), self._slow_wait_dtype)

    def drain(self) -> None:
        """Empties the ring buffer into our memory, so that a long interval cannot overrun it."""
        self._bpf.ring_buffer_consume()

    def overflow(self) -> Rows:
        """The tasks that had to move into the overflow map, with the fields of `tasks`.

        One that has exited and was returned by the call before is taken out of the map: nothing else ever is.
        """
        leaves = [leaf for _, leaf in self._overflow.items()]
        rows = np.array([np.frombuffer(leaf, self._overflow_dtype)[0] for leaf in leaves], self._overflow_dtype)
        exited = {
            (int(row["tid"]), int(row["start_ns"])) for row in rows if row["flags"] & self.constants["TASK_EXITED"]
        }
        for tid, _ in exited & self._exited:
            del self._overflow[ctypes.c_uint(tid)]
        self._exited = exited
        return rows

    def _compile(self, front_end: FrontEnd, cpus: int, log: _CompilerLog) -> Any:
        directory = source_directory()
        os.environ["BCC_KERNEL_SOURCE"] = str(directory)
        limit = max(8, round(self._slow_waits_per_s / _WINDOWS_PER_S / cpus))
        flags = (f"-DCPUS={cpus}", f"-DTASK_SLOTS={TASK_SLOTS}", f"-DEVENT_PAGES={_EVENT_PAGES}")
        try:
            return self._bcc.BPF(
                text=source_text(directory, front_end.name),
                cflags=[*flags, f"-DSLOW_WAITS_PER_WINDOW={limit}", *front_end.flags],
            )
        except Exception as error:  # bcc raises nothing narrower
            if os.geteuid() and b"Operation not permitted" in log.read():
                raise SourceError(PRIVILEGES) from error
            raise SourceError(f"the kernel programs do not compile or load; the log is in {log.keep()}") from error

    def _map(self, name: str, length: int, writable: bool = False) -> Rows:
        table = self._bpf[name]
        dtype = layout(table.Leaf)
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        memory = mmap.mmap(table.map_fd, length * dtype.itemsize, mmap.MAP_SHARED, protection)
        return np.frombuffer(memory, dtype, length)

    def _open_ring(self, name: str) -> None:
        table = self._bpf[name]
        # bcc makes the event's type when it first decodes one.
        self._slow_wait_dtype = layout(type(table.event(ctypes.create_string_buffer(4096))))
        table.open_ring_buffer(self._take)

    def _take(self, _context: Any, data: Any, size: int) -> int:
        self._events.append(ctypes.string_at(data, size))
        return 0

    def _attach(self, log: _CompilerLog) -> None:
        for event in self.front_end.events:
            try:
                if self.front_end.btf:
                    self._attach_btf(event, log)
                else:
                    self._attach_tracepoint(event)
            except OSError as error:
                self.close()
                if error.errno in (errno.EPERM, errno.EACCES) and not log.read():
                    raise SourceError(PRIVILEGES) from error
                detail = f"the kernel refuses the program for {event} ({os.strerror(error.errno or 0)})"
                raise SourceError(f"{detail}; the verifier's log is in {log.keep()}") from error

    def _attach_btf(self, event: str, log: _CompilerLog) -> None:
        """Loads and attaches what bcc compiled, by the bpf(2) call: bcc has no such program type."""
        assert self.front_end.btf
        name = f"btf_{event}".encode()
        target = self.front_end.btf.typedef_id(f"btf_trace_{event}")
        program = load_tracing(self._bcc, self._bpf, name, target, log)
        self._fds.append(program)
        self._fds.append(_bpf_call(_RAW_TRACEPOINT_OPEN, _RawTracepointOpen(0, program)))

    def _attach_tracepoint(self, event: str) -> None:
        name = f"tracepoint_{event}"
        try:
            self._bpf.load_func(name.encode(), self._bcc.BPF.TRACEPOINT)
            self._bpf.attach_tracepoint(tp=f"sched:{event}".encode(), fn_name=name.encode())
        except Exception as error:  # bcc raises nothing narrower
            raise OSError(ctypes.get_errno() or errno.EINVAL, str(error)) from error


PRIVILEGES = (
    "the kernel programs need privileges: run `sudo schedtop`, or give the process the capabilities cap_bpf and "
    "cap_perfmon (and readable tracefs for --source tracepoint)"
)


class _ProgLoad(ctypes.Structure):
    """The head of union bpf_attr for BPF_PROG_LOAD (include/uapi/linux/bpf.h)."""

    _fields_ = (
        ("prog_type", ctypes.c_uint32),
        ("insn_cnt", ctypes.c_uint32),
        ("insns", ctypes.c_uint64),
        ("license", ctypes.c_uint64),
        ("log_level", ctypes.c_uint32),
        ("log_size", ctypes.c_uint32),
        ("log_buf", ctypes.c_uint64),
        ("kern_version", ctypes.c_uint32),
        ("prog_flags", ctypes.c_uint32),
        ("prog_name", ctypes.c_char * 16),
        ("prog_ifindex", ctypes.c_uint32),
        ("expected_attach_type", ctypes.c_uint32),
        ("prog_btf_fd", ctypes.c_uint32),
        ("func_info_rec_size", ctypes.c_uint32),
        ("func_info", ctypes.c_uint64),
        ("func_info_cnt", ctypes.c_uint32),
        ("line_info_rec_size", ctypes.c_uint32),
        ("line_info", ctypes.c_uint64),
        ("line_info_cnt", ctypes.c_uint32),
        ("attach_btf_id", ctypes.c_uint32),
        ("attach_prog_fd", ctypes.c_uint32),
    )


class _RawTracepointOpen(ctypes.Structure):
    """The head of union bpf_attr for BPF_RAW_TRACEPOINT_OPEN."""

    _fields_ = (("name", ctypes.c_uint64), ("prog_fd", ctypes.c_uint32))


def load_tracing(bcc: Any, module: Any, name: bytes, attach_btf_id: int, log: _CompilerLog) -> int:
    """Loads a compiled function as a program of type TRACING; returns its file descriptor.

    Raises OSError; the verifier's log is then in the file `log`.
    """
    start = bcc.lib.bpf_function_start(module.module, name)
    size = bcc.lib.bpf_function_size(module.module, name)
    license_text = ctypes.create_string_buffer(b"GPL")
    attr = _ProgLoad(
        prog_type=_TYPE_TRACING,
        insn_cnt=size // 8,
        insns=start,
        license=ctypes.addressof(license_text),
        prog_name=name.removeprefix(b"btf_")[:15],
        expected_attach_type=_ATTACH_TRACE_RAW_TP,
        attach_btf_id=attach_btf_id,
    )
    try:
        return _bpf_call(_PROG_LOAD, attr)
    except OSError as error:
        buffer = ctypes.create_string_buffer(16 << 20)
        attr.log_level, attr.log_size, attr.log_buf = 1, len(buffer), ctypes.addressof(buffer)
        try:
            return _bpf_call(_PROG_LOAD, attr)
        except OSError:
            log.write(buffer.value)
            raise error from None


def source_directory() -> Path:
    """Where bpf/ lies: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for path in (package / "bpf", package.parent / "bpf"):
        if (path / "schedtop.h").is_file():
            return path
    raise SourceError(f"the kernel programs' sources are missing: expected {package / 'bpf'}")


def layout(leaf: Any) -> np.dtype[Any]:
    """The numpy view of a struct that bcc describes as a ctypes type, with its char arrays as byte strings."""
    dtype = np.dtype(leaf)
    formats = [_as_string(dtype.fields[name][0]) for name in dtype.names]
    offsets = [dtype.fields[name][1] for name in dtype.names]
    return np.dtype({"names": list(dtype.names), "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize})


def _as_string(field: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"S{field.shape[0]}") if field.base == np.dtype("S1") and field.shape else field


def header_constants(directory: Path) -> dict[str, int]:
    """The plain numbers that bpf/schedtop.h defines, by name."""
    text = (directory / "schedtop.h").read_text()
    return {name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)\b", text, re.MULTILINE)}


def source_text(directory: Path, front_end: str) -> str:
    """The kernel side as one text: bcc rewrites map accesses only in the main file."""
    names = ("histogram.h", "schedtop.h", "tasks.h", "core.h", f"{front_end}.c")
    return "".join(f'#line 1 "{name}"\n{(directory / name).read_text()}' for name in names)


def _bpf_call(command: int, attr: ctypes.Structure) -> int:
    number = _SYS_BPF.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"the bpf(2) call is not known for {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(number, command, ctypes.byref(attr), ctypes.sizeof(attr))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _import_bcc() -> Any:
    try:
        import bcc
    except ImportError as error:
        raise SourceError(
            "the bcc Python binding is missing: install python3-bpfcc (Debian, Ubuntu), python3-bcc (Fedora, openSUSE) "
            "or python-bcc (Arch), and make the virtual environment with --system-site-packages"
        ) from error
    return bcc


class _CompilerLog:
    """What libbcc, the compiler and the verifier say, instead of on stderr. Becomes a named file only when kept."""

    def __enter__(self) -> _CompilerLog:
        self._file = tempfile.TemporaryFile()
        sys.stderr.flush()
        self._stderr = os.dup(2)
        os.dup2(self._file.fileno(), 2)
        return self

    def __exit__(self, *exc: Any) -> None:
        os.dup2(self._stderr, 2)
        os.close(self._stderr)
        self._file.close()

    def write(self, data: bytes) -> None:
        """Adds to the log."""
        os.write(self._file.fileno(), data)

    def read(self) -> bytes:
        """All of it so far."""
        return os.pread(self._file.fileno(), 64 << 20, 0)

    def keep(self) -> str:
        """Saves the log; returns the name of its file."""
        handle, name = tempfile.mkstemp(prefix="schedtop-", suffix="-kernel-programs.log")
        with os.fdopen(handle, "wb") as file:
            file.write(self.read())
        return name

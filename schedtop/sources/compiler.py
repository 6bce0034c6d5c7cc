"""Compiles the kernel programs in a process of its own, so that the compiler's memory and its chatter stay there.

The only module that imports bcc; the dashboard never does. What comes out is data: instructions, map definitions and
struct layouts (`Compiled`).
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from schedtop.model import SourceError

NO_BCC = (
    "the bcc Python binding is missing: install python3-bpfcc (Debian, Ubuntu), python3-bcc (Fedora, openSUSE) "
    "or python-bcc (Arch), and make the virtual environment with --system-site-packages"
)
PRIVILEGES = (
    "the kernel programs need privileges: run `sudo schedtop`, or give the process the capabilities cap_bpf and "
    "cap_perfmon (and readable tracefs for --source tracepoint); without either there is less to see: "
    "/proc/pressure/cpu, and each task's run delay in /proc/TID/schedstat"
)
_STATUS_NO_BCC, _STATUS_FAILED = 3, 4
_LD_IMM64, _MAP_FD = 0x18, 1  # opcode, and the source register that makes it a map (include/uapi/linux/bpf.h)


@dataclass(frozen=True, slots=True)
class MapSpec:
    """What it takes to make a map; `layout` describes its values as numpy does."""

    kind: int
    key_bytes: int
    value_bytes: int
    entries: int
    flags: int
    layout: Mapping[str, Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy view of a value."""
        description: Any = dict(self.layout)
        dtype: np.dtype[Any] = np.dtype(description)
        return dtype


@dataclass(frozen=True, slots=True)
class Compiled:
    """Programs by name as instructions, in which a map is named by a number: the position of its name in `maps`."""

    maps: Mapping[str, MapSpec]
    programs: Mapping[str, bytes]

    def to_json(self) -> str:
        """Text that `from_json` reads back."""
        maps = {name: {field: getattr(spec, field) for field in MapSpec.__slots__} for name, spec in self.maps.items()}
        programs = {name: base64.b64encode(code).decode() for name, code in self.programs.items()}
        return json.dumps({"maps": maps, "programs": programs})

    @classmethod
    def from_json(cls, text: str | bytes) -> Compiled:
        """The opposite of `to_json`. Raises ValueError, KeyError or TypeError on anything else."""
        data = json.loads(text)
        maps = {name: MapSpec(**spec) for name, spec in data["maps"].items()}
        return cls(maps, {name: base64.b64decode(code) for name, code in data["programs"].items()})

    def linked(self, program: str, fds: Mapping[str, int]) -> bytes:
        """A program's instructions with the maps' file descriptors in place."""
        code = bytearray(self.programs[program])
        names = list(self.maps)
        for at in _map_loads(code):
            index = int.from_bytes(code[at + 4 : at + 8], "little")
            code[at + 4 : at + 8] = fds[names[index]].to_bytes(4, "little")
        return bytes(code)


def compile_programs(text: str, flags: tuple[str, ...], include_root: Path) -> Compiled:
    """Compiles in a child process. Raises SourceError; the compiler's words are then in a file that it names."""
    # A thread of the screen has another priority than the process, and what it starts gets none of it.
    nice = os.getpriority(os.PRIO_PROCESS, os.getpid())
    # Where they are the same nothing is asked for: a filter of system calls may refuse it.
    differs = os.getpriority(os.PRIO_PROCESS, 0) != nice
    renice = f"import os; os.setpriority(os.PRIO_PROCESS, 0, {nice})" if differs else ""
    path = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})"
    code = f"{renice}\n{path}; from {__name__} import main; main()"
    child = subprocess.run(
        [sys.executable, "-P", "-c", code],
        input=json.dumps({"text": text, "flags": flags}).encode(),
        capture_output=True,
        env=os.environ | {"BCC_KERNEL_SOURCE": str(include_root)},
        process_group=0,  # ctrl-c is for us: we end it
        check=False,
    )
    if child.returncode == _STATUS_NO_BCC:
        raise SourceError(NO_BCC)
    if child.returncode:
        if os.geteuid() and b"Operation not permitted" in child.stderr:
            raise SourceError(PRIVILEGES)
        raise SourceError(f"the kernel programs do not compile or load; the log is in {keep_log(child.stderr)}")
    return Compiled.from_json(child.stdout)


def keep_log(log: bytes) -> str:
    """Writes a log for the user; returns the name of its file."""
    handle, name = tempfile.mkstemp(prefix="schedtop-", suffix="-kernel-programs.log")
    with os.fdopen(handle, "wb") as file:
        file.write(log)
    return name


def source_directory() -> Path:
    """Where bpf/ lies: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for path in (package / "bpf", package.parent / "bpf"):
        if (path / "schedtop.h").is_file():
            return path
    raise SourceError(f"the kernel programs' sources are missing: expected {package / 'bpf'}")


def source_text(directory: Path, front_end: str) -> str:
    """The kernel side as one text: bcc rewrites map accesses only in the main file."""
    parts = ["histogram.h", "schedtop.h", "queue.h", "tasks.h", "timeline.h", "blame.h", "core.h"]
    return joined_text(directory, *parts, *(["cgroup.h"] if front_end == "btf" else []), f"{front_end}.c")


def joined_text(directory: Path, *names: str) -> str:
    """Files of the kernel side one after the other, each under its own name in what the compiler says."""
    return "".join(f'#line 1 "{name}"\n{(directory / name).read_text()}' for name in names)


def header_constants(directory: Path) -> dict[str, int]:
    """The plain numbers that bpf/schedtop.h defines, by name."""
    text = (directory / "schedtop.h").read_text()
    return {name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)\b", text, re.MULTILINE)}


def main() -> None:
    """The child: reads text and flags as JSON, writes a Compiled as JSON; bcc's words are on stderr."""
    try:
        import bcc
    except ImportError as error:
        print(error, file=sys.stderr)
        raise SystemExit(_STATUS_NO_BCC) from None
    request = json.load(sys.stdin)
    try:
        module = bcc.BPF(text=request["text"], cflags=request["flags"])
    except Exception as error:  # bcc raises nothing narrower
        print(error, file=sys.stderr)
        raise SystemExit(_STATUS_FAILED) from None
    sys.stdout.write(_extract(bcc.lib, module).to_json())
    sys.stdout.flush()
    # The compiler takes its time to put its memory in order, for nothing.
    os._exit(0)


def _extract(lib: Any, module: Any) -> Compiled:
    # The binding itself never calls these two, so it has not declared them.
    lib.bpf_num_tables.argtypes = [ctypes.c_void_p]
    lib.bpf_table_name.argtypes, lib.bpf_table_name.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_char_p
    names = [lib.bpf_table_name(module.module, index).decode() for index in range(lib.bpf_num_tables(module.module))]
    maps = {name: _map_spec(lib, module, name) for name in names}
    positions = {module[name].map_fd: index for index, name in enumerate(names)}
    programs = {}
    for index in range(lib.bpf_num_functions(module.module)):
        name = lib.bpf_function_name(module.module, index)
        start, size = (get(module.module, name) for get in (lib.bpf_function_start, lib.bpf_function_size))
        code = bytearray(ctypes.string_at(start, size))
        for at in _map_loads(code):
            fd = int.from_bytes(code[at + 4 : at + 8], "little")
            code[at + 4 : at + 8] = positions[fd].to_bytes(4, "little")
        programs[name.decode()] = bytes(code)
    return Compiled(maps, programs)


def _map_spec(lib: Any, module: Any, name: str) -> MapSpec:
    table, number = module[name], lib.bpf_table_id(module.module, name.encode())
    kind = lib.bpf_table_type_id(module.module, number)
    ring = not hasattr(table, "Leaf") or "Ring" in type(table).__name__
    # bcc makes the type of a ring's event when it first decodes one.
    leaf = type(table.event(ctypes.create_string_buffer(4096))) if ring else table.Leaf
    return MapSpec(
        kind=kind,
        key_bytes=0 if ring else ctypes.sizeof(table.Key),
        value_bytes=0 if ring else ctypes.sizeof(leaf),
        entries=lib.bpf_table_max_entries_id(module.module, number),
        flags=lib.bpf_table_flags_id(module.module, number),
        layout=_layout(leaf),
    )


def _layout(leaf: Any) -> dict[str, Any]:
    """A ctypes type as numpy describes it, with its char arrays as byte strings."""
    dtype = np.dtype(leaf)
    if dtype.names is None or dtype.fields is None:
        return {"names": ["value"], "formats": [dtype.str], "offsets": [0], "itemsize": dtype.itemsize}
    fields = [dtype.fields[name] for name in dtype.names]
    return {
        "names": list(dtype.names),
        "formats": [_format(field[0]) for field in fields],
        "offsets": [field[1] for field in fields],
        "itemsize": dtype.itemsize,
    }


def _format(field: np.dtype[Any]) -> str:
    if field.base == np.dtype("S1") and field.shape:
        return f"S{field.shape[0]}"
    return f"{field.shape}{field.base.str}" if field.shape else field.str


def _map_loads(code: bytes | bytearray) -> list[int]:
    """Offsets of the instructions that load a map's address (they are two instructions long)."""
    found, at = [], 0
    while at < len(code):
        wide = code[at] == _LD_IMM64
        if wide and code[at + 1] >> 4 == _MAP_FD:
            found.append(at)
        at += 16 if wide else 8
    return found

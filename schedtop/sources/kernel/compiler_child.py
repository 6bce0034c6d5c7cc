"""The child process that compiles the kernel programs; compiler.py runs it, through bcc_child.py.

It reads `{"text", "flags", "include_root"}` as JSON and writes what `Compiled.from_json` reads; bcc's words are on
standard error. It runs with any Python from 3.8 on that has bcc, so it needs nothing but the standard library.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import sys
from typing import Any

_STATUS_FAILED = 4
_LD_IMM64, _MAP_FD = 0x18, 1  # opcode, and the source register that makes it a map (include/uapi/linux/bpf.h)
_CALL, _MOST_HELPERS = 0x85, 4095  # of a helper, by its number


def main(bcc: Any) -> None:
    """Compiles what is asked for; never returns. Exit status 4: it does not compile."""
    request = json.load(sys.stdin)
    # bcc looks there for the headers of the kernel. In another tree (tests/bcc) they lie elsewhere.
    os.environ.setdefault("BCC_KERNEL_SOURCE", request["include_root"])
    try:
        module = bcc.BPF(text=request["text"], cflags=request["flags"])
    except Exception as error:  # bcc raises nothing narrower
        print(error, file=sys.stderr)
        raise SystemExit(_STATUS_FAILED) from None
    sys.stdout.write(json.dumps(_extract(bcc.lib, module)))
    sys.stdout.flush()
    # The compiler takes its time to put its memory in order, for nothing.
    os._exit(0)


def _extract(lib: Any, module: Any) -> dict[str, Any]:
    # The binding itself never calls these two, so it has not declared them.
    lib.bpf_num_tables.argtypes = [ctypes.c_void_p]
    lib.bpf_table_name.argtypes, lib.bpf_table_name.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_char_p
    names = [lib.bpf_table_name(module.module, index).decode() for index in range(lib.bpf_num_tables(module.module))]
    maps = {name: _map(lib, module, name) for name in names}
    positions = {module[name].map_fd: index for index, name in enumerate(names)}
    programs = {}
    for index in range(lib.bpf_num_functions(module.module)):
        name = lib.bpf_function_name(module.module, index)
        start, size = (get(module.module, name) for get in (lib.bpf_function_start, lib.bpf_function_size))
        programs[name.decode()] = base64.b64encode(_with_positions(ctypes.string_at(start, size), positions)).decode()
    return {"maps": maps, "programs": programs}


def _map(lib: Any, module: Any, name: str) -> dict[str, Any]:
    """The fields of a `MapSpec`."""
    table, number = module[name], lib.bpf_table_id(module.module, name.encode())
    ring = not hasattr(table, "Leaf") or "Ring" in type(table).__name__
    # bcc makes the type of a ring's event when it first decodes one.
    leaf = type(table.event(ctypes.create_string_buffer(4096))) if ring else table.Leaf
    return {
        "kind": lib.bpf_table_type_id(module.module, number),
        "key_bytes": 0 if ring else ctypes.sizeof(table.Key),
        "value_bytes": 0 if ring else ctypes.sizeof(leaf),
        "entries": lib.bpf_table_max_entries_id(module.module, number),
        "flags": lib.bpf_table_flags_id(module.module, number),
        "layout": layout(leaf),
    }


def _with_positions(code: bytes, positions: dict[int, int]) -> bytes:
    """Instructions in which the descriptors of maps are the maps' positions."""
    linked = bytearray(code)
    for at in map_loads(code):
        fd = int.from_bytes(code[at + 4 : at + 8], "little")
        linked[at + 4 : at + 8] = positions[fd].to_bytes(4, "little")
    return bytes(linked)


def map_loads(code: bytes | bytearray) -> list[int]:
    """Offsets of the instructions that load a map's address (they are two instructions long)."""
    found, at = [], 0
    while at < len(code):
        wide = code[at] == _LD_IMM64
        if wide and code[at + 1] >> 4 == _MAP_FD:
            found.append(at)
        at += 16 if wide else 8
    return found


def kernel_calls(code: bytes | bytearray) -> list[int]:
    """Offsets of the calls of kernel functions, by BTF ids: no helper has such a high number."""
    found, at = [], 0
    while at < len(code):
        if code[at : at + 2] == bytes((_CALL, 0)) and int.from_bytes(code[at + 4 : at + 8], "little") > _MOST_HELPERS:
            found.append(at)
        at += 16 if code[at] == _LD_IMM64 else 8
    return found


def layout(leaf: Any) -> dict[str, Any]:
    """A ctypes type as numpy describes it, with its char arrays as byte strings.

    Structs and arrays of them within it are bytes without names. Raises TypeError for what no map of ours holds.
    """
    if not issubclass(leaf, ctypes.Structure):
        code = _opaque(leaf) if issubclass(leaf, ctypes.Array) else _scalar(leaf)
        return {"names": ["value"], "formats": [code], "offsets": [0], "itemsize": ctypes.sizeof(leaf)}
    return {
        "names": [name for name, _ in leaf._fields_],
        "formats": [_format(kind) for _, kind in leaf._fields_],
        "offsets": [getattr(leaf, name).offset for name, _ in leaf._fields_],
        "itemsize": ctypes.sizeof(leaf),
    }


def _format(kind: Any) -> str:
    shape: tuple[int, ...] = ()
    while issubclass(kind, ctypes.Array):
        shape, kind = (*shape, kind._length_), kind._type_
    if kind is ctypes.c_char and len(shape) == 1:
        return f"S{shape[0]}"
    return f"{shape or ''}{_scalar(kind)}"


def _scalar(kind: Any) -> str:
    """The name of a type as numpy writes it: byte order, kind, bytes."""
    if issubclass(kind, (ctypes.Structure, ctypes.Union)):
        return _opaque(kind)
    size = ctypes.sizeof(kind)
    order = "|" if size == 1 else {"little": "<", "big": ">"}[sys.byteorder]
    for letters, name in (("c", "S"), ("?", "b"), ("bhilq", "i"), ("BHILQ", "u"), ("fd", "f")):
        if kind._type_ in letters:
            return f"{order}{name}{size}"
    raise TypeError(f"a map holds a {kind.__name__}")


def _opaque(kind: Any) -> str:
    return f"|V{ctypes.sizeof(kind)}"

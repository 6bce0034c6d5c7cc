"""The running kernel's types, from BTF: where a field lies, what a function takes, what an enumerator is worth.

Format: Documentation/bpf/btf.rst of the kernel.
"""

from __future__ import annotations

import struct
from array import array
from pathlib import Path

KERNEL_BTF = Path("/sys/kernel/btf/vmlinux")
KERNEL_SYMBOLS = Path("/proc/kallsyms")

_MAGIC = 0xEB9F
_HEADER = struct.Struct("<HBBIIIII")
_ARRAY, _STRUCT, _UNION, _ENUM, _TYPEDEF, _FUNC, _FUNC_PROTO, _ENUM64 = 3, 4, 5, 6, 8, 12, 13, 19
_INT, _PTR = 1, 2
_MOST_NESTED = 200
"""Unnamed structs and unions within a struct; task_struct has a dozen."""
_VARIABLE, _SECTION = 14, 15
_TRANSPARENT = (8, 9, 10, 11, 18)  # typedef, volatile, const, restrict, type tag
# Words that follow the three of each type, by kind: a fixed number, and a number per member.
_FIXED_WORDS = {1: 1, _ARRAY: 3, 14: 1, 17: 1}
_MEMBER_WORDS = {_STRUCT: 3, _UNION: 3, _ENUM: 2, _FUNC_PROTO: 2, 15: 3, _ENUM64: 3}


class BtfError(Exception):
    """The data is not BTF, or lacks what was asked for; the text names it."""


class _Lengths(dict[int, int]):
    """How many words a type takes, by its second one: many have the same."""

    def __missing__(self, info: int) -> int:
        kind = info >> 24 & 0x1F
        self[info] = length = 3 + _FIXED_WORDS.get(kind, 0) + _MEMBER_WORDS.get(kind, 0) * (info & 0xFFFF)
        return length


class SymbolsHidden(BtfError):
    """The kernel hides the addresses of its symbols from us (kptr_restrict); it may not from others, or later."""


class Btf:
    """An index over one blob of BTF; look-ups raise BtfError where the kernel has no such thing."""

    def __init__(self, data: bytes, symbols: Path | None = None) -> None:
        """`symbols`: the same kernel's list of symbols, for what its BTF leaves out."""
        if len(data) < _HEADER.size:
            raise BtfError("the BTF data is cut off")
        magic, _, _, header, type_off, type_len, string_off, string_len = _HEADER.unpack_from(data)
        types, strings = header + type_off, header + string_off
        if magic != _MAGIC or types + type_len > len(data) or strings + string_len > len(data) or type_len % 4:
            raise BtfError("the data is not BTF of this byte order, or is cut off")
        import numpy as np  # late: a start with kept answers (kept_btf.py) needs neither this nor numpy

        self._symbols = symbols
        self._words = memoryview(data[types : types + type_len]).cast("I")
        self._strings = data[strings : strings + string_len]
        self._at = self._index()
        self._names = np.frombuffer(self._words, np.uint32)[np.frombuffer(self._at, np.uint32)]
        self._names[0] = 0  # void has none

    def __len__(self) -> int:
        """How many types it describes."""
        return len(self._at) - 1

    @classmethod
    def of_kernel(cls, path: Path = KERNEL_BTF) -> Btf:
        """The BTF of the running kernel; BtfError where there is none."""
        try:
            return cls(path.read_bytes(), KERNEL_SYMBOLS)
        except OSError as error:
            raise BtfError(f"the kernel has no BTF: {path}: {error.strerror}") from error

    def type_id(self, name: str, kind: int = _STRUCT) -> int:
        """The id of the type of that name and kind (a struct, if not told)."""
        offset = self._strings.find(b"\0" + name.encode() + b"\0") + 1
        while offset:
            for type_id in (self._names == offset).nonzero()[0].tolist():
                if self._kind(type_id) == kind:
                    return int(type_id)
            offset = self._strings.find(b"\0" + name.encode() + b"\0", offset) + 1
        raise BtfError(f"the kernel's BTF has no {name}")

    def typedef_id(self, name: str) -> int:
        """The id of a typedef, such as `btf_trace_sched_switch`."""
        return self.type_id(name, _TYPEDEF)

    def has_typedef(self, name: str) -> bool:
        """Whether there is such a typedef."""
        return self._has(name, _TYPEDEF)

    def function_id(self, name: str) -> int:
        """The id of a function."""
        return self.type_id(name, _FUNC)

    def argument_count(self, typedef: str) -> int:
        """How many arguments the function type behind a typedef takes."""
        type_id = self._resolve(self.typedef_id(typedef))
        if self._kind(type_id) == _PTR:
            type_id = self._resolve(self._words[self._at[type_id] + 2])
        if self._kind(type_id) != _FUNC_PROTO:
            raise BtfError(f"{typedef} is not a function type")
        return self._members(type_id)

    def offset(self, struct_name: str, path: str) -> int:
        """The byte offset of a field; `path` may lead through nested structs, as in `se.sched_delayed`."""
        return self._place(struct_name, path)[0] // 8

    def bit_offset(self, struct_name: str, path: str) -> int:
        """The offset of a field that begins within a byte, in bits."""
        return self._place(struct_name, path)[0]

    def integer_bytes(self, struct_name: str, path: str) -> int:
        """How many bytes an integer field has."""
        type_id = self._resolve(self._place(struct_name, path)[1])
        if self._kind(type_id) != _INT:
            raise BtfError(f"{struct_name}.{path} is no integer")
        return self._words[self._at[type_id] + 2]

    def _place(self, struct_name: str, path: str) -> tuple[int, int]:
        """Where a field begins, in bits, and its type."""
        type_id, total_bits = self.type_id(struct_name), 0
        for field in path.split("."):
            found = self._find_field(self._resolve(type_id), field)
            if not found:
                raise BtfError(f"{struct_name} has no field {path}")
            bits, type_id = found
            total_bits += bits
        return total_bits, type_id

    def has_field(self, struct_name: str, path: str) -> bool:
        """Whether a struct has a field."""
        try:
            self.offset(struct_name, path)
        except BtfError:
            return False
        return True

    def enumerator(self, enum: str, name: str) -> int:
        """The value of an enumerator."""
        type_id = self.type_id(enum, _ENUM)
        start = self._at[type_id] + 3
        for index in range(self._members(type_id)):
            if self._name(self._words[start + 2 * index]) == name:
                return self._words[start + 2 * index + 1]
        raise BtfError(f"enum {enum} has no {name}")

    def per_cpu_offset(self, variable: str) -> int:
        """Where a variable lies in the part of the kernel's memory that each CPU has for itself."""
        wanted, section = self.type_id(variable, _VARIABLE), self.type_id(".data..percpu", _SECTION)
        start = self._at[section] + 3
        for index in range(start, start + 3 * self._members(section), 3):
            if self._words[index] == wanted:
                return self._words[index + 1]
        raise BtfError(f"the kernel's BTF does not say where {variable} is")

    def per_cpu_distance(self, variable: str, start: str) -> int:
        """How far behind `start` a variable lies in each CPU's part; by the list of symbols if BTF has no variables."""
        try:
            begin = self.per_cpu_offset(start)
        except BtfError:
            if self._symbols is None:
                raise
            return symbol_distance(variable, start, self._symbols)
        return self.per_cpu_offset(variable) - begin

    def _index(self) -> array[int]:
        """Positions of all types by id (0 is void). Compact, because a kernel has more than 100,000."""
        words, positions, position, lengths = self._words, [0], 0, _Lengths()
        last = len(words) - 3
        while position <= last:
            positions.append(position)
            position += lengths[words[position + 1]]
        if position != len(words) or not position:
            raise BtfError("the BTF types are damaged")
        return array("I", positions)

    def _has(self, name: str, kind: int) -> bool:
        try:
            self.type_id(name, kind)
        except BtfError:
            return False
        return True

    def _kind(self, type_id: int) -> int:
        return self._words[self._at[type_id] + 1] >> 24 & 0x1F

    def _members(self, type_id: int) -> int:
        return self._words[self._at[type_id] + 1] & 0xFFFF

    def _name(self, offset: int) -> str:
        return self._strings[offset : self._strings.find(b"\0", offset)].decode("ascii", "replace")

    def _resolve(self, type_id: int) -> int:
        for _ in range(32):
            if not 0 < type_id < len(self._at):
                raise BtfError("the BTF types are damaged")
            if self._kind(type_id) not in _TRANSPARENT:
                return type_id
            type_id = self._words[self._at[type_id] + 2]
        raise BtfError("the BTF types go in circles")

    def _find_field(self, type_id: int, field: str, seen: set[int] | None = None) -> tuple[int, int] | None:
        """Bit offset and type of a field, also through unnamed structs and unions. `seen`: those without it."""
        seen = set() if seen is None else seen
        if self._kind(type_id) not in (_STRUCT, _UNION) or type_id in seen or len(seen) > _MOST_NESTED:
            return None
        seen.add(type_id)
        start = self._at[type_id] + 3
        bits_mask = 0xFFFFFF if self._words[self._at[type_id] + 1] >> 31 else 0xFFFFFFFF
        for index in range(start, start + 3 * self._members(type_id), 3):
            name, member_type, bits = self._words[index], self._words[index + 1], self._words[index + 2] & bits_mask
            if name and self._name(name) == field:
                return bits, member_type
            if not name:
                inner = self._find_field(self._resolve(member_type), field, seen)
                if inner:
                    return bits + inner[0], inner[1]
        return None


def symbol_distance(variable: str, start: str, path: Path) -> int:
    """How far behind `start` a variable lies, by the kernel's list of symbols. Raises BtfError."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BtfError(f"{path}: {error.strerror}") from error
    addresses = []
    for name in (variable, start):
        end = text.find(f" {name}\n".encode())
        if end < 0:
            raise BtfError(f"{path} has no {name}")
        addresses.append(int(text[text.rfind(b"\n", 0, end) + 1 : end].split()[0], 16))
    if not any(addresses):
        raise SymbolsHidden(f"{path} does not tell us where {variable} is")
    return addresses[0] - addresses[1]

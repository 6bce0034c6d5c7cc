"""Names of functions out of files that anybody has made: ELF files, perf maps, and the kernel's list.

All of it runs in the process that has nothing to lose (symbol_reader.py). No size is believed before it is bounded.
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

MOST_SYMBOLS = 4_000_000
MOST_SECTION_BYTES = 512 << 20
"""Of one file; chromium with all its symbols has a quarter of either."""

MOST_TEXT_BYTES = 64 << 20
"""Of a perf map."""

MOST_NAME = 4096
"""Bytes of a name: a file may hold one of a gigabyte."""

MOST_SECTIONS = 4096
MOST_SEGMENTS = 1024

_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC (elf.h)
_BUILD_ID = re.compile(r"[0-9a-f]{4,128}")
_NESTED = 16
"""So many symbols that begin before an address are looked at until one covers it: functions may lie in others."""


@dataclass(slots=True)
class Table:
    """Functions by their beginnings, in ascending order. A size of 0: up to the next one.

    `segments`: (offset in the file, its bytes, address) of what is loaded; none: places are addresses. `build_id`: of a
    file whose symbols may be in another one.
    """

    starts: array[int] = field(default_factory=lambda: array("Q"))
    sizes: array[int] = field(default_factory=lambda: array("Q"))
    names: array[int] = field(default_factory=lambda: array("Q"))
    text: bytes = b""
    segments: tuple[tuple[int, int, int], ...] = ()
    build_id: str = ""

    @property
    def memory_bytes(self) -> int:
        """How much of memory it takes."""
        return len(self.text) + 24 * len(self.starts)

    def add(self, found: list[tuple[int, int, int]], text: bytes) -> None:
        """Functions as (beginning, size, offset of the name in the text), in any order."""
        found.sort()
        for column, values in zip((self.starts, self.sizes, self.names), zip(*found, strict=True), strict=False):
            column.extend(values)
        self.text = text

    def address(self, place: int) -> int | None:
        """The address that an offset of the file is linked at."""
        if not self.segments:
            return place
        return next((place - at + address for at, size, address in self.segments if at <= place < at + size), None)

    def at(self, address: int) -> tuple[bytes, int]:
        """The name of the function there and how far behind its beginning it is; no name: none is there."""
        last = bisect_right(self.starts, address) - 1
        for index in range(last, max(-1, last - _NESTED), -1):
            start, size = self.starts[index], self.sizes[index]
            if address < start + size or (not size and index == last):
                return self._name(self.names[index]), address - start
        return b"", 0

    def _name(self, at: int) -> bytes:
        ends = (self.text.find(end, at, at + MOST_NAME) for end in (b"\0", b"\n"))
        return self.text[at : min((end for end in ends if end >= 0), default=at + MOST_NAME)]


def elf_table(data: IO[bytes]) -> Table:
    """The functions of an ELF file. An empty table where it is none, or none that can be read."""
    try:
        return _elf_table(data)
    except (ELFError, ValueError, struct.error, OverflowError, UnicodeError, KeyError, TypeError, IndexError):
        return Table()


def _elf_table(data: IO[bytes]) -> Table:
    file = ELFFile(data)
    table = Table()
    if file.num_segments() > MOST_SEGMENTS or file.num_sections() > MOST_SECTIONS:
        return table
    loaded = [segment for segment in file.iter_segments() if segment["p_type"] == "PT_LOAD"]
    table.segments = tuple((part["p_offset"], part["p_filesz"], part["p_vaddr"]) for part in loaded)
    if not table.segments:
        return table
    sections = list(file.iter_sections())
    by_kind = {section["sh_type"]: section for section in reversed(sections)}
    chosen = by_kind.get("SHT_SYMTAB", by_kind.get("SHT_DYNSYM"))
    if "SHT_SYMTAB" not in by_kind:
        table.build_id = _build_id(data, sections)
    if chosen is not None and chosen["sh_link"] < len(sections):
        names = _bytes_of(data, sections[chosen["sh_link"]])
        table.add(list(_functions(_bytes_of(data, chosen), file.little_endian, file.elfclass, len(names))), names)
    return table


def _bytes_of(data: IO[bytes], section: Section) -> bytes:
    """Those of a section in the file. Raises ValueError for too many."""
    size = section["sh_size"]
    if size > MOST_SECTION_BYTES or section["sh_type"] == "SHT_NOBITS":
        raise ValueError("it is too large")
    data.seek(section["sh_offset"])
    return data.read(size)


def _functions(entries: bytes, little: bool, bits: int, most_name: int) -> Iterator[tuple[int, int, int]]:
    """Of a symbol table (Elf64_Sym, Elf32_Sym); of several at one place the first one that is not local stays first."""
    layout = struct.Struct(("<" if little else ">") + ("IBBHQQ" if bits == 64 else "IIIBBH"))
    whole = memoryview(entries)[: min(len(entries) // layout.size, MOST_SYMBOLS) * layout.size]
    for entry in layout.iter_unpack(whole):
        if bits == 64:
            name, info, _, section, value, size = entry
        else:
            name, value, size, info, _, section = entry
        if info & 15 in _FUNCTIONS and section and value and name < most_name:
            yield value, size, name


def _build_id(data: IO[bytes], sections: list[Section]) -> str:
    """In hexadecimal, empty: none that a file could be found by."""
    for section in sections:
        if section["sh_type"] == "SHT_NOTE" and 16 < section["sh_size"] <= 1024:
            note = _bytes_of(data, section)
            name_bytes, size, kind = struct.unpack_from("<III", note)
            found = note[16 : 16 + size].hex()
            if (name_bytes, kind, note[12:16]) == (4, 3, b"GNU\0") and _BUILD_ID.fullmatch(found):
                return found
    return ""


def perf_map(data: IO[bytes]) -> Table:
    """Lines of a beginning and a size in hexadecimal and a name, as runtimes write them for perf."""
    return _lines(
        data.read(MOST_TEXT_BYTES), re.compile(rb"^(?:0x)?([0-9a-f]{1,16}) (?:0x)?([0-9a-f]{1,16}) (?=\S)", re.M)
    )


def kernel_list(data: IO[bytes]) -> Table:
    """/proc/kallsyms: code alone. The name of a module is behind the function's, after a tab."""
    return _lines(data.read(MOST_TEXT_BYTES), re.compile(rb"^([0-9a-f]{16}) ()[tTwW] ", re.M))


def _lines(text: bytes, line: re.Pattern[bytes]) -> Table:
    table = Table()
    found = []
    for match in line.finditer(text):
        start = int(match[1], 16)
        if start:
            found.append((start, int(match[2] or b"0", 16), match.end()))
        if len(found) >= MOST_SYMBOLS:
            break
    table.add(found, text)
    return table

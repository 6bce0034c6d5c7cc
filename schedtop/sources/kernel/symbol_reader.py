"""The process that reads what the processes of others have mapped. It has nothing to lose (sandbox.py).

Files come to it open, over a socket, and names go back: JSON lines. `{"file", "kind"}` with a descriptor is a file from
now on; `{"file", "places"}` asks for the functions at places in it (with `"linked"`: at addresses), and gives
`{"names": [[name, offset, address], ...], "build_id"}`, or `{"names": null}` for a file that it does not hold any more.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any

from schedtop.sources.kernel.sandbox import give_up_everything
from schedtop.sources.kernel.symbol_tables import Table, elf_table, kernel_list, perf_map

KINDS: dict[str, Callable[[IO[bytes]], Table]] = {"elf": elf_table, "perf": perf_map, "kernel": kernel_list}

MOST_FILES = 1000
MOST_TABLE_BYTES = 512 << 20
"""Of files that are open and not read yet, and of tables: the one used last stays."""

_MOST_MEMORY = 2 << 30
_SPARE_FILES = 16


class Files:
    """Open files and what was read of them, by the numbers that the opener gave them."""

    def __init__(self, demangle: Callable[[bytes], bytes]) -> None:
        self._open: OrderedDict[int, tuple[str, int]] = OrderedDict()
        self._tables: OrderedDict[int, Table] = OrderedDict()
        self._demangle = demangle

    def add(self, number: int, kind: str, file: int) -> None:
        """A file, open; it is read when it is asked about."""
        self._tables.pop(number, None)
        while len(self._open) >= MOST_FILES:
            os.close(self._open.popitem(last=False)[1][1])
        self._open[number] = kind, file

    def answer(self, number: int, places: list[int], linked: bool) -> dict[str, Any]:
        """What is said to a request."""
        table = self._table(number)
        if table is None:
            return {"names": None, "build_id": ""}
        return {"names": [self._name(table, place, linked) for place in places], "build_id": table.build_id}

    def _table(self, number: int) -> Table | None:
        if number in self._open:
            kind, file = self._open.pop(number)
            with open(file, "rb") as data:
                self._tables[number] = KINDS[kind](data)
        if number not in self._tables:
            return None
        self._tables.move_to_end(number)
        while len(self._tables) > 1 and sum(table.memory_bytes for table in self._tables.values()) > MOST_TABLE_BYTES:
            self._tables.popitem(last=False)
        return self._tables[number]

    def _name(self, table: Table, place: int, linked: bool) -> tuple[str, int, int]:
        address = place if linked else table.address(place)
        if address is None:
            return "", place, place
        name, offset = table.at(address)
        return self._demangle(name.partition(b"@")[0]).decode("utf-8", "replace"), offset, address


def demangler() -> Callable[[bytes], bytes]:
    """Of names of C++ and the older ones of Rust, by the library of C++ that bcc needs, too; without it as they are."""
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return bytes
    library.__cxa_demangle.restype = ctypes.c_void_p
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]

    def demangled(name: bytes) -> bytes:
        if not name.startswith(b"_Z"):
            return name
        found = library.__cxa_demangle(name, None, None, None)
        if not found:
            return name
        text = ctypes.string_at(found)
        free(found)
        return text

    return demangled


def run(talk: socket.socket) -> None:
    """Gives up everything, says so, and answers until there are no more requests; never returns."""
    _close_others(talk.fileno())
    files = Files(demangler())
    give_up_everything(_MOST_MEMORY, MOST_FILES + _SPARE_FILES)
    talk.sendall(b"{}\n")
    held, given = b"", []
    while True:
        data, came, _, _ = socket.recv_fds(talk, 1 << 16, 1)
        if not data:
            os._exit(0)
        held += data
        given += came  # maybe before its line is whole
        while b"\n" in held:
            line, _, held = held.partition(b"\n")
            request = json.loads(line)
            if "kind" in request:
                files.add(request["file"], request["kind"], given.pop(0))
            else:
                talk.sendall(
                    json.dumps(files.answer(request["file"], request["places"], "linked" in request)).encode() + b"\n"
                )


def _close_others(keep: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.closerange(0, keep)
    os.closerange(keep + 1, min(most, 1 << 16))

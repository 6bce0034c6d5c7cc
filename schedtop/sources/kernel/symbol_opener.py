"""The child process that turns addresses into symbols (symbols.py runs it). It opens files; another one reads them.

It reads requests and writes answers, a JSON object a line each, until its input ends:
`{"pid", "addresses"}` (a pid of 0: kernel addresses) gives `{"symbols": [[name, module, offset], ...], "known"}`;
`known` is false if nothing can be read of that process. Without addresses the process is only remembered, so that
there are modules and offsets when it is gone.

What a process has mapped is opened by what the kernel maps (/proc/PID/map_files), not by a name, which may lead
elsewhere by now; without the right to that by its name, with the rights of whoever runs schedtop. Only regular files
are opened to be read: what it is, is looked at before, by a descriptor that opens nothing (O_PATH). No byte of any file
is looked at here: that is for the reader (symbol_reader.py), which gets descriptors. What the reader says is not
believed further than to be names.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections import OrderedDict, defaultdict
from contextlib import suppress
from typing import Any

from schedtop.sources.kernel import symbol_reader
from schedtop.sources.kernel.mapped import Mapping, Maps, open_mapped, open_perf_map, open_trusted, read_maps
from schedtop.sources.kernel.sandbox import end_with_parent

KERNEL = 0
MOST_PROCESSES = 128
"""Of so many the maps are kept, those that were asked for last."""

_MOST_KNOWN = 1 << 16
_MOST_ANSWER_BYTES = 64 << 20
_DEBUG = "/usr/lib/debug/.build-id"
_KALLSYMS = "/proc/kallsyms"
_MEMORY = "/memfd:"
_VDSO = "[vdso]"
_BEHIND_32_BITS = 1 << 32  # a process of 32 bits has another vdso

Named = tuple[str, int]
Found = tuple[str, str, int]
"""A symbol's name, its module, and its offset: in the function, without a name in the module, else the address.

Of the kernel's code without a name it is 0: its address would tell where the kernel is loaded (KASLR).
"""


class Reader:
    """The process that reads, and the files that it was given."""

    def __init__(self) -> None:
        self._talk, its_end = socket.socketpair()
        if not os.fork():
            self._talk.close()
            symbol_reader.run(its_end)
        its_end.close()
        self._numbers: dict[tuple[int, ...], int] = {}
        self._given = 0
        self._debug: dict[int, int | None] = {}
        self._line()  # it has given up all its rights

    def give(self, kind: str, file: int) -> int:
        """Hands an open file over, which is closed here; its number there."""
        try:
            found = os.fstat(file)
            # With what changes when the file does: a perf map grows.
            identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            if identity not in self._numbers:
                if len(self._numbers) >= _MOST_KNOWN:
                    self._numbers.clear()
                self._given += 1
                request = json.dumps({"file": self._given, "kind": kind}).encode() + b"\n"
                socket.send_fds(self._talk, [request], [file])
                self._numbers[identity] = self._given
            return self._numbers[identity]
        finally:
            os.close(file)

    def forget(self, number: int) -> None:
        """It holds that file no more."""
        self._numbers = {identity: one for identity, one in self._numbers.items() if one != number}

    def names(self, number: int, places: list[int]) -> list[Named] | None:
        """For places in a file: the function and the offset in it, or "" and the address that the place is linked at.

        `None`: the reader has forgotten the file. Raises ValueError for an answer that is none.
        """
        answer = self._ask({"file": number, "places": places}, len(places))
        if answer is None:
            return None
        named, build_id = answer
        if build_id and number not in self._debug:
            file = open_trusted(f"{_DEBUG}/{build_id[:2]}/{build_id[2:]}.debug")
            self._debug[number] = None if file is None else self.give("elf", file)
        debug = self._debug.get(number)
        if debug is not None:
            better = self._ask({"file": debug, "places": [one[2] for one in named], "linked": True}, len(places))
            named = [new if new[0] else old for old, new in zip(named, better[0] if better else named, strict=True)]
        return [(name, offset if name else address) for name, offset, address in named]

    def _ask(self, request: dict[str, Any], count: int) -> tuple[list[tuple[str, int, int]], str] | None:
        self._talk.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self._line())
        if answer["names"] is None:
            return None
        named = [(str(name), int(offset), int(address)) for name, offset, address in answer["names"]]
        build_id = str(answer["build_id"])
        if len(named) != count or not set(build_id) <= set("0123456789abcdef"):
            raise ValueError("that is no answer")
        return named, build_id

    def _line(self) -> bytes:
        pieces, size = [b""], 0
        while not pieces[-1].endswith(b"\n"):
            pieces.append(self._talk.recv(1 << 16))
            size += len(pieces[-1])
            if not pieces[-1] or size > _MOST_ANSWER_BYTES:
                raise ValueError("the reader has failed")
        return b"".join(pieces)


class Processes:
    """Symbols of addresses of processes and of the kernel."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._maps: OrderedDict[int, Maps] = OrderedDict()
        self._files: dict[tuple[int, Mapping], int | None] = {}
        self._kernel = reader.give("kernel", os.open(_KALLSYMS, os.O_RDONLY | os.O_CLOEXEC))
        self._vdso = reader.give("elf", file) if (file := _own_vdso()) is not None else None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What is said to a request."""
        pid, addresses = request["pid"], request["addresses"]
        if pid == KERNEL:
            named = self._reader.names(self._kernel, addresses) or _unnamed(addresses)
            return {"symbols": [_of_kernel(*one) for one in named], "known": True}
        maps = self._known(pid, addresses)
        if maps is None:
            return {"symbols": [("", "", address) for address in addresses], "known": False}
        return {"symbols": self._symbols(maps, addresses), "known": True}

    def _known(self, pid: int, addresses: list[int]) -> Maps | None:
        """The maps of a process, as they were when it was seen last. It may have mapped more since."""
        maps = self._maps.get(pid)
        if maps is None or not all(maps.at(address) for address in addresses):
            now = read_maps(pid)
            if now is not None:
                maps = self._maps[pid] = now
                same = {(pid, mapping) for mapping in now.mappings}
                self._files = {key: file for key, file in self._files.items() if key[0] != pid or key in same}
                for mapping in maps.mappings:  # while it is there
                    self._file(maps, mapping)
        if maps is not None:
            self._maps.move_to_end(pid)
            while len(self._maps) > MOST_PROCESSES:
                oldest, _ = self._maps.popitem(last=False)
                self._files = {key: file for key, file in self._files.items() if key[0] != oldest}
        return maps

    def _file(self, maps: Maps, mapping: Mapping) -> int | None:
        """The number of a mapping's file; `None`: it is none, or may not be read."""
        if mapping.name == _VDSO and mapping.start >= _BEHIND_32_BITS:
            return self._vdso
        key = (maps.pid, mapping)
        if mapping.inode and key not in self._files:
            file = open_mapped(maps.pid, mapping)
            self._files[key] = None if file is None else self._reader.give("elf", file)
        return self._files.get(key)

    def _symbols(self, maps: Maps, addresses: list[int]) -> list[Found]:
        found: dict[int, Found] = {}
        by_mapping: dict[Mapping | None, list[int]] = defaultdict(list)
        for address in addresses:
            mapping = maps.at(address)
            by_mapping[mapping if mapping and (mapping.inode or mapping.name == _VDSO) else None].append(address)
        made = by_mapping.pop(None, [])
        for mapping, some in by_mapping.items():
            if mapping:
                found |= zip(some, self._in_file(maps, mapping, some), strict=True)
                # A runtime may keep its code in a file without a name (memfd_create).
                made += [address for address in some if mapping.name.startswith(_MEMORY) and not found[address][0]]
        if made:
            found |= zip(made, self._made(maps, made), strict=True)
        return [found[address] for address in addresses]

    def _in_file(self, maps: Maps, mapping: Mapping, addresses: list[int]) -> list[Found]:
        places = [address - mapping.start + mapping.offset for address in addresses]
        number = self._file(maps, mapping)
        if number is None:
            return [("", mapping.name, place) for place in places]
        named = self._reader.names(number, places)
        if named is None:  # the reader had to make room
            self._reader.forget(number)
            self._files.pop((maps.pid, mapping), None)
            number = self._file(maps, mapping)
            named = None if number is None else self._reader.names(number, places)
        return [(name, mapping.name, offset) for name, offset in named or _unnamed(places)]

    def _made(self, maps: Maps, addresses: list[int]) -> list[Found]:
        """Of memory that is no file's: code that a runtime has made, and told of."""
        file = open_perf_map(maps)
        if file is None:
            return [("", "", address) for address in addresses]
        module = f"/tmp/perf-{maps.inside}.map"
        named = self._reader.names(self._reader.give("perf", file), addresses) or _unnamed(addresses)
        return [(name, module if name else "", offset) for name, offset in named]


def _unnamed(places: list[int]) -> list[Named]:
    return [("", place) for place in places]


def _of_kernel(name: str, offset: int) -> Found:
    function, _, module = name.partition("\t")
    return function, module.strip("[]") or "[kernel]", offset if function else 0


def _own_vdso() -> int | None:
    """A copy of what the kernel maps into every process."""
    maps = read_maps(os.getpid())
    with suppress(OSError):
        for mapping in maps.mappings if maps else ():
            if mapping.name == _VDSO:
                with open("/proc/self/mem", "rb", buffering=0) as memory:
                    memory.seek(mapping.start)
                    copy = memory.read(mapping.end - mapping.start)
                file = os.memfd_create("vdso")
                os.write(file, copy)
                return file
    return None


def main() -> None:
    """Answers until there are no more requests; never returns."""
    # Whatever it does just now: it ends with the thread that asks.
    end_with_parent()
    processes = Processes(Reader())
    for line in sys.stdin.buffer:
        answer = json.dumps(processes.answer(json.loads(line)))
        try:
            sys.stdout.buffer.write(answer.encode() + b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            break
    os._exit(0)

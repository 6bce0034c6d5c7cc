"""Names as a hostile process, container or file may have them, put wherever a name can be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import cycle
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from schedtop.model.frame import Frame
from schedtop.model.host import Host

COMMS = (
    b"\x1b[31mRED\x1b[5m",
    b"\x1b]0;pwn\x07",
    b"a\nb\rc\td\x0b\x0ce",
    "\x9b31mC1\x85\x90".encode(),
    b"\x9b5mraw8bit",
    b"\x7f\x08\x08\x00hidden",
    "\u202egnp.exe".encode(),
    "\u2066a\u2069\u061cb".encode(),
    "a\u200b\u200d\ufeffb".encode(),
    b"[red]R[/red]",
    b"[@click=bell()]",
    b"[/foo][",
    b"$\\frac{a}{b}$",
    b"=cmd|'/C x'!A0",
    b"+1-1",
    b"@SUM(1)",
    b"<script>'\"&--",
    b"{{7*7}}{%x%}%s",
    "漢字漢字漢".encode(),
    "👩‍👩".encode() + b"z",
    "e\u0301\u0300\u0302x".encode(),
    b"\xff\xfe\xc3(",
    b";-;a;b 99 --",
    b"`id`$(id)|x",
)
"""Names of at most 15 bytes, as the kernel keeps them."""

NAMES = tuple(comm.decode("utf-8", "surrogateescape") for comm in COMMS)
PATHS = tuple(f"/a.slice/{name.replace('/', '_')}{tail}" for name in NAMES for tail in ("", ".service", "/x\x1b[2J"))

STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What steers a terminal, or turns text around; lines may end."""

_NAMED = ("comm", "process", "name", "command_line", "cgroup", "module", "scope", "remote", "local", "affinity")
"""Fields of values that hold what somebody else chose."""

Value = TypeVar("Value")


def steering(text: str) -> str:
    """The first thing in a text that could steer a terminal, with what is around it; empty: nothing."""
    found = STEERING.search(text)
    return repr(text[max(0, found.start() - 40) : found.end() + 20]) if found else ""


def strings(value: Any) -> Iterator[str]:
    """All strings in plain objects, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def hostile_host(host: Host) -> Host:
    """A host whose notes and scope hold names; its own name is what a recording says."""
    return replace(host, notes=("note \x1b[31m[red]",), scope="comm:\x1b[31m[red]")


def hostile_frame(frame: Frame) -> Frame:
    """The same with a hostile name in every place for a name, of all rows; nobody is called the same."""
    rows = {name: _rows(getattr(frame, name)) for name in ("tasks", "slow_waits", "pairs", "short_lived", "throttling")}
    paths = cycle(PATHS)
    cgroups = MappingProxyType({number: next(paths) for number in frame.cgroups})
    return replace(frame, **rows, cgroups=cgroups, unavailable={})


def _rows(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    rows = rows.copy()
    for name in rows.dtype.names or ():
        if rows[name].dtype.kind == "S" and rows[name].size:
            column = rows[name].reshape(-1)
            shape = rows[name].shape
            filled = np.resize(np.array(COMMS, column.dtype), column.shape)
            rows[name] = filled.reshape(shape)
    return rows


def hostile_value(value: Value) -> Value:
    """Any value of the package with hostile names in it: dataclasses, tuples and rows, as deep as they go."""
    names = cycle(NAMES)

    def changed(thing: Any, named: bool = False) -> Any:
        if isinstance(thing, str):
            return next(names) if named and thing else thing
        if isinstance(thing, np.ndarray):
            return _rows(thing) if thing.dtype.names else thing
        if isinstance(thing, tuple) and not hasattr(thing, "_fields"):
            return tuple(changed(inner) for inner in thing)
        if is_dataclass(thing) and not isinstance(thing, type):
            parts = {field.name: changed(getattr(thing, field.name), field.name in _NAMED)
                     for field in fields(thing) if field.init}  # fmt: skip
            return replace(thing, **parts)
        return thing

    result: Value = changed(value)
    return result

"""Compiles the kernel programs in a process of its own, so that the compiler's memory and its chatter stay there.

Its child (compiler_child.py) has bcc; the dashboard never does. What comes out is data: instructions, map definitions
and struct layouts (`Compiled`).
"""

from __future__ import annotations

import base64
import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from schedtop.base import turn
from schedtop.base.finding import MORE
from schedtop.base.invoker import UnclearInvoker, as_invoker
from schedtop.model.source import NotPermitted, SourceError
from schedtop.sources.kernel import early_compiler
from schedtop.sources.kernel.bcc_child import NO_BCC
from schedtop.sources.kernel.compiler_child import kernel_calls, map_loads
from schedtop.sources.kernel.early_compiler import bcc_command
from schedtop.sources.kernel.findings.binding import no_bcc
from schedtop.sources.kernel.findings.refusals import is_known, why_refused

_KERNEL_FUNCTION = 2  # BPF_PSEUDO_KFUNC_CALL of include/uapi/linux/bpf.h

UNREAD = ("-g0",)
"""Flags against what takes the compiler time and nobody reads: bcc asks for debug information (0.16 s of 0.86)."""


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
        """A program's instructions: maps by their descriptors, and calls of the kernel's functions marked as such."""
        code = bytearray(self.programs[program])
        names = list(self.maps)
        for at in map_loads(code):
            index = int.from_bytes(code[at + 4 : at + 8], "little")
            code[at + 4 : at + 8] = fds[names[index]].to_bytes(4, "little")
        for at in kernel_calls(code):
            code[at + 1] |= _KERNEL_FUNCTION << 4
        return bytes(code)


def compile_programs(text: str, flags: tuple[str, ...], include_root: Path) -> Compiled:
    """Compiles in a child process. Raises SourceError; the compiler's words are then in a file that it names."""
    request = {"text": text, "flags": (*flags, *UNREAD), "include_root": str(include_root)}
    status, answer, said = _asked(json.dumps(request).encode())
    if status == NO_BCC:
        raise SourceError(no_bcc().error)
    if status:
        kind = NotPermitted if os.strerror(errno.EPERM).encode() in said else SourceError
        raise kind(_why_failed(said))
    return Compiled.from_json(answer)


def _asked(request: bytes) -> tuple[int, bytes, bytes]:
    """What the compiler's process makes of a request: its exit status, and what is on its two outputs."""
    # A thread of the screen has another priority than the process, and what it starts gets none of it.
    nice = os.getpriority(os.PRIO_PROCESS, os.getpid())
    # Where they are the same nothing is asked for: a filter of system calls may refuse it.
    differs = os.getpriority(os.PRIO_PROCESS, 0) != nice
    child = early_compiler.take() or early_compiler.start(bcc_command("compiler_child", str(nice) if differs else ""))
    with child:
        try:
            assert child.stdin
            with suppress(OSError):  # then it takes as long as the child takes to read it
                fcntl.fcntl(child.stdin, fcntl.F_SETPIPE_SZ, len(request))
            with suppress(BrokenPipeError):  # it says why
                child.stdin.write(request)
                child.stdin.close()
            child.stdin = None
            turn.give()
            answer, said = child.communicate()
        except BaseException:
            child.kill()
            raise
        return child.returncode, answer, said


def _why_failed(said: bytes) -> str:
    """The error of a child that had bcc: what the kernel refused, if that is why, else where its words are."""
    for number in (errno.EPERM, errno.ENOSYS):
        # The compiler's child makes the maps, too; that is where the kernel refuses first.
        if os.strerror(number).encode() in said:
            finding = why_refused(OSError(number, os.strerror(number)))
            if is_known(finding):
                return finding.error
    return f"the kernel programs do not compile or load: {MORE}, and the log is in {keep_log(said)}"


def keep_log(log: bytes) -> str:
    """Writes a log for the user; returns the name of its file, or why there is none."""
    try:
        with as_invoker():
            handle, name = tempfile.mkstemp(prefix="schedtop-", suffix="-kernel-programs.log")
        with os.fdopen(handle, "wb") as file:
            file.write(log)
    except (OSError, UnclearInvoker) as error:
        return f"no file ({error})"
    return name

"""Which script an interpreter runs: the kernel's name for it says `bash`."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path, PurePath

from schedtop.base.units import printable

_SHELL = re.compile(r"(?:ba|da|k|z|a)?sh")
_OTHER = re.compile(r"(?:python|perl|ruby|node|php|lua)[\d.]*")

MOST_CELLS = 24

KNOWN_S = 10
"""For so long it is not read again: numbers of processes are used again, and a process may become another."""


def with_script(name: str, pid: int) -> str:
    """`bash deploy.sh`: the kernel's name of an interpreter of this host with its script; another as it is."""
    if not (_SHELL.fullmatch(name) or _OTHER.fullmatch(name)):
        return name
    interpreter, script = _lately(pid, int(time.monotonic() / KNOWN_S))
    return f"{name} {script}" if interpreter == name else name


@lru_cache(maxsize=64)
def _lately(pid: int, _: int) -> tuple[str, str]:
    return script_of(str(pid))


def script_of(pid: str, proc: str = "/proc") -> tuple[str, str]:
    """The names of an interpreter and of its script, without their directories; empty: it is none, or has none.

    Not its other arguments, which may hold what nobody else shall read.
    """
    try:
        command = (Path(proc) / pid / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "", ""
    interpreter = PurePath(command[0]).name.lstrip("-")
    is_shell = bool(_SHELL.fullmatch(interpreter))
    if not is_shell and not _OTHER.fullmatch(interpreter):
        return "", ""
    script = PurePath(_script(command[1:], "c" if is_shell else "cemr")).name
    if not script:
        return "", ""
    return interpreter, printable(script[:MOST_CELLS])


def _script(arguments: Sequence[str], without: str) -> str:
    """The first argument that is no option; empty behind an option `without` a script: it brings the program itself."""
    for argument in arguments:
        if not argument.startswith("-"):
            return argument
        if not argument.startswith("--") and not set(argument).isdisjoint(without):
            return ""
    return ""

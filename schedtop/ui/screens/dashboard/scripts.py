"""Which script an interpreter runs that starts a storm of short-lived tasks: the kernel's name for it says `bash`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePath

from schedtop.base.units import printable
from schedtop.ui.screens.dashboard.live.undo import processes_in
from schedtop.verdict.verdict import Verdict

_SHELL = re.compile(r"(?:ba|da|k|z|a)?sh")
_OTHER = re.compile(r"(?:python|perl|ruby|node|php|lua)[\d.]*")

MOST_CELLS = 24


def with_script(verdict: Verdict) -> Verdict:
    """The verdict on a storm of this host; behind the name of an interpreter that starts it the name of its script."""
    starters = processes_in(verdict.command) if verdict.rule == "forks" else ""
    if not starters:
        return verdict
    scripts = {script_of(pid) for pid in starters.split()}
    interpreters = {name for name, _ in scripts}
    if len(scripts) != 1 or "" in interpreters:
        return verdict
    ((interpreter, script),) = scripts
    starter = re.compile(rf"(^|; | by ){re.escape(interpreter)}(?=( \(\d+\))? (starts|take) | \(\d+ %\))")
    return replace(verdict, headline=starter.sub(lambda found: f"{found[0]} {script}", verdict.headline, count=1))


@lru_cache(maxsize=64)
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

"""Where the kernel side's sources are, and each program of it as one text."""

from __future__ import annotations

import os
import re
from pathlib import Path

import schedtop
from schedtop.model.source import SourceError
from schedtop.sources.kernel.findings.binding import sources

_INCLUDE = re.compile(r'#include "([^"]+)"')


def source_directory() -> Path:
    """Where bpf/ lies: inside the installed package, or beside it in a checkout. Raises SourceError."""
    package = Path(schedtop.__file__).resolve().parent
    for path in (package / "bpf", package.parent / "bpf"):
        if (path / "include" / "bcc.h").is_file():
            return path
    raise SourceError(sources(None, package / "bpf").error)


def program_text(directory: Path, name: str) -> str:
    """A .c file below the directory with all that it includes by `#include "..."`, each file once.

    bcc rewrites accesses to maps in the main file only, so there can be no other. What the compiler says names the
    files as they are.
    """
    return "\n".join(_lines(directory, name, set())) + "\n"


def _lines(directory: Path, name: str, seen: set[str]) -> list[str]:
    seen.add(name)
    lines = [f'#line 1 "{name}"']
    for number, line in enumerate((directory / name).read_text().splitlines(), 1):
        if not (found := _INCLUDE.fullmatch(line)):
            lines.append(line)
            continue
        included = os.path.normpath(os.path.join(os.path.dirname(name), found[1]))
        text = [] if included in seen else _lines(directory, included, seen)
        lines += [*text, f'#line {number + 1} "{name}"']
    return lines

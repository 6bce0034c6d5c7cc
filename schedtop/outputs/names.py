"""Names of files that are written without being asked for one: host and moment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from schedtop.base.units import NS_PER_S


def file_stem(host_name: str, time_ns: int) -> str:
    """A file's name without ending: host and wall-clock time, in local time."""
    moment = datetime.fromtimestamp(time_ns / NS_PER_S).strftime("%Y%m%d-%H%M%S")
    host = re.sub(r"[^A-Za-z0-9_.-]", "_", host_name) or "host"
    return f"schedtop-{host}-{moment}"


def free_base(directory: Path, name: str, endings: Sequence[str] = (".json", ".svg")) -> Path:
    """The name in the directory, with a number if one of its files exists."""
    number = 1
    base = directory / name
    while any(base.with_name(f"{base.name}{ending}").exists() for ending in endings):
        number += 1
        base = directory / f"{name}-{number}"
    return base

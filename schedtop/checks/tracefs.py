"""Tracefs: where it is mounted, and which users may read it."""

from __future__ import annotations

import grp
import pwd
import stat
from collections.abc import Callable, Collection
from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.sources.kernel.findings.tracing import no_tracefs
from schedtop.sources.kernel.tracefs import MOUNT_POINTS, look_for_tracefs


def tracefs(candidates: Collection[Path] = MOUNT_POINTS, *, needed: bool = True) -> tuple[Finding, Path | None]:
    """Whether it can be used, and where it is. Unless it is `needed` (there is BTF), it is only worth mentioning."""
    path, denied = look_for_tracefs(candidates)
    if path is None:
        return no_tracefs(denied, needed=needed), None
    found = f"{path}, {_access(path)}"
    return Finding("tracefs", "ok", found, details={"path": str(path), "readable": True}), path


def _access(path: Path) -> str:
    """Which users can read it."""
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    owner = _name(lambda: pwd.getpwuid(status.st_uid).pw_name, status.st_uid)
    if mode & 0o005 == 0o005:
        readers = "all"
    elif mode & 0o050 == 0o050:
        readers = f"{owner} and group {_name(lambda: grp.getgrgid(status.st_gid).gr_name, status.st_gid)}"
    else:
        readers = f"{owner} only"
    return f"mode {mode:04o}: for {readers}"


def _name(look_up: Callable[[], str], number: int) -> str:
    try:
        return look_up()
    except KeyError:
        return str(number)

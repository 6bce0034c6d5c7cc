"""Tracepoints as tracefs describes them: which exist, and where the fields of their records lie."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from schedtop.sources.kernel.findings.tracing import no_tracefs, unreadable

MOUNT_POINTS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))

_FIELD = re.compile(r"^\s*field:(?P<type>[^;]*?)(?P<name>\w+)(?P<array>\[\w*\])?;"
                    r"\s*offset:(?P<offset>\d+);\s*size:(?P<size>\d+);", re.MULTILINE)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a tracepoint's record: offset and size in bytes."""

    name: str
    type: str
    offset: int
    size: int


class TracefsError(Exception):
    """Tracefs cannot be used; the text says why and what to do."""


def find_tracefs(candidates: Collection[Path] = MOUNT_POINTS) -> Path:
    """The mounted and readable tracefs. Raises TracefsError."""
    path, denied = look_for_tracefs(candidates)
    if path is None:
        raise TracefsError(no_tracefs(denied).error)
    return path


def look_for_tracefs(candidates: Collection[Path] = MOUNT_POINTS) -> tuple[Path | None, Path | None]:
    """The first one that is mounted and readable, else the first one that may not be read."""
    denied = None
    for path in candidates:
        try:
            if (path / "events").is_dir() and os.listdir(path / "events"):
                return path, None
        except PermissionError:
            denied = denied or path
        except OSError:
            continue
    return None, denied


def parse_format(text: str) -> dict[str, Field]:
    """The fields of a tracepoint by name, from the text of its `format` file."""
    return {
        match["name"]: Field(match["name"], match["type"].strip(), int(match["offset"]), int(match["size"]))
        for match in _FIELD.finditer(text)
    }


def read_fields(tracefs: Path, event: str) -> dict[str, Field] | None:
    """The fields of `category:name`, `None` where the kernel has no such tracepoint. Raises TracefsError."""
    path = tracefs / "events" / event.replace(":", "/") / "format"
    try:
        return parse_format(path.read_text("utf-8", "replace"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TracefsError(unreadable(path, error)) from error


def read_id(tracefs: Path, event: str) -> int:
    """The number by which perf_event_open knows the tracepoint `category:name`. Raises TracefsError."""
    path = tracefs / "events" / event.replace(":", "/") / "id"
    try:
        return int(path.read_text())
    except OSError as error:
        raise TracefsError(unreadable(path, error)) from error
    except ValueError as error:
        raise TracefsError(f"{path}: {error}") from error

"""Names of files that are written without being asked for one: host and moment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from schedtop.base.units import NS_PER_S
from schedtop.outputs.files import StartedFile, claim


def file_stem(host_name: str, time_ns: int) -> str:
    """A file's name without ending: host and wall-clock time, in local time."""
    moment = datetime.fromtimestamp(time_ns / NS_PER_S).strftime("%Y%m%d-%H%M%S")
    host = re.sub(r"[^A-Za-z0-9_.-]", "_", host_name) or "host"
    return f"schedtop-{host}-{moment}"


class FreeName:
    """A name in a directory, with a number if one of its files exists: no other schedtop takes it until the release.

    A hidden file holds it meanwhile. `path` gives its files. Raises OutputError.
    """

    def __init__(self, directory: Path, name: str, endings: Sequence[str] = (".json", ".svg")) -> None:
        self._directory = directory
        self._claim: StartedFile | None = None
        number, self._name = 1, name
        while not self._take(endings):
            number += 1
            self._name = f"{name}-{number}"

    def _take(self, endings: Sequence[str]) -> bool:
        self._claim = claim(self._directory / f".{self._name}{endings[0]}.claimed")
        # In this order: whoever had the name before has made its files by the time it is free.
        if self._claim and any(self.path(ending).exists() for ending in endings):
            self.release()
        return self._claim is not None

    def path(self, ending: str) -> Path:
        """The file with that ending."""
        return self._directory / f"{self._name}{ending}"

    def release(self) -> None:
        """Its files are there, or will not come. Twice is once."""
        claimed, self._claim = self._claim, None
        if claimed:
            claimed.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.release()

"""Names of processes that only /proc can tell: those of leaders that the kernel side has not seen."""

from __future__ import annotations

from pathlib import Path

from schedtop.sources.kernel.pid_numbers import numbers_in


class ProcessNames:
    """Names of processes with a leader that has not been seen switching, read from /proc once each."""

    _LIMIT = 10_000

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = root
        self._names: dict[int, bytes] = {}

    def name(self, tgid: int) -> bytes:
        """The comm of a thread group's leader, empty if it is gone."""
        if tgid not in self._names:
            number = numbers_in(self._root).inside(tgid)
            if not number:
                return b""
            if len(self._names) >= self._LIMIT:
                self._names.clear()
            try:
                name = (self._root / str(number) / "comm").read_bytes().rstrip(b"\n")[:16]
            except OSError:
                name = b""
            self._names[tgid] = name
        return self._names[tgid]

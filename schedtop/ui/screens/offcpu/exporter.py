"""The key that writes the listed threads to files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.base.units import plural
from schedtop.offcpu.threads import Measured, ThreadLine
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.dashboard.export import ExportError
from schedtop.ui.screens.offcpu.export import only, write_offcpu

Exported = tuple[Measured | None, Sequence[ThreadLine]]
"""What is shown, `None` while there is nothing, and which of its threads are listed."""


class OffCpuExporter:
    """Writes the listed threads to files in a directory, without holding up the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("e", "export", "Export", "Writes the listed threads: a flame graph, folded stacks, JSON", shown=True),
    ]

    def __init__(self, screen: Screen[Any], exported: Callable[[], Exported], directory: Path) -> None:
        self.directory = directory
        self._screen = screen
        self._exported = exported

    def action_export(self) -> None:
        """Writes them, if there is anything yet."""
        shown, listed = self._exported()
        if shown is None:
            self._screen.notify("there is nothing to export yet", severity="warning")
            return
        self._screen.run_worker(self._export(shown, listed), group="export")

    async def _export(self, shown: Measured, listed: Sequence[ThreadLine]) -> None:
        left_out = len(shown.lines) - len(listed)
        note = (
            f"{left_out} of {len(shown.lines)} {plural(len(shown.lines), 'thread')} {plural(left_out, 'was', 'were')} "
            f"not listed on the screen and {plural(left_out, 'is', 'are')} left out, also of shares"
        )
        threads = {line.thread.thread for line in listed}
        try:
            chosen_ones = only(shown.offcpu, threads, note if left_out else "")
            paths = await asyncio.to_thread(write_offcpu, chosen_ones, self.directory)
        except ExportError as problem:
            self._screen.notify(f"not exported: {problem}", severity="error", timeout=10, markup=False)
        else:
            self._screen.notify("\n".join(map(str, paths)), title="Exported", timeout=8, markup=False)

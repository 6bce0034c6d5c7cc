"""The key that writes the task view to files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.history.view import View
from schedtop.model.host import Host
from schedtop.panes.task.scene import Scene
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.dashboard.export import ExportError
from schedtop.ui.screens.task.export import write_task

Exported = tuple[Scene, Host | None, View]
"""What is shown, the host that the counts are from, once there are any, and what the dashboard shows."""


class TaskExporter:
    """Writes what is shown to files in a directory, without holding up the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("e", "export", "Export", "Writes the task view as JSON, and the screen as SVG", shown=True),
    ]

    def __init__(self, screen: Screen[Any], shown: Callable[[], Exported], directory: Path) -> None:
        self._screen = screen
        self._shown = shown
        self._directory = directory

    async def action_export(self) -> None:
        """Writes it, when messages of an export before are off the screen."""
        self._screen.app.clear_notifications()
        await self._screen.query("Toast").remove()
        self._screen.call_after_refresh(self._export_now)

    def _export_now(self) -> None:
        svg = self._screen.app.export_screenshot(title="schedtop")
        self._screen.run_worker(self._export(self._shown(), svg), group="export")

    async def _export(self, shown: Exported, svg: str) -> None:
        try:
            paths = await asyncio.to_thread(write_task, *shown, svg, self._directory)
        except ExportError as problem:
            self._screen.notify(f"not exported: {problem}", severity="error", timeout=10, markup=False)
        else:
            self._screen.notify("\n".join(map(str, paths)), title="Exported", timeout=8, markup=False)

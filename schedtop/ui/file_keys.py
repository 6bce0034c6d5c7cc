"""The keys that write files: what they write, and what the user hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType

from schedtop.history import View
from schedtop.panes.pane import Pane
from schedtop.ui.bindings import key
from schedtop.ui.export import ExportError, write_export
from schedtop.ui.pane_screen import PaneScreen


class FileKeys(PaneScreen):
    """Panes whose `view` can be written to files in `export_dir`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("e", "export", "Export", "Writes what is shown as JSON, and the screen as SVG", shown=True),
    ]

    def __init__(self, panes: Sequence[Pane], export_dir: Path) -> None:
        super().__init__(panes)
        self.view: View | None = None
        self.export_dir = export_dir

    async def action_export(self) -> None:
        """Writes what is shown to files, without holding up the screen."""
        if self.view is None:
            self.notify("there is nothing to export yet", severity="warning")
            return
        # The picture is without the message of an export before.
        self.app.clear_notifications()
        await self.query("Toast").remove()
        self.call_after_refresh(self._export_now)

    def _export_now(self) -> None:
        if self.view is not None:
            self.run_worker(self._export(self.view, self.app.export_screenshot(title="schedtop")), group="export")

    async def _export(self, view: View, svg: str) -> None:
        try:
            paths = await asyncio.to_thread(write_export, view, svg, self.export_dir)
        except ExportError as problem:
            self.notify(f"not exported: {problem}", severity="error", timeout=10, markup=False)
        else:
            self.notify("\n".join(map(str, paths)), title="Exported", timeout=8, markup=False)

"""The keys that write files: what they write, and what the user hears of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType

from schedtop.history.view import View
from schedtop.model.source import SourceError
from schedtop.outputs.files import OutputError
from schedtop.panes.pane import Pane
from schedtop.ui.keys.bindings import key
from schedtop.ui.on_demand import NOTHING, TakeCapture
from schedtop.ui.screens.dashboard.export import ExportError, write_export
from schedtop.ui.screens.dashboard.pane_screen import PaneScreen


class FileKeys(PaneScreen):
    """Panes whose `view` can be written to files in `export_dir`; what needs the live kernel is in `on_demand`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("e", "export", "Export", "Writes what is shown as JSON, and the screen as SVG", shown=True),
        key("c", "capture", "Capture", "Writes every switch, wakeup and migration of 2 s as a trace"),
    ]

    def __init__(self, panes: Sequence[Pane], export_dir: Path) -> None:
        super().__init__(panes)
        self.view: View | None = None
        self.export_dir = export_dir
        self.on_demand = NOTHING
        self._capturing = False
        self._leaving = threading.Event()

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

    def action_capture(self) -> None:
        """Captures in the background: the panes go on meanwhile."""
        if self.on_demand.take_capture is None:
            why = f": {self.on_demand.why}" if self.on_demand.why else " needs the live kernel: here there is none"
            self.notify(f"a capture{why}", severity="warning", markup=False)
        elif self._capturing:
            self.notify("a capture is under way", severity="warning")
        else:
            self._capturing = True
            self.notify("2 s of every switch, wakeup and migration", title="Capturing", timeout=3)
            self.run_worker(self._capture(self.on_demand.take_capture), group="capture")

    async def _capture(self, take: TakeCapture) -> None:
        try:
            lines = await asyncio.to_thread(take, self.export_dir, self._leaving)
        except (SourceError, OutputError, OSError) as problem:
            self.notify(f"not captured: {problem}", severity="error", timeout=10, markup=False)
        else:
            self.notify("\n".join(lines), title="Captured", timeout=12, markup=False)
        finally:
            self._capturing = False

    def on_unmount(self) -> None:
        """A capture that is under way ends."""
        self._leaving.set()

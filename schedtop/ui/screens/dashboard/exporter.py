"""The keys that write files: what they write, and what the user hears of it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.history.view import View
from schedtop.model.source import SourceError
from schedtop.outputs.files import OutputError
from schedtop.ui.keys.bindings import key
from schedtop.ui.on_demand import OnDemand, TakeCapture
from schedtop.ui.screens.dashboard.shown import Shown


class Exporter:
    """Writes the View that is shown, or a capture of the live kernel, to files in a directory."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("e", "export", "Export", "Writes what is shown as JSON, and the screen as SVG", shown=True),
        key("c", "capture", "Capture", "Writes every switch, wakeup and migration of 2 s as a trace"),
    ]

    def __init__(self, screen: Screen[Any], shown: Shown, directory: Path, on_demand: OnDemand) -> None:
        self.directory = directory
        self._screen = screen
        self._shown = shown
        self._on_demand = on_demand
        self._capturing = False
        self._leaving = threading.Event()

    async def action_export(self) -> None:
        """Writes what is shown to files, without holding up the screen."""
        if self._shown.view is None:
            self._screen.notify("there is nothing to export yet", severity="warning")
            return
        # The picture is without the message of an export before.
        self._screen.app.clear_notifications()
        await self._screen.query("Toast").remove()
        self._screen.call_after_refresh(self._export_now)

    def _export_now(self) -> None:
        if self._shown.view is not None:
            svg = self._screen.app.export_screenshot(title="schedtop")
            self._screen.run_worker(self._export(self._shown.view, svg), group="export")

    async def _export(self, view: View, svg: str) -> None:
        # Late: at the key, which most dashboards never see.
        from schedtop.ui.screens.dashboard.export import ExportError, write_export

        try:
            paths = await asyncio.to_thread(write_export, view, svg, self.directory)
        except ExportError as problem:
            self._screen.notify(f"not exported: {problem}", severity="error", timeout=10, markup=False)
        else:
            self._screen.notify("\n".join(map(str, paths)), title="Exported", timeout=8, markup=False)

    def action_capture(self) -> None:
        """Captures in the background: the panes go on meanwhile."""
        take, why = self._on_demand.take_capture, self._on_demand.why
        if take is None:
            words = f": {why}" if why else " needs the live kernel: here there is none"
            self._screen.notify(f"a capture{words}", severity="warning", markup=False)
        elif self._capturing:
            self._screen.notify("a capture is under way", severity="warning")
        else:
            self._capturing = True
            self._screen.notify("2 s of every switch, wakeup and migration", title="Capturing", timeout=3)
            self._screen.run_worker(self._capture(take), group="capture")

    async def _capture(self, take: TakeCapture) -> None:
        try:
            lines = await asyncio.to_thread(take, self.directory, self._leaving)
        except (SourceError, OutputError, OSError) as problem:
            self._screen.notify(f"not captured: {problem}", severity="error", timeout=10, markup=False)
        else:
            self._screen.notify("\n".join(lines), title="Captured", timeout=12, markup=False)
        finally:
            self._capturing = False

    def on_unmount(self) -> None:
        """A capture that is under way ends."""
        self._leaving.set()

"""What hatchling calls for a wheel: adds the man page, made anew from the commands so that it cannot go stale."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualHook(BuildHookInterface):  # type: ignore[type-arg]
    """Makes schedtop(1) in a temporary directory, which lives until the wheel is written."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # a checkout's own environment; make install brings the page
            return
        self._made = tempfile.TemporaryDirectory(prefix="schedtop-man-")
        page = Path(self._made.name) / "schedtop.1"
        # A process of its own: the schedtop of this checkout, whichever is imported here already.
        with page.open("wb") as stream:
            script = Path(self.root, "scripts", "manual.py")
            subprocess.run([sys.executable, str(script)], stdout=stream, check=True)
        build_data["shared_data"][str(page)] = "share/man/man1/schedtop.1"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._made.cleanup()

"""Writes what is shown to files: the View as JSON, the screen as SVG."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedtop.history.view import View
from schedtop.outputs.files import OutputError, write_file
from schedtop.outputs.names import FreeName, file_stem
from schedtop.outputs.scheduler.snapshot import origin, to_json

FONTS = "'DejaVu Sans Mono', 'Liberation Mono', 'Noto Sans Mono', Menlo, Consolas, monospace"

ExportError = (OutputError, OSError)
"""What writing may raise; the text is for the user."""


def write_export(view: View, svg: str, directory: Path) -> list[Path]:
    """Writes `schedtop-HOST-DATE-TIME.json` and `.svg` and gives their paths; never over files that exist.

    Raises one of ExportError.
    """
    with FreeName(directory, base_name(view)) as name:
        return [
            write_file(name.path(".json"), to_json(view, None)),
            write_file(name.path(".svg"), self_contained(svg, origin(view))),
        ]


def self_contained(svg: str, about: Mapping[str, Any]) -> str:
    """The picture with where it comes from (as JSON in `metadata`), and without fonts that it would fetch."""
    svg = re.sub(r"@font-face\s*\{[^}]*\}\s*", "", svg)
    svg = re.sub(r"font-family:\s*Fira Code\b[^;]*", f"font-family: {FONTS}", svg)
    words = html.escape(json.dumps(about, ensure_ascii=True), quote=False)
    return re.sub(r"(<svg\b[^>]*>)", lambda start: f"{start[0]}\n<metadata>{words}</metadata>", svg, count=1)


def base_name(view: View) -> str:
    """The files' name without ending: host and the moment that is shown, in local time."""
    return file_stem(view.host.name, view.end_time_ns)

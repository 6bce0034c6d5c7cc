"""Writes the lens to files: its counts as JSON, the screen as SVG."""

from __future__ import annotations

from pathlib import Path

from schedtop.history import View
from schedtop.outputs.files import write_file
from schedtop.outputs.names import free_base
from schedtop.outputs.snapshot import origin
from schedtop.panes.lens.scene import Scene
from schedtop.ui.export import base_name, self_contained


def write_lens(scene: Scene, view: View, svg: str, directory: Path) -> list[Path]:
    """Writes `schedtop-HOST-DATE-TIME-task-TID.svg`; never over files that exist.

    Raises one of ExportError.
    """
    subject = scene.subject
    name = f"process-{subject.tgid}" if subject.is_process else f"task-{subject.tid}"
    base = free_base(directory, f"{base_name(view)}-{name}")
    return [write_file(base.with_name(f"{base.name}.svg"), self_contained(svg, origin(view)))]

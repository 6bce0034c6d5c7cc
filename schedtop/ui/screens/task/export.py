"""Writes the task view to files: its counts as JSON (`schedtop.task/1`), the screen as SVG."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from schedtop.history.view import View
from schedtop.model.host import Host
from schedtop.outputs.files import write_file
from schedtop.outputs.names import FreeName
from schedtop.outputs.scheduler.snapshot import origin
from schedtop.outputs.task.fields import to_json
from schedtop.panes.task.scene import Scene
from schedtop.task import Column, StateTimes, TaskFrame
from schedtop.ui.screens.dashboard.export import base_name, self_contained


def write_task(scene: Scene, host: Host | None, view: View, svg: str, directory: Path) -> list[Path]:
    """Writes `schedtop-HOST-DATE-TIME-task-TID.json` and `.svg`; never over files that exist.

    Without counts (`host` is that of the task view's source) there is only the picture. Raises one of ExportError.
    """
    subject = scene.subject
    name = f"process-{subject.tgid}" if subject.is_process else f"task-{subject.tid}"
    paths = []
    with FreeName(directory, f"{base_name(view)}-{name}") as free:
        if scene.counts is not None and host is not None:
            report = to_json(whole(scene, scene.counts), host, scene.threshold_ns)
            paths.append(write_file(free.path(".json"), report))
        return [*paths, write_file(free.path(".svg"), self_contained(svg, origin(view)))]


def whole(scene: Scene, counts: TaskFrame) -> TaskFrame:
    """The counts with what the screen has beside them: the strip, and the History's slow waits of the same span."""
    strip = tuple(Column(scene.strip_ns, StateTimes(*row)) for row in scene.strip.tolist())
    if scene.past is None or "slow_waits" in scene.past.unavailable:
        return replace(counts, strip=strip)
    waits = scene.past.slow_waits
    waits = waits[waits["time_ns"] >= counts.start_time_ns]
    unavailable = {part: why for part, why in counts.unavailable.items() if part != "slow waits"}
    return replace(counts, strip=strip, slow_waits=waits, unavailable=MappingProxyType(unavailable))

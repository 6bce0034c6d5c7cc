"""Writes an off-CPU measurement to files: a flame graph, folded stacks, and JSON."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from schedtop.offcpu.measurement import OffCpu
from schedtop.outputs.files import write_file
from schedtop.outputs.names import FreeName, file_stem

ENDINGS = (".offcpu.svg", ".offcpu.folded", ".offcpu.json")


def write_offcpu(offcpu: OffCpu, directory: Path) -> list[Path]:
    """Writes `schedtop-HOST-DATE-TIME.offcpu.svg`, `.folded` and `.json`; gives their paths; never over files that
    exist.

    Raises one of ExportError.
    """
    # Only the key for the export needs them; the dashboard, which can open this screen, starts without.
    from schedtop.outputs.offcpu.asked import Asked
    from schedtop.outputs.offcpu.document import to_json
    from schedtop.outputs.offcpu.stacks import to_folded, to_svg

    stem = file_stem(offcpu.host.name, offcpu.start_time_ns + offcpu.duration_ns)
    texts = (to_svg(offcpu, Asked(idle=True)), to_folded(offcpu), to_json(offcpu))
    with FreeName(directory, stem, ENDINGS) as name:
        return [write_file(name.path(ending), text) for ending, text in zip(ENDINGS, texts, strict=True)]


def only(offcpu: OffCpu, threads: Collection[tuple[int, str]], note: str) -> OffCpu:
    """The measurement of some of its threads; what is left out is said in a note."""
    rows = tuple(row for row in offcpu.rows if row.thread in threads)
    return replace(offcpu, rows=rows, notes=(*offcpu.notes, *([note] if note else [])))

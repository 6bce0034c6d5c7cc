"""`schedtop diff`: what changed between two recordings, snapshots, or sets of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schedtop.base.units import format_counted
from schedtop.commands.evidence import Part, read_evidence
from schedtop.commands.output import checked_output, write_output
from schedtop.commands.together import gather, recordings_of
from schedtop.model.filters import Filter
from schedtop.outputs.diff.changes import diff as compare
from schedtop.outputs.diff.text import to_text
from schedtop.outputs.fleet.side import side
from schedtop.outputs.report.contents import to_json
from schedtop.outputs.saved import Wrong, damaged
from schedtop.run.memory import bounded
from schedtop.run.progress import progress
from schedtop.run.signals import Signals


def run(signals: Signals, before: Sequence[Path], after: Sequence[Path], options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    target = checked_output(options)
    paths = recordings_of(before), recordings_of(after)
    with signals.raising():
        if len(paths[0]) == len(paths[1]) == 1:
            written, complete = _two(paths[0][0], paths[1][0], options), True
        else:
            written, complete = _sets(*paths, options)
        write_output(written, target, force=options["force"])
    return 0 if complete else 1


def _two(before: Path, after: Path, options: dict[str, Any]) -> str:
    with bounded(before, after):
        sides = []
        for path in (before, after):
            with progress(f"reading {path.name}"):
                sides.append(read_evidence(path, Filter(), top=0, all_tasks=True))
        names = (str(before), str(after))
        try:
            return _written(sides, names, options)
        except Wrong as error:
            doubtful = [name for name, side in zip(names, sides, strict=True) if not side["recording"]]
            if not doubtful:
                raise
            raise damaged(" or ".join(doubtful), error) from error


def _sets(before: Sequence[Path], after: Sequence[Path], options: dict[str, Any]) -> tuple[str, bool]:
    """What is written of two sets of recordings, and whether all could be read."""
    gathered = [gather(paths, Filter(), Part(), 0) for paths in (before, after)]
    names = [str(paths[0]) if len(paths) == 1 else format_counted(len(paths), "file") for paths in (before, after)]
    written = _written([side(one) for one in gathered], (names[0], names[1]), options)
    return written, not any(one.left_out for one in gathered)


def _written(sides: Sequence[dict[str, Any]], names: tuple[str, str], options: dict[str, Any]) -> str:
    data = compare(sides[0], sides[1], names, options["top"])
    if options["format_name"] == "json":
        return to_json(data)
    latencies = (sides[0]["runqueue_latency"]["all"], sides[1]["runqueue_latency"]["all"])
    return to_text(data, options["top"], latencies)

"""`schedtop diff`: what changed between two recordings or snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schedtop.commands.evidence import read_evidence
from schedtop.commands.output import checked_output, write_output
from schedtop.model.filters import Filter
from schedtop.outputs.diff.changes import diff as compare
from schedtop.outputs.diff.text import to_text
from schedtop.outputs.report.contents import to_json
from schedtop.outputs.saved import Wrong, damaged
from schedtop.run.memory import bounded
from schedtop.run.progress import progress
from schedtop.run.signals import Signals


def run(signals: Signals, before: Path, after: Path, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    target = checked_output(options)
    with signals.raising(), bounded(before, after):
        sides = []
        for path in (before, after):
            with progress(f"reading {path.name}"):
                sides.append(read_evidence(path, Filter(), top=0, all_tasks=True))
        names = (str(before), str(after))
        try:
            data = compare(sides[0], sides[1], names, options["top"])
            latencies = (sides[0]["runqueue_latency"]["all"], sides[1]["runqueue_latency"]["all"])
            as_json = options["format_name"] == "json"
            written = to_json(data) if as_json else to_text(data, options["top"], latencies)
        except Wrong as error:
            doubtful = [name for name, side in zip(names, sides, strict=True) if not side["recording"]]
            if not doubtful:
                raise
            raise damaged(" or ".join(doubtful), error) from error
        write_output(written, target, force=options["force"])
    return 0

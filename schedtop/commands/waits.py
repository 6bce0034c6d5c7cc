"""`schedtop waits`: slow waits as they happen, a line each."""

from __future__ import annotations

from typing import Any

from schedtop.base.units import format_counted
from schedtop.commands.streams import say_damage, streaming
from schedtop.outputs.scheduler.wait_lines import WaitLines
from schedtop.run.errors import complain
from schedtop.run.signals import Signals


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    lines = WaitLines(options["format_name"], options["most"])
    interval_ns = 0 if options["replay"] else options["interval"]
    work, recording = streaming(signals, {**options, "group": None}, interval_ns, stream=lines, count=None)
    status = work.run(signals)
    say_damage(recording)
    complain(f"{format_counted(lines.told, 'slow wait')}, {lines.left_out or 'none'} left out")
    return status

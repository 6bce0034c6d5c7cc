"""An off-CPU measurement by its stacks: folded lines, or a flame graph."""

from __future__ import annotations

from schedtop.base.units import (
    printable,
)
from schedtop.offcpu.measurement import OffCpu, folded, paths, selected
from schedtop.offcpu.threads import measured
from schedtop.outputs.offcpu.asked import ASKED, Asked
from schedtop.outputs.offcpu.document import about
from schedtop.outputs.offcpu.lines import idle_words, measured_lines, origin, trouble


def to_folded(offcpu: OffCpu, asked: Asked = ASKED) -> str:
    """A line for each path, in microseconds, as flamegraph.pl reads them: nothing else has a place there."""
    return "".join(f"{printable(line)}\n" for line in folded(offcpu, asked.state))


def to_svg(offcpu: OffCpu, asked: Asked = ASKED) -> str:
    """The flame graph, of all tasks without those that only waited for work."""
    # Late: it brings the templates, which the other formats need not wait for.
    from schedtop.outputs.flame import flame_svg

    chosen = selected(asked.state)
    found = measured(offcpu)
    drawn = {line.thread.thread for line in found.lines if asked.lists_idle(offcpu) or not line.is_idle}
    rows = (row for row in offcpu.rows if chosen(row) and row.thread in drawn)
    title = "Off-CPU time" + (f", {asked.state}" if asked.state != "all" else "")
    lines = ["  ".join(origin(offcpu)), *measured_lines(offcpu)]
    lines += [idle_words(len(found.lines) - len(drawn))] if len(drawn) < len(found.lines) else []
    lines += trouble(offcpu)
    stacks = paths(rows, wakers=bool(offcpu.wakers))
    return flame_svg(stacks, title=title, subtitle=lines, unit="ns", about=about(offcpu, asked.state))

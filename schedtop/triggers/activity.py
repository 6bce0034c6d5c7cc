"""What a trigger asks about what tasks do: it needs Frames with activity."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.base.units import rate
from schedtop.model.frame import Frame
from schedtop.triggers.measured import Argument, Measure, Measured

NOT_MEASURED = "activity was not measured"
NO_CLASSES = "processes have no class: and no pidns: here"

FIELDS = {
    "syscalls": ("syscalls", ("syscalls",)),
    "syscall_errors": ("syscall_errors", ("syscalls",)),
    "major_faults": ("major_faults", ("memory", "faults")),
    "tcp_failures": ("tcp_failures", ("network", "connections")),
    "retransmits": ("tcp_retransmits", ("network", "retransmits")),
}
"""Each metric: the field of a row, and the parts of `unavailable` or `only` without which it is not there."""


def activity_rate(name: str) -> Measure:
    """A counter of activity a second, of all processes or some."""
    field, parts = FIELDS[name]

    def measure(recent: Sequence[Frame], argument: Argument) -> Measured:
        frame = recent[-1]
        table = frame.activity
        if table is None:
            return Measured(None, frame.unavailable.get("activity", NOT_MEASURED))
        missing = next((part for part in parts if part in table.unavailable), None)
        if missing or parts[0] not in table.only:
            return Measured(None, table.unavailable[missing] if missing else NOT_MEASURED)
        if argument.tasks.classes or argument.tasks.pid_namespaces:
            return Measured(None, NO_CLASSES)
        rows = argument.tasks.rows(table.rows, "", frame.cgroups)
        return Measured(rate(int(rows[field].sum()), table.interval_ns), matched=bool(len(rows)) or not argument.tasks)

    return measure

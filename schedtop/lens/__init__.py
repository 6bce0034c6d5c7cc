"""Lens: what happened to one task, or to all threads of one process, in one interval.

Counters add: `earlier + later` is the Lens of both. What a kernel cannot give is named in `Lens.unavailable` (a part of
PARTS -> why); its values are then `None` or empty, never to be shown as zero.
"""

from schedtop.lens.lens import Lens, LensSource
from schedtop.lens.parts import (
    IO_KINDS,
    PARTS,
    SLOWEST,
    STATES,
    Attributes,
    Column,
    ConnectionChange,
    CpuUse,
    Faults,
    Io,
    LensLoss,
    OngoingCall,
    Peer,
    Quota,
    SlowCall,
    StateTimes,
    Syscall,
    Thread,
    Traffic,
    io_order,
    slowest,
    syscall_order,
    thread_order,
    traffic_key,
)

__all__ = [
    "IO_KINDS",
    "PARTS",
    "SLOWEST",
    "STATES",
    "Attributes",
    "Column",
    "ConnectionChange",
    "CpuUse",
    "Faults",
    "Io",
    "Lens",
    "LensLoss",
    "LensSource",
    "OngoingCall",
    "Peer",
    "Quota",
    "SlowCall",
    "StateTimes",
    "Syscall",
    "Thread",
    "Traffic",
    "io_order",
    "slowest",
    "syscall_order",
    "thread_order",
    "traffic_key",
]

"""TaskFrame: what happened to one task, or to all threads of one process, in one interval.

Counters add: `earlier + later` is the TaskFrame of both. What a kernel cannot give is named in
`TaskFrame.unavailable` (a part of PARTS -> why); its values are then `None` or empty, never to be shown as zero.
"""

from schedtop.task.calls import SLOWEST, OngoingCall, SlowCall, Syscall, slowest, syscall_order
from schedtop.task.connections import (
    ConnectionChange,
    Transition,
    connection_counts,
    counts_words,
    entered,
    transition_order,
    transitions,
)
from schedtop.task.frame import TaskFrame, TaskSource, longest_waits, waited_before_ns
from schedtop.task.loss import CHANGES_KEPT, PARTS, SLOW_WAITS_KEPT, THREADS_KEPT, TaskLoss
from schedtop.task.scheduling import Attributes, CpuUse, Peer, Quota
from schedtop.task.states import STATES, Column, StateTimes
from schedtop.task.threads import Faults, Thread, exit_words, thread_order
from schedtop.task.traffic import IO_KINDS, Io, Traffic, io_order, traffic_key

__all__ = [
    "CHANGES_KEPT",
    "IO_KINDS",
    "PARTS",
    "SLOWEST",
    "SLOW_WAITS_KEPT",
    "STATES",
    "THREADS_KEPT",
    "Attributes",
    "Column",
    "ConnectionChange",
    "CpuUse",
    "Faults",
    "Io",
    "OngoingCall",
    "Peer",
    "Quota",
    "SlowCall",
    "StateTimes",
    "Syscall",
    "TaskFrame",
    "TaskLoss",
    "TaskSource",
    "Thread",
    "Traffic",
    "Transition",
    "connection_counts",
    "counts_words",
    "entered",
    "exit_words",
    "io_order",
    "longest_waits",
    "slowest",
    "syscall_order",
    "thread_order",
    "traffic_key",
    "transition_order",
    "transitions",
    "waited_before_ns",
]

"""What the dashboard opens only when a key asks for it. The commands know how, the screen only when."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from schedtop.offcpu import OffCpuSource

TakeCapture = Callable[[Path, threading.Event], list[str]]
"""Captures the live kernel for a while into files in a directory, less if the event is set; lines for the user.

Raises SourceError or OutputError."""

MakeOffCpu = Callable[[int], OffCpuSource]
"""The source of off-CPU time, not open yet, that measures the waits of so many nanoseconds and more."""


@dataclass(frozen=True, slots=True)
class OnDemand:
    """The key of each; `None` where there is no live kernel: the key then says so."""

    take_capture: TakeCapture | None = None
    make_offcpu: MakeOffCpu | None = None


NOTHING = OnDemand()

"""How quiet the machine was while something was measured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Noise:
    """What else went on: `steal_s` is CPU time that the hypervisor took, `load` the load average before and after."""

    duration_s: float = 0.0
    steal_s: float = 0.0
    steal_ratio: float = 0.0
    busy_ratio: float = 0.0
    load_before: float = 0.0
    load_after: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.duration_s:.0f} s; steal {self.steal_s:.2f} s ({self.steal_ratio:.2%} of all CPU time); "
            f"CPUs busy {self.busy_ratio:.0%}; load average {self.load_before:.1f} before, {self.load_after:.1f} after"
        )

    def to_data(self) -> dict[str, Any]:
        """All of it for the JSON file."""
        return {name: round(value, 4) for name, value in asdict(self).items()}


@contextmanager
def watched() -> Iterator[Noise]:
    """The noise during the block, complete at its end."""
    noise = Noise(load_before=os.getloadavg()[0])
    begin, before = time.monotonic(), _cpu_times_s()
    try:
        yield noise
    finally:
        spent = [later - earlier for earlier, later in zip(before, _cpu_times_s(), strict=True)]
        whole = sum(spent) or 1.0
        noise.duration_s = time.monotonic() - begin
        noise.steal_s = spent[7]
        noise.steal_ratio = spent[7] / whole
        noise.busy_ratio = 1 - (spent[3] + spent[4] + spent[7]) / whole
        noise.load_after = os.getloadavg()[0]


def switches() -> int:
    """Context switches of the machine since its start: `ctxt` of /proc/stat."""
    line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("ctxt"))
    return int(line.split()[1])


def _cpu_times_s() -> list[float]:
    """user, nice, system, idle, iowait, irq, softirq, steal of all CPUs (man 5 proc)."""
    line = Path("/proc/stat").read_text().split("\n", 1)[0]
    return [int(ticks) * _TICK_S for ticks in line.split()[1:9]]

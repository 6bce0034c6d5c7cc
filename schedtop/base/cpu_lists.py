"""Lists of CPUs as the kernel and people write them: `0-3,8`."""

from __future__ import annotations

from collections.abc import Iterable

_MAX_CPU = 1 << 16


def cpu_list(text: str) -> list[int]:
    """The CPU ids of a list such as `0-3,8` (empty for an empty list). Raises ValueError.

    Source: "List format" of Documentation/admin-guide/cputopology.rst and cgroup-v1/cpusets.rst.
    """
    cpus: list[int] = []
    for part in text.strip().split(",") if text.strip() else ():
        first, dash, last = part.partition("-")
        low, high = int(first), int(last if dash else first)
        if not 0 <= low <= high < _MAX_CPU:
            raise ValueError(f"not a list of CPUs: {text.strip()!r}")
        cpus.extend(range(low, high + 1))
    return cpus


def cpus_text(cpus: Iterable[int]) -> str:
    """The same as text, in the order given: what follows on one another is written as a range."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)

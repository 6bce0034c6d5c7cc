"""What follows from the release of a kernel alone, where the kernel itself does not tell it."""

from __future__ import annotations

import re

_FAIR_SERVER = (6, 12)
_SHORT_SLICE_FIRST = ((6, 18),)


def release_of(kernel: str) -> tuple[int, int] | None:
    """The first two numbers of a release such as `6.18.44-amd64`, `None` of what is none."""
    found = re.match(r"(\d{1,3})\.(\d{1,4})(?!\d)", kernel)
    return (int(found[1]), int(found[2])) if found else None


def has_fair_server(kernel: str) -> bool | None:
    """Whether the fair server keeps a share for fair tasks, and sched_rt_runtime_us none; `None`: not known.

    6.12 has replaced the one by the other: fair_server_init() of kernel/sched/fair.c, and 5f6bd380c7bd, "sched/rt:
    Remove default bandwidth control".
    """
    release = release_of(kernel)
    return None if release is None else release >= _FAIR_SERVER


def rt_keeper(kernel: str) -> str:
    """What keeps a share of each CPU for fair tasks beside real-time ones."""
    server = has_fair_server(kernel)
    if server is None:
        return "the fair server, or before 6.12 sched_rt_runtime_us,"
    return "the fair server" if server else "sched_rt_runtime_us"


def short_slice_first(kernel: str) -> bool:
    """Whether a task that is woken with a shorter slice was measured to take the CPU at once (docs/decisions.md)."""
    return release_of(kernel) in _SHORT_SLICE_FIRST

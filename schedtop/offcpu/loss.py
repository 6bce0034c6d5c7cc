"""What an off-CPU measurement lost, and what has no names in it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

_UNNAMED = ("unknown_frames", "waker_unknown_frames", "late_processes")
"""Parts of OffCpuLoss: their time is there, but no names."""


@dataclass(frozen=True, slots=True)
class OffCpuLoss:
    """What was not seen or not kept, counted. All zero means: nothing was lost.

    `tasks`, `rows`: waits of threads, or of stacks, that found no room: their time is missing. `user_stacks`,
    `kernel_stacks`: waits with a stack that found no room; their time is there. `waker_stacks`: the same of wakers.
    `unreadable_stacks`: user stacks that could not be read. `wakeups`: waits with an unseen wakeup: they count as
    blocked. `events`: that the kernel kept from our programs. `negative`: waits that ended before they began, by the
    clocks of two CPUs.

    Of what is there: `unknown_frames`, `waker_unknown_frames`: distinct frames without any name or module, of threads
    and of their wakers. `late_processes`: that had ended before their user stacks were looked at.
    """

    tasks: int = 0
    rows: int = 0
    user_stacks: int = 0
    kernel_stacks: int = 0
    waker_stacks: int = 0
    unreadable_stacks: int = 0
    wakeups: int = 0
    events: int = 0
    negative: int = 0
    unknown_frames: int = 0
    waker_unknown_frames: int = 0
    late_processes: int = 0

    @property
    def lost(self) -> dict[str, int]:
        """What is not there, by name."""
        return {name: count for name, count in asdict(self).items() if count and name not in _UNNAMED}

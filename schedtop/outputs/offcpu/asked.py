"""What is asked for of an off-CPU measurement, whatever it is written as."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop.offcpu.measurement import OffCpu

TOP = 10
"""How many threads and stacks a text shows, and how many threads are the top ones in JSON."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user wants to see: a state (one of STATE_CHOICES), how many threads and stacks (`None`: as usual, 0: all),
    and whether also threads that only waited for work; where the measurement is of some threads alone, they always are.
    """

    state: str = "all"
    top: int | None = None
    idle: bool = False

    def count(self, usual: int) -> int | None:
        """How many, `None` for all."""
        return (usual if self.top is None else self.top) or None

    def lists_idle(self, offcpu: OffCpu) -> bool:
        """Whether idle threads are shown of this measurement."""
        return self.idle or bool(offcpu.host.scope)


ASKED = Asked()

"""How the scheduler is told to treat a task, as far as it explains a path: its priority and its CPUs."""

from __future__ import annotations

from dataclasses import dataclass

from schedtop.base.cpu_lists import cpus_text


@dataclass(frozen=True, slots=True)
class Traits:
    """`policy`: as `SCHED_FIFO`, empty: the usual one; `cpus`: those that it may use, empty: all."""

    nice: int = 0
    policy: str = ""
    rt_priority: int = 0
    cpus: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """What is unusual of it: `nice 10, pinned to CPU 1`; empty: nothing."""
        parts = [f"{self.policy} {self.rt_priority}" if self.rt_priority else self.policy] if self.policy else []
        parts += [f"nice {self.nice}"] if self.nice and not self.rt_priority else []
        if len(self.cpus) == 1:
            parts.append(f"pinned to CPU {self.cpus[0]}")
        elif self.cpus:
            parts.append(f"only on CPUs {cpus_text(self.cpus)}")
        return ", ".join(parts)

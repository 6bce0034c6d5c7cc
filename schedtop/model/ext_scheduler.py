"""ExtScheduler: the sched_ext scheduler of a Frame, a BPF program that decides which task runs where (kernel 6.12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from schedtop.base.units import printable

EXT_STATES = ("enabling", "enabled", "disabling", "disabled")
"""`scx_enable_state_str` of kernel/sched/ext.c."""

_NAME_CHARS = 128
"""SCX_OPS_NAME_LEN of kernel/sched/ext.c."""


@dataclass(frozen=True, slots=True)
class ExtScheduler:
    """One that is loaded, or was in the interval: then its `state` is `disabled`.

    `name`: empty if it has none. `takes_all`: it has the ordinary tasks, too; false: only those of policy SCHED_EXT;
    `None`: the kernel does not tell.
    """

    name: str
    state: str = "enabled"
    takes_all: bool | None = None

    def __post_init__(self) -> None:
        """Whoever loads one has chosen its name."""
        object.__setattr__(self, "name", printable(self.name)[:_NAME_CHARS])
        if self.state not in EXT_STATES:
            raise ValueError("a state that sched_ext does not have")

    @property
    def words(self) -> str:
        """Its name, and what it does if it is not simply there."""
        name = self.name or "unnamed"
        return name if self.state == "enabled" else f"{name} ({self.state})"


def merge_ext(values: Sequence[ExtScheduler | None]) -> ExtScheduler | None:
    """The last one; one that was there before and is no longer counts as `disabled`."""
    found = next((value for value in reversed(values) if value is not None), None)
    return found if found is None or values[-1] is not None else replace(found, state="disabled")


def encode_ext(value: ExtScheduler | None) -> dict[str, Any] | None:
    """As plain values of JSON."""
    return None if value is None else asdict(value)


def decode_ext(data: Any, _cpus: int) -> ExtScheduler | None:
    """The same back. Raises KeyError, TypeError, ValueError."""
    if data is None:
        return None
    name, state, takes_all = data["name"], data["state"], data["takes_all"]
    if not isinstance(name, str) or not isinstance(state, str) or not isinstance(takes_all, bool | None):
        raise TypeError("a name or a state that is no text")
    return ExtScheduler(name, state, takes_all)

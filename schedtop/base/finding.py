"""Finding: what a check of the host says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

STATES = ("ok", "degraded", "missing")
"""How good it is: nothing is lost, something is, or schedtop's kernel programs cannot run for it."""

MORE = "`schedtop doctor` tells more"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `state` is one of STATES, `found` what is there, in words.

    `lost`: what schedtop cannot do for it; `repair`: a command that mends it, as it is typed; `advice`: what no command
    can do. They are empty where all is well. `details` is for programs: numbers and names that `found` is made of.
    """

    name: str
    state: str
    found: str
    lost: str = ""
    repair: str = ""
    advice: str = ""
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def sentence(self) -> str:
        """The same in one line, for an error."""
        todo = ", ".join(part for part in (f"run `{self.repair}`" if self.repair else "", self.advice) if part)
        return f"{self.found}: {todo}" if todo else self.found

    @property
    def error(self) -> str:
        """The line of a program that cannot start for it."""
        return f"{self.sentence}; {MORE}"

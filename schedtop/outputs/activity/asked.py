"""What of an activity is to be written."""

from __future__ import annotations

from dataclasses import dataclass

TOP = 20
"""How many rows text has, unless it is told."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Options of the command that every format knows.

    `by`: one of GROUPS; `sort`: a field of a row; `top`: how many rows (0: all; `None`: as many as is usual).
    """

    by: str = "process"
    sort: str = ""
    top: int | None = None

    def most(self, usual: int) -> int | None:
        """How many, `None`: all."""
        return (usual if self.top is None else self.top) or None


ASKED = Asked()

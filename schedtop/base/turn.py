"""Which of two threads goes first at a start: Python runs one at a time, and one that imports leaves others little.

The first one has Python to itself until it waits for something else, such as a compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

_GIVE: ContextVar[Callable[[], object]] = ContextVar("give", default=lambda: None)


def take(give: Callable[[], object]) -> None:
    """This thread goes first; `give` is called when it has something else to wait for."""
    _GIVE.set(give)


def give() -> None:
    """From here on this thread mostly waits for something that is not Python; the other one may begin."""
    _GIVE.get()()

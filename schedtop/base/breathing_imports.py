"""Modules that are imported late, when a key first needs them, with a breath before each.

The charts' library alone takes the CPU for 65 ms.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Finder:
    """Is asked first for each module that is not loaded yet, and knows none."""

    def __init__(self, breathe: Callable[[], object]) -> None:
        self._breathe = breathe
        self._thread = threading.get_ident()

    def find_spec(self, _name: str, _path: object = None, _target: object = None) -> None:
        """Nothing; takes a breath in the thread that it is of."""
        if threading.get_ident() == self._thread:
            self._breathe()


@contextmanager
def breathing_imports(breathe: Callable[[], object]) -> Iterator[None]:
    """Meanwhile `breathe` is called before each module that this thread loads."""
    finder = _Finder(breathe)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)

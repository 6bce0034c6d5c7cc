"""Remembered: what was computed of values that never change, kept beside them and not in them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Owner = TypeVar("Owner", bound=Hashable)
Result = TypeVar("Result")


class Remembered(Generic[Owner, Result]):
    """Results by owner and key, the latest `most` of each owner, for as long as the owner lives. Any thread may ask.

    The lock is held to look and to note, never while something is computed: two threads that ask for the same at once
    may both compute it, and both are right. An owner is found by its hash, which should be that of its identity.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._results: WeakKeyDictionary[Owner, dict[Hashable, Result]] = WeakKeyDictionary()

    def get(self, owner: Owner, key: Hashable, compute: Callable[[], Result]) -> Result:
        """What is remembered of the owner by this key, else what `compute` gives."""
        with self._lock:
            known = self._results.get(owner)
            if known is not None and key in known:
                return known[key]
        result = compute()
        with self._lock:
            known = self._results.setdefault(owner, {})
            while key not in known and len(known) >= self._most:
                del known[next(iter(known))]
            return known.setdefault(key, result)

    def count(self, owner: Owner) -> int:
        """How many results of the owner are kept."""
        with self._lock:
            return len(self._results.get(owner, ()))

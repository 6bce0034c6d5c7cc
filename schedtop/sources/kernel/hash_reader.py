"""The elements of a BPF hash as numpy rows, with memory and arguments that are made once for all calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from schedtop.base.breath import keep_on
from schedtop.model.rows import Rows
from schedtop.sources.kernel import bpf_syscall as calls

Bytes = npt.NDArray[np.uint8]


class HashReader:
    """Reads the hash of descriptor `fd`, which holds up to `entries` values of `dtype`. Raises OSError."""

    def __init__(self, fd: int, key_bytes: int, entries: int, dtype: np.dtype[np.void]) -> None:
        self._fd, self._key_bytes, self._entries, self._dtype = fd, key_bytes, entries, dtype
        self._keys: Bytes | None = None
        self._values: Bytes = np.empty(0, np.uint8)
        self._look_up = calls.LookUp(fd)

    def all(self, breathe: Callable[[], object] = keep_on) -> Rows:
        """All values, in any order (kernel 5.6 and later); `breathe` is called in between."""
        if self._keys is None:
            # Memory of that size is the system's until it is first written: what is never filled costs nothing.
            self._keys = np.empty(self._entries * self._key_bytes, np.uint8)
            self._values = np.empty(self._entries * self._dtype.itemsize, np.uint8)
        places, sizes = (self._keys.ctypes.data, self._values.ctypes.data), (self._key_bytes, self._dtype.itemsize)
        count = calls.lookup_batch(self._fd, *places, sizes, self._entries, breathe)
        return np.frombuffer(self._values[: count * self._dtype.itemsize].tobytes(), self._dtype)

    def some(self, keys: list[bytes]) -> Rows:
        """The values of those keys that are there, in their order."""
        if not keys:
            return np.empty(0, self._dtype)
        asked = ctypes.create_string_buffer(b"".join(keys))
        values = np.empty(len(keys), self._dtype)
        key_at, value_at, found = ctypes.addressof(asked), values.ctypes.data, 0
        for place in range(len(keys)):
            # The value of one that is not there any more is where the next one's goes.
            found += self._look_up(key_at + place * self._key_bytes, value_at + found * self._dtype.itemsize)
        return values[:found]

"""The elements of a BPF hash as numpy rows, with memory and arguments that are made once for all calls."""

from __future__ import annotations

import ctypes
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Rows
from schedtop.sources.kernel import bpf_syscall as calls

Bytes = npt.NDArray[np.uint8]


class HashReader:
    """Reads the hash of descriptor `fd`, which holds up to `entries` values of `dtype`. Raises OSError."""

    def __init__(self, fd: int, key_bytes: int, entries: int, dtype: np.dtype[np.void]) -> None:
        self._fd, self._key_bytes, self._entries, self._dtype = fd, key_bytes, entries, dtype
        self._keys: Bytes | None = None
        self._values: Bytes = np.empty(0, np.uint8)
        self._key = ctypes.create_string_buffer(key_bytes)
        self._value = ctypes.create_string_buffer(dtype.itemsize)
        self._look_up = calls.prepared_lookup(fd, ctypes.addressof(self._key), ctypes.addressof(self._value))

    def all(self) -> Rows:
        """All values, in any order (kernel 5.6 and later)."""
        if self._keys is None:
            # Memory of that size is the system's until it is first written: what is never filled costs nothing.
            self._keys = np.empty(self._entries * self._key_bytes, np.uint8)
            self._values = np.empty(self._entries * self._dtype.itemsize, np.uint8)
        count = calls.lookup_batch(self._fd, self._keys.ctypes.data, self._values.ctypes.data, self._entries)
        return np.frombuffer(self._values[: count * self._dtype.itemsize].tobytes(), self._dtype)

    def some(self, keys: list[bytes]) -> Rows:
        """The values of those keys that are there, in their order."""
        found = []
        for key in keys:
            self._key.raw = key
            with suppress(FileNotFoundError):
                self._look_up()
                found.append(self._value.raw)
        return np.frombuffer(b"".join(found), self._dtype)
